// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"
#include "output/run_folder.hpp"
#include "settings.hpp"

namespace gmac::examples::train {

/// Draws the learning curve of a run and a few value densities into its folder. Throws gmac::error, also if gnuplot is missing.
void draw_pictures(run_folder const& folder, settings const& settings, experiment& trained);

} // namespace gmac::examples::train
