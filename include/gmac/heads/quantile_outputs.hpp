// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::inline GMAC_ABI {

/// What a head that predicts quantiles gives to a loss: the values of N quantiles of each state, and the fraction τ that
/// each of them stands for, [B, N] both. Fractions shared by the batch have row stride 0.
template <class T>
struct quantile_outputs {
    using value_type = std::remove_const_t<T>;

    matrix_view<T> values{};
    matrix_view<T> fractions{};

    [[nodiscard]] constexpr std::size_t rows() const noexcept { return values.rows(); }
    [[nodiscard]] constexpr std::size_t quantiles() const noexcept { return values.cols(); }

    /// Some consecutive states of the batch.
    [[nodiscard]] constexpr quantile_outputs middle_rows(std::size_t first, std::size_t count) const noexcept {
        return {values.middle_rows(first, count), fractions.middle_rows(first, count)};
    }

    constexpr operator quantile_outputs<T const>() const noexcept
        requires(!std::same_as<T, T const>)
    {
        return {values, fractions};
    }
};

template <detail::matrix_like... Parts>
quantile_outputs(Parts&&...) -> quantile_outputs<detail::matrix_element<Parts...>>;

/// The same N fractions for every state of a batch of `rows` states, as a matrix with row stride 0.
template <class T>
[[nodiscard]] constexpr matrix_view<T> shared_fractions(vector_view<T> fractions, std::size_t rows) noexcept {
    return {fractions.data(), rows, fractions.size(), 0, fractions.stride()};
}

} // namespace gmac::inline GMAC_ABI
