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

/// A range of the parameters, those of networks that share a trunk, and the optimiser that moves them.
template <std::floating_point T>
struct optimised_range {
    std::size_t first, count;
    std::variant<nn::adam<T>, nn::rmsprop<T>> optimiser;

    optimised_range(std::size_t begin, std::size_t parameters, agent_options const& options)
        : first(begin), count(parameters), optimiser(make(parameters, options)) {}

    /// The norm of this range's part of the gradient of all parameters.
    [[nodiscard]] double norm(std::span<T const> gradient) const {
        return static_cast<double>(nn::gradient_norm(gradient.subspan(first, count)));
    }
    /// Of all parameters those of this range take a step, along their gradient as clip_gradient_norm leaves one of this norm.
    void step(std::span<T> parameters, std::span<T> gradient, double norm, T most, double rate) {
        nn::detail::limit_norm(gradient.subspan(first, count), static_cast<T>(norm), most);
        std::visit(
            [&](auto& rule) {
                rule.set_learning_rate(rate);
                rule.step(parameters.subspan(first, count), std::span<T const>(gradient.subspan(first, count)));
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
