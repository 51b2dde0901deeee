// SPDX-License-Identifier: Apache-2.0
#include "playground.hpp"

#include "five_state/experiment.hpp"

#include <gmac/core/error.hpp>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace {

namespace five_state = gmac::examples::five_state;

constexpr std::size_t places = playground_places;
constexpr double widest = 1.65; // values are drawn from -widest to widest
constexpr double kernel = 0.05; // deviation of the normal kernel by which points become a density

struct lesson {
    std::vector<double> steps, distances, locations, densities, truth;
    playground_chain answer{};
};
lesson latest;

void add_density(five_state::distribution const& value, std::vector<double>& densities) {
    for (std::size_t i = 0; i < places; ++i)
        densities.push_back(value.pdf(widest * (2.0 * static_cast<double>(i) / static_cast<double>(places - 1) - 1.0)));
}

void add_moment(five_state::distribution const& learned, lesson& to) {
    std::vector<five_state::component> parts(learned.components().begin(), learned.components().end());
    for (five_state::component& one : parts)
        if (one.deviation == 0.0) {
            to.locations.push_back(one.mean);
            one.deviation = kernel;
        }
    add_density(five_state::distribution(parts), to.densities);
}

} // namespace

[[gnu::used]] playground_chain const* playground_learn_chain(int chain, int method, std::uint32_t seed) {
    auto const chains = static_cast<int>(five_state::chains.size());
    auto const methods = static_cast<int>(five_state::methods.size());
    gmac::require(chain >= 0 && chain < chains, "playground_learn_chain: the chain is {}, but must be in [0, {})",
                  chain, chains);
    gmac::require(method >= 0 && method < methods, "playground_learn_chain: the method is {}, but must be in [0, {})",
                  method, methods);
    five_state::chain const& world = five_state::chains[static_cast<std::size_t>(chain)];
    latest = {};
    five_state::result found =
        five_state::learn(world, five_state::methods[static_cast<std::size_t>(method)], {.seed = seed},
                          [](five_state::distribution const& learned) { add_moment(learned, latest); });
    latest.steps = std::move(found.steps);
    latest.distances = std::move(found.distances);
    add_density(world.truth(), latest.truth);
    auto const moments = latest.steps.size();
    latest.answer = {static_cast<double>(moments), static_cast<double>(latest.locations.size() / moments),
                     latest.steps.data(),          latest.distances.data(),
                     latest.locations.data(),      latest.densities.data(),
                     latest.truth.data()};
    return &latest.answer;
}
