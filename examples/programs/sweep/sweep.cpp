// SPDX-License-Identifier: Apache-2.0
#include "sweep.hpp"

#include "configurations.hpp"
#include "halving.hpp"
#include "results.hpp"
#include "run.hpp"
#include "schedule.hpp"
#include "sweep_file.hpp"

#include "train/output/folder_lock.hpp"
#include "train/output/gnuplot.hpp"
#include "train/output/stop_signal.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gmac::examples::sweep {

namespace {

namespace fs = std::filesystem;

/// The folder of a sweep, which no other process uses meanwhile.
class sweep_folder {
public:
    /// Makes it, or takes that of the same sweep. Throws gmac::error that says what to do.
    sweep_folder(fs::path const& path, sweep_file const& sweep, fs::path const& file) {
        std::error_code problem;
        fs::create_directories(path, problem);
        require(!problem && fs::is_directory(path), "cannot create the folder {}: {}", path.string(),
                problem ? problem.message() : "there is a file of that name");
        lock_ = train::lock_folder(path, "another gmac-sweep is at it");
        require_same(path, sweep, file);
        replace_file(path / "sweep.json", sweep.text);
        for (char const* const name : {"runs", "logs"}) {
            fs::create_directories(path / name, problem);
            require(!problem, "cannot create the folder {}: {}", (path / name).string(), problem.message());
        }
    }

    /// Throws gmac::error if the folder has something else in it than this sweep.
    static void require_same(fs::path const& path, sweep_file const& sweep, fs::path const& file) {
        fs::path const stored = path / "sweep.json";
        if (fs::exists(stored)) {
            require(read_sweep(stored).text == sweep.text,
                    "{} was begun with another file than {}, see {}: choose another folder with --out", path.string(),
                    file.string(), stored.string());
            return;
        }
        bool const empty =
            !fs::exists(path) || std::ranges::all_of(fs::directory_iterator(path), [](auto const& entry) {
                return entry.path().filename() == "sweep.json.partial";
            });
        require(empty, "{} is not empty and not the folder of a sweep: choose another folder with --out",
                path.string());
    }

private:
    gmac::detail::descriptor lock_;
};

class whole_sweep {
public:
    explicit whole_sweep(request const& asked) : asked_(asked), file_(read_sweep(asked.file)) {
        trainer_ = {asked.program, asked.threads, &file_};
        what_ = configurations_of(file_);
        std::string const where = asked.file.string();
        for (configuration& one : what_) {
            auto const said = trainer_.check(one, where);
            require(!file_.halving || !said.has_target,
                    "{}: halving compares runs of the same frames, so target-return must not end them before", where);
            one.algorithm = said.algorithm;
            frames_ = said.frames;
        }
        for (configuration const& one : what_) {
            results_.push_back({.what = &one, .scores = {}});
            for (std::uint64_t const seed : file_.seeds) {
                std::string const name = run_name(one, seed, what_.size());
                runs_[&one].push_back(
                    {name, asked.out / "runs" / name, asked.out / "logs" / (name + ".txt"), &one, seed});
            }
        }
    }

    int execute() {
        if (asked_.dry_run) {
            sweep_folder::require_same(asked_.out, file_, asked_.file);
            list();
            return 0;
        }
        sweep_folder const folder(asked_.out, file_, asked_.file);
        train::stop_signal const stop;
        std::vector<run const*> failed;
        fmt::print("{} settings, each with {} seed{}, {} runs at a time, in {}\n", what_.size(), file_.seeds.size(),
                   file_.seeds.size() == 1 ? "" : "s", asked_.jobs, asked_.out.string());
        std::fflush(stdout);
        for (std::size_t rung = 0; rung < rungs(); ++rung) {
            for (run const* one : do_tasks(tasks_of(rung), asked_.jobs, trainer_, stop))
                failed.push_back(one);
            if (stop.requested()) {
                fmt::print("stopped by {}; the same command goes on\n", stop.name());
                return 128 + stop.number();
            }
            score(rung);
            if (rung + 1 < rungs())
                promote(rung);
        }
        finish();
        for (run const* one : failed)
            fmt::print(stderr, "gmac-sweep: the run in {} has failed, see above and {}\n", one->folder.string(),
                       one->log.string());
        return failed.empty() ? 0 : 1;
    }

private:
    [[nodiscard]] std::size_t rungs() const { return file_.halving ? file_.halving->rungs : 1; }
    /// Up to which a rung trains; nothing is the end.
    [[nodiscard]] std::optional<std::uint64_t> frames_of(std::size_t rung) const {
        return rung + 1 == rungs() ? std::nullopt : std::optional(frames_of_rung(*file_.halving, frames_, rung));
    }

