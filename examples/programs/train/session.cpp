// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "evaluate/statistics.hpp"
#include "finite_parameters.hpp"
#include "run_pictures.hpp"
#include "run_report.hpp"
#include "run_rows.hpp"
#include "stored_run.hpp"

#include <gmac/distributed/checkpoint.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <thread>
#include <utility>

namespace gmac::examples::train {

namespace {

/// The names of what was changed in config.json since it was written, which does nothing.
[[nodiscard]] std::vector<std::string> edits(request const& asked, nlohmann::json const& stored,
                                             nlohmann::json const& file) {
    std::vector<std::string> names;
    for (auto const& change : nlohmann::json::diff(stored, file)) {
        std::string const name = change.at("path").get<std::string>().erase(0, 1);
        bool const given = (name == "frames" && asked.frames) || (name == "rom" && !asked.rom.empty()) ||
                           (name == "target-return" && asked.target_return);
        if (!given)
            names.push_back(name);
    }
    return names;
}

/// The mean return of the last 100 episodes counts once there are so many.
[[nodiscard]] bool reaches(double target, double episodes, double mean_return) {
    return episodes >= static_cast<double>(episode_window::capacity) && mean_return >= target;
}

/// Of the update that begins after so many frames.
[[nodiscard]] double rate_at(settings const& settings, std::uint64_t frames) {
    // The last rollout may have passed the end.
    double const progress =
        static_cast<double>(std::min(frames, settings.frames)) / static_cast<double>(settings.frames);
    return settings.agent.learning_rate * (1.0 - progress);
}

[[nodiscard]] std::string ranks_text(std::size_t count) {
    return count == 1 ? "one rank" : fmt::format("{} ranks", count);
}

[[nodiscard]] run_folder folder_of(request const& asked) {
    return asked.resume.empty() ? run_folder::create(asked.out, asked.overwrite) : run_folder::resume(asked.resume);
}

} // namespace

session::session(registry const& known, request asked, team& ranks)
    : known_(known),
      asked_(std::move(asked)),
      folder_(folder_of(asked_)),
      tasks_(asked_.threads),
      team_(ranks),
      evaluations_(asked_.settings, folder_) {
    if (asked_.serve) // before anything is written
        server_ = report::serve_report(known, folder_.path(), *asked_.serve);
    std::optional<checkpoint> stored;
    if (resumed()) {
        stored = read_checkpoint(folder_.checkpoint());
        take_settings(*stored);
    }
    team_.begin(asked_.settings, stored, asked_.threads);
    std::string const where = "checkpoint " + folder_.checkpoint().string();
    frames_before_ = stored ? frames_of(*stored, where) : 0;
    experiment_ = make_experiment(known_, asked_.settings, tasks_, team_.ranks(), frames_before_);
    if (stored)
        load(*stored, where);
    finite_parameters finite(resumed() ? folder_.checkpoint().string() : "the new network");
    experiment_->persist(finite);

    std::size_t const cores = std::max(1u, std::thread::hardware_concurrency());
    if (asked_.threads > cores)
        notes_.push_back(fmt::format("{} threads share {} cores, which is no faster", asked_.threads, cores));
    if (asked_.threads > asked_.settings.environments)
        notes_.push_back(fmt::format("{} threads for {} environments: the others only help to learn", asked_.threads,
                                     asked_.settings.environments));
}

/// A resumed run has the settings that its checkpoint holds, with more frames if they were asked for.
void session::take_settings(checkpoint const& stored) {
    auto const config = folder_.read_config();
    auto const notes = checkpoint_notes::of(known_, stored, folder_.checkpoint());
    auto& settings = asked_.settings = notes.settings;
    if (auto const names = edits(asked_, nlohmann::json::parse(stored.metadata.at("settings")), config); !names.empty())
        notes_.push_back(
            fmt::format("{} differs from the checkpoint in {}: the run goes on with the checkpoint's settings",
                        folder_.config().string(), fmt::join(names, ", ")));
    if (asked_.frames)
        settings.frames = *asked_.frames;
    if (asked_.target_return)
        settings.target_return = asked_.target_return;
    if (!asked_.rom.empty())
        settings.rom = std::filesystem::absolute(asked_.rom).string();
    if (!asked_.keep_checkpoints)
        asked_.keep_checkpoints = notes.keep_checkpoints;
    seconds_before_ = notes.seconds;
}

void session::load(checkpoint const& stored, std::string const& where) {
    other_ranks_ = !load_rank(stored, where, team_.ranks(), *experiment_);
    if (other_ranks_)
        notes_.push_back(
            fmt::format("the checkpoint is of a run on {} and this is one on {}: all environments begin new episodes; "
                        "all that was learned goes on",
                        ranks_text(distributed::ranks_of(stored, where)), ranks_text(team_.size())));
    if (!experiment_->stores_episodes())
        notes_.push_back(
            fmt::format("{} stores no states: all environments begin new episodes", asked_.settings.environment));
    stored.state.restore([this](archive& state) { state("updates", updates_before_); }, unasked::ignore, where);
    auto const notes = checkpoint_notes::of(known_, stored, folder_.checkpoint());
    auto& settings = asked_.settings;
    survey_tables(notes);
    target_reached_ = reached_before(settings.target_return);
    bool const was_trained = frames_before_ >= notes.settings.frames || reached_before(notes.settings.target_return);
    bool const finishes = was_trained && lacks_something();
    require(!target_reached_ || finishes,
            "the run in {} has reached its target return of {} after {} frames: to train on, ask for a higher one by "
            "--target-return",
            folder_.path().string(), settings.target_return.value_or(0.0), frames_before_);
    require(!trained() || finishes, "the run in {} has done its {} frames: to train on, ask for more by --frames",
            folder_.path().string(), frames_before_);
    if (trained())
        settings.frames = notes.settings.frames;
    if (trained())
        notes_.push_back(fmt::format("{}: what else the run lacks follows", done()));
    else if (settings.agent.schedule == rate_schedule::linear && settings.frames != notes.settings.frames)
        notes_.push_back(fmt::format(
            "with {} frames instead of {} the learning rate jumps from {:.3g} to {:.3g}, from where it falls to zero",
            settings.frames, notes.settings.frames, rate_at(notes.settings, frames_before_),
            rate_at(settings, frames_before_)));
}

/// Tells of rows that are not those which the checkpoint has seen: `one_more` row may have come after it, by the evaluation
/// of the same update. Throws gmac::error if no row can follow them.
void session::survey_tables(checkpoint_notes const& stored) {
    auto const survey = [this](std::filesystem::path const& file, std::string const& seen, metrics_row const& row,
                               bool one_more = false) {
        auto const last = static_cast<double>(frames_before_);
        csv_extent const extent = measure_csv(file, last);
        metrics_table::require_columns(extent, row, file);
        if (seen.empty() || extent.fingerprint() == seen ||
            (one_more && measure_csv(file, last - 1.0).fingerprint() == seen))
            return;
        if (!std::filesystem::exists(file))
            notes_.push_back(fmt::format("{} is gone: it had {} when the checkpoint was written", file.string(), seen));
        else
            notes_.push_back(
                fmt::format("{} was changed: up to frame {} it has {}, but had {} when the checkpoint was written",
                            file.string(), frames_before_, extent.fingerprint(), seen));
    };
    survey(folder_.metrics(), stored.metrics, row_of(update_report(), 0.0, *experiment_, asked_.settings));
    survey(folder_.episodes(), stored.episodes, row_of(timed_episode()));
    if (evaluations_.wanted())
        survey(folder_.evaluations(), stored.evaluations, interim_evaluations::row_of({}), true);
    if (auto const problem = evaluations_.look(frames_before_))
        notes_.push_back(*problem);
}

/// Whether a target was reached within the frames that were trained before this process.
bool session::reached_before(std::optional<double> target) const {
    if (!target || evaluations_.wanted())
        return target && evaluations_.reached(*target);
    if (!std::filesystem::exists(folder_.metrics()))
        return false;
    csv_table const updates = read_csv(folder_.metrics());
    for (std::size_t i = 0; i < updates.rows(); ++i)
        if (updates.column("frames")[i] <= static_cast<double>(frames_before_) &&
            reaches(*target, updates.column("episodes")[i], updates.column("mean_return")[i]))
            return true;
    return false;
}

/// Why nothing is trained any more.
std::string session::done() const {
    return target_reached_ ? fmt::format("the target return of {} is reached", *asked_.settings.target_return)
                           : fmt::format("all {} frames are done", experiment_->frames());
}

double session::seconds() const {
    return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::size_t session::evaluation_episodes() const {
    // A game may take half an hour of play, and the paper counts the last games of the training.
    return asked_.evaluation_episodes.value_or(sees_images(asked_.settings) ? 0 : 20);
}

int session::run() {
    stop_signal const stop;
    auto const& settings = asked_.settings;
    progress_.note(
        fmt::format("{} on {}, seed {}: {} parameters, {}{} environments x {} steps, {} threads\nwriting to {}",
                    settings.algorithm, settings.environment, settings.seed, experiment_->parameter_count(),
                    team_.ranks() ? ranks_text(team_.size()) + " x " : "", settings.environments, settings.agent.steps,
                    asked_.threads, folder_.path().string()));
    if (server_)
        progress_.note(fmt::format("the report is at {}", server_->address()));
    if (!settings.critics.empty())
        progress_.note(fmt::format("critics that watch: {}", settings.critics));
    for (std::string const& note : notes_)
        progress_.note(note);
    start_ = std::chrono::steady_clock::now();
    if (trained() && !folder_.finished())
        begin_writing(); // which takes away what may have come after the checkpoint
    if (resumed() && !other_ranks_ && is_kept(frames_before_) &&
        !std::filesystem::exists(folder_.kept_checkpoint(frames_before_)))
        save_to(folder_.kept_checkpoint(frames_before_));
    if (resumed() && evaluations_.lacks(frames_before_) && !folder_.finished())
        evaluate_again(stop);
    if (!trained() && !evaluation_stopped_)
        train(stop);
    team_.end();
    if (evaluation_stopped_)
        return stopped(stop, fmt::format("during the evaluation after {} frames; go on", experiment_->frames()));
    return trained() ? finish(stop) : stopped(stop, fmt::format("after {} frames; go on", experiment_->frames()));
}

void session::train(stop_signal const& stop) {
    if (asked_.watch)
        watch();
    progress_.start(frames_before_, seconds());
    team_.go_on();
    experiment_->train({.frames = asked_.settings.frames,
                        .on_update = [this](update_report const& update) { record(update); },
                        .evaluate_every = asked_.settings.eval_every,
                        .evaluate = [this, &stop] { return play_interim(stop); },
                        .on_evaluation =
                            [this](evaluation_report const& evaluation) {
                                if (!evaluation_stopped_)
                                    record(evaluation);
                            },
                        .stop =
                            [this, &stop] {
                                team_.go_on();
                                return stop.requested() || target_reached_;
                            }});
    progress_.finish();
    save();
    if (target_reached_)
        progress_.note(fmt::format("{} after {} frames", done(), experiment_->frames()));
}

void session::watch() {
    std::vector<text_chart::point> history;
    if (resumed() && std::filesystem::exists(folder_.metrics())) {
        csv_table const updates = read_csv(folder_.metrics());
        for (std::size_t i = 0; i < updates.rows(); ++i)
            if (double const frames = updates.column("frames")[i]; frames <= static_cast<double>(frames_before_))
                history.push_back({frames, updates.column("mean_return")[i]});
    }
    auto const& settings = asked_.settings;
    progress_.watch(fmt::format("{} on {}, seed {} in {}", settings.algorithm, settings.environment, settings.seed,
                                folder_.path().string()),
                    history);
}

/// Of a run that is stopped meanwhile it gives nothing, and the evaluation comes when the run is resumed.
std::vector<finished_episode> session::play_interim(stop_signal const& stop) {
    try {
        return experiment_->evaluate(evaluation::interim, asked_.settings.eval_episodes,
                                     [&stop] { return stop.requested(); });
    } catch (evaluation_stopped const&) {
        evaluation_stopped_ = true;
        return {};
    }
}

/// Of a run that was stopped between an update, which its checkpoint has, and the evaluation of that update.
void session::evaluate_again(stop_signal const& stop) {
    if (!metrics_)
        begin_writing();
    auto const begin = seconds();
    auto const episodes = play_interim(stop);
    evaluation_report report = evaluation_report::of(episodes);
    report.frames = frames_before_;
    report.update = updates_before_;
    report.seconds = seconds() - begin;
    if (!evaluation_stopped_)
        record(report);
    save();
}

void session::record(evaluation_report const& evaluation) {
    evaluations_.add(evaluation, *experiment_);
    std::vector<std::pair<std::string, double>> scalars;
    for (auto const& [name, value] : interim_evaluations::row_of(evaluation))
        if (name.ends_with("_return") || name.ends_with("_length"))
            scalars.emplace_back("evaluation/" + name, value);
    tensorboard_->append(static_cast<std::int64_t>(evaluation.frames), scalars);
    auto const& target = asked_.settings.target_return;
    target_reached_ = target_reached_ || (target && evaluations_.reached(*target));
}

void session::begin_writing() {
    if (resumed()) {
        auto const last = static_cast<double>(frames_before_);
        folder_.reopen();
        folder_.write_config(to_json(asked_.settings));
        metrics_ = metrics_table::resume(folder_.metrics(), last);
        episodes_ = metrics_table::resume(folder_.episodes(), last);
        evaluations_.resume(frames_before_);
        tensorboard_.emplace(folder_.path(), static_cast<std::int64_t>(frames_before_) + 1);
    } else {
        folder_.begin(to_json(asked_.settings));
        metrics_.emplace(folder_.metrics());
        episodes_.emplace(folder_.episodes());
        evaluations_.begin();
        tensorboard_.emplace(folder_.path());
    }
    if (auto const problem = note_machine(folder_.path(), asked_.threads, frames_before_))
        progress_.note(*problem);
}

void session::record(update_report const& update) {
    bool const first = !metrics_;
    if (first)
        begin_writing();
    metrics_row const row = row_of(update, seconds(), *experiment_, asked_.settings);
    std::vector<std::pair<std::string, double>> scalars;
    for (auto const& [name, value] : row) {
        bool const of_episodes = name.ends_with("_return") || name.ends_with("_length") || name == "episodes";
        if (name != "frames" && name != "seconds" && value == value)
            scalars.emplace_back(fmt::format("{}/{}", of_episodes ? "episodes" : "update", name), value);
    }
    metrics_->append(row);
    for (timed_episode const& ended : update.finished)
        episodes_->append(row_of(ended));
    if (server_)
        server_->changed();
    auto const step = static_cast<std::int64_t>(update.frames);
    tensorboard_->append(step, scalars);
    progress now{.frames = update.frames,
                 .total_frames = asked_.settings.frames,
                 .mean_return = update.mean_return,
                 .losses = {{"value loss", update.value_loss}, {"entropy", update.entropy}},
                 .status = status(update)};
    bool const histograms = completes_part(update.frames, value_histograms);
    if (histograms || progress_.shows_values(seconds()))
        now.values = experiment_->latest_values();
    if (histograms)
        tensorboard_->append(step, histograms_of(now.values));
    if (double const evaluated = evaluations_.mean_return(); evaluated == evaluated)
        now.losses.emplace_back("evaluation", evaluated);
    progress_.update(now, seconds());
    if (auto const target = asked_.settings.target_return; target && !evaluations_.wanted())
        target_reached_ = reaches(*target, static_cast<double>(update.episodes), update.mean_return);
    // Kept first: a run that is killed here comes back to it.
    if (is_kept(update.frames))
        save_to(folder_.kept_checkpoint(update.frames));
    if (first || seconds() - saved_at_ >= asked_.checkpoint_seconds)
        save();
}

std::uint64_t session::frames_of_update() const {
    return team_.size() * asked_.settings.environments * asked_.settings.agent.steps;
}

/// Whether an update completed one of `count` equal parts of the run.
bool session::completes_part(std::uint64_t frames, std::size_t count) const {
    __extension__ using wide = unsigned __int128; // or a product may be too large
    auto const& settings = asked_.settings;
    auto const parts = [&](std::uint64_t done) {
        return wide(std::min(done, settings.frames)) * count / settings.frames;
    };
    return parts(frames) > parts(frames - std::min(frames, frames_of_update()));
}

void session::save() {
    metrics_->sync();
    episodes_->sync();
    evaluations_.sync();
    save_to(folder_.checkpoint());
    save_networks();
    saved_at_ = seconds();
}

/// What others use of a run.
void session::save_networks() {
    experiment_->save_policy(folder_.policy());
    experiment_->save_value(folder_.value());
}
bool session::has_networks() const {
    return std::filesystem::exists(folder_.policy()) && std::filesystem::exists(folder_.value());
}

void session::save_to(std::filesystem::path const& file) {
    checkpoint_notes const notes{.settings = asked_.settings,
                                 .seconds = seconds(),
                                 .keep_checkpoints = asked_.keep_checkpoints.value_or(0),
                                 .metrics = metrics_ ? metrics_->extent().fingerprint() : std::string(),
                                 .episodes = episodes_ ? episodes_->extent().fingerprint() : std::string(),
                                 .evaluations = evaluations_.fingerprint()};
    team_.save(file, notes.metadata(), *experiment_);
}

/// Hopper earns about 1,010 by standing still for a whole episode, so only more than 1,500 is hopping.
std::string session::status(update_report const& update) const {
    if (asked_.settings.environment != "bullet/hopper" || !(update.mean_return == update.mean_return))
        return {};
    if (update.mean_return > 1500.0)
        return "hopping";
    return update.mean_length > 600.0 && update.mean_return < 1100.0 ? "standing" : "learning";
}

/// Of a run that is trained.
bool session::lacks_something() const {
    return !folder_.finished() || !has_networks() ||
           (evaluation_episodes() > 0 && !folder_.read_summary().contains("evaluation")) ||
           (asked_.pictures && !folder_.has_pictures());
}

/// What a run has that was finished before stays as it is.
int session::finish(stop_signal const& stop) {
    bool const before = folder_.finished();
    nlohmann::ordered_json summary{{"frames", experiment_->frames()}, {"seconds", seconds()}};
    if (auto const target = asked_.settings.target_return)
        summary["target_return"] = {{"asked", *target}, {"reached", target_reached_}};
    if (before)
        summary = folder_.read_summary();
    if (!before || !has_networks())
        save_networks();
    if (evaluation_episodes() > 0 && !summary.contains("evaluation")) {
        try {
            summary["evaluation"] = evaluate(stop);
        } catch (evaluation_stopped const&) {
            return stopped(stop, fmt::format("during the evaluation; {}; finish",
                                             target_reached_ ? done() : "all frames are done"));
        }
    }
    folder_.finish(summary);
    bool const draws = asked_.pictures && !(before && folder_.has_pictures());
    bool const drawn = draws && draw();
    if (draws && !drawn && stop.requested())
        return stopped(stop, "before the pictures were drawn; draw them");
    report(&stop);
    progress_.note(fmt::format("metrics{} in {}", drawn ? ", checkpoint and pictures are" : " and checkpoint are",
                               folder_.path().string()));
    return 0;
}

/// Plays the agent for it unless the run was stopped, which is to end soon: then gmac-report may.
void session::report(stop_signal const* stop) {
    if (!asked_.report || !(metrics_ || resumed())) // else what is in the folder is not of this run
        return;
    if (stop != nullptr)
        if (auto const problem = observe_run(folder_.path(), *experiment_, [&] { return stop->requested(); }))
            progress_.note(*problem);
    if (auto const problem = write_report(known_, folder_.path()))
        progress_.note(*problem);
}

int session::stopped(stop_signal const& stop, std::string_view when) {
    report(nullptr);
    std::string const launcher = team_.ranks() ? fmt::format("mpirun -n {} ", team_.size()) : std::string();
    progress_.note(fmt::format("stopped by {} {} with:  {}{}", stop.name(), when, launcher,
                               resume_command(known_, asked_, folder_.path())));
    return 128 + stop.number();
}

nlohmann::ordered_json session::evaluate(stop_signal const& stop) {
    auto const& settings = asked_.settings;
    std::vector<double> returns;
    for (finished_episode const& one :
         experiment_->evaluate(evaluation::final, evaluation_episodes(), [&stop] { return stop.requested(); }))
        returns.push_back(one.reward_sum);
    std::vector<double> sorted = returns;
    std::ranges::sort(sorted);
    double const average = mean(returns);
    double const median = quantile_of_sorted(sorted, 0.5);
    std::string verdict;
    if (settings.environment == "bullet/hopper")
        verdict = average > 1500.0 ? ": it hops" : ": it does not hop (standing still earns about 1,010)";
    progress_.note(
        fmt::format("evaluation over {} episodes: mean return {:.1f}, median {:.1f}, from {:.1f} to {:.1f}{}",
                    returns.size(), average, median, sorted.front(), sorted.back(), verdict));
    return {{"episodes", returns.size()}, {"mean", average}, {"median", median}, {"returns", returns}};
}

bool session::draw() {
    try {
        draw_pictures(folder_, asked_.settings, *experiment_);
        return true;
    } catch (gnuplot::not_written const&) {
        throw;
    } catch (error const& problem) {
        // The run is done and on the disk: a missing gnuplot takes nothing away from it.
        progress_.note(fmt::format("no pictures: {}", problem.what()));
        return false;
    }
}

} // namespace gmac::examples::train
