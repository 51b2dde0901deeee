// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/registers.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::backends {

namespace detail {

/// tanh to a few ulp, odd, at most 1, NaN stays NaN. float: x P(x²) / Q(x²), the best in relative error (2.1e-8, a third
/// of an ulp) on |x| ≤ 9.02, beyond which the nearest float is 1; found by Remez exchange. xsimd has a tanh too, but branches and may lose a NaN.
template <class V>
[[nodiscard]] inline V hyperbolic_tangent(V const& x) noexcept {
    if constexpr (std::floating_point<V>) {
        return std::tanh(x);
    } else if constexpr (std::same_as<lanes::scalar_of<V>, float>) {
        V const y = lanes::at_most(V(9.02f), lanes::abs(x)); // a NaN stays
        V const t = y * y;
        V p(1.3319070982959753e-8f);
        p = xsimd::fma(p, t, V(2.0583479932678212e-5f));
        p = xsimd::fma(p, t, V(3.4940344407471868e-3f));
        p = xsimd::fma(p, t, V(0.13379717823810872f));
        p = xsimd::fma(p, t, V(0.99999997901118958f));
        V q(7.762018878133853e-7f);
        q = xsimd::fma(q, t, V(3.2830926738315144e-4f));
        q = xsimd::fma(q, t, V(0.025871072698470463f));
        q = xsimd::fma(q, t, V(0.46713033062855174f));
        q = xsimd::fma(q, t, V(1.f));
        return lanes::at_most(V(1.f), V(y * p / q)) | xsimd::bitofsign(x);
    } else {
        // x P(x²) / Q(x²) (1.3e-19) where 1 − 2 / (exp(2x) + 1) would cancel.
        V const y = lanes::at_most(V(20.0), lanes::abs(x));
        V const t = y * y;
        V p(7.3583803920112581e-6);
        p = xsimd::fma(p, t, V(2.7928156067679103e-3));
        p = xsimd::fma(p, t, V(0.12816561878329884));
        p = xsimd::fma(p, t, V(1.0));
        V q(2.0657417049187488e-4);
        q = xsimd::fma(q, t, V(0.023292466312314062));
        q = xsimd::fma(q, t, V(0.46149895211663213));
        q = xsimd::fma(q, t, V(1.0));
        V const large = V(1.0) - V(2.0) / (lanes::exp(V(y + y)) + V(1.0));
        return lanes::select(y < V(0.5625), V(y * p / q), large) | xsimd::bitofsign(x);
    }
}

struct identity_map {
    template <class V>
    [[nodiscard, gnu::always_inline]] static V forward(V const& x) noexcept {
        return x;
    }
    template <class V>
    [[nodiscard, gnu::always_inline]] static V backward(V const&, V const& gradient) noexcept {
        return gradient;
    }
};
struct tanh_map {
    template <class V>
    [[nodiscard, gnu::always_inline]] static V forward(V const& x) noexcept {
        return hyperbolic_tangent(x);
    }
    template <class V>
    [[nodiscard, gnu::always_inline]] static V backward(V const& y, V const& gradient) noexcept {
        return lanes::mul_sub(gradient, V(y * y), gradient); // by name: the same bits wherever it is inlined
    }
};
struct relu_map {
    template <class V>
    [[nodiscard, gnu::always_inline]] static V forward(V const& x) noexcept {
        return lanes::at_least(V(lanes::scalar_of<V>(0)), x); // a NaN stays
    }
    template <class V>
    [[nodiscard, gnu::always_inline]] static V backward(V const& y, V const& gradient) noexcept {
        V const zero(lanes::scalar_of<V>(0));
        return lanes::select(y > zero, gradient, V(zero * y)); // a NaN stays
    }
};

template <class Visit>
void with_map(nn::activation f, Visit&& visit) {
    switch (f) {
    case nn::activation::none:
        return visit(identity_map{});
    case nn::activation::tanh:
        return visit(tanh_map{});
    case nn::activation::relu:
        return visit(relu_map{});
    }
}

/// Up to a register of the elements data[0], data[stride], …
template <class V>
[[nodiscard, gnu::always_inline]] inline V load_strided(lanes::scalar_of<V> const* data, std::ptrdiff_t stride,
                                                        std::size_t count) noexcept {
    if (stride == 1)
        return lanes::load_partial<V>(data, count);
    alignas(64) std::array<lanes::scalar_of<V>, lanes::width_of<V>> lane{};
    for (std::size_t i = 0; i < count; ++i)
        lane[i] = data[static_cast<std::ptrdiff_t>(i) * stride];
    return V::load_aligned(lane.data());
}
template <class V>
[[gnu::always_inline]] inline void store_strided(V const& value, lanes::scalar_of<V>* data, std::ptrdiff_t stride,
                                                 std::size_t count) noexcept {
    if (stride == 1)
        return lanes::store_partial(value, data, count);
    alignas(64) std::array<lanes::scalar_of<V>, lanes::width_of<V>> lane;
    value.store_aligned(lane.data());
    for (std::size_t i = 0; i < count; ++i)
        data[static_cast<std::ptrdiff_t>(i) * stride] = lane[i];
}

/// visit(true or false as a constant): a loop over contiguous elements is compiled by itself.
template <class Visit>
[[gnu::always_inline]] inline void with_stride(bool contiguous, Visit&& visit) {
    if (contiguous)
        visit(std::true_type{});
    else
        visit(std::false_type{});
}
template <class T, class Contiguous>
[[nodiscard]] constexpr std::ptrdiff_t stride_of(matrix_view<T> const& m, Contiguous) noexcept {
    return Contiguous::value ? 1 : m.col_stride();
}

/// How many rows can be read in place, `width` elements from column `col` on. The last registers of a narrow row reach
/// into the next row, whose elements are only computed with in lanes that are thrown away; but nothing outside the matrix
/// may be read.
template <class T>
[[nodiscard]] inline std::size_t readable_rows(matrix_view<T> const& matrix, std::size_t col,
                                               std::size_t width) noexcept {
    std::size_t const rows = matrix.rows(), cols = matrix.cols();
    if (!matrix.row_contiguous())
        return 0;
    if (col + width <= cols)
        return rows;
    return matrix.dense() ? rows - (std::min)(rows, (col + width - 1) / cols) : 0;
}

/// A matrix that is dense as one long row, so that short rows fill whole registers.
template <class T>
[[nodiscard]] matrix_view<T> flattened(matrix_view<T> const& m) noexcept {
    return {m.data(), 1, m.rows() * m.cols()};
}

} // namespace detail

