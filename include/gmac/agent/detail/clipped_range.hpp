// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/rmsprop.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <variant>

namespace gmac::inline GMAC_ABI::detail {

/// A range of the parameters whose gradient has a norm limit of its own, and the optimiser that moves them.
template <std::floating_point T>
struct clipped_range {
    std::size_t first, count;
    std::variant<nn::adam<T>, nn::rmsprop<T>> optimiser;

    clipped_range(std::size_t begin, std::size_t parameters, agent_options const& options)
        : first(begin), count(parameters), optimiser(make(parameters, options)) {}

    /// Of the gradient of all parameters this range is clipped; returns its norm before.
    double clip(std::span<T> gradient, T most) const {
        return static_cast<double>(nn::clip_gradient_norm(gradient.subspan(first, count), most));
    }
    /// Of all parameters those of this range take a step.
    void step(std::span<T> parameters, std::span<T const> gradient, double rate) {
        std::visit(
            [&](auto& rule) {
                rule.set_learning_rate(rate);
                rule.step(parameters.subspan(first, count), gradient.subspan(first, count));
            },
            optimiser);
    }
    void persist(archive& state) {
        std::visit([&](auto& rule) { rule.persist(state); }, optimiser);
    }

private:
    static std::variant<nn::adam<T>, nn::rmsprop<T>> make(std::size_t parameters, agent_options const& options) {
        if (options.optimiser == optimiser_kind::adam)
            return nn::adam<T>(parameters,
                               {.learning_rate = options.learning_rate, .epsilon = options.optimiser_epsilon});
        return nn::rmsprop<T>(parameters,
                              {.learning_rate = options.learning_rate, .epsilon = options.optimiser_epsilon});
    }
};

} // namespace gmac::inline GMAC_ABI::detail
