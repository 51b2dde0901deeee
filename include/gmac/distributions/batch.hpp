// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/detail/mixture_batch.hpp>
#include <gmac/distributions/modes.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

/// What is asked of the mixtures of many states at once, as heads::gaussian_mixture::distribution gives them: weights, means
/// and deviations, [B, K] each. Weights are taken as they are; a deviation of 0 is a point.
namespace gmac::inline GMAC_ABI {

namespace detail {

/// Φ, 1 − Φ and φ at distance / deviation, each accurate where it is small; beside a point 0 or 1, and no density.
template <class V>
[[nodiscard]] std::array<V, 3> sides_at(V const& distance, V const& deviation) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const infinity = V(std::numeric_limits<lanes::scalar_of<V>>::infinity());
    V const side = lanes::select(distance < zero, V(-infinity), infinity);
    auto const sides = lanes::normal_at(lanes::select(zero < deviation, V(distance / deviation), side));
    return {sides.below, sides.above, sides.density};
}

/// The root of g(e) = τ E max(X − e, 0) − (1 − τ) E max(e − X, 0), by Newton's steps from the mean, none of which passes it: see
/// kernels::mixture_expectile. components(k) gives component k.
template <class V, class Components>
[[nodiscard]] V expectile_of(Components const& components, std::size_t size, double tau) noexcept {
    using lanes::constant;
    V const zero = constant<V>(0.0);
    V const side = constant<V>(tau < 0.5 ? -1.0 : 1.0); // a small τ is 1 − τ of −X
    V const larger = constant<V>((std::max)(tau, 1.0 - tau));
    V const smaller = constant<V>((std::min)(tau, 1.0 - tau));
    V sum = zero, weight = zero, taint = zero;
    for (std::size_t k = 0; k < size; ++k) {
        auto const c = components(k);
        sum = sum + c.weight * c.mean;
        weight = weight + c.weight;
        taint = taint + c.taint();
    }
    V x = side * sum / weight;
    // At the end the steps are rounding, which may go on to rise by units of it.
    for (int step = 0; step < std::numeric_limits<lanes::scalar_of<V>>::digits; ++step) {
        V excess = zero, steepness = zero;
        for (std::size_t k = 0; k < size; ++k) {
            auto const c = components(k);
            V const distance = x - side * c.mean;
            auto const [below, above, density] = sides_at(distance, c.deviation);
            V const spread = c.deviation * density;
            excess = excess + c.weight * (larger * (spread - distance * above) - smaller * (spread + distance * below));
            steepness = steepness + c.weight * (larger * above + smaller * below);
        }
        V const next = x + excess / steepness;
        if (!lanes::any(x < next))
            break;
        x = lanes::select(x < next, next, x);
    }
    return side * x + taint;
}

} // namespace detail

/// P(low < X ≤ high) for the mixture of each state: weights, means, deviations [B, K] → values [B]. To some units of rounding
/// of the smaller of P(X ≤ high) and P(X > low); 0 unless low < high, NaN for a state with a number that is not finite. Does not
/// allocate. Throws gmac::error if the shapes do not fit, the values overlap what they are made of, or an end is NaN.
template <class Weights, class Means, class Deviations, class Values>
void probability(Weights&& weights, Means&& means, Deviations&& deviations, double low, double high, Values&& values) {
    detail::mixture_batch<detail::matrix_value<Weights>> const mixtures("probability", weights, means, deviations);
    auto const to = mixtures.column(values, "values");
    require(!std::isnan(low) && !std::isnan(high), "probability: the interval is from {} to {}, but must have two ends",
            low, high);
    using V = typename decltype(mixtures)::lane;
    V const from = lanes::constant<V>(low);
    V const until = lanes::constant<V>(high);
    V const zero = lanes::constant<V>(0.0);
    mixtures.for_each_block([&](auto const& components, std::size_t first, std::size_t count) {
        V sum = zero;
        V taint = zero;
        for (std::size_t k = 0; k < mixtures.weights.cols(); ++k) {
            auto const c = components(k);
            auto const at_low = detail::sides_at(V(from - c.mean), c.deviation);
            auto const at_high = detail::sides_at(V(until - c.mean), c.deviation);
            V const part = lanes::select(c.mean < from, V(at_low[1] - at_high[1]), V(at_high[0] - at_low[0]));
            sum = sum + c.weight * part;
            taint = taint + c.taint();
        }
        lanes::store_rows(V(lanes::at_least(zero, sum) + taint), to, first, 0, count);
    });
}

