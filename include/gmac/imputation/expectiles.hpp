// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/imputation/detail/conditions.hpp>

#include <Eigen/Core>
#include <unsupported/Eigen/NonLinearOptimization>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

/// Samples whose expectiles are given (Rowland et al. 2019, "Statistics and samples in distributional reinforcement
/// learning", Section 4.2). Needs Eigen with its "unsupported" modules, which come with it. Not part of gmac/gmac.hpp.
namespace gmac::inline GMAC_ABI::imputation {

namespace detail {

/// f_i(z) = 1/N Σ_j |τ_i − 1{z_j < e_i}| (z_j − e_i): zero for all i if e_i is the τ_i-expectile of the points z.
struct expectile_conditions : conditions {
    using conditions::conditions;

    [[nodiscard]] double level(Eigen::Index i, double z) const noexcept {
        return z < statistics[i] ? 1.0 - fractions[i] : fractions[i];
    }
    int operator()(Eigen::VectorXd const& z, Eigen::VectorXd& f) const {
        for (Eigen::Index i = 0; i < values(); ++i) {
            double sum = 0.0;
            for (Eigen::Index j = 0; j < z.size(); ++j)
                sum += level(i, z[j]) * (z[j] - statistics[i]);
            f[i] = sum / static_cast<double>(z.size());
        }
        return 0;
    }
    int df(Eigen::VectorXd const& z, Eigen::MatrixXd& jacobian) const {
        for (Eigen::Index i = 0; i < values(); ++i)
            for (Eigen::Index j = 0; j < z.size(); ++j)
                jacobian(i, j) = level(i, z[j]) / static_cast<double>(z.size());
        return 0;
    }
};

/// The points in closed form, given their mean μ. The τ-expectile e says how far the points lie above it on average:
///     φ(e) = E (Z − e)⁺ = c,   c = (1 − τ) (e − μ) / (2 τ − 1).
/// For N equally likely points φ is the maximum over k of the lines S_k − (k/N) e, where S_k is 1/N times the sum of the k
/// largest points. So the conditions max_k (S_k − (k/N) e_i) = c_i are linear in the max-plus algebra, and their greatest
/// solution, if there is one, is S_k = min_i (c_i + (k/N) e_i) (residuation; Baccelli et al. 1992, "Synchronization and
/// linearity", Section 3.2.3). If there is none, half of the largest gap is added, which makes the largest error the least.
struct closed_form {
    Eigen::VectorXd points;
    double imbalance; ///< by how much more the conditions with τ > ½ fail than those with τ < ½

