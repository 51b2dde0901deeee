// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/losses/detail/mixture_sums.hpp>
#include <gmac/losses/detail/target_block.hpp>

#include <concepts>
#include <cstddef>
#include <limits>

/// Sums over pairs have squares of deviations, which overflow long before the distances do. The energy is homogeneous: with means
/// and deviations times u it is u times as large, and its slopes by them are the same. So a state whose loss is not finite is done
/// again with a u of its own.
namespace gmac::inline GMAC_ABI::losses::detail {

/// Numbers up to this have sums that do not overflow: 2^62 in float, 2^510 in double.
template <std::floating_point T>
inline constexpr T largest_in_unit = std::same_as<T, float> ? T(0x1p62) : static_cast<T>(0x1p510);

/// The mixture without the components of weight 0: they are points at 0, or NaN if they are no numbers.
template <class Mixture>
[[nodiscard]] Mixture without_weightless(Mixture const& mixture) noexcept {
    using V = typename decltype(Mixture::weights)::value_type;
    V const zero = lanes::constant<V>(0.0);
    Mixture result = mixture;
    for (std::size_t i = 0; i < components_of<Mixture>; ++i) {
        auto const weightless = mixture.weights[i] == zero;
        result.means[i] = lanes::select(weightless, V(zero * mixture.means[i]), mixture.means[i]);
        result.deviations[i] = lanes::select(weightless, V(zero * mixture.deviations[i]), mixture.deviations[i]);
    }
    return result;
}

/// For each state the 1 / u with which nothing overflows, at least 1.
template <class Mixture, class V, class Targets>
[[nodiscard]] V fitting_size(Mixture const& mixture, target_block<V, Targets> const& target) noexcept {
    V const limit = V(largest_in_unit<lanes::scalar_of<V>>);
    V largest = limit;
    auto const note = [&](V const& x) {
        V const size = lanes::abs(x);
        largest = lanes::select(largest < size, size, largest);
    };
    for (std::size_t i = 0; i < components_of<Mixture>; ++i) {
        note(mixture.means[i]);
        note(mixture.deviations[i]);
    }
    target.for_each_number(note);
    return largest / limit;
}

/// energy(mixture, slope), a loss of one degree and its slopes by weights, means and deviations, in a unit in which it is finite.
template <class Mixture, class V, class Targets, class Energy>
[[gnu::noinline, gnu::cold]] V in_larger_unit(Mixture const& mixture, target_block<V, Targets>& target, Mixture& slope,
                                              Energy&& energy) {
    auto const measured = [&](Mixture const& prediction, Mixture& to) {
        V const size = fitting_size(prediction, target), unit = lanes::constant<V>(1.0) / size;
        target.measure_in(unit);
        Mixture scaled = prediction;
        for (std::size_t i = 0; i < components_of<Mixture>; ++i) {
            scaled.means[i] = scaled.means[i] * unit;
            scaled.deviations[i] = scaled.deviations[i] * unit;
        }
        V const loss = energy(scaled, to);
        for (V& weight : to.weights)
            weight = weight * size;
        return loss * size;
    };
    // What the weightless do not add to the loss must not be what its unit is for; but what they would add is their slope.
    Mixture all = mixture;
    (void)measured(mixture, all);
    V const loss = measured(without_weightless(mixture), slope);
    for (std::size_t i = 0; i < components_of<Mixture>; ++i)
        slope.weights[i] =
            lanes::select(mixture.weights[i] == lanes::constant<V>(0.0), all.weights[i], slope.weights[i]);
    return loss;
}

} // namespace gmac::inline GMAC_ABI::losses::detail
