// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/sort_places.hpp>
#include <gmac/core/view.hpp>
#include <gmac/statistics/detail/distortion.hpp>
#include <gmac/statistics/statistic.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

/// Statistics of N equally likely points.
namespace gmac::inline GMAC_ABI::statistics::detail {

inline constexpr std::size_t most_points = 4096;

/// Memory of one thread, on its stack.
struct point_order {
    std::array<std::uint16_t, most_points> places, spare;
    std::array<double, most_points> weights; ///< of the points in ascending order
};

/// The weight of each of N points in ascending order: g((i + 1) / N) − g(i / N). The parameter is a T; where g jumps, T has
/// to have the same number for a share that is equal to it.
template <std::floating_point T>
void weigh(statistic_kind kind, double parameter, std::span<double> weights) noexcept {
    auto const count = static_cast<double>(weights.size());
    double before = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        share<double> u{static_cast<double>(i + 1) / count, static_cast<double>(weights.size() - 1 - i) / count};
        if (kind == statistic_kind::quantile)
            u.below = static_cast<double>(static_cast<T>(u.below));
        double const here = distorted(kind, parameter, u);
        weights[i] = here - before;
        before = here;
    }
}

/// Σ w_(i) x_(i) over the points in ascending order; the weight of each is its gradient, where there is room for it.
template <std::floating_point T>
[[nodiscard]] T weighted_points(vector_view<T const> const& points, vector_view<T> const& gradient,
                                point_order& order) noexcept {
    gmac::detail::sort_places(points, order.places.data(), order.spare.data());
    double sum = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto const place = static_cast<std::size_t>(order.places[i]);
        sum += order.weights[i] * static_cast<double>(points[place]);
        if (!gradient.empty())
            gradient[place] = static_cast<T>(order.weights[i]);
    }
    return static_cast<T>(sum);
}

template <std::floating_point T>
[[nodiscard]] double mean_of(vector_view<T const> const& points) noexcept {
    double mean = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i)
        mean += static_cast<double>(points[i]) / static_cast<double>(points.size());
    return mean;
}

/// The mean minus `count` standard deviations (1/N of the squares), and its gradient, 0 for the deviation's part where that
/// is 0.
template <std::floating_point T>
[[nodiscard]] T mean_and_deviation(vector_view<T const> const& points, vector_view<T> const& gradient,
                                   double count) noexcept {
    auto const n = static_cast<double>(points.size());
    double const mean = mean_of(points);
    double variance = 0.0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        double const distance = static_cast<double>(points[i]) - mean;
        variance += distance * distance / n;
    }
    double const deviation = std::sqrt(variance);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        double const distance = static_cast<double>(points[i]) - mean;
        gradient[i] = static_cast<T>((1.0 - (deviation > 0.0 ? count * distance / deviation : 0.0)) / n);
    }
    return static_cast<T>(mean - count * deviation);
}

} // namespace gmac::inline GMAC_ABI::statistics::detail
