// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::detail {

/// A component of one mixture a lane.
template <class V>
struct component_lanes {
    V weight, mean, deviation;

    /// NaN where one of the numbers is not finite, else 0.
    [[nodiscard]] V taint() const noexcept {
        V const numbers[]{weight, mean, deviation};
        return lanes::taint(numbers, 3);
    }
};

/// The mixtures of some states, as heads::gaussian_mixture::distribution gives them: one a row, one a lane.
template <class T>
struct mixture_batch {
    using lane = lanes::lane_for_t<T>;

    std::string_view where;
    matrix_view<T const> weights, means, deviations; // [B, K]

    /// Throws gmac::error unless all three have the same shape.
    template <class Weights, class Means, class Deviations>
    mixture_batch(std::string_view called, Weights& w, Means& m, Deviations& d) : where(called), weights(as_matrix(w)) {
        constexpr bool alike = std::same_as<matrix_value<Means>, T> && std::same_as<matrix_value<Deviations>, T>;
        static_assert(alike, "weights, means and deviations must have the same number type");
        if constexpr (alike) {
            means = as_matrix(m);
            deviations = as_matrix(d);
        }
        require_shape(means, weights.rows(), weights.cols(), "means", where);
        require_shape(deviations, weights.rows(), weights.cols(), "deviations", where);
    }

    /// One value a state, as a column. Throws gmac::error unless it is that, in memory of its own.
    template <class Values>
    [[nodiscard]] matrix_view<T> column(Values& values, std::string_view name) const {
        auto const result = as_column(result_as<T>(as_vector(values)));
        require_shape(result, weights.rows(), 1, name, where);
        require(!may_overlap(result, weights) && !may_overlap(result, means) && !may_overlap(result, deviations),
                "{}: the {} overlap the mixtures", where, name);
        return result;
    }

    /// Component k of `count` states from `first` on.
    [[nodiscard]] component_lanes<lane> component(std::size_t first, std::size_t k, std::size_t count) const noexcept {
        return {lanes::load_rows<lane>(weights, first, k, count), lanes::load_rows<lane>(means, first, k, count),
                lanes::load_rows<lane>(deviations, first, k, count)};
    }

    /// Calls visit(components, first state, number of states) for each lane's worth of states; components(k) is component k.
    template <class Visit>
    void for_each_block(Visit&& visit) const {
        for (std::size_t first = 0; first < weights.rows(); first += lanes::width_of<lane>) {
            std::size_t const count = (std::min)(lanes::width_of<lane>, weights.rows() - first);
            visit([&](std::size_t k) { return component(first, k, count); }, first, count);
        }
    }
};

} // namespace gmac::inline GMAC_ABI::detail
