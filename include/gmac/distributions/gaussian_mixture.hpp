// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/distributions/detail/mixture_expectile.hpp>
#include <gmac/distributions/detail/mixture_quantile.hpp>
#include <gmac/distributions/energy.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// A mixture of normal distributions, by value. A component is (weight, mean, standard deviation), in this order:
///     gmac::gaussian_mixture<double> value{{0.3, -1.0, 0.5}, {0.7, 2.0, 1.0}};
/// A standard deviation of exactly 0 is a point. energy, cramer and crps are free functions (energy.hpp).
template <std::floating_point T = double>
class gaussian_mixture {
public:
    using value_type = T;
    using component_type = normal_component<T>;

    /// Throws gmac::error unless there is a component, all numbers are finite, weights and deviations are not negative
    /// and the weights sum to one. A sum that is off by more than rounding but by less than 1e-6 (float: 3.5e-4) is
    /// divided out.
    gaussian_mixture(std::initializer_list<component_type> components) : components_(components) { check(); }
    explicit gaussian_mixture(std::vector<component_type> components) : components_(std::move(components)) { check(); }

    /// From three vectors of one size; also throws if the sizes differ.
    template <class Weights, class Means, class Deviations>
        requires requires(Weights const& w, Means const& m, Deviations const& d) {
            as_vector(w);
            as_vector(m);
            as_vector(d);
        }
    gaussian_mixture(Weights const& weights, Means const& means, Deviations const& deviations) {
        auto const w = as_vector(weights);
        auto const m = as_vector(means);
        auto const d = as_vector(deviations);
        require_size(m, w.size(), "the vector of means", "gaussian_mixture");
        require_size(d, w.size(), "the vector of deviations", "gaussian_mixture");
        components_.reserve(w.size());
        for (std::size_t i = 0; i < w.size(); ++i)
            components_.push_back({static_cast<T>(w[i]), static_cast<T>(m[i]), static_cast<T>(d[i])});
        check();
    }

    [[nodiscard]] std::size_t size() const noexcept { return components_.size(); }
    [[nodiscard]] component_type component(std::size_t i) const noexcept { return components_[i]; }
    [[nodiscard]] std::span<component_type const> components() const noexcept { return components_; }

    [[nodiscard]] T mean() const noexcept {
        T sum = 0;
        for (auto const& c : components_)
            sum += c.weight * c.mean;
        return sum;
    }

    [[nodiscard]] T variance() const noexcept {
        // A square may leave the range where its share does not, and a distance where its half does not.
        T const centre = mean();
        T quarter = 0;
        for (auto const& c : components_) {
            T const deviation = c.deviation / 2;
            T const distance = kernels::half_distance(c, centre);
            quarter += c.weight * deviation * deviation + c.weight * distance * distance;
        }
        return 4 * quarter;
    }

    /// The density; infinite at a point of positive weight.
    [[nodiscard]] T pdf(T x) const noexcept { return kernels::mixture_pdf<T>(components_, x); }

    /// The logarithm of the density by log-sum-exp: finite wherever the density is positive, however small it is.
    [[nodiscard]] T log_pdf(T x) const {
        constexpr T infinity = std::numeric_limits<T>::infinity();
        if (std::isnan(x))
            return x;
        T largest = -infinity;
        for (auto const& c : components_)
            largest = (std::max)(largest, kernels::log_density(c, x));
        if (std::isinf(largest))
            return largest;
        T sum = 0;
        for (auto const& c : components_)
            sum += std::exp(kernels::log_density(c, x) - largest);
        return largest + std::log(sum);
    }

    /// P(X ≤ x)
    [[nodiscard]] T cdf(T x) const noexcept { return kernels::mixture_cdf<T>(components_, x); }

    /// P(a < X ≤ b), relatively accurate however small it is; 0 unless a < b.
    [[nodiscard]] T probability(T a, T b) const noexcept {
        return kernels::mixture_probability<T>(components_, {a}, {b});
    }

    /// The smallest x with P(X ≤ x) ≥ probability. Infinite for 0 and 1 where the distribution has no end there.
    /// Throws gmac::error unless the probability is in [0, 1].
    [[nodiscard]] T quantile(T probability) const {
        require(probability >= T(0) && probability <= T(1),
                "gaussian_mixture: the probability of a quantile is {}, but must be in [0, 1]", probability);
        return kernels::mixture_quantile<T>(components_, probability);
    }

