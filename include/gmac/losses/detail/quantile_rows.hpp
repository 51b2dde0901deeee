// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/detail/radix_sort.hpp>
#include <gmac/losses/detail/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

/// The Huber quantile loss of one state in O((N + m) log m): target particles are sorted once, and the sum over those within
/// a stretch is a polynomial in θ whose coefficients are differences of running sums.
namespace gmac::losses::detail {

/// Running sums over sorted particles z: element k is over the first k.
template <class T>
struct running_sums {
    wide_of<T> weight{}; ///< Σ w
    wide_of<T> first{};  ///< Σ w z
    wide_of<T> second{}; ///< Σ w z²

    friend running_sums operator-(running_sums const& a, running_sums const& b) noexcept {
        return {a.weight - b.weight, a.first - b.first, a.second - b.second};
    }
};

/// Memory for `particles` sorted particles.
template <class T>
struct quantile_memory {
    row_buffers<T> particles;
    running_sums<T>* sums; ///< one more
};

template <class T, std::size_t Particles>
struct quantile_stack {
    std::array<T, Particles> keys, more_keys;
    std::array<std::uint32_t, Particles> tags, more_tags;
    std::array<running_sums<T>, Particles + 1> sums;

    [[nodiscard]] quantile_memory<T> memory() noexcept {
        return {{{keys.data(), more_keys.data()}, {tags.data(), more_tags.data()}}, sums.data()};
    }
};

/// The particles of one state, sorted, with their running sums. Everything is relative to the median, so that running sums
/// do not grow with the distance of the particles from zero.
template <class T>
class sorted_particles {
public:
    /// `weights` may be empty.
    sorted_particles(vector_view<T const> const& particles, vector_view<T const> const& weights,
                     quantile_memory<T> const& memory) noexcept
        : count_(particles.size()), sums_(memory.sums) {
        for (std::size_t j = 0; j < count_; ++j) {
            T const z = particles[j];
            finite_ += z * T(0);
            memory.particles.keys[0][j] = z;
            memory.particles.tags[0][j] = static_cast<std::uint32_t>(j);
        }
        std::size_t const place = sort_row(memory.particles, count_);
        keys_ = memory.particles.keys[place];
        center_ = keys_[count_ / 2];
        running_sums<T> sum;
        sums_[0] = sum;
        for (std::size_t j = 0; j < count_; ++j) {
            wide_of<T> const z = exact_difference(keys_[j], center_);
            wide_of<T> const w = widened(weights.empty() ? T(1) : weights[memory.particles.tags[place][j]]);
            wide_of<T> const wz = w * z;
            sum = {sum.weight + w, sum.first + wz, sum.second + wz * z};
            sums_[j + 1] = sum;
        }
    }

    /// 0, or NaN if a particle is not finite.
    [[nodiscard]] T finite() const noexcept { return finite_; }
    [[nodiscard]] T center() const noexcept { return center_; }
    [[nodiscard]] running_sums<T> const& below(std::size_t rank) const noexcept { return sums_[rank]; }
    [[nodiscard]] running_sums<T> const& all() const noexcept { return sums_[count_]; }

