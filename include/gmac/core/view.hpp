// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <span> // and in libstdc++ the concept of a contiguous range; there <ranges> would take longer to compile
#include <string_view>
#include <type_traits>
#include <utility>

#if defined(_LIBCPP_VERSION)
#include <ranges>
#endif

namespace gmac::inline GMAC_ABI {

namespace detail {

/// Eigen's direct-access matrices, maps and blocks, recognised by their members: core includes no tensor library.
template <class M>
concept eigen_like = requires(M& m) {
    { m.rows() } -> std::convertible_to<std::ptrdiff_t>;
    { m.cols() } -> std::convertible_to<std::ptrdiff_t>;
    { m.rowStride() } -> std::convertible_to<std::ptrdiff_t>;
    { m.colStride() } -> std::convertible_to<std::ptrdiff_t>;
    m.data();
};

/// xtensor's containers, adaptors and strided views.
template <class M>
concept xtensor_like = requires(M& m) {
    m.shape().size();
    m.strides();
    { m.data_offset() } -> std::convertible_to<std::size_t>;
    m.data();
};

template <class M>
concept other_tensor = eigen_like<M> || xtensor_like<M>;

/// Expressions of Eigen and xtensor that are computed where they are read, as a + b is, and picked rows or columns.
template <class M>
concept lazy_tensor = !other_tensor<M> && (
                                              requires(M& m, typename std::remove_cvref_t<M>::Scalar) {
                                                  m.rows();
                                                  m.cols();
                                              } ||
                                              requires(M& m, typename std::remove_cvref_t<M>::value_type) {
                                                  m.shape();
                                                  m.dimension();
                                              });

template <class M>
concept tensor = other_tensor<M> || lazy_tensor<M>;

/// The number type of what is no view: of an expression or a range, or else float.
template <class M>
struct number_of {
    using type = float;
};
template <class M>
    requires requires { typename M::value_type; }
struct number_of<M> {
    using type = typename M::value_type;
};

template <class M>
using element_of = std::remove_pointer_t<decltype(std::declval<M&>().data())>;

/// `From*` may become `To*`: the same type, or const added.
template <class From, class To>
concept same_or_more_const = std::same_as<From, To> || std::same_as<From const, To>;

} // namespace detail

template <class T>
class vector_view;
template <class T>
class matrix_view;

/// Whatever converts to a view of it, as a view: the first line of every function that takes tensors.
template <class M>
[[nodiscard]] constexpr auto as_matrix(M&& matrix);
template <class R>
[[nodiscard]] constexpr auto as_vector(R&& range);

/// A non-owning strided vector: element i is data[i * stride]. Strides count elements.
template <class T>
class vector_view {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr vector_view() noexcept = default;
    constexpr vector_view(T* data, std::size_t size, std::ptrdiff_t stride = 1) noexcept
        : data_(data), size_(size), stride_(stride) {}

    /// std::vector, std::array, std::span and every other contiguous sized range.
    template <class R>
        requires std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && (!detail::other_tensor<R>) &&
                 (!std::same_as<std::remove_cvref_t<R>, vector_view>) &&
                 detail::same_or_more_const<std::remove_reference_t<std::ranges::range_reference_t<R>>, T>
    constexpr vector_view(R&& range) noexcept : vector_view(std::ranges::data(range), std::ranges::size(range)) {}

    template <class U>
        requires std::same_as<U const, T> && (!std::same_as<U, T>)
    constexpr vector_view(vector_view<U> other) noexcept : vector_view(other.data(), other.size(), other.stride()) {}

