// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_notes.hpp"
#include "command_line.hpp"
#include "experiment.hpp"
#include "interim_evaluations.hpp"
#include "output/metrics_table.hpp"
#include "output/progress_line.hpp"
#include "output/run_folder.hpp"
#include "output/stop_signal.hpp"
#include "output/tensorboard_writer.hpp"
#include "report/report_server.hpp"
#include "team.hpp"

#include <gmac/core/tbb_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// One run of a program: environments, agent and the folder that it writes. The folder is as it was until the first
/// update is done, with which everything has been tried that may fail.
class session {
public:
    /// A new run, or the one in asked.resume; `known` and `ranks` must outlive it. Throws gmac::error.
    session(registry const& known, request asked, team& ranks);

    /// Trains to the end or to a signal; then evaluates, draws and says what was written. Does what is missing of a run
    /// that is trained. Returns the exit code: 0, or 128 and the signal's number after SIGINT, SIGTERM or SIGHUP.
    int run();

private:
    [[nodiscard]] bool resumed() const noexcept { return !asked_.resume.empty(); }
    void take_settings(checkpoint const& stored);
    void load(checkpoint const& stored, std::string const& where);
    void survey_tables(checkpoint_notes const& stored);
    [[nodiscard]] bool trained() const { return experiment_->frames() >= asked_.settings.frames || target_reached_; }
    [[nodiscard]] bool reached_before(std::optional<double> target) const;
    [[nodiscard]] std::string done() const;
    void begin_writing();
    void save();
    void save_networks();
    [[nodiscard]] bool has_networks() const;
    void save_to(std::filesystem::path const& file);
    [[nodiscard]] bool completes_part(std::uint64_t frames, std::size_t count) const;
    [[nodiscard]] bool is_kept(std::uint64_t frames) const {
        return completes_part(frames, asked_.keep_checkpoints.value_or(0));
    }
    void record(update_report const& update);
    void train(stop_signal const& stop);
    [[nodiscard]] std::uint64_t frames_of_update() const;
    void watch();
    [[nodiscard]] std::vector<finished_episode> play_interim(stop_signal const& stop);
    void evaluate_again(stop_signal const& stop);
    void record(evaluation_report const& evaluation);
    [[nodiscard]] std::string status(update_report const& update) const;
    [[nodiscard]] bool lacks_something() const;
    int finish(stop_signal const& stop);
    [[nodiscard]] nlohmann::ordered_json evaluate(stop_signal const& stop);
    bool draw();
    void report(stop_signal const* stop);
    int stopped(stop_signal const& stop, std::string_view when);
    [[nodiscard]] double seconds() const;
    [[nodiscard]] std::size_t evaluation_episodes() const;

    static constexpr std::size_t value_histograms = 100; // of a run, evenly, for TensorBoard

    registry const& known_;
    request asked_;
    run_folder folder_;
    tbb_executor tasks_;
    team& team_;
    std::unique_ptr<experiment> experiment_;
    std::vector<std::string> notes_;   ///< to be told first
    std::uint64_t frames_before_ = 0;  ///< of training before this process
    std::uint64_t updates_before_ = 0; ///< the same
    bool other_ranks_ = false;         ///< there were more of them, or fewer
    double seconds_before_ = 0.0;      ///< the same
    std::optional<metrics_table> metrics_, episodes_;
    interim_evaluations evaluations_;
    bool target_reached_ = false;
    bool evaluation_stopped_ = false; ///< by a signal
    std::optional<tensorboard_writer> tensorboard_;
    progress_line progress_;
    std::unique_ptr<report::report_server> server_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double saved_at_ = 0.0;
};

} // namespace gmac::examples::train