    /// For each of `Count` numbers θ, how many particles z have z − θ < `offset` (or ≤, if `OrEqual`): searches of fixed length
    /// side by side, without branches. The difference is compared as pairs do it, so that rounding is the same.
    template <bool OrEqual, std::size_t Count>
    void ranks(std::array<T, Count> const& thetas, T offset, std::array<std::uint32_t, Count>& ranks) const noexcept {
        ranks.fill(0);
        auto left = static_cast<std::uint32_t>(count_);
        while (left > 0) {
            std::uint32_t const step = (left + 1) / 2;
            for (std::size_t r = 0; r < Count; ++r) {
                T const difference = keys_[ranks[r] + step - 1] - thetas[r];
                bool const is_below = OrEqual ? difference <= offset : difference < offset;
                ranks[r] += step & (0u - static_cast<std::uint32_t>(is_below));
            }
            left -= step;
        }
    }

private:
    std::size_t count_;
    running_sums<T>* sums_;
    T* keys_ = nullptr;
    T center_{};
    T finite_ = T(0);
};

/// What the particles add to the loss over κ of one quantile and to its slope, as `quantile_sums` of pairs do.
template <class T>
struct huber_sums {
    T value;
    T slope;
};

/// From the ranks of θ − κ, θ and θ + κ among the particles.
template <class T>
[[nodiscard]] huber_sums<T> sum_huber(sorted_particles<T> const& particles, T theta, T fraction, T kappa,
                                      T inverse_kappa, std::uint32_t low, std::uint32_t middle,
                                      std::uint32_t high) noexcept {
    using wide = wide_of<T>;
    wide const t = exact_difference(theta, particles.center());
    running_sums<T> const& below_low = particles.below(low);
    running_sums<T> const& below_middle = particles.below(middle);
    running_sums<T> const& below_high = particles.below(high);
    running_sums<T> const far_above = particles.all() - below_high;

    // Beyond κ the loss is linear, within it is a parabola.
    auto const shifted = [&](running_sums<T> const& s) { return s.first - t * s.weight; }; // Σ w (z − θ)
    auto const line = [&](running_sums<T> const& s, T const& sign) {
        return sign * narrowed<T>(shifted(s)) - T(0.5) * kappa * narrowed<T>(s.weight);
    };
    T const half_inverse = T(0.5) * inverse_kappa;
    auto const parabola = [&](running_sums<T> const& s) {
        wide const about_theta = shifted(s);
        return huber_sums<T>{narrowed<T>(s.second - t * (s.first + about_theta)) * half_inverse,
                             narrowed<T>(about_theta) * inverse_kappa};
    };
    huber_sums<T> const near_below = parabola(below_middle - below_low);
    huber_sums<T> const near_above = parabola(below_high - below_middle);
    T const value_below = line(below_low, T(-1)) + near_below.value;
    T const value_above = line(far_above, T(1)) + near_above.value;
    T const slope_below = near_below.slope - narrowed<T>(below_low.weight);
    T const slope_above = near_above.slope + narrowed<T>(far_above.weight);
    T const below = T(1) - fraction;
    return {below * value_below + fraction * value_above, below * slope_below + fraction * slope_above};
}

/// The loss of one state: `factor` Σ_i Σ_j w_j ρ(δ), and the gradient −`slope_factor` Σ_j w_j ρ'(δ). κ may be zero.
template <bool WithGradient, class T>
[[nodiscard]] T quantiles_of_row(vector_view<T const> const& quantiles, vector_view<T const> const& fractions,
                                 vector_view<T const> const& targets, vector_view<T const> const& weights,
                                 vector_view<T> const& gradient, double threshold, double factor, double slope_factor,
                                 quantile_memory<T> const& memory) noexcept {
    constexpr std::size_t block = 32;
    sorted_particles<T> const particles(targets, weights, memory);
    // Beyond the range of T the largest number does as well, and an infinity would make NaN of what has no weight.
    T const kappa = static_cast<T>((std::min)(threshold, static_cast<double>((std::numeric_limits<T>::max)())));
    T const inverse_kappa = threshold > 0.0 ? static_cast<T>(1.0 / threshold) : T(0);
    lanes::accumulator_for<T> total(0);
    for (std::size_t i = 0; i < quantiles.size(); i += block) {
        std::size_t const count = (std::min)(block, quantiles.size() - i);
        std::array<T, block> thetas;
        for (std::size_t r = 0; r < block; ++r)
            thetas[r] = quantiles[i + (std::min)(r, count - 1)];
        std::array<std::uint32_t, block> low, middle, high;
        particles.template ranks<false>(thetas, -kappa, low);
        particles.template ranks<false>(thetas, T(0), middle);
        particles.template ranks<true>(thetas, kappa, high);
        for (std::size_t r = 0; r < count; ++r) {
            auto const sums =
                sum_huber(particles, thetas[r], fractions[i + r], kappa, inverse_kappa, low[r], middle[r], high[r]);
            total += static_cast<lanes::accumulator_for<T>>(sums.value);
            if constexpr (WithGradient)
                gradient[i + r] = sums.slope * static_cast<T>(-slope_factor) + particles.finite();
        }
    }
    return static_cast<T>(total * static_cast<lanes::accumulator_for<T>>(factor)) + particles.finite();
}

} // namespace gmac::losses::detail
