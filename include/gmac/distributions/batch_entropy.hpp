// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/detail/mixture_batch.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <numbers>

/// The differential entropy of the mixtures of many states at once, see gmac/distributions/entropy.hpp: weights, means and
/// deviations [B, K], as heads::gaussian_mixture::distribution gives them.
namespace gmac::inline GMAC_ABI {

namespace detail {

inline constexpr double half_log_two_pi = 0.91893853320467274178;
inline constexpr double half_log_two_pi_e = half_log_two_pi + 0.5;

/// log Σ exp(x) of the numbers given one by one; a number of −∞ has no say.
template <class V>
class running_log_sum {
public:
    explicit running_log_sum(V const& first) noexcept : largest_(first) {}
    void add(V const& x) noexcept {
        V const larger = lanes::at_least(largest_, x);
        sum_ = sum_ * lanes::exp(V(largest_ - larger)) + lanes::exp(V(x - larger));
        largest_ = larger;
    }
    [[nodiscard]] V value() const noexcept { return largest_ + lanes::log(sum_); }

private:
    V largest_; // finite; what comes of another one is not used
    V sum_ = lanes::constant<V>(1.0);
};

/// √(a² + b²) of positive numbers.
template <class V>
[[nodiscard]] V hypotenuse(V const& a, V const& b) noexcept {
    V const longer = lanes::at_least(a, b);
    V const ratio = lanes::at_most(a, b) / longer;
    return longer * lanes::sqrt(V(lanes::constant<V>(1.0) + ratio * ratio));
}

/// (a − b) / deviation
template <class V>
[[nodiscard]] V score_of(V const& a, V const& b, V const& deviation) noexcept {
    V const half = lanes::constant<V>(0.5);
    return (half * a - half * b) / deviation * lanes::constant<V>(2.0);
}

/// With deviation 1 in place of one that has no logarithm and no say: of a point, and of a component without weight.
template <class V>
[[nodiscard]] component_lanes<V> regular(component_lanes<V> c) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const one = lanes::constant<V>(1.0);
    c.deviation = lanes::select(zero < c.weight, lanes::select(zero < c.deviation, c.deviation, one), one);
    return c;
}

/// −∞ with a point of positive weight, NaN with a number that is not finite, else 0: to be added to what was computed.
template <class V, class Components>
[[nodiscard]] V special_entropy(Components const& components, std::size_t size) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const infinity(std::numeric_limits<lanes::scalar_of<V>>::infinity());
    V result = zero;
    for (std::size_t k = 0; k < size; ++k) {
        component_lanes<V> const c = components(k);
        V const point = lanes::select(zero < c.deviation, zero, infinity);
        result = result + c.taint() - lanes::select(zero < c.weight, point, zero);
    }
    return result;
}

/// The logarithm of the deviation of a mixture, whose square may be no number.
template <class V, class Components>
[[nodiscard]] V log_deviation_of(Components const& components, std::size_t size) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V const half = lanes::constant<V>(0.5);
    V half_mean = zero;
    for (std::size_t k = 0; k < size; ++k)
        half_mean = half_mean + components(k).weight * (half * components(k).mean);
    V largest = lanes::constant<V>(static_cast<double>((std::numeric_limits<lanes::scalar_of<V>>::min)()));
    for (std::size_t k = 0; k < size; ++k) {
        component_lanes<V> const c = components(k);
        V const reach = lanes::at_least(V(half * c.deviation), lanes::abs(V(half * c.mean - half_mean)));
        largest = lanes::at_least(largest, lanes::select(zero < c.weight, reach, zero));
    }
    V sum = zero;
    for (std::size_t k = 0; k < size; ++k) {
        component_lanes<V> const c = components(k);
        V const deviation = half * c.deviation / largest;
        V const distance = (half * c.mean - half_mean) / largest;
        sum = sum + lanes::select(zero < c.weight, V(c.weight * (deviation * deviation + distance * distance)), zero);
    }
    return lanes::constant<V>(std::numbers::ln2) + lanes::log(largest) + half * lanes::log(sum);
}

/// {below, above}, as entropy_bounds(mixture) has them.
template <class V, class Components>
[[nodiscard]] std::array<V, 2> entropy_bounds_of(Components const& components, std::size_t size) noexcept {
    using lanes::constant;
    V const zero = constant<V>(0.0);
    V const half = constant<V>(0.5);
    V const infinity(std::numeric_limits<lanes::scalar_of<V>>::infinity());
    V own = constant<V>(half_log_two_pi_e);
    V jensen = zero, coefficients = zero, divergences = zero;
    for (std::size_t i = 0; i < size; ++i) {
        component_lanes<V> const a = regular(components(i));
        V const log_weight = lanes::log(a.weight);
        V const log_deviation = lanes::log(a.deviation);
        running_log_sum<V> likely(log_weight - log_deviation - constant<V>(half_log_two_pi + 0.5 * std::numbers::ln2));
        running_log_sum<V> overlapping(log_weight), divergent(log_weight);
        for (std::size_t j = 0; j < size; ++j) {
            if (j == i)
                continue;
            component_lanes<V> const b = regular(components(j));
            V const other = lanes::log(b.weight);
            V const other_deviation = lanes::log(b.deviation);
            V const deviation = hypotenuse(a.deviation, b.deviation);
            V const common = lanes::log(deviation);
            V const z = score_of(a.mean, b.mean, deviation);
            likely.add(other - common - constant<V>(half_log_two_pi) - half * z * z);
            V const ratios = (log_deviation - common) + (other_deviation - common);
            overlapping.add(other + half * (constant<V>(std::numbers::ln2) + ratios) - half * half * z * z);
            V const ratio = a.deviation / b.deviation;
            V const far = score_of(a.mean, b.mean, b.deviation);
            V const spread = ratio * ratio + far * far;
            V const affinity = log_deviation - other_deviation - half * (spread - constant<V>(1.0));
            divergent.add(other + lanes::select(spread < infinity, affinity, V(-infinity)));
        }
        auto const part = [&](V const& number) { return lanes::select(zero < a.weight, V(a.weight * number), zero); };
        own = own + part(log_deviation);
        jensen = jensen - part(likely.value());
        coefficients = coefficients - part(overlapping.value());
        divergences = divergences - part(divergent.value());
    }
    V const normal = constant<V>(half_log_two_pi_e) + log_deviation_of<V>(components, size);
    V const above = lanes::at_most(V(own + divergences), normal);
    V const below = lanes::at_most(above, lanes::at_least(V(own + coefficients), jensen));
    V const special = special_entropy<V>(components, size);
    return {below + special, above + special};
}