    [[nodiscard]] std::vector<task> tasks_of(std::size_t rung) const {
        std::vector<task> tasks;
        for (result const& one : results_)
            if (one.rung == rung)
                for (auto const& each : runs_.at(one.what))
                    tasks.push_back({&each, frames_of(rung)});
        return tasks;
    }

    void list() const {
        if (file_.halving)
            fmt::print("# the first rung, whose runs are stopped after {} frames\n", *frames_of(0));
        for (task const& one : tasks_of(0))
            if (!one.what->reached(one.frames))
                fmt::print("{}\n", shell_line(one.what->next_command(trainer_)));
    }

    void score(std::size_t rung) {
        for (result& one : results_) {
            if (one.rung != rung)
                continue;
            one.scores.clear();
            std::vector<outcome> outcomes;
            for (auto const& each : runs_.at(one.what)) {
                bool const reached = each.reached(frames_of(rung));
                outcome const found = reached ? outcome_of(each, frames_of(rung), file_.score) : outcome();
                one.scores.push_back(found.score);
                if (found.score)
                    outcomes.push_back(found);
            }
            one.frames = one.seconds = 0.0;
            for (outcome const& each : outcomes) {
                one.frames += each.frames / static_cast<double>(outcomes.size());
                one.seconds += each.seconds / static_cast<double>(outcomes.size());
            }
            summarize(one);
        }
    }

    /// The best of each algorithm go on to the next rung.
    void promote(std::size_t rung) {
        std::map<std::string, std::vector<result*>> by_algorithm;
        for (result& one : results_)
            if (one.rung == rung)
                by_algorithm[one.what->algorithm].push_back(&one);
        for (auto const& [algorithm, results] : by_algorithm) {
            std::vector<std::optional<double>> scores;
            for (result const* one : results)
                scores.push_back(one->found ? std::optional(one->found->value) : std::nullopt);
            auto const chosen = promoted(*file_.halving, scores);
            for (std::size_t const i : chosen)
                ++results[i]->rung;
            fmt::print("{}: after {} frames {} of {} settings go on\n", algorithm, *frames_of(rung), chosen.size(),
                       results.size());
        }
    }

    void finish() {
        auto sorted = results_;
        sort_best_first(sorted);
        fmt::print("\n{}\n", table_of(sorted));
        replace_file(asked_.out / "sweep.csv", csv_of(sorted));
        fmt::print("{} is written\n", (asked_.out / "sweep.csv").string());
        std::map<std::string, result const*> best;
        for (result const& one : sorted)
            if (one.found && one.rung + 1 == rungs())
                best.try_emplace(one.what->algorithm, &one);
        for (auto const& [algorithm, one] : best) {
            fs::path const path = asked_.out / fmt::format("best-{}.conf", algorithm);
            replace_file(path, config_of(file_, *one));
            fmt::print("{} is written: the best settings of {}, for --config\n", path.string(), algorithm);
        }
        try {
            plot_results(asked_.out / "sweep", sorted);
            fmt::print("{0}.png and {0}.svg are drawn\n", (asked_.out / "sweep").string());
        } catch (train::gnuplot::not_written const&) {
            throw;
        } catch (error const& problem) { // such as a gnuplot that is missing
            fmt::print("no picture: {}\n", problem.what());
        }
        std::fflush(stdout);
    }

    request asked_;
    sweep_file file_;
    trainer trainer_;
    std::uint64_t frames_ = 0; ///< of the last rung
    std::vector<configuration> what_;
    std::vector<result> results_; ///< one of each configuration
    std::map<configuration const*, std::vector<run>> runs_;
};

} // namespace

int do_sweep(request const& asked) {
    return whole_sweep(asked).execute();
}

} // namespace gmac::examples::sweep
