// SPDX-License-Identifier: Apache-2.0
#include "interim_evaluations.hpp"

#include "support/read_value.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace gmac::examples::train {

namespace {

constexpr char const* mean_name = "mean_return";

} // namespace

metrics_row interim_evaluations::row_of(evaluation_report const& report) {
    metrics_row row{{"frames", static_cast<double>(report.frames)}};
    report.describe([&](std::string_view name, double value) {
        if (name != "frames")
            row.emplace_back(name, value);
    });
    return row;
}

std::optional<std::string> interim_evaluations::look(std::uint64_t frames) {
    if (!wanted())
        return {};
    if (std::filesystem::exists(folder_.evaluations())) {
        csv_table const rows = read_csv(folder_.evaluations());
        for (std::size_t i = 0; i < rows.rows() && rows.column("frames")[i] <= static_cast<double>(frames); ++i) {
            latest_ = static_cast<std::uint64_t>(rows.column("frames")[i]);
            latest_mean_ = rows.column(mean_name)[i];
            highest_mean_ = std::max(highest_mean_, latest_mean_);
        }
    }
    auto const best = folder_.best_policy();
    if (!std::filesystem::exists(best))
        return {};
    try {
        auto const notes = read_checkpoint(best, "policy").metadata;
        require(notes.contains(mean_name), "it does not say of which evaluation it is");
        read_value(mean_name, notes.at(mean_name), best_mean_);
        return {};
    } catch (error const& problem) {
        return fmt::format("{} cannot be read, and the next evaluation replaces it: {}", best.string(), problem.what());
    }
}

bool interim_evaluations::lacks(std::uint64_t frames) const noexcept {
    return wanted() && frames / settings_.eval_every > latest_ / settings_.eval_every;
}

void interim_evaluations::begin() {
    if (wanted())
        table_.emplace(folder_.evaluations());
}

void interim_evaluations::resume(std::uint64_t frames) {
    if (wanted())
        table_ = metrics_table::resume(folder_.evaluations(), static_cast<double>(frames));
}

void interim_evaluations::add(evaluation_report const& report, experiment const& run) {
    if (report.mean_return > best_mean_) {
        run.save_policy(folder_.best_policy(), {{"frames", fmt::format("{}", report.frames)},
                                                {"episodes", fmt::format("{}", report.episodes.size())},
                                                {mean_name, fmt::format("{}", report.mean_return)}});
        best_mean_ = report.mean_return;
    }
    table_->append(row_of(report));
    latest_ = report.frames;
    latest_mean_ = report.mean_return;
    highest_mean_ = std::max(highest_mean_, latest_mean_);
}

void interim_evaluations::sync() {
    if (table_)
        table_->sync();
}

} // namespace gmac::examples::train
