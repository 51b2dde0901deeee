// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"
#include "output/metrics_table.hpp"
#include "output/run_folder.hpp"
#include "settings.hpp"

#include <gmac/agent/report.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace gmac::examples::train {

/// The evaluations that a run makes on its way: their table, the best policy, and whether one reached the target return.
class interim_evaluations {
public:
    /// Of the run with these settings in this folder; both must outlive it.
    interim_evaluations(settings const& settings, run_folder const& folder) : settings_(settings), folder_(folder) {}

    [[nodiscard]] bool wanted() const noexcept { return settings_.eval_every > 0; }
    /// A row of evaluations.csv, whose first column is the key.
    [[nodiscard]] static metrics_row row_of(evaluation_report const& report);

    /// Looks at what the folder has of a run that goes on after so many frames, and says what of it cannot be used.
    [[nodiscard]] std::optional<std::string> look(std::uint64_t frames);
    /// Whether the evaluation is missing that belongs to the update after which there were so many frames.
    [[nodiscard]] bool lacks(std::uint64_t frames) const noexcept;

    /// Begins a new table, or goes on with the one after the rows of so many frames. Nothing is made if none is wanted.
    void begin();
    void resume(std::uint64_t frames);
    /// Writes the policy if it is the best one so far, and then the row: a run that is killed in between does both again.
    void add(evaluation_report const& report, experiment const& run);
    void sync();
    [[nodiscard]] std::string fingerprint() const { return table_ ? table_->extent().fingerprint() : std::string(); }

    /// Of the latest evaluation; NaN before there is one.
    [[nodiscard]] double mean_return() const noexcept { return latest_mean_; }
    /// Whether any evaluation had a mean return of so much.
    [[nodiscard]] bool reached(double target) const noexcept { return highest_mean_ >= target; }

private:
    settings const& settings_;
    run_folder const& folder_;
    std::optional<metrics_table> table_;
    std::uint64_t latest_ = 0; ///< frames of the latest evaluation
    double latest_mean_ = std::numeric_limits<double>::quiet_NaN();
    double highest_mean_ = -std::numeric_limits<double>::infinity(); ///< of the table's rows
    double best_mean_ = -std::numeric_limits<double>::infinity();    ///< of the policy that was kept
};

} // namespace gmac::examples::train
