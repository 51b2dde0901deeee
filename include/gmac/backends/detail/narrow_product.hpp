// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/detail/product.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <xsimd/xsimd.hpp>

#include <array>
#include <cstddef>
#include <cstring>

/// The product of backends::simd where the result has so few columns that its tiles would stay mostly empty.
namespace gmac::inline GMAC_ABI::backends::detail {

#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
template <class T>
struct four_of;
template <>
struct four_of<float> {
    typedef float type __attribute__((vector_size(16)));
};
template <>
struct four_of<double> {
    typedef double type __attribute__((vector_size(32)));
};

/// The sum of all lanes in four chains, so that it does not wait for each addition in turn.
template <class V>
[[nodiscard]] inline lanes::scalar_of<V> sum_of_lanes(V const& value) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    if constexpr (width < 4) {
        return lanes::sum_lanes<V>(value);
    } else {
        using four = typename four_of<T>::type;
        alignas(64) std::array<T, width> lane;
        value.store_aligned(lane.data());
        four sums, next;
        std::memcpy(&sums, lane.data(), sizeof(four));
        for (std::size_t i = 4; i < width; i += 4) {
            std::memcpy(&next, lane.data() + i, sizeof(four));
            sums += next;
        }
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
}
#else
template <class V>
[[nodiscard]] inline lanes::scalar_of<V> sum_of_lanes(V const& value) noexcept {
    return lanes::sum_lanes<V>(value);
}
#endif

/// True if there are so few columns that a dot product of contiguous rows, a register of the inner index at a time, beats
/// a tile whose registers stay mostly empty.
template <class V>
[[nodiscard]] inline bool is_narrow(matrix_view<lanes::scalar_of<V> const> const& left,
                                    matrix_view<lanes::scalar_of<V> const> const& right) noexcept {
    return 4 * right.cols() <= lanes::width_of<V> && left.row_contiguous() && left.cols() >= lanes::width_of<V> &&
           left.cols() <= 1024;
}

/// The product where is_narrow holds. The order of the sums depends only on the inner size.
template <class V>
inline void multiply_narrow(matrix_view<lanes::scalar_of<V> const> const& left,
                            matrix_view<lanes::scalar_of<V> const> const& right,
                            matrix_view<lanes::scalar_of<V>> const& result, start_from start,
                            vector_view<lanes::scalar_of<V> const> const& bias) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    alignas(64) std::array<T, 1024> column;
    std::size_t const depth = left.cols();
    for (std::size_t j = 0; j < right.cols(); ++j) {
        T const* b = &right(0, j);
        if (right.row_stride() != 1) {
            for (std::size_t k = 0; k < depth; ++k)
                column[k] = right(k, j);
            b = column.data();
        }
        for (std::size_t i = 0; i < left.rows(); ++i) {
            T const* const a = &left(i, 0);
            V even(T(0)), odd(T(0));
            std::size_t k = 0;
            for (; k + 2 * width <= depth; k += 2 * width) {
                even = xsimd::fma(V::load_unaligned(a + k), V::load_unaligned(b + k), even);
                odd = xsimd::fma(V::load_unaligned(a + k + width), V::load_unaligned(b + k + width), odd);
            }
            for (; k < depth; k += width)
                even = xsimd::fma(lanes::load_partial<V>(a + k, depth - k), lanes::load_partial<V>(b + k, depth - k),
                                  even);
            T const sum = sum_of_lanes(V(even + odd));
            result(i, j) = start == start_from::zero     ? sum
                           : start == start_from::result ? result(i, j) + sum
                                                         : bias[j] + sum;
        }
    }
}

} // namespace gmac::inline GMAC_ABI::backends::detail
