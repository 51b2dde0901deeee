// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/statistics/detail/distortion.hpp>
#include <gmac/statistics/statistic.hpp>

#include <array>
#include <cstddef>

/// Statistics of N atoms in ascending order with a probability each, one distribution a lane.
namespace gmac::inline GMAC_ABI::statistics::detail {

template <class V, std::size_t N>
struct atoms_value {
    V value;
    std::array<V, N> gradient; ///< with respect to the probabilities, along Σ p = 1
};

template <class V, class T, std::size_t N>
[[nodiscard]] atoms_value<V, N> mean_of(std::array<T, N> const& atoms, std::array<V, N> const& probabilities) noexcept {
    atoms_value<V, N> result;
    result.value = lanes::constant<V>(0.0);
    for (std::size_t i = 0; i < N; ++i) {
        result.gradient[i] = V(atoms[i]);
        result.value = result.value + probabilities[i] * result.gradient[i];
    }
    return result;
}

template <class V, class T, std::size_t N>
[[nodiscard]] atoms_value<V, N> mean_and_deviation(std::array<T, N> const& atoms, std::array<V, N> const& probabilities,
                                                   V const& count) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const mean = mean_of(atoms, probabilities).value;
    V variance = zero;
    for (std::size_t i = 0; i < N; ++i) {
        V const distance = V(atoms[i]) - mean;
        variance = variance + probabilities[i] * distance * distance;
    }
    V const deviation = lanes::sqrt(variance);
    V const slope = lanes::select(zero < deviation, V(count / (deviation + deviation)), zero); // of the variance
    atoms_value<V, N> result;
    result.value = mean - count * deviation;
    for (std::size_t i = 0; i < N; ++i) {
        V const distance = V(atoms[i]) - mean;
        result.gradient[i] = V(atoms[i]) - slope * distance * distance;
    }
    return result;
}

/// Σ z_i (g(F_i) − g(F_{i−1})), and its gradient −Σ_{i ≥ j} g'(F_i) (z_{i+1} − z_i).
template <bool WithGradient, class V, class T, std::size_t N>
[[nodiscard]] atoms_value<V, N> value_of(statistic_kind kind, V const& parameter, std::array<T, N> const& atoms,
                                         std::array<V, N> const& probabilities) noexcept {
    V const zero = lanes::constant<V>(0.0);
    if (kind == statistic_kind::mean)
        return mean_of(atoms, probabilities);
    if (kind == statistic_kind::mean_minus_deviations)
        return mean_and_deviation(atoms, probabilities, parameter);
    std::array<V, N> above;
    above[N - 1] = zero;
    for (std::size_t i = N - 1; i-- > 0;)
        above[i] = above[i + 1] + probabilities[i + 1];
    atoms_value<V, N> result;
    result.value = zero;
    share<V> u{zero, zero};
    V before = zero;
    for (std::size_t i = 0; i < N; ++i) {
        u = {u.below + probabilities[i], above[i]};
        V const here = i + 1 < N ? distorted(kind, parameter, u) : lanes::constant<V>(1.0);
        result.value = result.value + (here - before) * V(atoms[i]);
        before = here;
        if constexpr (WithGradient)
            result.gradient[i] =
                i + 1 < N ? V(-(distortion_slope(kind, parameter, u) * V(atoms[i + 1] - atoms[i]))) : zero;
    }
    result.value = result.value + lanes::taint(probabilities.data(), N);
    if constexpr (WithGradient)
        for (std::size_t i = N - 1; i-- > 0;)
            result.gradient[i] = result.gradient[i] + result.gradient[i + 1];
    return result;
}

} // namespace gmac::inline GMAC_ABI::statistics::detail
