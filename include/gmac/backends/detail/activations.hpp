// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/registers.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>

/// Activations in SIMD registers, forward and back. Nothing is checked here.
namespace gmac::inline GMAC_ABI::backends::detail {

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

template <class T>
void copy(matrix_view<T const> const& from, matrix_view<T> const& to) noexcept {
    for (std::size_t i = 0; i < to.rows(); ++i)
        for (std::size_t j = 0; j < to.cols(); ++j)
            to(i, j) = from(i, j);
}

/// So many rows of elements that lie side by side.
struct row_shape {
    std::size_t rows, cols;
};

/// Rows that follow upon one another are one long row, so that short rows fill whole registers.
template <class T, class... Others>
[[nodiscard]] row_shape joined(matrix_view<T> const& m, Others const&... others) noexcept {
    if (m.dense() && (others.dense() && ...))
        return {1, m.rows() * m.cols()};
    return {m.rows(), m.cols()};
}

// The loops over such rows. Not inlined: between other code the compiler does not keep the constants of a map in registers.

template <class Map, class T>
[[gnu::noinline]] void map_rows(row_shape shape, T const* x, std::ptrdiff_t x_row, T* y,
                                std::ptrdiff_t y_row) noexcept {
    using V = lanes::widest<T>;
    for (; shape.rows > 0; --shape.rows, x += x_row, y += y_row)
        lanes::for_each_register<V>(
            shape.cols, [&](std::size_t k, auto count) __attribute__((always_inline)) {
                lanes::store_partial<V>(Map::forward(lanes::load_partial<V>(x + k, count)), y + k, count);
            });
}

template <class Map, class T>
[[gnu::noinline]] void slope_rows(row_shape shape, T const* y, std::ptrdiff_t y_row, T const* gradient,
                                  std::ptrdiff_t gradient_row, T* result, std::ptrdiff_t result_row) noexcept {
    using V = lanes::widest<T>;
    for (; shape.rows > 0; --shape.rows, y += y_row, gradient += gradient_row, result += result_row)
        lanes::for_each_register<V>(
            shape.cols, [&](std::size_t k, auto count) __attribute__((always_inline)) {
                V const slope =
                    Map::backward(lanes::load_partial<V>(y + k, count), lanes::load_partial<V>(gradient + k, count));
                lanes::store_partial<V>(slope, result + k, count);
            });
}

/// Matrices whose rows are not contiguous go through copies of so many elements.
inline constexpr std::size_t piece = 64;

/// result = f(input); in place if both are the same view.
template <class T>
void activate(nn::activation f, matrix_view<T const> const& input, matrix_view<T> const& result) noexcept {
    if (f == nn::activation::none)
        return copy(input, result);
    if (input.row_contiguous() && result.row_contiguous()) {
        auto const map = f == nn::activation::tanh ? &map_rows<tanh_map, T> : &map_rows<relu_map, T>;
        return map(joined(input, result), input.data(), input.row_stride(), result.data(), result.row_stride());
    }
    std::array<T, piece> memory;
    for (std::size_t i = 0; i < result.rows(); ++i)
        for (std::size_t j = 0; j < result.cols(); j += piece) {
            matrix_view<T> const to = result.block(i, j, 1, (std::min)(piece, result.cols() - j));
            matrix_view<T> const x(memory.data(), 1, to.cols());
            copy<T>(input.block(i, j, 1, to.cols()), x);
            activate<T>(f, x, x);
            copy<T>(x, to);
        }
}

/// result = gradient · f'(x), with f' from output = f(x); in place if result and an operand are the same view.
template <class T>
void activate_backward(nn::activation f, matrix_view<T const> const& output, matrix_view<T const> const& gradient,
                       matrix_view<T> const& result) noexcept {
    if (f == nn::activation::none)
        return copy(gradient, result);
    if (output.row_contiguous() && gradient.row_contiguous() && result.row_contiguous()) {
        auto const map = f == nn::activation::tanh ? &slope_rows<tanh_map, T> : &slope_rows<relu_map, T>;
        return map(joined(output, gradient, result), output.data(), output.row_stride(), gradient.data(),
                   gradient.row_stride(), result.data(), result.row_stride());
    }
    std::array<std::array<T, piece>, 2> memory;
    for (std::size_t i = 0; i < result.rows(); ++i)
        for (std::size_t j = 0; j < result.cols(); j += piece) {
            matrix_view<T> const to = result.block(i, j, 1, (std::min)(piece, result.cols() - j));
            matrix_view<T> const y(memory[0].data(), 1, to.cols()), slope(memory[1].data(), 1, to.cols());
            copy<T>(output.block(i, j, 1, to.cols()), y);
            copy<T>(gradient.block(i, j, 1, to.cols()), slope);
            activate_backward<T>(f, y, slope, slope);
            copy<T>(slope, to);
        }
}

} // namespace gmac::inline GMAC_ABI::backends::detail
