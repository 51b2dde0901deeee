// SPDX-License-Identifier: Apache-2.0
#pragma once

// A value head and a loss that gmac has not: what a user would write, with nothing of the library changed. The value
// distribution is a mixture of K logistic distributions with one scale, since then its energy distance to point masses
// has a closed form.
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace my {

/// F(x) = Σ w_i / (1 + exp(−(x − μ_i) / s)); also the gradient with respect to these quantities.
template <class T, std::size_t K>
struct logistic_parameters {
    std::array<T, K> weights, means;
    T scale;

    [[nodiscard]] T cdf(T const& x) const {
        using std::exp;
        T sum(0);
        for (std::size_t i = 0; i < K; ++i)
            sum = sum + weights[i] / (T(1) + exp((means[i] - x) / scale));
        return sum;
    }
};

/// The head. Raw outputs of a state, 2 K + 1 columns: K logits of the weights (softmax), K means, and x with
/// s = smallest_scale + softplus(x), in units of the return.
template <std::size_t K>
struct logistic_mixture {
    static constexpr std::size_t outputs = 2 * K + 1;

    double smallest_scale = 0.01;
    std::size_t points = 32; ///< quantiles that stand for the distribution in SR(λ)

    // What an actor_critic needs of every head: how many outputs, and the mean.
    [[nodiscard]] static constexpr std::size_t output_size() noexcept { return outputs; }
    /// outputs [B, 2 K + 1] → values [B]
    template <class T>
    void mean(gmac::matrix_view<T const> outputs_of_states, gmac::vector_view<T> values) const {
        gmac::require_shape(outputs_of_states, values.size(), outputs, "outputs", "logistic_mixture");
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto const mixture = transform(row(outputs_of_states, i));
            values[i] = T(0);
            for (std::size_t k = 0; k < K; ++k)
                values[i] += mixture.weights[k] * mixture.means[k];
        }
    }

    // What it needs for a loss that learns from Dirac particles: equally likely points.
    [[nodiscard]] std::size_t support_size() const noexcept { return points; }
    /// outputs [B, 2 K + 1] → quantiles at the fractions (j + ½) / points, [B, points]
    template <class T>
    void support(gmac::matrix_view<T const> outputs_of_states, gmac::matrix_view<T> quantiles) const {
        gmac::require_shape(outputs_of_states, quantiles.rows(), outputs, "outputs", "logistic_mixture");
        gmac::require_shape(quantiles, quantiles.rows(), points, "the matrix of points", "logistic_mixture");
        for (std::size_t i = 0; i < quantiles.rows(); ++i) {
            auto const mixture = transform(row(outputs_of_states, i));
            for (std::size_t j = 0; j < points; ++j)
                quantiles(i, j) = quantile(mixture, (static_cast<T>(j) + T(0.5)) / static_cast<T>(points));
        }
    }

    // What the loss below needs, and others need not know.
    template <class T>
    using parameters = logistic_parameters<T, K>;

    template <class T>
    [[nodiscard]] static std::array<T, outputs> row(gmac::matrix_view<T const> const& all, std::size_t i) {
        std::array<T, outputs> raw;
        for (std::size_t j = 0; j < outputs; ++j)
            raw[j] = all(i, j);
        return raw;
    }
    template <class T>
    [[nodiscard]] parameters<T> transform(std::array<T, outputs> const& raw) const {
        using std::abs;
        using std::exp;
        using std::log1p;
        parameters<T> result;
        T largest = raw[0];
        for (std::size_t k = 1; k < K; ++k)
            largest = largest < raw[k] ? raw[k] : largest;
        T sum(0);
        for (std::size_t k = 0; k < K; ++k)
            sum = sum + (result.weights[k] = exp(raw[k] - largest));
        for (std::size_t k = 0; k < K; ++k) {
            result.weights[k] = result.weights[k] / sum;
            result.means[k] = raw[K + k];
        }
        T const x = raw[2 * K];
        result.scale = T(smallest_scale) + (x > T(0) ? x : T(0)) + log1p(exp(-abs(x)));
        return result;
    }
    /// From the gradient with respect to weights, means and scale to the one with respect to the raw outputs.
    template <class T>
    void pull_back(std::array<T, outputs> const& raw, parameters<T> const& mixture, parameters<T> const& gradient,
                   gmac::vector_view<T> raw_gradient) const {
        T average(0);
        for (std::size_t k = 0; k < K; ++k)
            average += mixture.weights[k] * gradient.weights[k];
        for (std::size_t k = 0; k < K; ++k) {
            raw_gradient[k] = mixture.weights[k] * (gradient.weights[k] - average);
            raw_gradient[K + k] = gradient.means[k];
        }
        raw_gradient[2 * K] = gradient.scale / (T(1) + std::exp(-raw[2 * K]));
    }

    /// By Newton's method inside a bracket: the quantiles of the lowest and of the highest component.
    template <class T>
    [[nodiscard]] static T quantile(parameters<T> const& mixture, T fraction) {
        auto const [lowest, highest] = std::ranges::minmax(mixture.means);
        T const offset = mixture.scale * std::log(fraction / (T(1) - fraction));
        T low = lowest + offset;
        T high = highest + offset;
        T x = low + (high - low) / T(2);
        for (int step = 0; step < 60 && low < x && x < high; ++step) {
            T const excess = mixture.cdf(x) - fraction;
            if (std::abs(excess) <= T(4) * std::numeric_limits<T>::epsilon())
                break;
            (excess < T(0) ? low : high) = x;
            T density(0);
            for (std::size_t k = 0; k < K; ++k) {
                T const f = T(1) / (T(1) + std::exp((mixture.means[k] - x) / mixture.scale));
                density += mixture.weights[k] * f * (T(1) - f) / mixture.scale;
            }
            T const next = x - excess / density;
            x = low < next && next < high ? next : low + (high - low) / T(2);
        }
        return x;
    }
};

