// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gmac::bench {

/// A network between machines.
struct network {
    char const* name;
    double latency;   ///< seconds of one message
    double bandwidth; ///< bytes a second
};

/// What an update of one machine takes by itself, and says to others; seconds and bytes.
struct measured_update {
    double frames = 0.0;
    double environment = 0.0, inference = 0.0, learning = 0.0; ///< learning: without what is said
    double deviation = 0.0;                                    ///< of the whole, from one update to the next
    double gradient_calls = 0.0, gradient_bytes = 0.0;         ///< in all, of the sums of minibatches
    double small_calls = 0.0;                                  ///< sums and gatherings of a few numbers
};

/// The time to sum an array over machines: by recursive doubling, log₂ R messages of all bytes, or in pieces (Rabenseifner),
/// 2 log₂ R messages and 2 (R − 1) / R of the bytes; whichever is quicker.
[[nodiscard]] inline double all_reduce_seconds(network const& by, double bytes, double machines) {
    double const rounds = std::ceil(std::log2(machines));
    double const whole = rounds * (by.latency + bytes / by.bandwidth);
    double const pieces = 2.0 * rounds * by.latency + 2.0 * (machines - 1.0) / machines * bytes / by.bandwidth;
    return (std::min)(whole, pieces);
}

/// Seconds of an update on so many machines: all wait for the slowest, whose excess grows as that of the largest of as many
/// normal numbers, and nothing is overlapped.
[[nodiscard]] inline double update_seconds(measured_update const& one, network const& by, double machines) {
    double const alone = one.environment + one.inference + one.learning;
    if (machines <= 1.0)
        return alone;
    double const slowest = one.deviation * std::sqrt(2.0 * std::log(machines));
    double const gradients =
        one.gradient_calls * all_reduce_seconds(by, one.gradient_bytes / one.gradient_calls, machines);
    double const rest = one.small_calls * std::ceil(std::log2(machines)) * by.latency;
    return alone + slowest + gradients + rest;
}

} // namespace gmac::bench
