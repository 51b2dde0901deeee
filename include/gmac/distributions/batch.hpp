// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
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

/// P(X ≤ x) and P(X > x) of one component a lane, each accurate where it is small.
template <class V>
[[nodiscard]] std::array<V, 2> sides_of(V const& x, V const& mean, V const& deviation) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const infinity = V(std::numeric_limits<lanes::scalar_of<V>>::infinity());
    V const side = lanes::select(x < mean, V(-infinity), infinity);
    auto const sides = lanes::normal_at(lanes::select(zero < deviation, V((x - mean) / deviation), side));
    return {sides.below, sides.above};
}

} // namespace detail

/// P(low < X ≤ high) for the mixture of each state: weights, means, deviations [B, K] → values [B]. To some units of rounding
/// of the smaller of P(X ≤ high) and P(X > low); 0 unless low < high, NaN for a state with a number that is not finite. Does not
/// allocate. Throws gmac::error if the shapes do not fit, the values overlap what they are made of, or an end is NaN.
template <class Weights, class Means, class Deviations, class Values>
void probability(Weights&& weights_of_states, Means&& means_of_states, Deviations&& deviations_of_states, double low,
                 double high, Values&& values_of_states) {
    auto const weights = as_matrix(weights_of_states);
    auto const means = as_matrix(means_of_states);
    auto const deviations = as_matrix(deviations_of_states);
    using T = typename decltype(weights)::value_type;
    using V = lanes::lane_for_t<T>;
    auto const values = as_column(detail::result_as<T>(as_vector(values_of_states)));
    require_shape(means, weights.rows(), weights.cols(), "means", "probability");
    require_shape(deviations, weights.rows(), weights.cols(), "deviations", "probability");
    require_shape(values, weights.rows(), 1, "values", "probability");
    require(!may_overlap(values, weights) && !may_overlap(values, means) && !may_overlap(values, deviations),
            "probability: the values overlap the mixtures");
    require(!std::isnan(low) && !std::isnan(high), "probability: the interval is from {} to {}, but must have two ends",
            low, high);
    V const from = lanes::constant<V>(low);
    V const to = lanes::constant<V>(high);
    V const zero = lanes::constant<V>(0.0);
    for (std::size_t first = 0; first < weights.rows(); first += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, weights.rows() - first);
        V sum = zero;
        V taint = zero;
        for (std::size_t k = 0; k < weights.cols(); ++k) {
            std::array const numbers{lanes::load_rows<V>(weights, first, k, count),
                                     lanes::load_rows<V>(means, first, k, count),
                                     lanes::load_rows<V>(deviations, first, k, count)};
            auto const& [weight, mean, deviation] = numbers;
            auto const at_low = detail::sides_of(from, mean, deviation);
            auto const at_high = detail::sides_of(to, mean, deviation);
            V const part = lanes::select(mean < from, V(at_low[1] - at_high[1]), V(at_high[0] - at_low[0]));
            sum = sum + weight * part;
            taint = taint + lanes::taint(numbers.data(), numbers.size());
        }
        lanes::store_rows(V(lanes::at_least(zero, sum) + taint), values, first, 0, count);
    }
}

/// The modes of the mixture of each state, as modes(mixture) finds them: weights, means, deviations [B, K] → their number [B],
/// and in ascending order their locations and masses [B, K], with NaN behind the last one. Masses add up to the sum of the
/// weights. A state of which a number is not finite, a weight or deviation is negative, or no weight is positive has none.
/// Throws gmac::error if the shapes do not fit.
template <class Weights, class Means, class Deviations, class Counts, class Locations, class Masses>
void modes(Weights&& weights_of_states, Means&& means_of_states, Deviations&& deviations_of_states,
           Counts&& counts_of_states, Locations&& locations_of_states, Masses&& masses_of_states) {
    auto const weights = as_matrix(weights_of_states);
    auto const means = as_matrix(means_of_states);
    auto const deviations = as_matrix(deviations_of_states);
    using T = typename decltype(weights)::value_type;
    auto const counts = as_vector(counts_of_states);
    using count_type = typename decltype(counts)::value_type;
    auto const locations = detail::result_as<T>(as_matrix(locations_of_states));
    auto const masses = detail::result_as<T>(as_matrix(masses_of_states));
    require_shape(means, weights.rows(), weights.cols(), "means", "modes");
    require_shape(deviations, weights.rows(), weights.cols(), "deviations", "modes");
    require_size(counts, weights.rows(), "the vector of counts", "modes");
    require_shape(locations, weights.rows(), weights.cols(), "locations", "modes");
    require_shape(masses, weights.rows(), weights.cols(), "masses", "modes");
    detail::mode_search<T> search;
    for (std::size_t i = 0; i < weights.rows(); ++i) {
        search.clear();
        bool fine = true;
        for (std::size_t k = 0; k < weights.cols(); ++k) {
            normal_component<T> const c{weights(i, k), means(i, k), deviations(i, k)};
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
        for (std::size_t k = count; k < weights.cols(); ++k)
            locations(i, k) = masses(i, k) = std::numeric_limits<T>::quiet_NaN();
    }
}

} // namespace gmac::inline GMAC_ABI
