// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "evaluate/statistics.hpp"
#include "output/learning_curve.hpp"
#include "output/stop_signal.hpp"
#include "output/value_densities.hpp"
#include "stored_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>
#include <utility>

namespace gmac::examples::train {

namespace {

/// Says that changes of config.json since it was written do nothing.
void tell_of_edits(request const& asked, nlohmann::json const& stored, nlohmann::json const& file) {
    std::vector<std::string> names;
    for (auto const& change : nlohmann::json::diff(stored, file)) {
        std::string const name = change.at("path").get<std::string>().erase(0, 1);
        bool const given = (name == "frames" && asked.frames) || (name == "rom" && !asked.rom.empty());
        if (!given)
            names.push_back(name);
    }
    if (!names.empty())
        fmt::print("{} differs from the checkpoint in {}: the run goes on with the checkpoint's settings\n",
                   (asked.resume / "config.json").string(), fmt::join(names, ", "));
}

/// A resumed run has the settings that its checkpoint holds, with more frames if they were asked for.
request with_settings(request asked) {
    if (asked.resume.empty())
        return asked;
    auto const file = asked.resume / "checkpoint.safetensors";
    // The folder is looked at first: its errors are the clearer ones.
    auto const edited = run_folder::resume(asked.resume).read_config();
    checkpoint const stored = read_checkpoint(file);
    asked.settings = settings_of(stored, file);
    tell_of_edits(asked, nlohmann::json::parse(stored.metadata.at("settings")), edited);
    if (asked.frames)
        asked.settings.frames = *asked.frames;
    if (!asked.rom.empty())
        asked.settings.rom = std::filesystem::absolute(asked.rom).string();
    return asked;
}

} // namespace

session::session(request asked)
    : asked_(with_settings(std::move(asked))),
      folder_(asked_.resume.empty() ? run_folder::create(asked_.out, asked_.overwrite)
                                    : run_folder::resume(asked_.resume)),
      tasks_(asked_.threads),
      experiment_(make_experiment(asked_.settings, tasks_)) {
    if (asked_.resume.empty())
        folder_.write_config(to_json(asked_.settings));
    else
        load();
}

double session::seconds() const {
    return seconds_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void session::load() {
    auto const metadata =
        load_checkpoint(folder_.checkpoint(), [this](archive& state) { experiment_->persist(state); });
    if (auto const found = metadata.find("seconds"); found != metadata.end())
        seconds_before_ = std::stod(found->second);
    require(experiment_->frames() < asked_.settings.frames,
            "the run in {} has done its {} frames: to train on, ask for more by --frames", folder_.path().string(),
            experiment_->frames());
    folder_.reopen();
    folder_.write_config(to_json(asked_.settings));
}

void session::save() {
    metrics_->sync();
    episodes_->sync();
    save_to(folder_.checkpoint());
    experiment_->save_policy(folder_.policy());
    saved_at_ = seconds();
}

void session::save_to(std::filesystem::path const& file) {
    save_checkpoint(file, {{"settings", to_json(asked_.settings).dump()}, {"seconds", fmt::format("{}", seconds())}},
                    [this](archive& state) { experiment_->persist(state); });
}

/// Kept are the checkpoints of the updates that complete an n-th of the run.
void session::keep(update_report const& update) {
    auto const parts = [&](std::uint64_t frames) {
        return std::min(frames, asked_.settings.frames) * asked_.keep_checkpoints / asked_.settings.frames;
    };
    if (parts(update.frames) > parts(update.frames - asked_.settings.environments * asked_.settings.agent.steps))
        save_to(folder_.kept_checkpoint(update.frames));
}

int session::run() {
    auto const& settings = asked_.settings;
    fmt::print("{} on {}, seed {}: {} parameters, {} environments x {} steps, {} threads\nwriting to {}\n",
               settings.algorithm, settings.environment, settings.seed, experiment_->parameter_count(),
               settings.environments, settings.agent.steps, asked_.threads, folder_.path().string());
    std::fflush(stdout);
    auto const begun = static_cast<double>(experiment_->frames());
    if (experiment_->frames() > 0) {
        metrics_ = metrics_table::resume(folder_.metrics(), begun);
        episodes_ = metrics_table::resume(folder_.episodes(), begun);
        tensorboard_.emplace(folder_.path(), static_cast<std::int64_t>(begun) + 1);
    } else {
        metrics_.emplace(folder_.metrics());
        episodes_.emplace(folder_.episodes());
        tensorboard_.emplace(folder_.path());
    }
    stop_signal stop;
    start_ = std::chrono::steady_clock::now();
    progress_.start(experiment_->frames(), seconds());
    experiment_->train({.frames = settings.frames,
                        .on_update = [this](update_report const& update) { record(update); },
                        .stop = [&stop] { return stop.requested(); }});
    progress_.finish();
    save();
    if (stop.requested() && experiment_->frames() < settings.frames) {
        fmt::print("stopped by {} after {} frames; go on with:  gmac-train --resume {}\n", stop.name(),
                   experiment_->frames(), folder_.path().string());
        return 128 + (std::string_view(stop.name()) == "SIGINT" ? SIGINT : SIGTERM);
    }
    finish();
    return 0;
}

void session::record(update_report const& update) {
    metrics_row row{{"frames", static_cast<double>(update.frames)}, {"seconds", seconds()}};
    std::vector<std::pair<std::string, double>> scalars;
    update.describe([&](std::string_view name, double value) {
        if (name == "frames" || name == "seconds")
            return;
        row.emplace_back(name, value);
        bool const of_episodes = name.ends_with("_return") || name.ends_with("_length") || name == "episodes";
        if (value == value)
            scalars.emplace_back(fmt::format("{}/{}", of_episodes ? "episodes" : "update", name), value);
    });
    metrics_->append(row);
    for (auto const& [frames, episode] : update.finished)
        episodes_->append({{"frames", static_cast<double>(frames)},
                           {"return", episode.reward_sum},
                           {"length", static_cast<double>(episode.length)}});
    tensorboard_->append(static_cast<std::int64_t>(update.frames), scalars);
    progress_.update({.frames = update.frames,
                      .total_frames = asked_.settings.frames,
                      .mean_return = update.mean_return,
                      .losses = {{"value loss", update.value_loss}, {"entropy", update.entropy}},
                      .status = status(update)},
                     seconds());
    if (seconds() - saved_at_ >= asked_.checkpoint_seconds)
        save();
    keep(update);
}

/// Hopper earns about 1,010 by standing still for a whole episode, so only more than 1,500 is hopping.
std::string session::status(update_report const& update) const {
    if (asked_.settings.environment != "bullet/hopper" || !(update.mean_return == update.mean_return))
        return {};
    if (update.mean_return > 1500.0)
        return "hopping";
    return update.mean_length > 600.0 && update.mean_return < 1100.0 ? "standing" : "learning";
}

void session::finish() {
    nlohmann::ordered_json summary{{"frames", experiment_->frames()}, {"seconds", seconds()}};
    if (asked_.evaluation_episodes > 0)
        summary["evaluation"] = evaluate();
    folder_.finish(summary);
    bool const drawn = asked_.pictures && draw();
    fmt::print("metrics{} in {}\n", drawn ? ", checkpoint and pictures are" : " and checkpoint are",
               folder_.path().string());
}

nlohmann::ordered_json session::evaluate() {
    auto const& settings = asked_.settings;
    std::vector<double> returns;
    for (finished_episode const& one : experiment_->evaluate(asked_.evaluation_episodes))
        returns.push_back(one.reward_sum);
    std::vector<double> sorted = returns;
    std::ranges::sort(sorted);
    double const average = mean(returns);
    double const median = quantile_of_sorted(sorted, 0.5);
    std::string verdict;
    if (settings.environment == "bullet/hopper")
        verdict = average > 1500.0 ? ": it hops" : ": it does not hop (standing still earns about 1,010)";
    fmt::print("evaluation over {} episodes: mean return {:.1f}, median {:.1f}, from {:.1f} to {:.1f}{}\n",
               returns.size(), average, median, sorted.front(), sorted.back(), verdict);
    return {{"episodes", returns.size()}, {"mean", average}, {"median", median}, {"returns", returns}};
}

bool session::draw() {
    auto const& settings = asked_.settings;
    std::string const title = fmt::format("{} on {}, seed {}", settings.algorithm, settings.environment, settings.seed);
    try {
        draw_learning_curve(title);
        draw_value_densities(title);
        return true;
    } catch (error const& problem) {
        // The run is done and on the disk: a missing gnuplot takes nothing away from it.
        fmt::print("no pictures: {}\n", problem.what());
        return false;
    }
}

void session::draw_learning_curve(std::string const& title) {
    csv_table const updates = read_csv(folder_.metrics());
    csv_table const ended = read_csv(folder_.episodes());
    learning_curve curve{.title = title,
                         .runs = {
                             {.method = asked_.settings.algorithm,
                              .frames = updates.column("frames"),
                              .mean_returns = updates.column("mean_return"),
                              .episode_frames = ended.rows() > 0 ? ended.column("frames") : std::vector<double>(),
                              .episode_returns = ended.rows() > 0 ? ended.column("return") : std::vector<double>()}}};
    if (asked_.settings.environment == "bullet/hopper")
        curve.references = {{1010.0, "standing still"}, {1500.0, "hopping"}};
    plot_learning_curve(folder_.learning_curve(), curve);
}

void session::draw_value_densities(std::string const& title) {
    value_densities const picture{.title = title, .panels = experiment_->value_panels()};
    plot_value_densities(folder_.value_densities(), picture);
}

} // namespace gmac::examples::train