/// The part of a backend that is no matrix product, in SIMD registers: a base of every backend whose memory is plain.
template <std::floating_point T>
struct maps {
    /// result = f(input); in place if both are the same view.
    static void activate(nn::activation f, matrix_view<T const> input, matrix_view<T> result) {
        require_shape(input, result.rows(), result.cols(), "the input", "activate");
        require_same_or_no_overlap(result, input, "activate");
        activate_unchecked(f, input, result);
    }

    /// result = output_gradient · f'(x), with f' from the output f(x); in place if result and an operand are the same view.
    static void activate_backward(nn::activation f, matrix_view<T const> output, matrix_view<T const> output_gradient,
                                  matrix_view<T> result) {
        require_shape(output, result.rows(), result.cols(), "the output", "activate_backward");
        require_shape(output_gradient, result.rows(), result.cols(), "the output gradient", "activate_backward");
        require_same_or_no_overlap(result, output, "activate_backward");
        require_same_or_no_overlap(result, output_gradient, "activate_backward");
        activate_backward_unchecked(f, output, output_gradient, result);
    }

    /// result[j] = Σ_i matrix(i, j), from the first row to the last.
    static void column_sums(matrix_view<T const> matrix, vector_view<T> result) {
        require_size(result, matrix.cols(), "the result", "column_sums");
        require_no_overlap(as_column(result), matrix, "column_sums");
        constexpr std::size_t width = lanes::width_of<V>;
        std::size_t j = 0;
        for (; j + 8 * width <= matrix.cols(); j += 8 * width)
            column_sums_of<8>(matrix, result, j, 8 * width);
        for (; j + 4 * width <= matrix.cols(); j += 4 * width)
            column_sums_of<4>(matrix, result, j, 4 * width);
        for (; j < matrix.cols(); j += width)
            column_sums_of<1>(matrix, result, j, (std::min)(width, matrix.cols() - j));
    }

protected:
    using V = lanes::widest<T>;

    /// What every product asks of its operands.
    static void check_product(matrix_view<T const> const& left, matrix_view<T const> const& right,
                              matrix_view<T> const& result, std::string_view where) {
        require(left.rows() == result.rows() && right.cols() == result.cols() && left.cols() == right.rows(),
                "{}: {} x {} times {} x {} does not give {} x {}", where, left.rows(), left.cols(), right.rows(),
                right.cols(), result.rows(), result.cols());
        require_no_overlap(result, left, where);
        require_no_overlap(result, right, where);
    }

