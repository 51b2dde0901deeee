// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"

#include <filesystem>
#include <span>
#include <vector>

namespace gmac::examples::five_state {

/// With those above it, unless it is there. Throws gmac::error that says why it cannot be made.
void make_folder(std::filesystem::path const& folder);

/// Draws to a folder, each as PNG and SVG:
///     densities-symmetric, densities-asymmetric   what the eight methods learned for S1, with the truth behind;
///     cdfs-symmetric, cdfs-asymmetric             the same as distribution functions, and the area between;
///     distances                                   the energy distance to the truth while learning.
/// `all` is what learn_all gives. Returns the names of the files. Throws gmac::error if the folder cannot be written or
/// gnuplot is missing.
std::vector<std::filesystem::path> draw_pictures(std::filesystem::path const& folder, std::span<result const> all);

} // namespace gmac::examples::five_state
