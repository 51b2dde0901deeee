// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/statistics/detail/distortion.hpp>
#include <gmac/statistics/statistic.hpp>

#include <array>
#include <cstddef>
#include <limits>

/// Statistics of mixtures of K normal distributions, one mixture a lane.
namespace gmac::inline GMAC_ABI::statistics::detail {

template <class V, std::size_t K>
struct mixture {
    std::array<V, K> weights, means, deviations;
};

/// A value, and its gradient with respect to weights, means and deviations. That of the weights holds along Σ w = 1, where
/// adding the same number to all of them changes nothing.
template <class V, std::size_t K>
struct mixture_value {
    V value;
    mixture<V, K> gradient;
};

/// 1 / σ, finite for a deviation of 0: a point is a step.
template <class V, std::size_t K>
[[nodiscard]] std::array<V, K> inverse_deviations(mixture<V, K> const& m) noexcept {
    V const least = lanes::constant<V>(4.0 * static_cast<double>((std::numeric_limits<lanes::scalar_of<V>>::min)()));
    std::array<V, K> result;
    for (std::size_t k = 0; k < K; ++k)
        result[k] = lanes::constant<V>(1.0) / lanes::at_least(least, m.deviations[k]);
    return result;
}

/// The least and the greatest μ + z σ of the components.
template <class V, std::size_t K>
[[nodiscard]] std::array<V, 2> range_at(mixture<V, K> const& m, V const& z) noexcept {
    std::array<V, 2> range{m.means[0] + z * m.deviations[0], m.means[0] + z * m.deviations[0]};
    for (std::size_t k = 1; k < K; ++k) {
        V const place = m.means[k] + z * m.deviations[k];
        range = {lanes::at_most(range[0], place), lanes::at_least(range[1], place)};
    }
    return range;
}

/// The x with P(X ≤ x) = p, by Newton's steps inside a bracket that only shrinks; a step that leaves it, and every third
/// one, is a bisection.
template <class V, std::size_t K>
[[nodiscard]] V quantile_of(mixture<V, K> const& m, V const& p) noexcept {
    using lanes::constant;
    using lanes::select;
    using limits = std::numeric_limits<lanes::scalar_of<V>>;
    auto const inverse = inverse_deviations(m);
    V const z =
        lanes::normal_quantile(lanes::at_most(constant<V>(1.0 - 0.5 * static_cast<double>(limits::epsilon())), p));
    auto [low, high] = range_at(m, z);
    V const half = constant<V>(0.5);
    V const precision = constant<V>(static_cast<double>(limits::epsilon()));
    V x = half * low + half * high;
    for (int step = 1; step < limits::digits * 4; ++step) {
        V excess = -p, density = constant<V>(0.0);
        for (std::size_t k = 0; k < K; ++k) {
            auto const here = lanes::normal_at(V((x - m.means[k]) * inverse[k]));
            excess = excess + m.weights[k] * here.below;
            density = density + m.weights[k] * here.density * inverse[k];
        }
        auto const below = excess < constant<V>(0.0);
        low = select(below, x, low);
        high = select(below, high, x);
        V const newton = x - excess / density;
        V const middle = half * low + half * high;
        V const tolerance = precision * (lanes::abs(low) + lanes::abs(high));
        // In no case for NaN.
        V const next = step % 3 == 0 ? middle : select(low < newton, select(newton < high, newton, middle), middle);
        V const moves = select(tolerance < V(high - low), lanes::abs(V(newton - x)), constant<V>(0.0));
        auto const goes_on = tolerance < moves;
        if (!lanes::any(goes_on))
            break;
        x = select(goes_on, next, x);
    }
    return x;
}

/// The mean of the lowest p, from the quantile q of p: the largest q − E max(q − X, 0) / p, so that an error of q enters
/// squared.
template <class V, std::size_t K>
[[nodiscard]] mixture_value<V, K> cvar_of(mixture<V, K> const& m, V const& p) noexcept {
    auto const inverse = inverse_deviations(m);
    V const q = quantile_of(m, p);
    V const share = lanes::constant<V>(1.0) / p;
    mixture_value<V, K> result;
    V shortfall = lanes::constant<V>(0.0);
    for (std::size_t k = 0; k < K; ++k) {
        auto const here = lanes::normal_at(V((q - m.means[k]) * inverse[k]));
        V const part = (q - m.means[k]) * here.below + m.deviations[k] * here.density;
        shortfall = shortfall + m.weights[k] * part;
        result.gradient.weights[k] = -(share * part);
        result.gradient.means[k] = share * m.weights[k] * here.below;
        result.gradient.deviations[k] = -(share * m.weights[k] * here.density);
    }
    result.value = q - share * shortfall;
    return result;
}

template <class V, std::size_t K>
[[nodiscard]] mixture<V, K> mirrored(mixture<V, K> m) noexcept {
    for (V& mean : m.means)
        mean = -mean;
    return m;
}

/// The mean of the highest p: that of the lowest of −X.
template <class V, std::size_t K>
[[nodiscard]] mixture_value<V, K> upper_cvar_of(mixture<V, K> const& m, V const& p) noexcept {
    auto result = cvar_of(mirrored(m), p);
    result.value = -result.value;
    for (std::size_t k = 0; k < K; ++k) {
        result.gradient.weights[k] = -result.gradient.weights[k];
        result.gradient.deviations[k] = -result.gradient.deviations[k];
    }
    return result;
}

/// The gradient is 0 where there is no density, as between points.
template <class V, std::size_t K>
[[nodiscard]] mixture_value<V, K> quantile_with_gradient(mixture<V, K> const& m, V const& p) noexcept {
    auto const inverse = inverse_deviations(m);
    mixture_value<V, K> result;
    result.value = quantile_of(m, p);
    V density = lanes::constant<V>(0.0);
    for (std::size_t k = 0; k < K; ++k) {
        V const z = (result.value - m.means[k]) * inverse[k];
        auto const here = lanes::normal_at(z);
        V const part = m.weights[k] * here.density * inverse[k];
        density = density + part;
        result.gradient.weights[k] = -here.below;
        result.gradient.means[k] = part;
        result.gradient.deviations[k] = part * z;
    }
    V const least = lanes::constant<V>(4.0 * static_cast<double>((std::numeric_limits<lanes::scalar_of<V>>::min)()));
    V const one = lanes::constant<V>(1.0);
    V const share = lanes::select(density < least, lanes::constant<V>(0.0), V(one / density));
    for (std::size_t k = 0; k < K; ++k) {
        result.gradient.weights[k] = result.gradient.weights[k] * share;
        result.gradient.means[k] = result.gradient.means[k] * share;
        result.gradient.deviations[k] = result.gradient.deviations[k] * share;
    }
    return result;
}

template <class V, std::size_t K>
[[nodiscard]] mixture_value<V, K> mean_of(mixture<V, K> const& m) noexcept {
    V const zero = lanes::constant<V>(0.0);
    mixture_value<V, K> result{zero, {m.means, m.weights, {}}};
    result.gradient.deviations.fill(zero);
    for (std::size_t k = 0; k < K; ++k)
        result.value = result.value + m.weights[k] * m.means[k];
    return result;
}

/// The mean minus `count` standard deviations.
template <class V, std::size_t K>
[[nodiscard]] mixture_value<V, K> mean_and_deviation(mixture<V, K> const& m, V const& count) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const mean = mean_of(m).value;
    V variance = zero;
    std::array<V, K> parts;
    for (std::size_t k = 0; k < K; ++k) {
        V const distance = m.means[k] - mean;
        parts[k] = distance * distance + m.deviations[k] * m.deviations[k];
        variance = variance + m.weights[k] * parts[k];
    }
    V const deviation = lanes::sqrt(variance);
    V const slope = lanes::select(zero < deviation, V(count / deviation), zero); // of the variance, twice
    mixture_value<V, K> result;
    result.value = mean - count * deviation;
    for (std::size_t k = 0; k < K; ++k) {
        result.gradient.weights[k] = m.means[k] - lanes::constant<V>(0.5) * slope * parts[k];
        result.gradient.means[k] = m.weights[k] * (lanes::constant<V>(1.0) - slope * (m.means[k] - mean));
        result.gradient.deviations[k] = -(slope * m.weights[k] * m.deviations[k]);
    }
    return result;
}

