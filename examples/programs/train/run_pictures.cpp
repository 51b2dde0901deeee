// SPDX-License-Identifier: Apache-2.0
#include "run_pictures.hpp"

#include "output/learning_curve.hpp"
#include "output/metrics_table.hpp"
#include "output/value_densities.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace gmac::examples::train {

namespace {

void draw_learning_curve(run_folder const& folder, settings const& settings, std::string const& title) {
    csv_table const updates = read_csv(folder.metrics());
    csv_table const ended = read_csv(folder.episodes());
    learning_curve curve{.title = title,
                         .runs = {
                             {.method = settings.algorithm,
                              .frames = updates.column("frames"),
                              .mean_returns = updates.column("mean_return"),
                              .episode_frames = ended.rows() > 0 ? ended.column("frames") : std::vector<double>(),
                              .episode_returns = ended.rows() > 0 ? ended.column("return") : std::vector<double>()}}};
    if (settings.environment == "bullet/hopper")
        curve.references = {{1010.0, "standing still"}, {1500.0, "hopping"}};
    plot_learning_curve(folder.learning_curve(), curve);
}

} // namespace

void draw_pictures(run_folder const& folder, settings const& settings, experiment& trained) {
    std::string const title = fmt::format("{} on {}, seed {}", settings.algorithm, settings.environment, settings.seed);
    draw_learning_curve(folder, settings, title);
    plot_value_densities(folder.value_densities(), {.title = title, .panels = trained.value_panels()});
}

} // namespace gmac::examples::train
