// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep_file.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gmac::examples::sweep {

/// What is trained with each of the seeds.
struct configuration {
    std::size_t number = 0; ///< from 1, in the order of the file
    std::string algorithm;  ///< empty: that of the program
    std::vector<setting> varied;
};

/// All of a grid, the last option changing first, or as many different draws of a random search; for each algorithm the same.
/// Throws gmac::error if a random search has fewer different settings than it is to draw, or if there are too few
/// for halving.
[[nodiscard]] std::vector<configuration> configurations_of(sweep_file const& sweep);

/// "clip 0.1, epochs 5"; "as in options" if nothing is varied.
[[nodiscard]] std::string text_of_settings(configuration const& one);

/// A name for the folder of a run, which no other run of the sweep has: number, algorithm, settings and seed. Options are
/// written by the first letters of their words, unless two of them are the same; numbers of digits come from `count`.
[[nodiscard]] std::string run_name(configuration const& one, std::uint64_t seed, std::size_t count);

} // namespace gmac::examples::sweep
