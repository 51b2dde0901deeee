// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/imputation/detail/conditions.hpp>

#include <Eigen/Core>
#include <unsupported/Eigen/NonLinearOptimization>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

/// Samples whose Huber quantiles are given: the imputation strategy (Rowland et al. 2019, "Statistics and samples in
/// distributional reinforcement learning") for losses::huber_quantile. Needs Eigen with its "unsupported" modules, which
/// come with it. Not part of gmac/gmac.hpp.
namespace gmac::inline GMAC_ABI::imputation {

namespace detail {

/// f_i(z) = 1/N Σ_j |τ_i − 1{z_j < θ_i}| clamp(z_j − θ_i, −κ, κ): zero for all i if θ_i is the τ_i-Huber quantile of the
/// points z, since it is κ times the loss's slope there.
struct huber_quantile_conditions : conditions {
    using conditions::conditions;

    double kappa = 0.0; ///< in units of `scale`

    [[nodiscard]] static double level(double fraction, double difference) noexcept {
        return difference < 0.0 ? 1.0 - fraction : fraction;
    }
    int operator()(Eigen::VectorXd const& z, Eigen::VectorXd& f) const {
        for (Eigen::Index i = 0; i < values(); ++i) {
            double sum = 0.0;
            for (Eigen::Index j = 0; j < z.size(); ++j) {
                double const difference = z[j] - statistics[i];
                sum += level(fractions[i], difference) * std::clamp(difference, -kappa, kappa);
            }
            f[i] = sum / static_cast<double>(z.size());
        }
        return 0;
    }
    int df(Eigen::VectorXd const& z, Eigen::MatrixXd& jacobian) const {
        for (Eigen::Index i = 0; i < values(); ++i)
            for (Eigen::Index j = 0; j < z.size(); ++j) {
                double const difference = z[j] - statistics[i];
                jacobian(i, j) = std::abs(difference) < kappa
                                     ? level(fractions[i], difference) / static_cast<double>(z.size())
                                     : 0.0;
            }
        return 0;
    }

    /// The τ-Huber quantile of points: the zero of a slope that falls and is linear in pieces, by Newton's method in a
    /// bracket.
    [[nodiscard]] double quantile_of(Eigen::VectorXd const& z, double fraction) const {
        double low = z.minCoeff();
        double high = z.maxCoeff();
        double theta = 0.5 * (low + high);
        while (low < theta && theta < high) {
            double slope = 0.0;
            double steepness = 0.0;
            for (double const point : z) {
                double const a = level(fraction, point - theta);
                slope += a * std::clamp(point - theta, -kappa, kappa);
                steepness += std::abs(point - theta) < kappa ? a : 0.0;
            }
            if (slope == 0.0)
                break;
            (slope > 0.0 ? low : high) = theta;
            double const newton = theta + slope / steepness; // infinite where all points are further than κ away
            double const middle = 0.5 * (low + high);
            double const next = newton > low && newton < high ? newton : middle;
            if (std::abs(next - theta) <= 4.0 * std::numeric_limits<double>::epsilon() * std::abs(theta))
                return next;
            theta = next;
        }
        return theta;
    }

    /// From the quantiles as points, moves each point some times by what its own quantile misses. The map from points to
    /// quantiles smooths, so this sharpens; with too many steps it overshoots.
    [[nodiscard]] Eigen::VectorXd sharpened(int steps) const {
        Eigen::VectorXd z = statistics;
        for (int step = 0; step < steps; ++step) {
            Eigen::VectorXd missing = statistics;
            for (Eigen::Index i = 0; i < values(); ++i)
                missing[i] -= quantile_of(z, fractions[i]);
            z += missing;
        }
        return z;
    }
};

} // namespace detail

/// N samples whose τ_i-Huber quantiles, for the threshold κ of the loss, are the given ones. Huber quantiles lie between
/// quantiles (κ → 0, where imputation::from_quantiles is the answer) and expectiles (κ = ∞, which is allowed).
///
/// Samples are found by Eigen's Levenberg-Marquardt (MINPACK's lmder) as the least sum of squared conditions
/// 1/N Σ_j |τ_i − 1{z_j < θ_i}| clamp(z_j − θ_i, −κ, κ), which is zero if there are N such points. They need not be
/// unique: points between the same two neighbours of the θ_i and the θ_i ± κ count by their sum only. The conditions are
/// linear in pieces and not convex: from the Huber quantiles themselves the solver stays in a local minimum for most
/// distributions with two modes. It starts from sharpened versions of them, one after the other until one leads to a
/// solution; otherwise the best counts.
struct from_huber_quantiles {
    double kappa = 1.0;        ///< in units of the return, as in losses::huber_quantile
    double tolerance = 1e-10;  ///< of the conditions, in units of the quantiles' range, or of κ if that is less
    int starts = 8;            ///< at most so many, from 1 to 8
    int max_evaluations = 200; ///< of the solver, for each start

    struct result {
        double error; ///< root mean square of the conditions, in the units of the quantiles
        bool met;     ///< the samples have the given Huber quantiles
    };

    /// quantiles [N], fractions [N] in (0, 1) → samples [N] in ascending order, which may be the quantiles' memory.
    /// Throws gmac::error if sizes do not match, N is 0, an option is out of its range, a fraction is not in (0, 1) or a
    /// quantile is not finite.
    template <class Quantiles, std::floating_point T = gmac::detail::vector_value<Quantiles const>>
    result operator()(Quantiles const& quantiles, gmac::detail::vector_of<T const> fractions,
                      gmac::detail::vector_of<T> samples) const {
        constexpr auto where = "imputation::from_huber_quantiles";
        require(kappa > 0.0, "{}: kappa is {}, but must be positive (from_quantiles is for kappa = 0)", where, kappa);
        require(starts >= 1 && starts <= 8, "{}: starts is {}, but must be from 1 to 8", where, starts);
        detail::huber_quantile_conditions given(vector_view<T const>(as_vector(quantiles)), fractions, samples,
                                                "quantile", where);
        if (!(given.scale > 0.0)) { // a single point
            given.write(Eigen::VectorXd::Zero(given.values()), samples);
            return {0.0, true};
        }
        given.kappa = kappa / given.scale;

        // The order of the starts: the one that most often leads to a solution first.
        constexpr std::array<int, 8> steps{4, 2, 3, 6, 1, 8, 5, 7};
        Eigen::VectorXd points;
        double error = std::numeric_limits<double>::infinity();
        auto const met = [&] { return error / (std::min)(1.0, given.kappa) <= 2.0 * tolerance; };
        for (int start = 0; start < starts && !met(); ++start) {
            Eigen::VectorXd found = given.sharpened(steps[static_cast<std::size_t>(start)]);
            Eigen::LevenbergMarquardt<detail::huber_quantile_conditions> solver(given);
            solver.parameters.maxfev = max_evaluations;
            solver.parameters.ftol = solver.parameters.xtol = 1e-8; // where there is a solution, the last step is exact
            solver.minimize(found);
            double const left = detail::error_of(given, found);
            if (start == 0 || left < error) {
                error = left;
                points = found;
            }
        }
        given.write(points, samples);
        return {given.scale * error, met()};
    }
};

} // namespace gmac::inline GMAC_ABI::imputation
