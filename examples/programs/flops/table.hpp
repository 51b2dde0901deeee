// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "flops/count_losses.hpp"
#include "flops/network_cost.hpp"

#include <gmac/actors/categorical.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// Table 1 of the paper: parameters, inference and update of the four methods on Breakout's shapes.
namespace gmac::flops {

inline constexpr std::size_t actions = 4;
inline constexpr std::size_t steps = 128;     ///< of one environment's rollout
inline constexpr std::size_t quantiles = 64;  ///< predicted fractions, and target particles, of IQAC and IQAC-E
inline constexpr std::size_t components = 5;  ///< K
inline constexpr std::size_t particles = 128; ///< m, of GMAC
inline constexpr double mebi = 0x1p20;
inline constexpr double gibi = 0x1p30;

enum class method { ppo, iqac, iqac_e, gmac };
inline constexpr std::array<std::string_view, 4> names{"PPO", "IQAC", "IQAC-E", "GMAC"};
inline constexpr std::array<double, 4> paper_parameters{0.441, 0.520, 0.520, 0.444}; ///< Mi
inline constexpr std::array<double, 4> paper_inference{1.725, 2.979, 2.979, 1.726};  ///< Gi
inline constexpr std::array<double, 4> paper_update{5.19, 12.98, 8.98, 5.27};        ///< Gi

struct row {
    network_cost network;       ///< of one state
    std::uint64_t policy_loss;  ///< operations of one state: log π, entropy, their gradient, the surrogate
    std::uint64_t value_loss;   ///< value and gradient
    std::uint64_t authors_loss; ///< with the target-target term, which the authors' code computes

    [[nodiscard]] double parameters() const { return static_cast<double>(network.parameters) / mebi; }
    [[nodiscard]] double inference() const { return rollout(network.products); }
    [[nodiscard]] double activations() const { return rollout(network.others); }
    [[nodiscard]] double loss() const { return rollout(policy_loss + value_loss); }
    [[nodiscard]] double loss_of_authors() const { return rollout(policy_loss + authors_loss); }
    /// Backward is twice forward: one product for the weights' gradient, one for the inputs'.
    [[nodiscard]] double update() const { return 3.0 * inference() + loss(); }
    [[nodiscard]] double update_of_authors() const { return 3.0 * inference() + loss_of_authors(); }

    [[nodiscard]] static double rollout(std::uint64_t one_state) {
        return static_cast<double>(one_state) * static_cast<double>(steps) / gibi;
    }
};

/// The categorical actor's kernels on counted numbers, and the clipped surrogate by hand: a ratio (difference, exponential),
/// two bounds, two products, and the two sums for the report.
[[nodiscard]] inline std::uint64_t policy_loss_cost() {
    operation_counts const kernels = per_state([](std::size_t states, operation_counts& counter) {
        numbers const logits(states, actions, -1.0, 1.0, counter), weights(states, 2, 0.1, 1.0, counter);
        std::vector<number> const taken(states, number(1.0));
        std::vector<number> log_probabilities(states), entropies(states), slopes(states * actions);
        matrix_view<number const> const chosen(taken.data(), states, 1);
        gmac::actors::categorical const actor;
        actor.log_probability_and_entropy(logits.view(), {}, chosen, vector_view<number>(log_probabilities),
                                          vector_view<number>(entropies));
        actor.gradient(logits.view(), {}, chosen, weights.view().col(0), weights.view().col(1),
                       matrix_view<number>(slopes.data(), states, actions), {});
    });
    operation_counts const surrogate{.additions = 5, .multiplications = 2, .comparisons = 4, .exponentials = 2};
    return (kernels + surrogate).total();
}

/// One line of the table, with `units` in the trunk's last layer.
[[nodiscard]] inline row table_row(method which, std::size_t units) {
    network_cost const shared = trunk_cost(units) + linear_cost(units, actions, nn::activation::none);
    std::uint64_t const policy = policy_loss_cost();
    if (which == method::ppo) {
        std::uint64_t const loss = count_clipped_squared_error(true).total();
        return {shared + linear_cost(units, 1, nn::activation::none), policy, loss, loss};
    }
    if (which == method::gmac)
        return {shared + linear_cost(units, 3 * components, nn::activation::none), policy,
                count_mixture_energy<components>(particles, false, true).total(),
                count_mixture_energy<components>(particles, true, true).total()};
    network_cost const network =
        shared + implicit_quantile_cost(units, {.samples = quantiles, .embedding = 64, .hidden = 256});
    if (which == method::iqac) {
        std::uint64_t const loss = count_sample_loss(losses::huber_quantile{}, quantiles, quantiles, true).total();
        return {network, policy, loss, loss};
    }
    return {network, policy, count_energy_pairs(quantiles, quantiles, false, true).total(),
            count_energy_pairs(quantiles, quantiles, true, true).total()};
}

} // namespace gmac::flops
