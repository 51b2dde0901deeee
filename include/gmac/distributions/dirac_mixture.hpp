// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/distributions/detail/mixture_expectile.hpp>
#include <gmac/distributions/energy.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// A distribution on finitely many points, each with a weight: an empirical distribution, or what a Dirac head predicts.
/// The points are kept in ascending order; the order in which they were given has no meaning.
///     gmac::dirac_mixture<double> value{{0.3, -1.0}, {0.7, 2.0}}; // (weight, location)
template <std::floating_point T = double>
class dirac_mixture {
public:
    using value_type = T;

    struct point {
        T weight, location;
    };

    /// Throws gmac::error unless there is a point, all numbers are finite, weights are not negative and sum to one. A sum
    /// that is off by more than rounding but by less than 1e-6 (float: 3.5e-4) is divided out.
    dirac_mixture(std::initializer_list<point> points) : points_(points) { prepare(); }
    explicit dirac_mixture(std::vector<point> points) : points_(std::move(points)) { prepare(); }

    /// From two vectors of one size; also throws if the sizes differ.
    template <class Weights, class Locations>
        requires requires(Weights const& w, Locations const& x) {
            as_vector(w);
            as_vector(x);
        }
    dirac_mixture(Weights const& weights, Locations const& locations) {
        auto const w = as_vector(weights);
        auto const x = as_vector(locations);
        require_size(w, x.size(), "the vector of weights", "dirac_mixture");
        points_.reserve(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            points_.push_back({static_cast<T>(w[i]), static_cast<T>(x[i])});
        prepare();
    }

    /// Equally likely points.
    template <class Locations>
        requires requires(Locations const& x) { as_vector(x); } && (!std::same_as<Locations, std::vector<point>>)
    explicit dirac_mixture(Locations const& locations) {
        auto const x = as_vector(locations);
        points_.reserve(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
            points_.push_back({T(1) / static_cast<T>(x.size()), static_cast<T>(x[i])});
        prepare();
    }

    [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
    /// In ascending order of the locations.
    [[nodiscard]] std::span<point const> points() const noexcept { return points_; }
    /// A point as a normal component of deviation 0, as which it enters distances to other mixtures.
    [[nodiscard]] normal_component<T> component(std::size_t i) const noexcept {
        return {points_[i].weight, points_[i].location, T(0)};
    }

    [[nodiscard]] T mean() const noexcept {
        T sum(0);
        for (point const& c : points_)
            sum += c.weight * c.location;
        return sum;
    }
    [[nodiscard]] T variance() const noexcept {
        T const center = mean();
        T quarter(0); // half of a distance never overflows
        for (point const& c : points_) {
            T const half = c.location / 2 - center / 2;
            quarter += c.weight * half * half;
        }
        return 4 * quarter;
    }

    /// P(X ≤ x).
    [[nodiscard]] T cdf(T x) const noexcept {
        if (std::isnan(x))
            return x;
        auto const after = std::upper_bound(points_.begin(), points_.end(), x,
                                            [](T value, point const& c) { return value < c.location; });
        auto const count = static_cast<std::size_t>(after - points_.begin());
        return count == 0 ? T(0) : cumulative_[count - 1];
    }

    /// P(a < X ≤ b), relatively accurate however small it is; 0 unless a < b.
    [[nodiscard]] T probability(T a, T b) const noexcept {
        if (std::isnan(a) || std::isnan(b))
            return a + b;
        T sum(0);
        for (point const& c : points_)
            if (c.location > a && c.location <= b)
                sum += c.weight;
        return (std::min)(sum, T(1));
    }

    /// The least point x with P(X ≤ x) ≥ p; for p = 0 the least point that has a weight. Throws gmac::error if p is not in
    /// [0, 1].
    [[nodiscard]] T quantile(T p) const {
        require(p >= T(0) && p <= T(1), "dirac_mixture: quantile of {}, but it must be in [0, 1]", p);
        return points_[index_of(p)].location;
    }

    /// The conditional value at risk: the mean of the lowest fraction α of the distribution, 1/α ∫_0^α quantile(p) dp. The
    /// mean for α = 1, the least point for α → 0. Throws gmac::error if α is not in (0, 1].
    [[nodiscard]] T cvar(T alpha) const {
        require(alpha > T(0) && alpha <= T(1), "dirac_mixture: cvar of {}, but it must be in (0, 1]", alpha);
        // Relative to the quantile, so that what is added is the shortfall and no location cancels.
        T const threshold = points_[index_of(alpha)].location;
        T half(0);
        for (point const& c : points_) {
            if (c.location >= threshold)
                break;
            half += c.weight / alpha * (threshold / 2 - c.location / 2);
        }
        return 2 * (threshold / 2 - half);
    }

    /// The mean of the highest fraction α of the distribution: the cvar of −X with its sign changed. The mean for α = 1, the
    /// greatest point for α → 0. Throws gmac::error if α is not in (0, 1].
    [[nodiscard]] T upper_cvar(T alpha) const {
        require(alpha > T(0) && alpha <= T(1), "dirac_mixture: upper_cvar of {}, but it must be in (0, 1]", alpha);
        return -mirrored().cvar(alpha);
    }

    /// The expectile, the root e of τ E max(X − e, 0) = (1 − τ) E max(e − X, 0) (Newey and Powell 1987): the least of the
    /// asymmetric squared loss. The mean for τ = ½. Throws gmac::error if τ is not in (0, 1).
    [[nodiscard]] T expectile(T tau) const {
        require(tau > T(0) && tau < T(1), "dirac_mixture: expectile of {}, but it must be in (0, 1)", tau);
        return kernels::mixture_expectile(*this, tau);
    }

    /// The distribution of −X.
    [[nodiscard]] dirac_mixture mirrored() const {
        std::vector<point> points(points_.rbegin(), points_.rend());
        for (point& c : points)
            c.location = -c.location;
        return dirac_mixture(std::move(points));
    }

    /// One random value.
    [[nodiscard]] T sample(random_stream& random) const noexcept {
        return points_[index_of(random.open_uniform<T>())].location;
    }
    /// Fills `values` with independent random values.
    template <class Values>
    void sample(random_stream& random, Values&& values) const {
        auto const to = as_vector(values);
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = sample(random);
    }

private:
    void prepare() {
        require(!points_.empty(), "dirac_mixture: there are no points, but there must be one at least");
        T sum(0);
        for (std::size_t i = 0; i < points_.size(); ++i) {
            point const& c = points_[i];
            require(c.weight >= T(0) && std::isfinite(c.weight),
                    "dirac_mixture: weight {} is {}, but must be finite and not negative", i, c.weight);
            require(std::isfinite(c.location), "dirac_mixture: location {} is {}, but must be finite", i, c.location);
            sum += c.weight;
        }
        require(std::abs(sum - T(1)) <= static_cast<T>(kernels::weight_tolerance<T>),
                "dirac_mixture: the weights sum to {}, but must sum to 1", sum);
        if (std::abs(sum - T(1)) > std::numeric_limits<T>::epsilon() * static_cast<T>(size()))
            for (point& p : points_)
                p.weight /= sum;
        std::stable_sort(points_.begin(), points_.end(),
                         [](point const& a, point const& b) { return a.location < b.location; });
        cumulative_.reserve(points_.size());
        T below(0);
        for (point const& c : points_)
            cumulative_.push_back(below = (std::min)(below + c.weight, T(1)));
        // What rounding left over: the distribution function ends at 1, from the last point on that has a weight.
        for (std::size_t i = points_.size(); i-- > 0;) {
            cumulative_[i] = T(1);
            if (points_[i].weight > T(0))
                break;
        }
    }

    /// The first point at which the distribution function reaches p and is not zero.
    [[nodiscard]] std::size_t index_of(T p) const noexcept {
        auto const found = p > T(0) ? std::lower_bound(cumulative_.begin(), cumulative_.end(), p)
                                    : std::upper_bound(cumulative_.begin(), cumulative_.end(), T(0));
        return static_cast<std::size_t>(found - cumulative_.begin());
    }

    std::vector<point> points_;
    std::vector<T> cumulative_; ///< P(X ≤ location)
};

namespace detail {

/// ½ ∫ (F − G)² of distributions on points, whose components come in ascending order. It is at most the largest number.
template <component_mixture U, component_mixture V>
[[nodiscard]] typename U::value_type half_cramer(U const& a, V const& b) noexcept {
    using T = typename U::value_type;
    T sum(0);
    T difference(0);
    std::size_t i = 0;
    std::size_t j = 0;
    T previous = (std::min)(a.component(0).mean, b.component(0).mean);
    while (i < a.size() || j < b.size()) {
        bool const first = j == b.size() || (i < a.size() && a.component(i).mean <= b.component(j).mean);
        auto const next = first ? a.component(i++) : b.component(j++);
        sum += difference * (next.mean / 2 - previous / 2) * difference;
        difference += first ? next.weight : -next.weight;
        previous = next.mean;
    }
    return sum;
}

} // namespace detail

/// The Cramér distance ∫ (F − G)² of two distributions on points: one sweep over the points of both, instead of the pairs
/// that distributions/energy.hpp needs for other mixtures.
template <std::floating_point T>
[[nodiscard]] T cramer(dirac_mixture<T> const& a, dirac_mixture<T> const& b) noexcept {
    return T(2) * detail::half_cramer(a, b);
}

/// The energy distance of two distributions on points, 2 E|X − Y| − E|X − X'| − E|Y − Y'| = 2 ∫ (F − G)².
template <std::floating_point T>
[[nodiscard]] T energy(dirac_mixture<T> const& a, dirac_mixture<T> const& b) noexcept {
    return T(4) * detail::half_cramer(a, b);
}

} // namespace gmac::inline GMAC_ABI