    closed_form(expectile_conditions const& given, double mean) : points(given.inputs()), imbalance(0.0) {
        Eigen::Index const n = given.inputs();
        double const share = 1.0 / static_cast<double>(n);
        Eigen::VectorXd sums(n + 1);
        sums.setConstant(std::numeric_limits<double>::infinity());
        auto const each_condition = [&](auto&& visit) {
            for (Eigen::Index i = 0; i < n; ++i) {
                double const skew = 2.0 * given.fractions[i] - 1.0;
                double const e = given.statistics[i];
                if (std::abs(skew) > 1e-9) // at τ = ½ the condition is the mean
                    visit(e, (1.0 - given.fractions[i]) * (e - mean) / skew, skew > 0.0);
            }
        };
        each_condition([&](double e, double above, bool) {
            for (Eigen::Index k = 1; k < n; ++k)
                sums[k] = (std::min)(sums[k], above + static_cast<double>(k) * share * e);
        });
        sums[0] = 0.0;
        sums[n] = mean;
        double upper_gap = 0.0;
        double lower_gap = 0.0;
        each_condition([&](double e, double above, bool upper) {
            double reached = (std::max)(0.0, mean - e);
            for (Eigen::Index k = 1; k < n; ++k)
                reached = (std::max)(reached, sums[k] - static_cast<double>(k) * share * e);
            double& gap = upper ? upper_gap : lower_gap;
            gap = (std::max)(gap, above - reached);
        });
        imbalance = upper_gap - lower_gap;
        if (n > 1)
            sums.segment(1, n - 1).array() += 0.5 * (std::max)(upper_gap, lower_gap);
        for (Eigen::Index k = 1; k <= n; ++k)
            points[n - k] = static_cast<double>(n) * (sums[k] - sums[k - 1]);
    }
};

/// The mean is the expectile at τ = ½. If that is not given it lies between its neighbours, and is bracketed by the
/// conditions of both sides.
[[nodiscard]] inline double expectile_mean(expectile_conditions const& given) {
    double below = -1.0;
    double above = 1.0;
    double fraction_below = 0.0;
    double fraction_above = 1.0;
    for (Eigen::Index i = 0; i < given.inputs(); ++i) {
        double const fraction = given.fractions[i];
        if (std::abs(fraction - 0.5) <= 1e-9)
            return given.statistics[i];
        if (fraction < 0.5 && fraction > fraction_below) {
            fraction_below = fraction;
            below = given.statistics[i];
        }
        if (fraction > 0.5 && fraction < fraction_above) {
            fraction_above = fraction;
            above = given.statistics[i];
        }
    }
    for (int step = 0; step < 50; ++step) {
        double const middle = 0.5 * (below + above);
        (closed_form(given, middle).imbalance > 0.0 ? below : above) = middle;
    }
    return 0.5 * (below + above);
}

} // namespace detail

/// N samples whose τ_i-expectiles are the given ones.
///
/// Expectiles of some distribution on N points are met to rounding, in closed form, if one of the fractions is ½ (as among
/// the midpoints of an odd N); so are nearly all without. Others, like those that are still being learned, belong to no N
/// points: then Eigen's Levenberg-Marquardt (MINPACK's lmder) goes downhill from the closed form in the sum of the squared
/// conditions 1/N Σ_j |τ_i − 1{z_j < e_i}| (z_j − e_i), to a minimum that need not be the least. From the expectiles
/// themselves it, like MINPACK's hybrid method (the default of scipy.optimize.root), gets stuck more often than not. Where
/// several sets of points have the given expectiles, the closed form is the widest of them, in convex order.
struct from_expectiles {
    double tolerance = 1e-10; ///< of the conditions, in units of the expectiles' range: then they count as met
    int max_evaluations = 50; ///< of the solver

    struct result {
        double error; ///< root mean square of the conditions, in the units of the expectiles
        bool met;     ///< the samples have the given expectiles
    };

    /// expectiles [N], fractions [N] in (0, 1) → samples [N] in ascending order, which may be the expectiles' memory.
    /// Throws gmac::error if sizes do not match, N is 0, a fraction is not in (0, 1) or an expectile is not finite.
    template <class Expectiles, std::floating_point T = gmac::detail::vector_value<Expectiles const>>
    result operator()(Expectiles const& expectiles, gmac::detail::vector_of<T const> fractions,
                      gmac::detail::vector_of<T> samples) const {
        detail::expectile_conditions given(vector_view<T const>(as_vector(expectiles)), fractions, samples, "expectile",
                                           "imputation::from_expectiles");
        if (!(given.scale > 0.0)) { // a single point
            given.write(Eigen::VectorXd::Zero(given.values()), samples);
            return {0.0, true};
        }

        Eigen::VectorXd points = detail::closed_form(given, detail::expectile_mean(given)).points;
        double error = detail::error_of(given, points);
        if (!(error <= 2.0 * tolerance)) {
            Eigen::VectorXd better = points;
            Eigen::LevenbergMarquardt<detail::expectile_conditions> solver(given);
            solver.parameters.maxfev = max_evaluations;
            solver.parameters.ftol = solver.parameters.xtol = 1e-12;
            solver.minimize(better);
            double const solved = detail::error_of(given, better);
            if (solved < error) {
                error = solved;
                points = better;
            }
        }
        given.write(points, samples);
        return {given.scale * error, error <= 2.0 * tolerance};
    }
};

} // namespace gmac::inline GMAC_ABI::imputation