/// E|X − y| / s for a logistic X with mean μ and scale s, at z = (μ − y) / s, and its derivative.
template <class T>
struct even_function {
    T value, slope;
};
template <class T>
[[nodiscard]] even_function<T> distance_to_point(T const& z) {
    using std::abs;
    using std::exp;
    using std::log1p;
    T const a = abs(z);
    T const e = exp(-a);
    T const slope = (T(1) - e) / (T(1) + e);
    return {a + T(2) * log1p(e), z < T(0) ? -slope : slope};
}

/// E|X − X'| / s for two of one scale whose means are z s apart, z coth(z / 2), and its derivative.
template <class T>
[[nodiscard]] even_function<T> distance_to_other(T const& z) {
    using std::abs;
    using std::exp;
    T const a = abs(z);
    if (a < T(0.1)) { // the quotients below are 0/0 at 0
        T const b = z * z;
        return {T(2) + b * (T(1.0 / 6.0) - b * (T(1.0 / 360.0) - b * T(1.0 / 15120.0))),
                z * (T(1.0 / 3.0) - b * (T(1.0 / 90.0) - b * T(1.0 / 2520.0)))};
    }
    T const e = exp(-a);
    T const coth = (T(1) + e) / (T(1) - e);
    T const slope = coth - T(2) * a * e / ((T(1) - e) * (T(1) - e));
    return {a * coth, z < T(0) ? -slope : slope};
}

/// The energy distance between a logistic mixture U and Dirac particles V, without the term that does not depend on the
/// prediction: 2 E|U − V| − E|U − U'|, the mean over the states.
struct logistic_energy {
    // What an actor_critic needs of every loss: what it learns from, and value_and_gradient.
    template <class T>
    using targets_type = gmac::targets::dirac_particles<T const>;

    /// outputs [B, 2 K + 1], targets [B, m] → the loss; writes its gradient with respect to the outputs, [B, 2 K + 1]
    template <std::size_t K, class T>
    T value_and_gradient(logistic_mixture<K> const& head, gmac::matrix_view<T const> outputs,
                         gmac::targets::dirac_particles<T const> const& targets, gmac::matrix_view<T> gradient) const {
        gmac::require_shape(outputs, outputs.rows(), head.output_size(), "outputs", "logistic_energy");
        gmac::require_shape(gradient, outputs.rows(), head.output_size(), "the gradient", "logistic_energy");
        gmac::targets::require_targets(targets, outputs.rows(), "logistic_energy");
        T const share = T(1) / static_cast<T>(outputs.rows());
        T sum(0);
        for (std::size_t i = 0; i < outputs.rows(); ++i) {
            auto const raw = head.row(outputs, i);
            auto const mixture = head.transform(raw);
            logistic_parameters<T, K> slope;
            sum += of_state(mixture, targets.middle_rows(i, 1), slope);
            for (std::size_t k = 0; k < K; ++k) {
                slope.weights[k] *= share;
                slope.means[k] *= share;
            }
            slope.scale *= share;
            head.pull_back(raw, mixture, slope, gradient.row(i));
        }
        return sum * share;
    }

    /// The loss of one state, and its gradient with respect to weights, means and scale.
    template <class T, class U, std::size_t K>
    [[nodiscard]] static T of_state(logistic_parameters<T, K> const& mixture,
                                    gmac::targets::dirac_particles<U const> const& targets,
                                    logistic_parameters<T, K>& slope) {
        auto const& [weights, means, scale] = mixture;
        T loss(0);
        slope.scale = T(0);
        for (std::size_t i = 0; i < K; ++i) {
            T cross(0), self(0);
            slope.means[i] = T(0);
            for (std::size_t j = 0; j < targets.particles(); ++j) {
                T const weight(targets.weighted() ? targets.weights(0, j) : U(1) / static_cast<U>(targets.particles()));
                T const z = (means[i] - T(targets.values(0, j))) / scale;
                auto const distance = distance_to_point(z);
                cross = cross + weight * distance.value;
                slope.means[i] = slope.means[i] + T(2) * weights[i] * weight * distance.slope;
                slope.scale = slope.scale + T(2) * weights[i] * weight * (distance.value - z * distance.slope);
            }
            for (std::size_t k = 0; k < K; ++k) {
                T const z = (means[i] - means[k]) / scale;
                auto const distance = distance_to_other(z);
                self = self + weights[k] * distance.value;
                slope.means[i] = slope.means[i] - T(2) * weights[i] * weights[k] * distance.slope;
                slope.scale = slope.scale - weights[i] * weights[k] * (distance.value - z * distance.slope);
            }
            slope.weights[i] = T(2) * scale * (cross - self);
            loss = loss + weights[i] * scale * (T(2) * cross - self);
        }
        return loss;
    }
};

} // namespace my
