// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "chain.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::five_state {

inline constexpr std::size_t points = 15;    ///< a state, of the methods that learn points
inline constexpr std::size_t components = 5; ///< a state, of the Gaussian mixture

/// A naive method takes the statistics that it has learned for samples in the Bellman target; an imputed one finds samples
/// with these statistics first. Energies learn samples, so there is nothing to impute.
inline constexpr std::array<std::string_view, 8> methods{"huber_quantile", "huber_quantile_imputed",
                                                         "quantile",       "quantile_imputed",
                                                         "expectile",      "expectile_imputed",
                                                         "sample_energy",  "gaussian_mixture_energy"};

struct options {
    std::uint64_t seed = 1;
    std::size_t steps = 3000;    ///< of the optimiser
    std::size_t episodes = 64;   ///< a step
    double learning_rate = 0.02; ///< of Adam; falls linearly to 0
    double lambda = 0.0;         ///< of SR(λ): 0 for one-step targets
    double kappa = 1.0;          ///< threshold of the Huber loss
};

/// Throws gmac::error that names an option out of its range.
void validate(options const& asked);

struct result {
    std::string chain;
    std::string method;
    distribution learned{{1.0, 0.0, 0.0}}; ///< the value of S1 after the last step
    double energy_distance = 0.0;
    double mean = 0.0;
    double variance = 0.0;
    std::vector<double> steps{};     ///< when the distance was measured
    std::vector<double> distances{}; ///< to the truth, while learning
};

/// Is shown the value of S1 at each moment at which the distance is measured.
using watcher = std::function<void(distribution const& learned)>;

/// Learns the five value distributions by one method. The episodes depend on the chain and the seed only, so all methods
/// see the same. Throws gmac::error for an unknown method or options out of range.
[[nodiscard]] result learn(chain const& world, std::string_view method, options const& asked,
                           watcher const& watch = {});

/// All methods on both chains, in the order of `chains` and `methods`; `done` is told of each.
[[nodiscard]] std::vector<result> learn_all(options const& asked, std::function<void(result const&)> const& done = {});

} // namespace gmac::examples::five_state