/// Σ_i w_i (−log f(μ_i + z σ_i)), whose mean over standard normal z is the entropy.
template <class V, class Components>
[[nodiscard]] V surprise_at(Components const& components, std::size_t size, V const& z) noexcept {
    using lanes::constant;
    V const zero = constant<V>(0.0);
    V const half = constant<V>(0.5);
    V result = constant<V>(half_log_two_pi);
    for (std::size_t i = 0; i < size; ++i) {
        component_lanes<V> const a = regular(components(i));
        running_log_sum<V> density(lanes::log(a.weight) - lanes::log(a.deviation) - half * z * z);
        for (std::size_t j = 0; j < size; ++j) {
            if (j == i)
                continue;
            component_lanes<V> const b = regular(components(j));
            V const score = score_of(a.mean, b.mean, b.deviation) + z * (a.deviation / b.deviation);
            density.add(lanes::log(b.weight) - lanes::log(b.deviation) - half * score * score);
        }
        result = result - lanes::select(zero < a.weight, V(a.weight * density.value()), zero);
    }
    return result;
}

} // namespace detail

/// Bounds of the entropy of each state's mixture, in nats, as entropy_bounds(mixture) has them: weights, means, deviations [B, K]
/// → lower, upper [B]. −∞ with a point of positive weight, NaN with a number that is not finite. To some units of rounding of
/// the numbers' type. Does not allocate. Throws gmac::error if the shapes do not fit, or results overlap the mixtures.
template <class Weights, class Means, class Deviations, class Lower, class Upper>
void entropy_bounds(Weights&& weights, Means&& means, Deviations&& deviations, Lower&& lower, Upper&& upper) {
    detail::mixture_batch<detail::matrix_value<Weights>> const mixtures("entropy_bounds", weights, means, deviations);
    auto const low = mixtures.column(lower, "lower bounds");
    auto const high = mixtures.column(upper, "upper bounds");
    using V = typename decltype(mixtures)::lane;
    mixtures.for_each_block([&](auto const& components, std::size_t first, std::size_t count) {
        auto const bounds = detail::entropy_bounds_of<V>(components, mixtures.weights.cols());
        lanes::store_rows(bounds[0], low, first, 0, count);
        lanes::store_rows(bounds[1], high, first, 0, count);
    });
}

/// The entropy of each state's mixture by Monte Carlo: the mean over `samples` standard normal z of Σ_i w_i (−log f(μ_i + z σ_i)),
/// and its standard error. All states and components have the same z, drawn from `random`. weights, means, deviations [B, K] →
/// values, standard_errors [B]. As entropy_bounds otherwise; also throws gmac::error unless there are two samples at least.
template <class Weights, class Means, class Deviations, class Values, class Errors>
void entropy_estimate(Weights&& weights, Means&& means, Deviations&& deviations, random_stream& random,
                      std::size_t samples, Values&& values, Errors&& standard_errors) {
    using T = detail::matrix_value<Weights>;
    detail::mixture_batch<T> const mixtures("entropy_estimate", weights, means, deviations);
    auto const to = mixtures.column(values, "values");
    auto const errors = mixtures.column(standard_errors, "standard errors");
    require(samples >= 2, "entropy_estimate: samples is {}, but must be 2 at least", samples);
    using V = typename decltype(mixtures)::lane;
    std::size_t const size = mixtures.weights.cols();
    random_stream const start = random;
    mixtures.for_each_block([&](auto const& components, std::size_t first, std::size_t count) {
        random = start;
        V mean = lanes::constant<V>(0.0);
        V squares = mean; // of the distances to the mean
        for (std::size_t i = 0; i < samples; ++i) {
            V const value = detail::surprise_at<V>(components, size, V(random.normal<T>()));
            V const distance = value - mean;
            mean = mean + distance * lanes::constant<V>(1.0 / static_cast<double>(i + 1));
            squares = squares + distance * (value - mean);
        }
        V const special = detail::special_entropy<V>(components, size);
        double const count_of_pairs = static_cast<double>(samples) * static_cast<double>(samples - 1);
        V const zero = lanes::constant<V>(0.0);
        V const error = lanes::sqrt(V(squares * lanes::constant<V>(1.0 / count_of_pairs)));
        lanes::store_rows(V(mean + special), to, first, 0, count);
        lanes::store_rows(lanes::select(special < zero, zero, V(error + special)), errors, first, 0, count);
    });
}

} // namespace gmac::inline GMAC_ABI