    /// Eigen vectors and one-row or one-column matrices, one-dimensional xtensors; no copy is made.
    /// Throws gmac::error if the tensor is not a vector.
    template <class M>
        requires detail::other_tensor<M> && detail::same_or_more_const<detail::element_of<M>, T>
    constexpr vector_view(M&& tensor) {
        if constexpr (detail::eigen_like<M>) {
            auto const rows = static_cast<std::size_t>(tensor.rows());
            auto const cols = static_cast<std::size_t>(tensor.cols());
            require(rows == 1 || cols == 1, "a vector is wanted, but the matrix is {} x {}", rows, cols);
            *this = vector_view(tensor.data(), rows * cols, cols == 1 ? tensor.rowStride() : tensor.colStride());
        } else {
            require(tensor.shape().size() == 1, "a vector is wanted, but the tensor has {} dimensions",
                    tensor.shape().size());
            *this = vector_view(tensor.data() + tensor.data_offset(), static_cast<std::size_t>(tensor.shape()[0]),
                                static_cast<std::ptrdiff_t>(tensor.strides()[0]));
        }
    }

    /// An expression is refused with one sentence.
    template <detail::lazy_tensor M>
    constexpr vector_view(M&& expression) {
        static_cast<void>(as_vector(expression));
    }

    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
    [[nodiscard]] constexpr std::ptrdiff_t stride() const noexcept { return stride_; }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] constexpr bool contiguous() const noexcept { return stride_ == 1 || size_ <= 1; }
    constexpr T& operator[](std::size_t i) const noexcept { return data_[static_cast<std::ptrdiff_t>(i) * stride_]; }

    [[nodiscard]] constexpr vector_view subview(std::size_t first, std::size_t count) const noexcept {
        return {data_ + static_cast<std::ptrdiff_t>(first) * stride_, count, stride_};
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::ptrdiff_t stride_ = 1;
};

template <std::ranges::contiguous_range R>
    requires(!detail::other_tensor<R>)
vector_view(R&&) -> vector_view<std::remove_reference_t<std::ranges::range_reference_t<R>>>;
template <detail::other_tensor M>
vector_view(M&&) -> vector_view<detail::element_of<M>>;

/// A non-owning strided matrix: element (i, j) is data[i * row_stride + j * col_stride]. Strides count elements.
/// A batch has one state a row.
template <class T>
class matrix_view {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;

    constexpr matrix_view() noexcept = default;

    /// Row-major and contiguous.
    constexpr matrix_view(T* data, std::size_t rows, std::size_t cols) noexcept
        : matrix_view(data, rows, cols, static_cast<std::ptrdiff_t>(cols), 1) {}
    constexpr matrix_view(T* data, std::size_t rows, std::size_t cols, std::ptrdiff_t row_stride,
                          std::ptrdiff_t col_stride) noexcept
        : data_(data), rows_(rows), cols_(cols), row_stride_(row_stride), col_stride_(col_stride) {}

    template <class U>
        requires std::same_as<U const, T> && (!std::same_as<U, T>)
    constexpr matrix_view(matrix_view<U> other) noexcept
        : matrix_view(other.data(), other.rows(), other.cols(), other.row_stride(), other.col_stride()) {}

    /// Eigen matrices, maps and blocks, two-dimensional xtensors and their strided views; no copy is made.
    /// Throws gmac::error if the tensor has not two dimensions.
    template <class M>
        requires detail::other_tensor<M> && detail::same_or_more_const<detail::element_of<M>, T>
    constexpr matrix_view(M&& tensor) {
        if constexpr (detail::eigen_like<M>) {
            *this = matrix_view(tensor.data(), static_cast<std::size_t>(tensor.rows()),
                                static_cast<std::size_t>(tensor.cols()), tensor.rowStride(), tensor.colStride());
        } else {
            require(tensor.shape().size() == 2, "a matrix is wanted, but the tensor has {} dimensions",
                    tensor.shape().size());
            *this = matrix_view(tensor.data() + tensor.data_offset(), static_cast<std::size_t>(tensor.shape()[0]),
                                static_cast<std::size_t>(tensor.shape()[1]),
                                static_cast<std::ptrdiff_t>(tensor.strides()[0]),
                                static_cast<std::ptrdiff_t>(tensor.strides()[1]));
        }
    }

    /// An expression is refused with one sentence.
    template <detail::lazy_tensor M>
    constexpr matrix_view(M&& expression) {
        static_cast<void>(as_matrix(expression));
    }

