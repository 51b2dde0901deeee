// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/module.hpp>

#include <algorithm>
#include <cstddef>

namespace gmac::inline GMAC_ABI::nn {

/// The size of an image: rows of pixels, pixels of a row, numbers of a pixel.
struct image_shape {
    std::size_t height = 0, width = 0, channels = 0;

    [[nodiscard]] constexpr std::size_t pixels() const noexcept { return height * width; }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return pixels() * channels; }
    friend bool operator==(image_shape const&, image_shape const&) = default;
};

/// A convolution without padding: a square window of the image, `stride` pixels further for each output pixel.
struct convolution_shape {
    image_shape input{};
    std::size_t filters = 0, kernel = 0, stride = 1;
    bool of_bytes = false; ///< images are made of bytes, of which most may be zero

    [[nodiscard]] constexpr image_shape output() const noexcept {
        return {(input.height - kernel) / stride + 1, (input.width - kernel) / stride + 1, filters};
    }
    /// Elements of a window.
    [[nodiscard]] constexpr std::size_t window() const noexcept { return kernel * kernel * input.channels; }
    /// Elements of a row of a window, which lie side by side in an image whose channels come last.
    [[nodiscard]] constexpr std::size_t window_row() const noexcept { return kernel * input.channels; }
    [[nodiscard]] constexpr std::size_t image_row() const noexcept { return input.width * input.channels; }
    friend bool operator==(convolution_shape const&, convolution_shape const&) = default;
    /// Where the window of an output pixel begins in the image.
    [[nodiscard]] constexpr std::size_t window_of(std::size_t pixel) const noexcept {
        std::size_t const columns = output().width;
        return stride * (pixel / columns * image_row() + pixel % columns * input.channels);
    }
};

/// The passes of a convolution over one image, by matrix products of a backend: the windows of all output pixels are copied
/// to the rows of a matrix (im2col). Images are [height, width, channels], weights [kernel · kernel · channels, filters].
///
/// A backend may bring convolutions of its own: a class template `convolution` with the same members, which conv2d then
/// takes.
template <backend Backend>
class im2col_convolution {
public:
    using T = typename Backend::scalar;

    explicit im2col_convolution(convolution_shape const& shape)
        : shape_(shape), windows_(shape.output().pixels() * shape.window()), delta_(shape.output().size()) {}

    /// Before forward; the weight must stay where it is.
    void prepare_forward(matrix_view<T const> weight) noexcept { weight_ = weight; }
    /// Before input_gradient.
    void prepare_backward(matrix_view<T const> weight) noexcept { weight_ = weight; }

    /// output [pixels, filters] = f(image * weight + bias)
    void forward(T const* image, vector_view<T const> bias, activation f, matrix_view<T> output) {
        gather(image);
        Backend::affine(matrix_view<T const>(windows()), weight_, bias, f, output);
    }

    /// [pixels, filters] To be filled before the next two: the gradient with respect to the output before the activation.
    [[nodiscard]] matrix_view<T> delta() noexcept { return {delta_.data(), pixels(), shape_.filters}; }

    void add_weight_gradient(T const* image, matrix_view<T> gradient) {
        gather(image);
        Backend::product_add(transposed(matrix_view<T const>(windows())), matrix_view<T const>(delta()), gradient);
    }

    /// Overwrites the gradient with respect to the image.
    void input_gradient(T* gradient) {
        Backend::product(matrix_view<T const>(delta()), transposed(weight_), windows());
        std::fill_n(gradient, shape_.input.size(), T(0));
        for_each_window_row([&](std::size_t place, T* row) {
            for (std::size_t j = 0; j < shape_.window_row(); ++j)
                gradient[place + j] += row[j];
        });
    }

private:
    [[nodiscard]] std::size_t pixels() const noexcept { return shape_.output().pixels(); }
    [[nodiscard]] matrix_view<T> windows() noexcept { return {windows_.data(), pixels(), shape_.window()}; }

    void gather(T const* image) noexcept {
        for_each_window_row([&](std::size_t place, T* row) { std::copy_n(image + place, shape_.window_row(), row); });
    }

    template <class Visit>
    void for_each_window_row(Visit&& visit) noexcept {
        T* row = windows_.data();
        for (std::size_t p = 0; p < pixels(); ++p)
            for (std::size_t y = 0; y < shape_.kernel; ++y, row += shape_.window_row())
                visit(shape_.window_of(p) + y * shape_.image_row(), row);
    }

    convolution_shape shape_;
    matrix_view<T const> weight_{};
    buffer<T> windows_; // [pixels, window]
    buffer<T> delta_;
};

namespace detail {
template <class Backend>
struct convolution_of {
    using type = im2col_convolution<Backend>;
};
template <class Backend>
    requires requires { typename Backend::convolution; }
struct convolution_of<Backend> {
    using type = typename Backend::convolution;
};
} // namespace detail

/// How a backend computes convolutions.
template <class Backend>
using convolution_of = typename detail::convolution_of<Backend>::type;

} // namespace gmac::inline GMAC_ABI::nn
