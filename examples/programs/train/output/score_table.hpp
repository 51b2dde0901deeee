// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ale/human_normalized.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace gmac::examples::train {

/// The score of one run, or of one line of a published table.
struct game_score {
    std::string game, method;
    double score = 0.0;
};

/// The mean of the last hundred episodes, as the paper reports; of all if there are fewer. NaN if there is none.
[[nodiscard]] inline double last_hundred(std::span<double const> returns) {
    auto const last = returns.last((std::min<std::size_t>)(returns.size(), 100));
    double sum = 0.0;
    for (double const value : last)
        sum += value;
    return sum / static_cast<double>(last.size());
}

namespace detail {

[[nodiscard]] inline double mean(std::vector<double> const& values) {
    double sum = 0.0;
    for (double const value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}
[[nodiscard]] inline double median(std::vector<double> values) {
    std::ranges::sort(values);
    return 0.5 * (values[(values.size() - 1) / 2] + values[values.size() / 2]);
}

} // namespace detail

/// A table in Markdown: a line a game and a column a method, each the mean of its runs, between the scores of random play
/// and of a human tester; below them mean and median of the human-normalised scores, over the games of which both the
/// method's score and the references are known.
[[nodiscard]] inline std::string score_table(std::vector<game_score> const& runs) {
    std::set<std::string> games, methods;
    std::map<std::pair<std::string, std::string>, std::vector<double>> scores;
    for (auto const& run : runs) {
        gmac::require(std::isfinite(run.score), "score table: {} of {} has the score {}, but it must be finite",
                      run.method, run.game, run.score);
        games.insert(run.game);
        methods.insert(run.method);
        scores[{run.game, run.method}].push_back(run.score);
    }
    std::string text = "| game | random | human |";
    for (auto const& method : methods)
        text += fmt::format(" {} |", method);
    text += "\n| --- | ---: | ---: |";
    for (std::size_t i = 0; i < methods.size(); ++i)
        text += " ---: |";
    text += '\n';
    std::map<std::string, std::vector<double>> normalized;
    for (auto const& game : games) {
        auto const* const reference = ale::find_reference(game);
        text += reference ? fmt::format("| {} | {:.1f} | {:.1f} |", game, reference->random, reference->human)
                          : fmt::format("| {} | | |", game);
        for (auto const& method : methods) {
            auto const found = scores.find({game, method});
            if (found == scores.end()) {
                text += " |";
                continue;
            }
            double const score = detail::mean(found->second);
            text += fmt::format(" {:.1f} |", score);
            if (reference)
                normalized[method].push_back(ale::human_normalized(*reference, score));
        }
        text += '\n';
    }
    auto const summary = [&](char const* name, auto&& of) {
        text += fmt::format("| {}, % of human | 0.0 | 100.0 |", name);
        for (auto const& method : methods)
            text += normalized[method].empty() ? " |" : fmt::format(" {:.1f} |", 100.0 * of(normalized[method]));
        text += '\n';
    };
    summary("mean", detail::mean);
    summary("median", detail::median);
    return text;
}

} // namespace gmac::examples::train