/// The expectile at τ of the mixture of each state, as mixture.expectile(τ) finds it: weights, means, deviations [B, K] → values
/// [B]. To 4e-14 of the largest mean and deviation, in float 1.2e-6; NaN for a state with a number that is not finite, or
/// without a positive weight. Does not allocate. Throws gmac::error if τ is not in (0, 1), the shapes do not fit, or the values
/// overlap what they are made of.
template <class Weights, class Means, class Deviations, class Values>
void expectile(Weights&& weights, Means&& means, Deviations&& deviations, double tau, Values&& values) {
    detail::mixture_batch<detail::matrix_value<Weights>> const mixtures("expectile", weights, means, deviations);
    auto const to = mixtures.column(values, "values");
    require(tau > 0.0 && tau < 1.0, "expectile: tau is {}, but must be in (0, 1)", tau);
    using V = typename decltype(mixtures)::lane;
    mixtures.for_each_block([&](auto const& components, std::size_t first, std::size_t count) {
        std::size_t const size = mixtures.weights.cols();
        lanes::store_rows(detail::expectile_of<V>(components, size, tau), to, first, 0, count);
    });
}

/// The modes of the mixture of each state, as modes(mixture) finds them: weights, means, deviations [B, K] → their number [B],
/// and in ascending order their locations and masses [B, K], with NaN behind the last one. Masses add up to the sum of the
/// weights. A state of which a number is not finite, a weight or deviation is negative, or no weight is positive has none.
/// Throws gmac::error if the shapes do not fit.
template <class Weights, class Means, class Deviations, class Counts, class Locations, class Masses>
void modes(Weights&& weights, Means&& means, Deviations&& deviations, Counts&& counts_of_states,
           Locations&& locations_of_states, Masses&& masses_of_states) {
    using T = detail::matrix_value<Weights>;
    detail::mixture_batch<T> const mixtures("modes", weights, means, deviations);
    std::size_t const states = mixtures.weights.rows();
    std::size_t const size = mixtures.weights.cols();
    auto const counts = as_vector(counts_of_states);
    using count_type = typename decltype(counts)::value_type;
    auto const locations = detail::result_as<T>(as_matrix(locations_of_states));
    auto const masses = detail::result_as<T>(as_matrix(masses_of_states));
    require_size(counts, states, "the vector of counts", "modes");
    require_shape(locations, states, size, "locations", "modes");
    require_shape(masses, states, size, "masses", "modes");
    detail::mode_search<T> search;
    for (std::size_t i = 0; i < states; ++i) {
        search.clear();
        bool fine = true;
        for (std::size_t k = 0; k < size; ++k) {
            normal_component<T> const c{mixtures.weights(i, k), mixtures.means(i, k), mixtures.deviations(i, k)};
            fine = fine && c.weight >= T(0) && c.deviation >= T(0) && std::isfinite(c.weight) &&
                   std::isfinite(c.mean) && std::isfinite(c.deviation);
            search.add(c);
        }
        std::size_t count = 0;
        if (fine)
            search.for_each([&](mode<T> const& one) {
                locations(i, count) = one.location;
                masses(i, count) = one.mass;
                ++count;
            });
        counts[i] = static_cast<count_type>(count);
        for (std::size_t k = count; k < size; ++k)
            locations(i, k) = masses(i, k) = std::numeric_limits<T>::quiet_NaN();
    }
}

} // namespace gmac::inline GMAC_ABI
