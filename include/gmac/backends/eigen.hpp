// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/maps.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace gmac::inline GMAC_ABI::backends {

/// Computes networks with Eigen's matrix products. Models gmac::nn::backend.
///
/// Eigen packs both operands before it multiplies, on the stack up to EIGEN_STACK_ALLOCATION_LIMIT (128 KiB) and on the
/// heap beyond. So that nothing is allocated, large products are cut into blocks whose packed operands fit that limit. An
/// operand that is contiguous neither by rows nor by columns takes Eigen's slow product, coefficient by coefficient.
template <std::floating_point T>
struct eigen : detail::products<T, eigen<T>> {
private:
    friend detail::products<T, eigen<T>>;
    using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using any_stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    template <class U>
    using matrix_of = std::conditional_t<std::is_const_v<U>, matrix const, matrix>;

    // Rows and columns of a block, and its inner size: as many as fit the packing limit, and no more than the caches.
    static constexpr std::size_t inner = 256;
    static constexpr std::size_t outer =
        (std::min)(std::size_t{EIGEN_STACK_ALLOCATION_LIMIT} / (inner * sizeof(T)), std::size_t{256});
    static_assert(outer > 0, "EIGEN_STACK_ALLOCATION_LIMIT is too small for a product without allocation");

    static void multiply(matrix_view<T const> const& left, matrix_view<T const> const& right,
                         matrix_view<T> const& result, bool accumulate) {
        if (!accumulate)
            for (std::size_t i = 0; i < result.rows(); ++i)
                for (std::size_t j = 0; j < result.cols(); ++j)
                    result(i, j) = T(0);
        for (std::size_t k = 0; k < left.cols(); k += inner) {
            std::size_t const depth = (std::min)(inner, left.cols() - k);
            for (std::size_t j = 0; j < result.cols(); j += outer) {
                std::size_t const cols = (std::min)(outer, result.cols() - j);
                for (std::size_t i = 0; i < result.rows(); i += outer) {
                    std::size_t const rows = (std::min)(outer, result.rows() - i);
                    add_block(left.block(i, k, rows, depth), right.block(k, j, depth, cols),
                              result.block(i, j, rows, cols));
                }
            }
        }
    }

    static void add_block(matrix_view<T const> const& left, matrix_view<T const> const& right,
                          matrix_view<T> const& result) {
        if (result.row_contiguous())
            add_to_rows(left, right, result);
        else if (result.row_stride() == 1)
            add_to_rows(transposed(right), transposed(left), transposed(result));
        else
            coefficients(result).noalias() += coefficients(left).lazyProduct(coefficients(right));
    }

    static void add_to_rows(matrix_view<T const> const& left, matrix_view<T const> const& right,
                            matrix_view<T> const& result) {
        bool const left_rows = left.row_contiguous();
        bool const right_rows = right.row_contiguous();
        if ((!left_rows && left.row_stride() != 1) || (!right_rows && right.row_stride() != 1))
            coefficients(result).noalias() += coefficients(left).lazyProduct(coefficients(right));
        else if (left_rows && right_rows)
            rows(result).noalias() += rows(left) * rows(right);
        else if (left_rows)
            rows(result).noalias() += rows(left) * rows(transposed(right)).transpose();
        else if (right_rows)
            rows(result).noalias() += rows(transposed(left)).transpose() * rows(right);
        else
            rows(result).noalias() += rows(transposed(left)).transpose() * rows(transposed(right)).transpose();
    }

    /// A view whose rows are contiguous.
    template <class U>
    static Eigen::Map<matrix_of<U>, Eigen::Unaligned, Eigen::OuterStride<>> rows(matrix_view<U> const& view) {
        return {view.data(), static_cast<Eigen::Index>(view.rows()), static_cast<Eigen::Index>(view.cols()),
                Eigen::OuterStride<>(view.row_stride())};
    }
    template <class U>
    static Eigen::Map<matrix_of<U>, Eigen::Unaligned, any_stride> coefficients(matrix_view<U> const& view) {
        return {view.data(), static_cast<Eigen::Index>(view.rows()), static_cast<Eigen::Index>(view.cols()),
                any_stride(view.row_stride(), view.col_stride())};
    }
};

static_assert(nn::backend<eigen<float>> && nn::backend<eigen<double>>);

} // namespace gmac::inline GMAC_ABI::backends
