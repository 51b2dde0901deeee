// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::imputation::detail {

/// N statistics and their fractions, moved to [−1, 1] so that tolerances mean the same for every scale, and what Eigen's
/// solvers ask of N conditions for N points.
struct conditions {
    using Scalar = double;
    using InputType = Eigen::VectorXd;
    using ValueType = Eigen::VectorXd;
    using JacobianType = Eigen::MatrixXd;
    enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

    Eigen::VectorXd statistics, fractions;
    double center, scale; ///< a statistic was center + scale times what it is here; 0 if all are the same

    /// `name` is that of a statistic. Throws gmac::error if sizes do not match, N is 0, a fraction is not in (0, 1) or a
    /// statistic is not finite.
    template <class T>
    conditions(vector_view<T const> const& given, vector_view<T const> const& at, vector_view<T> const& samples,
               std::string_view name, std::string_view where) {
        require(!given.empty(), "{}: there are no {}s", where, name);
        require_size(at, given.size(), "fractions", where);
        require_size(samples, given.size(), "samples", where);
        auto const n = static_cast<Eigen::Index>(given.size());
        statistics.resize(n);
        fractions.resize(n);
        for (Eigen::Index i = 0; i < n; ++i) {
            statistics[i] = static_cast<double>(given[static_cast<std::size_t>(i)]);
            fractions[i] = static_cast<double>(at[static_cast<std::size_t>(i)]);
            require(std::isfinite(statistics[i]), "{}: {} {} is {}, but must be finite", where, name, i, statistics[i]);
            require(fractions[i] > 0.0 && fractions[i] < 1.0, "{}: fraction {} is {}, but must be in (0, 1)", where, i,
                    fractions[i]);
        }
        double const lowest = statistics.minCoeff();
        double const highest = statistics.maxCoeff();
        center = 0.5 * lowest + 0.5 * highest;
        scale = 0.5 * highest - 0.5 * lowest;
        for (double& x : statistics)
            x = (x - center) / scale;
    }

    [[nodiscard]] Eigen::Index inputs() const noexcept { return statistics.size(); }
    [[nodiscard]] Eigen::Index values() const noexcept { return statistics.size(); }

    /// Points in [−1, 1] or near it, as samples in ascending order.
    template <class T>
    void write(Eigen::VectorXd points, vector_view<T> const& samples) const {
        std::sort(points.data(), points.data() + points.size());
        for (std::size_t i = 0; i < samples.size(); ++i)
            samples[i] = static_cast<T>(center + scale * points[static_cast<Eigen::Index>(i)]);
    }
};

/// The root mean square of what the conditions miss.
template <class Conditions>
[[nodiscard]] double error_of(Conditions const& given, Eigen::VectorXd const& points) {
    Eigen::VectorXd missed(given.values());
    given(points, missed);
    return missed.stableNorm() / std::sqrt(static_cast<double>(missed.size())); // no square of a tiny one is lost
}

} // namespace gmac::inline GMAC_ABI::imputation::detail