    [[nodiscard]] constexpr T* data() const noexcept { return data_; }
    [[nodiscard]] constexpr std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] constexpr std::size_t cols() const noexcept { return cols_; }
    [[nodiscard]] constexpr std::ptrdiff_t row_stride() const noexcept { return row_stride_; }
    [[nodiscard]] constexpr std::ptrdiff_t col_stride() const noexcept { return col_stride_; }
    [[nodiscard]] constexpr bool empty() const noexcept { return rows_ == 0 || cols_ == 0; }
    [[nodiscard]] constexpr bool row_contiguous() const noexcept { return col_stride_ == 1 || cols_ <= 1; }
    /// Row-major without gaps: size() elements from data() are exactly the matrix.
    [[nodiscard]] constexpr bool dense() const noexcept {
        return row_contiguous() && (row_stride_ == static_cast<std::ptrdiff_t>(cols_) || rows_ <= 1);
    }
    constexpr T& operator()(std::size_t i, std::size_t j) const noexcept {
        return data_[static_cast<std::ptrdiff_t>(i) * row_stride_ + static_cast<std::ptrdiff_t>(j) * col_stride_];
    }

    [[nodiscard]] constexpr vector_view<T> row(std::size_t i) const noexcept {
        return {data_ + static_cast<std::ptrdiff_t>(i) * row_stride_, cols_, col_stride_};
    }
    [[nodiscard]] constexpr vector_view<T> col(std::size_t j) const noexcept {
        return {data_ + static_cast<std::ptrdiff_t>(j) * col_stride_, rows_, row_stride_};
    }
    [[nodiscard]] constexpr matrix_view block(std::size_t first_row, std::size_t first_col, std::size_t rows,
                                              std::size_t cols) const noexcept {
        return {data_ + static_cast<std::ptrdiff_t>(first_row) * row_stride_ +
                    static_cast<std::ptrdiff_t>(first_col) * col_stride_,
                rows, cols, row_stride_, col_stride_};
    }
    [[nodiscard]] constexpr matrix_view middle_rows(std::size_t first, std::size_t count) const noexcept {
        return block(first, 0, count, cols_);
    }
    [[nodiscard]] constexpr matrix_view middle_cols(std::size_t first, std::size_t count) const noexcept {
        return block(0, first, rows_, count);
    }

private:
    T* data_ = nullptr;
    std::size_t rows_ = 0;
    std::size_t cols_ = 0;
    std::ptrdiff_t row_stride_ = 0;
    std::ptrdiff_t col_stride_ = 1;
};

template <detail::other_tensor M>
matrix_view(M&&) -> matrix_view<detail::element_of<M>>;

template <class M>
constexpr auto as_matrix(M&& matrix) {
    if constexpr (requires { matrix_view(matrix); }) {
        return matrix_view(matrix);
    } else {
        constexpr bool lazy = detail::lazy_tensor<M>;
        static_assert(!lazy,
                      "this expression has no memory that a view could show: evaluate it first, as Eigen's .eval() "
                      "and xt::eval do");
        static_assert(lazy,
                      "this is no matrix: it is to be an Eigen matrix, a two-dimensional xtensor, or "
                      "gmac::matrix_view(pointer, rows, columns)");
        return matrix_view<typename detail::number_of<std::remove_cvref_t<M>>::type>();
    }
}
template <class R>
constexpr auto as_vector(R&& range) {
    if constexpr (requires { vector_view(range); }) {
        return vector_view(range);
    } else {
        constexpr bool lazy = detail::lazy_tensor<R>;
        static_assert(
            lazy,
            "this is no vector: it is to be a contiguous range, an Eigen vector, a one-dimensional xtensor, or "
            "gmac::vector_view(pointer, size)");
        using T = typename detail::number_of<std::remove_cvref_t<R>>::type;
        if constexpr (lazy)
            static_cast<void>(as_matrix(range));
        return vector_view<T>();
    }
}

