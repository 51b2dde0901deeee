// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/nn/optimizer.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace gmac::inline GMAC_ABI::nn {

struct rmsprop_options {
    double learning_rate = 2.5e-4;
    double decay = 0.99;   ///< of the mean of the squared gradients, in [0, 1)
    double epsilon = 1e-8; ///< added to the root, not under it (under it in TensorFlow); positive
};

/// RMSProp (Hinton 2012, lecture 6) over a flat parameter buffer, as PyTorch has it by default: not centred, without
/// momentum.
///
///     v ← ρ v + (1 − ρ) g²,  θ ← θ − α g / (√v + ε)
template <std::floating_point T>
class rmsprop {
public:
    using scalar = T;

    /// Throws gmac::error if an option is outside its range.
    explicit rmsprop(std::size_t parameter_count, rmsprop_options options = {})
        : options_(options), mean_square_(parameter_count) {
        detail::require_learning_rate<T>(options.learning_rate, "rmsprop");
        require(options.decay >= 0 && options.decay < 1, "rmsprop: decay is {}, but must be in [0, 1)", options.decay);
        detail::require_epsilon<T>(options.epsilon, "rmsprop");
    }

    /// One update. A NaN in the gradient goes on into the parameter, and a gradient so large that T has no mean square of
    /// it makes one: check the norm first (clip_gradient_norm).
    void step(std::span<T> parameters, std::span<T const> gradient) {
        detail::require_step_sizes(parameters.size(), gradient.size(), mean_square_.size(), "rmsprop::step");
        using V = lanes::widest<T>;
        V const decay(static_cast<T>(options_.decay));
        V const square_rate(static_cast<T>(1 - options_.decay));
        V const rate(static_cast<T>(options_.learning_rate));
        V const epsilon(static_cast<T>(options_.epsilon));
        lanes::for_each_register<V>(parameters.size(), [&](std::size_t i, auto count) {
            V const g = lanes::load_partial<V>(gradient.data() + i, count);
            V const p = lanes::load_partial<V>(parameters.data() + i, count);
            V v = lanes::load_partial<V>(mean_square_.data() + i, count);
            v = detail::mean_square(square_rate, g, decay, v);
            lanes::store_partial(v, mean_square_.data() + i, count);
            lanes::store_partial(V(p - rate * g / (detail::root(v) + epsilon)), parameters.data() + i, count);
        });
    }

    [[nodiscard]] rmsprop_options const& options() const noexcept { return options_; }
    [[nodiscard]] double learning_rate() const noexcept { return options_.learning_rate; }
    /// For schedules. Throws gmac::error unless the rate is finite, as T, and not negative.
    void set_learning_rate(double rate) {
        detail::require_learning_rate<T>(rate, "rmsprop");
        options_.learning_rate = rate;
    }

    void persist(archive& state) {
        state("learning_rate", options_.learning_rate);
        state("mean_square", mean_square_.span());
    }

private:
    rmsprop_options options_;
    buffer<T> mean_square_;
};

} // namespace gmac::inline GMAC_ABI::nn
