// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/nn/optimizer.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::inline GMAC_ABI::nn {

struct adam_options {
    double learning_rate = 2.5e-4;
    double beta1 = 0.9;    ///< decay of the mean of the gradients, in [0, 1)
    double beta2 = 0.999;  ///< decay of the mean of their squares, in [0, 1)
    double epsilon = 1e-5; ///< added to the root, not under it; positive
};

/// Adam (Kingma and Ba 2015, algorithm 1) over a flat parameter buffer. As in PyTorch, ε is added after the bias
/// correction of the root:
///
///     m ← m + (1 − β₁)(g − m),  v ← β₂ v + (1 − β₂) g²,
///     θ ← θ − (α / (1 − β₁ᵗ)) · m / (√v / √(1 − β₂ᵗ) + ε)
template <std::floating_point T>
class adam {
public:
    using scalar = T;

    /// Throws gmac::error if an option is outside its range.
    explicit adam(std::size_t parameter_count, adam_options options = {})
        : options_(options), first_moment_(parameter_count), second_moment_(parameter_count) {
        detail::require_learning_rate<T>(options.learning_rate, "adam");
        require(options.beta1 >= 0 && options.beta1 < 1, "adam: beta1 is {}, but must be in [0, 1)", options.beta1);
        require(options.beta2 >= 0 && options.beta2 < 1, "adam: beta2 is {}, but must be in [0, 1)", options.beta2);
        detail::require_epsilon<T>(options.epsilon, "adam");
    }

    /// One update. A NaN in the gradient goes on into the parameter, and a gradient so large that T has no mean square of
    /// it makes one: check the norm first (clip_gradient_norm).
    // Not inlined: between other code the compiler does not keep the constants in registers.
    [[gnu::noinline]] void step(std::span<T> parameters, std::span<T const> gradient) {
        detail::require_step_sizes(parameters.size(), gradient.size(), first_moment_.size(), "adam::step");
        ++steps_;
        auto const t = static_cast<double>(steps_);
        using V = lanes::widest<T>;
        V const mean_rate(static_cast<T>(1 - options_.beta1));
        V const decay(static_cast<T>(options_.beta2));
        V const square_rate(static_cast<T>(1 - options_.beta2));
        V const rate(static_cast<T>(options_.learning_rate / (1 - std::pow(options_.beta1, t))));
        V const root_scale(static_cast<T>(1 / std::sqrt(1 - std::pow(options_.beta2, t))));
        V const epsilon(static_cast<T>(options_.epsilon));
        // Pointers of their own: a store to memory could change those in the members, for all that the compiler knows.
        T const* const gradients = gradient.data();
        T* const values = parameters.data();
        T* const means = first_moment_.data();
        T* const squares = second_moment_.data();
        lanes::for_each_register<V>(parameters.size(), [=](std::size_t i, auto count) {
            V const g = lanes::load_partial<V>(gradients + i, count);
            V m = lanes::load_partial<V>(means + i, count);
            V v = lanes::load_partial<V>(squares + i, count);
            V const p = lanes::load_partial<V>(values + i, count);
            m = m + mean_rate * (g - m);
            v = detail::mean_square(square_rate, g, decay, v);
            lanes::store_partial(m, means + i, count);
            lanes::store_partial(v, squares + i, count);
            lanes::store_partial(V(p - rate * m / (detail::root(v) * root_scale + epsilon)), values + i, count);
        });
    }

    [[nodiscard]] adam_options const& options() const noexcept { return options_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
    [[nodiscard]] double learning_rate() const noexcept { return options_.learning_rate; }
    /// For schedules. Throws gmac::error unless the rate is finite, as T, and not negative.
    void set_learning_rate(double rate) {
        detail::require_learning_rate<T>(rate, "adam");
        options_.learning_rate = rate;
    }

    void persist(archive& state) {
        state("steps", steps_);
        state("learning_rate", options_.learning_rate);
        state("first_moment", first_moment_.span());
        state("second_moment", second_moment_.span());
    }

private:
    adam_options options_;
    std::uint64_t steps_ = 0;
    buffer<T> first_moment_;
    buffer<T> second_moment_;
};

} // namespace gmac::inline GMAC_ABI::nn