/// In ascending order; a NaN may lead anywhere.
template <class V, std::size_t N>
void sort_lanes(std::array<V, N>& values) noexcept {
    for (std::size_t end = N; end > 1; --end)
        for (std::size_t i = 0; i + 1 < end; ++i) {
            V const lower = lanes::at_most(values[i], values[i + 1]);
            values[i + 1] = lanes::at_least(values[i], values[i + 1]);
            values[i] = lower;
        }
}

/// c + ∫ (1{x > c} − g(F(x))) dx over all that any component reaches, c among it. Each component's breaks lie two to three of
/// its deviations apart, so that between two neighbouring ones the integrand is smooth on the scale of every component, and
/// Gauss and Legendre's rule with twelve points is exact to nine digits and more.
template <bool WithGradient, class V, std::size_t K>
[[nodiscard, gnu::noinline]] mixture_value<V, K> distorted_mean(statistic_kind kind, V const& parameter,
                                                                mixture<V, K> const& m) noexcept {
    using lanes::constant;
    static constexpr std::array<double, 6> places{0.1252334085114689, 0.3678314989981802, 0.5873179542866175,
                                                  0.7699026741943047, 0.9041172563704749, 0.9815606342467193};
    static constexpr std::array<double, 6> shares{0.2491470458134028, 0.2334925365383548, 0.2031674267230659,
                                                  0.1600783285433462, 0.1069393259953184, 0.0471753363865118};
    constexpr std::size_t breaks = 9;
    auto const inverse = inverse_deviations(m);
    V const reach = constant<V>(9.0) + (kind == statistic_kind::wang ? lanes::abs(parameter) : constant<V>(0.0));
    std::array<V, breaks * K> ends;
    for (std::size_t k = 0; k < K; ++k)
        for (std::size_t i = 0; i < breaks; ++i)
            ends[k * breaks + i] =
                m.means[k] + constant<V>(static_cast<double>(i) / 4.0 - 1.0) * (reach * m.deviations[k]);
    sort_lanes(ends);
    V const half = constant<V>(0.5);
    V const zero = constant<V>(0.0);
    mixture_value<V, K> result;
    std::size_t const centre = ends.size() / 2;
    result.value = ends[centre];
    for (std::size_t k = 0; k < K; ++k)
        result.gradient.weights[k] = result.gradient.means[k] = result.gradient.deviations[k] = zero;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
        V const radius = half * ends[i + 1] - half * ends[i];
        if (!lanes::any(zero < radius))
            continue;
        V const middle = half * ends[i + 1] + half * ends[i];
        for (std::size_t j = 0; j < 2 * places.size(); ++j) {
            double const place = j % 2 == 0 ? places[j / 2] : -places[j / 2];
            V const width = radius * constant<V>(shares[j / 2]);
            V const x = middle + radius * constant<V>(place);
            share<V> probability{zero, zero};
            std::array<lanes::normal_result<V>, K> here;
            for (std::size_t k = 0; k < K; ++k) {
                here[k] = lanes::normal_at(V((x - m.means[k]) * inverse[k]));
                probability.below = probability.below + m.weights[k] * here[k].below;
                probability.above = probability.above + m.weights[k] * here[k].above;
            }
            V const distance = i < centre ? zero : constant<V>(1.0);
            result.value = result.value + width * (distance - distorted(kind, parameter, probability));
            if constexpr (WithGradient) {
                V const slope = width * distortion_slope(kind, parameter, probability);
                for (std::size_t k = 0; k < K; ++k) {
                    V const density = slope * m.weights[k] * here[k].density * inverse[k];
                    V const part = i < centre ? here[k].below : V(-here[k].above); // the same number less for all
                    result.gradient.weights[k] = result.gradient.weights[k] - slope * part;
                    result.gradient.means[k] = result.gradient.means[k] + density;
                    result.gradient.deviations[k] =
                        result.gradient.deviations[k] + density * ((x - m.means[k]) * inverse[k]);
                }
            }
        }
    }
    return result;
}

/// The statistic of each lane's mixture, with its gradient. NaN where a number of the mixture is not finite.
template <bool WithGradient, class V, std::size_t K>
[[nodiscard]] mixture_value<V, K> value_of(statistic_kind kind, V const& parameter, mixture<V, K> const& m) noexcept {
    auto result = [&]() -> mixture_value<V, K> {
        switch (kind) {
        case statistic_kind::cvar:
            return cvar_of(m, parameter);
        case statistic_kind::upper_cvar:
            return upper_cvar_of(m, parameter);
        case statistic_kind::quantile:
            return quantile_with_gradient(m, parameter);
        case statistic_kind::wang:
        case statistic_kind::power:
            return distorted_mean<WithGradient>(kind, parameter, m);
        case statistic_kind::mean_minus_deviations:
            return mean_and_deviation(m, parameter);
        case statistic_kind::mean:
            break;
        }
        return mean_of(m);
    }();
    result.value = result.value + (lanes::taint(m.weights.data(), K) + lanes::taint(m.means.data(), K) +
                                   lanes::taint(m.deviations.data(), K));
    return result;
}

} // namespace gmac::inline GMAC_ABI::statistics::detail
