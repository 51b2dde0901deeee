// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <span>
#include <type_traits>
#include <utility>

namespace gmac::actors::detail {

/// The element type of whatever converts to a matrix view.
template <class M>
using scalar_of = typename decltype(as_matrix(std::declval<M&>()))::value_type;

// Parameters of these types do not take part in the deduction of T, so everything that converts to a view may be given.
template <class T>
using matrix_of = std::type_identity_t<matrix_view<T>>;
template <class T>
using vector_of = std::type_identity_t<vector_view<T>>;
template <class T>
using span_of = std::type_identity_t<std::span<T>>;

/// A vector as a matrix of one column.
template <class T>
[[nodiscard]] constexpr matrix_view<T> column(vector_view<T> const& vector) noexcept {
    return {vector.data(), vector.size(), 1, vector.stride(), 1};
}

} // namespace gmac::actors::detail
