// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/GradMode.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// For trainers and networks that are written with libtorch. (In this namespace `torch` is this one; for libtorch's own
/// write two colons before it, or `at`.)
namespace gmac::inline GMAC_ABI::torch {

namespace detail {

/// May an argument require a gradient?
enum class role {
    differentiable, ///< yes
    constant        ///< no: the gradient that its user waits for would never come
};

template <class T>
inline constexpr at::ScalarType type_of = std::same_as<T, float>    ? at::kFloat
                                          : std::same_as<T, double> ? at::kDouble
                                                                    : at::kByte;

[[nodiscard]] constexpr std::size_t extent(std::int64_t size) noexcept {
    return static_cast<std::size_t>(size);
}
[[nodiscard]] constexpr std::int64_t extent(std::size_t size) noexcept {
    return static_cast<std::int64_t>(size);
}

/// Throws gmac::error unless the tensor's elements are numbers of type T (or flags, for T a byte) in this process's memory.
template <class T>
void require_readable(at::Tensor const& tensor, std::string_view name, std::string_view where, role use) {
    require(tensor.defined(), "{}: {} is an undefined tensor", where, name);
    require(tensor.device().is_cpu(), "{}: {} is on the device {}, but must be on the CPU: use .cpu()", where, name,
            tensor.device().str());
    require(tensor.layout() == at::kStrided && tensor.has_storage(),
            "{}: {} is not an ordinary strided tensor: use .to_dense()", where, name);
    at::ScalarType const type = tensor.scalar_type();
    bool const flags = type_of<T> == at::kByte && type == at::kBool;
    require(flags || type == type_of<T>, "{}: {} has elements of type {}, but must have {}: use .to()", where, name,
            at::toString(type), type_of<T> == at::kByte ? "Bool" : at::toString(type_of<T>));
    require(!tensor.is_neg(), "{}: {} is a negated view of other numbers: use .resolve_neg()", where, name);
    require(tensor.numel() == 0 || tensor.data_ptr() != nullptr, "{}: {} has no memory", where, name);
    require(use == role::differentiable || !tensor.requires_grad() || !at::GradMode::is_enabled(),
            "{}: {} requires a gradient, but is a constant here: use .detach(), or torch::NoGradGuard where it is made",
            where, name);
}

/// Calls f with a zero of the tensor's element type. Throws gmac::error unless that is float or double.
template <class F>
decltype(auto) with_scalar_of(at::Tensor const& tensor, std::string_view name, std::string_view where, F&& f) {
    require(tensor.defined(), "{}: {} is an undefined tensor", where, name);
    at::ScalarType const type = tensor.scalar_type();
    require(type == at::kFloat || type == at::kDouble,
            "{}: {} has elements of type {}, but must have Float or Double: use .to()", where, name,
            at::toString(type));
    return type == at::kFloat ? f(float()) : f(double());
}

/// A tensor [n, m] as a view of the same memory, whatever its strides. Throws gmac::error if it is no such tensor.
template <class T>
[[nodiscard]] matrix_view<T const> matrix(at::Tensor const& tensor, std::string_view name, std::string_view where,
                                          role use = role::constant) {
    require_readable<T>(tensor, name, where, use);
    require(tensor.dim() == 2, "{}: {} has {} dimensions, but must be a matrix", where, name, tensor.dim());
    return {static_cast<T const*>(tensor.data_ptr()), extent(tensor.size(0)), extent(tensor.size(1)), tensor.stride(0),
            tensor.stride(1)};
}

/// The same, or a default view of an undefined tensor.
template <class T>
[[nodiscard]] matrix_view<T const> optional_matrix(at::Tensor const& tensor, std::string_view name,
                                                   std::string_view where) {
    return tensor.defined() ? matrix<T>(tensor, name, where) : matrix_view<T const>();
}

/// A tensor [n] or [n, 1], one number a state, as a column. Never broadcasts. Throws gmac::error if it is no such tensor.
template <class T>
[[nodiscard]] matrix_view<T const> column(at::Tensor const& tensor, std::string_view name, std::string_view where,
                                          role use = role::constant) {
    require_readable<T>(tensor, name, where, use);
    require(tensor.dim() == 1 || (tensor.dim() == 2 && tensor.size(1) == 1),
            "{}: {} must have one number a state, [B] or [B, 1], but has {} dimensions{}", where, name, tensor.dim(),
            tensor.dim() == 2 ? " and more than one column" : "");
    return {static_cast<T const*>(tensor.data_ptr()), extent(tensor.size(0)), 1, tensor.stride(0), 1};
}
template <class T>
[[nodiscard]] vector_view<T const> vector(at::Tensor const& tensor, std::string_view name, std::string_view where) {
    return column<T>(tensor, name, where).col(0);
}

/// A new tensor [rows, cols], row-major.
template <class T>
[[nodiscard]] at::Tensor new_matrix(std::size_t rows, std::size_t cols) {
    return at::empty({extent(rows), extent(cols)}, at::TensorOptions().dtype(type_of<T>));
}
/// A tensor of ours to write to.
template <class T>
[[nodiscard]] matrix_view<T> to_write(at::Tensor const& matrix) {
    return {static_cast<T*>(matrix.data_ptr()), extent(matrix.size(0)), extent(matrix.size(1)), matrix.stride(0),
            matrix.stride(1)};
}

/// A tensor over memory that is not libtorch's and must outlive it. It has no tensors of constants: whoever gets one made
/// of `T const*` must not write to it.
template <class T>
[[nodiscard]] at::Tensor tensor_over(T* data, at::IntArrayRef sizes, at::IntArrayRef strides) {
    return at::from_blob(const_cast<std::remove_const_t<T>*>(data), sizes, strides,
                         at::TensorOptions().dtype(type_of<std::remove_const_t<T>>));
}
template <class T>
[[nodiscard]] at::Tensor tensor_over(matrix_view<T> const& matrix) {
    return tensor_over(matrix.data(), {extent(matrix.rows()), extent(matrix.cols())},
                       {matrix.row_stride(), matrix.col_stride()});
}

} // namespace detail

} // namespace gmac::inline GMAC_ABI::torch