    /// The conditional value at risk: the mean of the worst (lowest) outcomes, whose probability is `probability`;
    /// (1/p) ∫_0^p quantile(u) du. At 1 it is the mean. Throws gmac::error unless the probability is in (0, 1].
    [[nodiscard]] T cvar(T probability) const {
        require(probability > T(0) && probability <= T(1),
                "gaussian_mixture: the probability of a cvar is {}, but must be in (0, 1]", probability);
        T const end = quantile(probability);
        if (std::isinf(end) && end < T(0))
            return end;
        if (std::isinf(end) && probability == T(1))
            return mean();
        if (std::isinf(end)) {
            gaussian_mixture smaller(*this); // whose quantile does not overflow
            for (auto& c : smaller.components_) {
                c.mean /= 64;
                c.deviation /= 64;
            }
            return 64 * smaller.cvar(probability);
        }
        // E(X; the lowest p) = p x − E max(x − X, 0) for the quantile x of p: right for points at x, too.
        T half = 0;
        for (auto const& c : components_)
            half += kernels::half_shortfall(c, end, probability);
        return 2 * (end / 2 - half);
    }

    /// The mean of the best (highest) outcomes, whose probability is `probability`: the cvar of −X with its sign changed. At 1
    /// it is the mean. Throws gmac::error unless the probability is in (0, 1].
    [[nodiscard]] T upper_cvar(T probability) const {
        require(probability > T(0) && probability <= T(1),
                "gaussian_mixture: the probability of an upper_cvar is {}, but must be in (0, 1]", probability);
        return -mirrored().cvar(probability);
    }

    /// The expectile, the root e of τ E max(X − e, 0) = (1 − τ) E max(e − X, 0) (Newey and Powell 1987): the least of the
    /// asymmetric squared loss. At ½ it is the mean. Throws gmac::error unless τ is in (0, 1).
    [[nodiscard]] T expectile(T tau) const {
        require(tau > T(0) && tau < T(1), "gaussian_mixture: the expectile of {} is wanted, but it must be in (0, 1)",
                tau);
        return kernels::mixture_expectile(*this, tau);
    }

    /// The distribution of −X.
    [[nodiscard]] gaussian_mixture mirrored() const {
        gaussian_mixture result(*this);
        for (auto& c : result.components_)
            c.mean = -c.mean;
        return result;
    }

    /// The index of a component, drawn with the weights; takes one uniform number.
    [[nodiscard]] std::size_t sample_component(random_stream& random) const noexcept {
        T rest = random.uniform<T>();
        std::size_t last = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            if (components_[i].weight > T(0)) {
                last = i;
                if (rest < components_[i].weight)
                    break;
                rest -= components_[i].weight;
            }
        }
        return last;
    }

    /// A value; takes a component and one normal number.
    [[nodiscard]] T sample(random_stream& random) const noexcept {
        component_type const& c = components_[sample_component(random)];
        return c.mean + c.deviation * random.normal<T>();
    }

    /// Fills `values` with independent samples.
    template <class Values>
    void sample(random_stream& random, Values&& values) const {
        auto const to = as_vector(values);
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] = sample(random);
    }

private:
    void check() {
        require(!components_.empty(), "gaussian_mixture: there is no component, but must be at least one");
        T sum = 0;
        for (std::size_t i = 0; i < size(); ++i) {
            auto const& c = components_[i];
            require(c.weight >= T(0) && std::isfinite(c.weight),
                    "gaussian_mixture: weight {} is {}, but must be finite and not negative", i, c.weight);
            require(std::isfinite(c.mean), "gaussian_mixture: mean {} is {}, but must be finite", i, c.mean);
            require(c.deviation >= T(0) && std::isfinite(c.deviation),
                    "gaussian_mixture: deviation {} is {}, but must be finite and not negative", i, c.deviation);
            sum += c.weight;
        }
        require(std::abs(sum - T(1)) <= static_cast<T>(kernels::weight_tolerance<T>),
                "gaussian_mixture: the weights sum to {}, but must sum to 1", sum);
        if (std::abs(sum - T(1)) > std::numeric_limits<T>::epsilon() * static_cast<T>(size()))
            for (auto& c : components_)
                c.weight /= sum;
    }

    std::vector<component_type> components_;
};

} // namespace gmac::inline GMAC_ABI