    static void activate_unchecked(nn::activation f, matrix_view<T const> input, matrix_view<T> result) noexcept {
        if (input.dense() && result.dense()) {
            input = detail::flattened(input);
            result = detail::flattened(result);
        }
        detail::with_map(f, [&]<class Map>(Map) {
            detail::with_stride(input.col_stride() == 1 && result.col_stride() == 1,
                                [&](auto contiguous) { map_rows<Map>(input, result, contiguous); });
        });
    }

    static void activate_backward_unchecked(nn::activation f, matrix_view<T const> output,
                                            matrix_view<T const> output_gradient, matrix_view<T> result) noexcept {
        if (output.dense() && output_gradient.dense() && result.dense()) {
            output = detail::flattened(output);
            output_gradient = detail::flattened(output_gradient);
            result = detail::flattened(result);
        }
        detail::with_map(f, [&]<class Map>(Map) {
            detail::with_stride(output.col_stride() == 1 && output_gradient.col_stride() == 1 &&
                                    result.col_stride() == 1,
                                [&](auto contiguous) { slope_rows<Map>(output, output_gradient, result, contiguous); });
        });
    }

    // Not inlined: between other code the compiler does not keep the constants of a map in registers.
    template <class Map, class Contiguous>
    [[gnu::noinline]] static void map_rows(matrix_view<T const> const& input, matrix_view<T> const& result,
                                           Contiguous contiguous) noexcept {
        auto const x_stride = detail::stride_of(input, contiguous);
        auto const y_stride = detail::stride_of(result, contiguous);
        for (std::size_t i = 0; i < result.rows(); ++i) {
            T const* const x = &input(i, 0);
            T* const y = &result(i, 0);
            lanes::for_each_register<V>(
                result.cols(), [&](std::size_t first, auto count) __attribute__((always_inline)) {
                    auto const k = static_cast<std::ptrdiff_t>(first);
                    V const value = detail::load_strided<V>(x + k * x_stride, x_stride, count);
                    detail::store_strided<V>(Map::forward(value), y + k * y_stride, y_stride, count);
                });
        }
    }

private:
    template <class Map, class Contiguous>
    [[gnu::noinline]] static void slope_rows(matrix_view<T const> const& output,
                                             matrix_view<T const> const& output_gradient, matrix_view<T> const& result,
                                             Contiguous contiguous) noexcept {
        auto const y_stride = detail::stride_of(output, contiguous);
        auto const g_stride = detail::stride_of(output_gradient, contiguous);
        auto const d_stride = detail::stride_of(result, contiguous);
        for (std::size_t i = 0; i < result.rows(); ++i) {
            T const* const y = &output(i, 0);
            T const* const g = &output_gradient(i, 0);
            T* const d = &result(i, 0);
            lanes::for_each_register<V>(
                result.cols(), [&](std::size_t first, auto count) __attribute__((always_inline)) {
                    auto const k = static_cast<std::ptrdiff_t>(first);
                    V const value = Map::backward(detail::load_strided<V>(y + k * y_stride, y_stride, count),
                                                  detail::load_strided<V>(g + k * g_stride, g_stride, count));
                    detail::store_strided<V>(value, d + k * d_stride, d_stride, count);
                });
        }
    }

    template <std::size_t Registers>
    static void column_sums_of(matrix_view<T const> const& matrix, vector_view<T> const& result, std::size_t first,
                               std::size_t count) noexcept {
        constexpr std::size_t width = lanes::width_of<V>;
        std::array<V, Registers> sums;
        sums.fill(V(T(0)));
        std::size_t const plain = detail::readable_rows(matrix, first, Registers * width);
        for (std::size_t i = 0; i < plain; ++i)
            lanes::unroll<Registers>(
                [&](auto r) { sums[r] = sums[r] + V::load_unaligned(&matrix(i, first) + r * width); });
        for (std::size_t i = plain; i < matrix.rows(); ++i)
            lanes::unroll<Registers>([&](auto r) {
                sums[r] = sums[r] + detail::load_strided<V>(&matrix(i, first + r * width), matrix.col_stride(),
                                                            (std::min)(width, count - r * width));
            });
        for (std::size_t r = 0; r < Registers; ++r)
            detail::store_strided<V>(sums[r], &result[first + r * width], result.stride(),
                                     (std::min)(width, count - r * width));
    }
};

} // namespace gmac::backends
