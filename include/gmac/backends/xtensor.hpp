// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/maps.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <xtensor-blas/xblas.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace gmac::inline GMAC_ABI::backends {

/// Computes networks with the matrix products of xtensor-blas, which are those of the BLAS that the program is linked
/// with. Models gmac::nn::backend. Opt-in: needs xtensor-blas and a BLAS (CMake: gmac::xtensor).
///
/// An agent shares its minibatches between threads by itself, so let the BLAS have one thread (OPENBLAS_NUM_THREADS=1,
/// for instance): with more, it may allocate, and its last bits may depend on how many there are. On machines with AVX-512
/// OpenBLAS (0.3.21) allocates in small products in any case, unless OPENBLAS_CORETYPE=Haswell.
template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
struct xtensor : detail::products<T, xtensor<T>> {
private:
    friend detail::products<T, xtensor<T>>;
    /// A matrix as BLAS takes it: row-major with a stride of the rows, or the transpose of one.
    struct operand {
        cxxblas::Transpose transpose = cxxblas::NoTrans;
        std::ptrdiff_t stride = 0; ///< 0: the matrix is neither

        explicit operand(matrix_view<T const> const& m) noexcept {
            if (m.row_contiguous() && holds(m.row_stride(), m.rows(), m.cols())) {
                stride = at_least(m.row_stride(), m.rows(), m.cols());
            } else if ((m.row_stride() == 1 || m.rows() <= 1) && holds(m.col_stride(), m.cols(), m.rows())) {
                transpose = cxxblas::Trans;
                stride = at_least(m.col_stride(), m.cols(), m.rows());
            }
        }

    private:
        // BLAS wants rows that do not overlap; the stride of a single row is of no matter.
        static bool holds(std::ptrdiff_t stride, std::size_t rows, std::size_t cols) noexcept {
            return rows <= 1 || stride >= static_cast<std::ptrdiff_t>(cols);
        }
        static std::ptrdiff_t at_least(std::ptrdiff_t stride, std::size_t rows, std::size_t cols) noexcept {
            return (std::max)(
                {rows <= 1 ? std::ptrdiff_t(1) : stride, static_cast<std::ptrdiff_t>(cols), std::ptrdiff_t(1)});
        }
    };

    static void multiply(matrix_view<T const> left, matrix_view<T const> right, matrix_view<T> result,
                         bool accumulate) {
        if (result.empty())
            return;
        if (operand(result).transpose == cxxblas::Trans) {
            matrix_view<T const> const old_left = left;
            left = transposed(right);
            right = transposed(old_left);
            result = transposed(result);
        }
        operand const a(left), b(right), c(result);
        T const keep(accumulate ? 1 : 0); // the part of the result that is kept
        if (a.stride > 0 && b.stride > 0 && c.stride > 0)
            gemm(left, a, right, b, result, c, keep);
        else
            multiply_copies(left, right, result, keep);
    }

    static void gemm(matrix_view<T const> const& left, operand const& a, matrix_view<T const> const& right,
                     operand const& b, matrix_view<T> const& result, operand const& c, T keep) {
        cxxblas::gemm<xt::blas_index_t>(cxxblas::RowMajor, a.transpose, b.transpose, index(result.rows()),
                                        index(result.cols()), index(left.cols()), T(1), left.data(), index(a.stride),
                                        right.data(), index(b.stride), keep, result.data(), index(c.stride));
    }

    /// For strides that BLAS does not know: block by block, through copies on the stack.
    static void multiply_copies(matrix_view<T const> const& left, matrix_view<T const> const& right,
                                matrix_view<T> const& result, T keep) {
        block_copy a, b, c;
        for (std::size_t i = 0; i < result.rows(); i += block_size)
            for (std::size_t j = 0; j < result.cols(); j += block_size) {
                matrix_view<T> const to = block_of(result, i, j);
                matrix_view<T> const sum = c.view(to);
                for_each(to, [&](std::size_t r, std::size_t s) { sum(r, s) = keep == T(0) ? T(0) : to(r, s); });
                for (std::size_t k = 0; k < left.cols(); k += block_size) {
                    matrix_view<T const> const x = a.of(block_of(left, i, k));
                    matrix_view<T const> const y = b.of(block_of(right, k, j));
                    gemm(x, operand(x), y, operand(y), sum, operand(sum), T(1));
                }
                for_each(to, [&](std::size_t r, std::size_t s) { to(r, s) = sum(r, s); });
            }
    }

    static constexpr std::size_t block_size = 64;

    struct block_copy {
        std::array<T, block_size * block_size> memory;

        template <class U>
        [[nodiscard]] matrix_view<T> view(matrix_view<U> const& like) noexcept {
            return {memory.data(), like.rows(), like.cols()};
        }
        [[nodiscard]] matrix_view<T const> of(matrix_view<T const> const& from) noexcept {
            matrix_view<T> const to = view(from);
            for_each(from, [&](std::size_t i, std::size_t j) { to(i, j) = from(i, j); });
            return to;
        }
    };

    template <class U>
    [[nodiscard]] static matrix_view<U> block_of(matrix_view<U> const& m, std::size_t row, std::size_t col) noexcept {
        return m.block(row, col, (std::min)(block_size, m.rows() - row), (std::min)(block_size, m.cols() - col));
    }
    template <class U, class Visit>
    static void for_each(matrix_view<U> const& m, Visit&& visit) {
        for (std::size_t i = 0; i < m.rows(); ++i)
            for (std::size_t j = 0; j < m.cols(); ++j)
                visit(i, j);
    }

    /// BLAS counts in a type that may be smaller than ours.
    template <std::integral I>
    [[nodiscard]] static xt::blas_index_t index(I value) {
        require(std::in_range<xt::blas_index_t>(value), "xtensor: a size or stride is {}, but BLAS takes up to {}",
                value, (std::numeric_limits<xt::blas_index_t>::max)());
        return static_cast<xt::blas_index_t>(value);
    }
};

static_assert(nn::backend<xtensor<float>> && nn::backend<xtensor<double>>);

} // namespace gmac::inline GMAC_ABI::backends
