// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"
#include "experiment.hpp"
#include "output/metrics_table.hpp"
#include "output/progress_line.hpp"
#include "output/run_folder.hpp"
#include "output/tensorboard_writer.hpp"

#include <gmac/core/tbb_executor.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// One run of gmac-train: environments, agent and the folder that it writes.
class session {
public:
    /// A new run, or the one in asked.resume. Throws gmac::error.
    explicit session(request asked);

    /// Trains to the end or to a signal; then evaluates, draws and says what was written. Returns the exit code: 0, or
    /// 128 and the signal's number after SIGINT or SIGTERM.
    int run();

private:
    void load();
    void save();
    void save_to(std::filesystem::path const& file);
    void keep(update_report const& update);
    void train();
    void record(update_report const& update);
    [[nodiscard]] std::string status(update_report const& update) const;
    void finish();
    [[nodiscard]] nlohmann::ordered_json evaluate();
    bool draw();
    void draw_learning_curve(std::string const& title);
    void draw_value_densities(std::string const& title);
    [[nodiscard]] double seconds() const;

    request asked_;
    run_folder folder_;
    tbb_executor tasks_;
    std::unique_ptr<experiment> experiment_;
    std::optional<metrics_table> metrics_, episodes_;
    std::optional<tensorboard_writer> tensorboard_;
    progress_line progress_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double seconds_before_ = 0.0; ///< of training before this process
    double saved_at_ = 0.0;
};

} // namespace gmac::examples::train
