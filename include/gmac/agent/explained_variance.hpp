// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/communicator.hpp>
#include <gmac/core/detail/moments.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// 1 − Var(return − value) / Var(return) of returns and values [n]: 1 for a perfect value, 0 for a constant one. NaN if
/// the returns are equal up to rounding, or a number is not finite. Throws gmac::error if the sizes differ.
template <class Returns, class Values>
[[nodiscard]] double explained_variance(Returns const& returns, Values const& values) {
    auto const of_states = as_vector(returns);
    auto const predicted = as_vector(values);
    require_size(predicted, of_states.size(), "the vector of values", "explained_variance");
    using T = typename decltype(of_states)::value_type;
    double const largest = detail::largest_magnitude(of_states);
    double const scale = detail::unit_scale((std::max)(largest, detail::largest_magnitude(predicted)));
    std::size_t const count = of_states.size();
    auto const scaled = [scale](auto const& numbers, std::size_t i) { return static_cast<double>(numbers[i]) * scale; };
    double const variance = detail::moments_of(count, [&](std::size_t i) { return scaled(of_states, i); }).squares;
    double const unexplained =
        detail::moments_of(count, [&](std::size_t i) { return scaled(of_states, i) - scaled(predicted, i); }).squares;
    if (detail::only_rounding<T>(variance / static_cast<double>(count), largest * scale))
        return std::numeric_limits<double>::quiet_NaN();
    return 1.0 - unexplained / variance;
}

/// The same of the returns and values on all ranks. Collective.
template <class Returns, class Values>
[[nodiscard]] double explained_variance(communicator& ranks, Returns const& returns, Values const& values) {
    auto const of_states = as_vector(returns);
    auto const predicted = as_vector(values);
    require_size(predicted, of_states.size(), "the vector of values", "explained_variance");
    using T = typename decltype(of_states)::value_type;
    std::size_t const count = of_states.size();
    std::vector<double> targets_and_errors(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        targets_and_errors[i] = static_cast<double>(of_states[i]);
        targets_and_errors[count + i] = targets_and_errors[i] - static_cast<double>(predicted[i]);
    }
    auto const both = ranks.moments_of(std::array{count, count}, targets_and_errors);
    if (detail::only_rounding<T>(both[0].squares / both[0].count, std::abs(both[0].mean)))
        return std::numeric_limits<double>::quiet_NaN();
    return 1.0 - both[1].squares / both[0].squares;
}

} // namespace gmac::inline GMAC_ABI
