// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <xsimd/xsimd.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>

/// Kernels are templates over a lane type V: float, double, xsimd::batch (a lane is a state), gmac::counted<T>, or a
/// user's dual number. Besides + - * / and the comparisons, a kernel calls the functions of this namespace, qualified
/// or after a using-declaration (`using gmac::lanes::select;`); a lane type of another namespace brings overloads of
/// the same names in its own namespace, which these functions find by argument-dependent lookup.
namespace gmac::inline GMAC_ABI::lanes {

template <class V>
struct lane_traits {
    using scalar = V; ///< the type of one lane
    static constexpr std::size_t width = 1;
};
template <class T, class A>
struct lane_traits<xsimd::batch<T, A>> {
    using scalar = T;
    static constexpr std::size_t width = xsimd::batch<T, A>::size;
};
template <class V>
inline constexpr bool is_batch = false;
template <class T, class A>
inline constexpr bool is_batch<xsimd::batch<T, A>> = true;
template <class V>
using scalar_of = typename lane_traits<V>::scalar;
template <class V>
inline constexpr std::size_t width_of = lane_traits<V>::width;

/// The widest lane type for T under the flags of this translation unit.
template <std::floating_point T>
using widest = xsimd::batch<T>;

/// The lane type with which a batch of T is computed: the widest for float and double, T itself for every other scalar
/// (gmac::counted, a dual number).
template <class T>
struct lane_for {
    using type = T;
};
template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
struct lane_for<T> {
    using type = widest<T>;
};
template <class T>
using lane_for_t = typename lane_for<std::remove_cv_t<T>>::type;

/// The type in which the loss of many states is summed: double for float.
template <class T>
using accumulator_for = std::conditional_t<std::same_as<T, float>, double, T>;

/// The same number in every lane. It costs no counted operation.
template <class V>
[[nodiscard]] constexpr V constant(double value) noexcept {
    return V(static_cast<scalar_of<V>>(value));
}

namespace detail {

template <class V>
inline constexpr bool is_avx512 = false;
#if defined(__AVX512F__)
template <class T, class A>
inline constexpr bool is_avx512<xsimd::batch<T, A>> = std::derived_from<A, xsimd::avx512f>;
// The unmasked forms of these intrinsics make GCC 12 warn of an uninitialised register of its own.
template <class T, class A>
[[nodiscard]] inline xsimd::batch<T, A> sqrt_512(xsimd::batch<T, A> const& x) noexcept {
    if constexpr (sizeof(T) == 4)
        return _mm512_maskz_sqrt_ps(static_cast<__mmask16>(0xffff), x);
    else
        return _mm512_maskz_sqrt_pd(static_cast<__mmask8>(0xff), x);
}
#endif

} // namespace detail

namespace lookup {

// Unqualified calls inside the objects below must find nothing but the overloads that belong to the lane type.
void select() = delete;
void abs() = delete;
void sqrt() = delete;
void any() = delete;

struct select_fn {
    template <class Mask, class V>
    [[nodiscard]] constexpr V operator()(Mask const& mask, V const& a, V const& b) const noexcept {
        if constexpr (std::same_as<Mask, bool>)
            return mask ? a : b;
        else
            return select(mask, a, b);
    }
};
struct abs_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (std::floating_point<V>)
            return std::abs(x);
        else
            return abs(x);
    }
};
struct sqrt_fn {
    template <class V>
    [[nodiscard]] V operator()(V const& x) const noexcept {
        if constexpr (std::floating_point<V>)
            return std::sqrt(x);
#if defined(__AVX512F__)
        else if constexpr (detail::is_avx512<V>)
            return detail::sqrt_512(x);
#endif
        else
            return sqrt(x);
    }
};
struct any_fn {
    template <class Mask>
    [[nodiscard]] constexpr bool operator()(Mask const& mask) const noexcept {
        if constexpr (std::same_as<Mask, bool>)
            return mask;
        else
            return any(mask);
    }
};

} // namespace lookup

// Function objects, so that `using gmac::lanes::sqrt; sqrt(x)` is never ambiguous with what argument-dependent lookup
// would find in the lane type's own namespace (xsimd has functions of the same names).

/// select(mask, a, b): a where the mask holds, else b. A NaN in either stays where it was.
inline constexpr lookup::select_fn select{};
inline constexpr lookup::abs_fn abs{};
inline constexpr lookup::sqrt_fn sqrt{};
/// any(mask): true if the mask holds in any lane.
inline constexpr lookup::any_fn any{};

/// One column of `width_of<V>` consecutive rows. `count` < width repeats the last valid row, so that no lane computes on
/// memory that is not there; use store_rows with the same count.
template <class V, class T>
    requires std::same_as<std::remove_const_t<T>, scalar_of<V>>
[[nodiscard]] inline V load_rows(matrix_view<T> const& matrix, std::size_t first_row, std::size_t col,
                                 std::size_t count = width_of<V>) noexcept {
    if constexpr (width_of<V> == 1) {
        return matrix(first_row, col);
    } else {
        T const* const start = &matrix(first_row, col);
        if (count == width_of<V> && matrix.row_stride() == 1)
            return V::load_unaligned(start);
        alignas(64) std::array<scalar_of<V>, width_of<V>> lanes;
        for (std::size_t i = 0; i < lanes.size(); ++i)
            lanes[i] = start[static_cast<std::ptrdiff_t>(i < count ? i : count - 1) * matrix.row_stride()];
        return V::load_aligned(lanes.data());
    }
}

template <class V>
inline void store_rows(V const& value, matrix_view<scalar_of<V>> const& matrix, std::size_t first_row, std::size_t col,
                       std::size_t count = width_of<V>) noexcept {
    if constexpr (width_of<V> == 1) {
        matrix(first_row, col) = value;
    } else {
        scalar_of<V>* const start = &matrix(first_row, col);
        if (count == width_of<V> && matrix.row_stride() == 1) {
            value.store_unaligned(start);
            return;
        }
        alignas(64) std::array<scalar_of<V>, width_of<V>> lanes;
        value.store_aligned(lanes.data());
        for (std::size_t i = 0; i < count; ++i)
            start[static_cast<std::ptrdiff_t>(i) * matrix.row_stride()] = lanes[i];
    }
}

/// The sum of the first `count` lanes, from the first to the last.
template <class V>
[[nodiscard]] inline scalar_of<V> sum_lanes(V const& value, std::size_t count = width_of<V>) noexcept {
    if constexpr (width_of<V> == 1) {
        return value;
    } else {
        alignas(64) std::array<scalar_of<V>, width_of<V>> lanes;
        value.store_aligned(lanes.data());
        scalar_of<V> sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += lanes[i];
        return sum;
    }
}

/// 0, or NaN in the lanes in which a number is not finite: added to what would swallow it.
template <class V>
[[nodiscard]] inline V taint(V const* numbers, std::size_t count) noexcept {
    V const zero = constant<V>(0.0);
    V sum = zero;
    for (std::size_t i = 0; i < count; ++i)
        sum = sum + numbers[i] * zero;
    return sum;
}

} // namespace gmac::inline GMAC_ABI::lanes
