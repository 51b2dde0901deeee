// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep_file.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace gmac::examples::sweep {

/// Frames up to which a rung, from 0, trains: those of the last one divided by eta for each rung after it, rounded up.
[[nodiscard]] inline std::uint64_t frames_of_rung(halving const& how, std::uint64_t frames, std::size_t rung) {
    for (std::size_t after = rung + 1; after < how.rungs; ++after)
        frames = frames / how.eta + (frames % how.eta != 0 ? 1 : 0); // ⌈⌈n/a⌉/b⌉ = ⌈n/(a b)⌉
    return frames;
}

/// The places of the scores in falling order, of equal ones the first first; those that there are not at the end.
[[nodiscard]] inline std::vector<std::size_t> best_first(std::span<std::optional<double> const> scores) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // an optional without a value is less than any with one
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return order;
}

/// Which of the settings on a rung go on: the best 1/eta, rounded down, at least one; none without a score.
[[nodiscard]] inline std::vector<std::size_t> promoted(halving const& how,
                                                       std::span<std::optional<double> const> scores) {
    auto order = best_first(scores);
    order.resize((std::max)(std::size_t{1}, scores.size() / how.eta));
    std::erase_if(order, [&](std::size_t i) { return !scores[i]; });
    std::ranges::sort(order);
    return order;
}

} // namespace gmac::examples::sweep
