// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/dual.hpp"

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

/// Random losses between samples, and the textbook's formulas to judge them by.
namespace gmac::testing {

/// States × samples against states × particles, row-major.
template <class T>
struct problem {
    std::size_t states, samples, particles;
    std::vector<T> values, fractions, targets, weights; ///< weights may be empty

    [[nodiscard]] matrix_view<T const> value_view() const { return {values.data(), states, samples}; }
    [[nodiscard]] quantile_outputs<T const> outputs() const {
        return {value_view(), {fractions.data(), states, samples}};
    }
    [[nodiscard]] targets::dirac_particles<T const> target_view() const {
        matrix_view<T const> const none;
        return {{targets.data(), states, particles},
                weights.empty() ? none : matrix_view<T const>(weights.data(), states, particles)};
    }
    [[nodiscard]] std::span<T const> row_of(std::vector<T> const& matrix, std::size_t state) const {
        std::size_t const size = matrix.size() / states;
        return std::span<T const>(matrix).subspan(state * size, size);
    }
};

struct problem_options {
    double scale = 1.0;
    double offset = 0.0;
    bool weighted = false;
    /// A fraction of all points lies on a few places, so that many are equal.
    double crowding = 0.3;
};

/// Points around `offset`, `scale` apart; fractions in [0, 1], the ends among them; weights with zeros among them.
template <class T>
[[nodiscard]] problem<T> random_problem(random_stream& random, std::size_t states, std::size_t samples,
                                        std::size_t particles, problem_options const& options = {}) {
    problem<T> result{states, samples, particles, {}, {}, {}, {}};
    auto const point = [&] {
        double const crowded = static_cast<double>(random.below(5)) - 2.0;
        double const z = random.uniform<double>() < options.crowding ? crowded : random.normal<double>();
        return static_cast<T>(options.offset + options.scale * z);
    };
    for (std::size_t i = 0; i < states * samples; ++i) {
        result.values.push_back(point());
        auto const tau = static_cast<T>(random.uniform<double>());
        result.fractions.push_back(random.below(20) == 0 ? T(0) : random.below(20) == 0 ? T(1) : tau);
    }
    for (std::size_t j = 0; j < states * particles; ++j)
        result.targets.push_back(point());
    if (options.weighted) {
        for (std::size_t s = 0; s < states; ++s) {
            std::vector<double> row(particles);
            double sum = 0.0;
            for (double& w : row)
                sum += (w = random.below(4) == 0 ? 0.0 : random.uniform<double>());
            if (sum == 0.0)
                sum = row[0] = 1.0;
            for (double w : row)
                result.weights.push_back(static_cast<T>(w / sum));
        }
    }
    return result;
}

/// A sum and the largest of its terms, with the derivatives of each.
template <class D>
struct judged {
    D sum{};
    double largest = 0.0;
    double magnitude = 0.0; ///< Σ |term|

    void add(D const& term) {
        sum += term;
        double const size = std::abs(static_cast<double>(term));
        largest = (std::max)(largest, size);
        magnitude += size;
    }
};

/// |τ − 1{δ < 0}| L_κ(δ) / κ as it is written, summed over one state.
template <class D, class T>
[[nodiscard]] judged<D> huber_by_definition(std::span<D const> theta, std::span<T const> tau, std::span<T const> z,
                                            std::span<T const> w, double kappa) {
    judged<D> result;
    for (std::size_t i = 0; i < theta.size(); ++i)
        for (std::size_t j = 0; j < z.size(); ++j) {
            D const delta = D(static_cast<double>(z[j])) - theta[i];
            double const level = std::abs(static_cast<double>(tau[i]) - (delta < D(0) ? 1.0 : 0.0));
            D const size = abs(delta);
            double const weight = w.empty() ? 1.0 / static_cast<double>(z.size()) : static_cast<double>(w[j]);
            D const loss = kappa == 0.0      ? size
                           : size < D(kappa) ? D(0.5) * delta * delta / D(kappa)
                                             : size - D(0.5 * kappa);
            result.add(D(weight * level) * loss);
        }
    return result;
}

/// |τ − 1{δ < 0}| δ², summed over one state.
template <class D, class T>
[[nodiscard]] judged<D> expectile_by_definition(std::span<D const> theta, std::span<T const> tau, std::span<T const> z,
                                                std::span<T const> w) {
    judged<D> result;
    for (std::size_t i = 0; i < theta.size(); ++i)
        for (std::size_t j = 0; j < z.size(); ++j) {
            D const delta = D(static_cast<double>(z[j])) - theta[i];
            double const level = std::abs(static_cast<double>(tau[i]) - (delta < D(0) ? 1.0 : 0.0));
            double const weight = w.empty() ? 1.0 / static_cast<double>(z.size()) : static_cast<double>(w[j]);
            result.add(D(weight * level) * delta * delta);
        }
    return result;
}

/// 2 Σ |x − y| v / N − Σ |x − x'| / N² − Σ |y − y'| v v', over one state, or with the U-statistic's factors.
template <class D, class T>
[[nodiscard]] judged<D> energy_by_definition(std::span<D const> x, std::span<T const> y, std::span<T const> v,
                                             bool unbiased, bool target_term) {
    judged<D> result;
    auto const n = static_cast<double>(x.size());
    auto const m = static_cast<double>(y.size());
    auto const weight = [&](std::size_t j) { return v.empty() ? 1.0 / m : static_cast<double>(v[j]); };
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < y.size(); ++j)
            result.add(D(2.0 / n * weight(j)) * abs(x[i] - D(static_cast<double>(y[j]))));
        for (std::size_t k = 0; k < x.size(); ++k)
            result.add(D(-1.0 / (n * (unbiased ? n - 1.0 : n))) * abs(x[i] - x[k]));
    }
    double const factor = unbiased ? m / (m - 1.0) : 1.0;
    if (target_term)
        for (std::size_t j = 0; j < y.size(); ++j)
            for (std::size_t k = 0; k < y.size(); ++k) {
                double const distance = std::abs(static_cast<double>(y[j]) - static_cast<double>(y[k]));
                result.add(D(-factor * weight(j) * weight(k) * distance));
            }
    return result;
}

/// The samples of a state as variables.
template <std::size_t N, class T>
[[nodiscard]] std::vector<dual<double, N>> variables(std::span<T const> row) {
    std::vector<dual<double, N>> result;
    for (std::size_t i = 0; i < row.size(); ++i)
        result.push_back(dual<double, N>::variable(static_cast<double>(row[i]), i));
    return result;
}

} // namespace gmac::testing
