// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"
#include "output/metrics_table.hpp"
#include "settings.hpp"

#include <gmac/agent/report.hpp>

#include <fmt/format.h>

#include <string_view>

namespace gmac::examples::train {

/// A row of metrics.csv, whose first column is the key.
[[nodiscard]] inline metrics_row row_of(update_report const& update, double seconds, experiment const& of,
                                        settings const& asked) {
    metrics_row row{{"frames", static_cast<double>(update.frames)}, {"seconds", seconds}};
    update.describe([&](std::string_view name, double value) {
        // These tell nothing in other runs, and a table of before had no such columns.
        bool const other = (name == "epochs" && !asked.agent.early_stop) ||
                           (name == "intrinsic_reward" && asked.intrinsic == curiosity::none);
        if (name != "frames" && name != "seconds" && !other)
            row.emplace_back(name, value);
    });
    for (auto const& [name, report] : of.critics()) {
        row.emplace_back(fmt::format("{}_value_loss", name), report.value_loss);
        row.emplace_back(fmt::format("{}_explained_variance", name), report.explained_variance);
        row.emplace_back(fmt::format("{}_gradient_norm", name), report.gradient_norm);
    }
    return row;
}

/// A row of episodes.csv.
[[nodiscard]] inline metrics_row row_of(timed_episode const& ended) {
    return {{"frames", static_cast<double>(ended.frames)},
            {"return", ended.episode.reward_sum},
            {"length", static_cast<double>(ended.episode.length)}};
}

} // namespace gmac::examples::train