/// The same elements with rows and columns exchanged; no copy is made.
template <class T>
[[nodiscard]] constexpr matrix_view<T> transposed(matrix_view<T> matrix) noexcept {
    return {matrix.data(), matrix.cols(), matrix.rows(), matrix.col_stride(), matrix.row_stride()};
}

/// A vector as a matrix of one column.
template <class T>
[[nodiscard]] constexpr matrix_view<T> as_column(vector_view<T> const& vector) noexcept {
    return {vector.data(), vector.size(), 1, vector.stride(), 1};
}

namespace detail {

/// The element type, without const, of what converts to a view.
template <class M>
using matrix_value = typename decltype(as_matrix(std::declval<M&>()))::value_type;
template <class R>
using vector_value = typename decltype(as_vector(std::declval<R&>()))::value_type;

/// What converts to a view, or is refused with a sentence.
template <class M>
concept matrix_like = tensor<M> || requires(M& m) { matrix_view(m); };
template <class R>
concept vector_like = lazy_tensor<R> || requires(R& r) { vector_view(r); };

/// A temporary with memory of its own, which a view that is stored would outlive.
template <class M>
concept passing =
    !std::is_reference_v<M> &&
    (
        requires { requires std::same_as<typename M::PlainObject, std::remove_cv_t<M>>; } ||    // of Eigen
        requires { requires std::same_as<typename M::temporary_type, std::remove_cv_t<M>>; } || // of xtensor
        (std::ranges::range<M> && !std::ranges::borrowed_range<M> && !other_tensor<M>));
template <class M>
constexpr void require_lasting() noexcept {
    static_assert(!passing<M>,
                  "this temporary is gone before the view of it: give it a name, so that it outlives the view");
}

/// For deduction guides: the element type that views of all of them can have, const if one of them is.
template <class T, class... Others>
struct shared_element {
    using type = std::conditional_t<(std::is_const_v<Others> || ...), T const, T>;
};
template <class M>
struct element_of_matrix {};
template <class M>
    requires requires(M& m) { matrix_view(m); }
struct element_of_matrix<M> {
    static_assert((require_lasting<M>(), true));
    using type = typename decltype(matrix_view(std::declval<M&>()))::element_type;
};
template <lazy_tensor M>
struct element_of_matrix<M> : number_of<std::remove_cvref_t<M>> {};
template <class R>
struct element_of_vector {};
template <class R>
    requires requires(R& r) { vector_view(r); }
struct element_of_vector<R> {
    static_assert((require_lasting<R>(), true));
    using type = typename decltype(vector_view(std::declval<R&>()))::element_type;
};
template <lazy_tensor R>
struct element_of_vector<R> : number_of<std::remove_cvref_t<R>> {};
template <class... M>
using matrix_element = typename shared_element<typename element_of_matrix<M>::type...>::type;
template <class... R>
using vector_element = typename shared_element<typename element_of_vector<R>::type...>::type;

// Parameters of these types do not take part in the deduction of T, so everything that converts to a view may be given.
template <class T>
using matrix_of = std::type_identity_t<matrix_view<T>>;
template <class T>
using vector_of = std::type_identity_t<vector_view<T>>;
template <class T>
using span_of = std::type_identity_t<std::span<T>>;

} // namespace detail

/// Throws gmac::error unless the matrix has this shape; `name` and `where` make the message readable.
template <class T>
constexpr void require_shape(matrix_view<T> const& matrix, std::size_t rows, std::size_t cols, std::string_view name,
                             std::string_view where) {
    require(matrix.rows() == rows && matrix.cols() == cols, "{}: {} is {} x {}, but must be {} x {}", where, name,
            matrix.rows(), matrix.cols(), rows, cols);
}
template <class T>
constexpr void require_size(vector_view<T> const& vector, std::size_t size, std::string_view name,
                            std::string_view where) {
    require(vector.size() == size, "{}: {} has {} elements, but must have {}", where, name, vector.size(), size);
}

} // namespace gmac::inline GMAC_ABI
