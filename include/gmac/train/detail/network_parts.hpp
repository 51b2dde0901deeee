// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/train/settings.hpp>
#include <gmac/train/trainer.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <vector>

namespace gmac::inline GMAC_ABI::train::detail {

/// The actor as the settings want it; one of another type than those of the library as it is by default.
template <class Actor>
[[nodiscard]] Actor make_actor(settings const& settings, action_space const& space) {
    if constexpr (std::constructible_from<Actor, train::settings const&, action_space const&>)
        return Actor(settings, space);
    else
        return Actor();
}

/// The value head as the settings want it.
template <class Head>
[[nodiscard]] Head make_head(settings const& settings) {
    Head head;
    if constexpr (requires { head.scale; }) {
        head.scale = settings.variance_scale;
        head.floor = settings.variance_floor;
    }
    if constexpr (requires { head.symlog; }) {
        head.minimum = settings.atom_minimum;
        head.maximum = settings.atom_maximum;
        head.symlog = settings.atom_symlog;
    }
    if constexpr (std::same_as<Head, heads::implicit_quantile>) {
        head.samples_per_state = settings.quantile_samples;
        head.embedding = settings.quantile_embedding;
        head.hidden = settings.quantile_hidden;
    }
    return head;
}

/// The loss as the settings want it: PPO clips the change of a value as it does that of a probability ratio.
template <class Loss>
[[nodiscard]] Loss make_loss(settings const& settings) {
    Loss loss;
    if constexpr (requires { loss.clip; })
        loss.clip = settings.agent.clip;
    if constexpr (requires { loss.deviation; })
        loss.deviation = settings.histogram_deviation;
    return loss;
}

/// The value distribution that the outputs [1, N] of a head mean: its components, its atoms, or points of equal weight.
template <class Head>
[[nodiscard]] std::vector<value_component> components_of(Head const& head, matrix_view<float const> outputs) {
    std::vector<value_component> components;
    if constexpr (requires { Head::components; }) {
        std::array<float, Head::components> weights{}, means{}, deviations{};
        auto const row = [](auto& values) { return matrix_view<float>(values.data(), 1, values.size()); };
        head.distribution(outputs, row(weights), row(means), row(deviations));
        for (std::size_t k = 0; k < weights.size(); ++k)
            components.push_back(
                {static_cast<double>(weights[k]), static_cast<double>(means[k]), static_cast<double>(deviations[k])});
    } else if constexpr (targets::gives_weighted_points<Head, float>) {
        std::vector<float> points(head.support_size()), weights(points.size());
        auto const row = [](auto& values) { return matrix_view<float>(values.data(), 1, values.size()); };
        head.support(outputs, row(points), row(weights));
        for (std::size_t j = 0; j < points.size(); ++j)
            components.push_back({static_cast<double>(weights[j]), static_cast<double>(points[j]), 0.0});
    } else {
        for (std::size_t j = 0; j < outputs.cols(); ++j)
            components.push_back({1.0 / static_cast<double>(outputs.cols()), static_cast<double>(outputs(0, j)), 0.0});
    }
    return components;
}

} // namespace gmac::inline GMAC_ABI::train::detail
