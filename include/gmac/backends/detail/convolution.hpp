// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/backends/detail/product.hpp>
#include <gmac/backends/maps.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/convolution.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Convolutions of backends::simd, without a copy of the windows: the left operand of a tile is read where it lies in the
/// image, by a table of where its rows begin. Padding the windows into a matrix first (im2col) would move as many bytes as
/// the multiply-adds take time.
namespace gmac::inline GMAC_ABI::backends::detail {

/// What a tile is computed from, [rows, width of a panel]:
///     c[i, :] = start[i, :] + Σ_s Σ_l a[a_rows[i] + s a_segment + l a_step] b[(s length + l) b_step, :]
template <class T>
struct convolution_tile {
    std::size_t segments = 1, length = 0;
    T const* a = nullptr;
    std::ptrdiff_t const* a_rows = nullptr;
    std::ptrdiff_t a_segment = 0, a_step = 1;
    T const* b = nullptr;
    std::ptrdiff_t b_step = 0;
    T const* start = nullptr;
    std::ptrdiff_t const* start_rows = nullptr;
    T* c = nullptr;
    std::ptrdiff_t const* c_rows = nullptr;
};

template <class V, std::size_t Rows, std::size_t Registers>
[[gnu::noinline]] inline void compute_tile(convolution_tile<lanes::scalar_of<V>> const& t) noexcept {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    std::array<std::array<V, Registers>, Rows> sums;
    std::array<std::ptrdiff_t, Rows> rows;
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i) {
        rows[i] = t.a_rows[i];
#pragma GCC unroll 4
        for (std::size_t j = 0; j < Registers; ++j)
            sums[i][j] = V::load_unaligned(t.start + t.start_rows[i] + j * width);
    }
    T const* b = t.b;
    T const* segment = t.a;
    for (std::size_t s = 0; s < t.segments; ++s, segment += t.a_segment) {
        T const* a = segment;
        for (std::size_t l = 0; l < t.length; ++l) {
            std::array<V, Registers> row;
#pragma GCC unroll 4
            for (std::size_t j = 0; j < Registers; ++j)
                row[j] = V::load_unaligned(b + j * width);
#pragma GCC unroll 12
            for (std::size_t i = 0; i < Rows; ++i) {
                V const x(a[rows[i]]);
#pragma GCC unroll 4
                for (std::size_t j = 0; j < Registers; ++j)
                    sums[i][j] = xsimd::fma(x, row[j], sums[i][j]);
            }
            a += t.a_step;
            b += t.b_step;
        }
    }
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 4
        for (std::size_t j = 0; j < Registers; ++j)
            sums[i][j].store_unaligned(t.c + t.c_rows[i] + j * width);
}

/// The passes of a convolution over one image; see nn::im2col_convolution, whose members these are. Every element of a
/// result is one chain of multiply-adds in a fixed order.
template <class V>
class direct_convolution {
public:
    using T = lanes::scalar_of<V>;

    explicit direct_convolution(nn::convolution_shape const& shape)
        : shape_(shape),
          output_(shape.output()),
          filter_panels_((shape.filters + panel - 1) / panel),
          channel_panels_((shape.input.channels + panel - 1) / panel),
          forward_weight_(filter_panels_ * shape.window() * panel),
          backward_weight_(shape.kernel * shape.kernel * channel_panels_ * shape.filters * panel),
          bias_(filter_panels_ * panel),
          delta_(output_.size() + panel),
          nonzeros_(suits_sparse_images(shape) ? shape.input.size() : 0) {
        for (std::size_t p = 0; p < output_.pixels(); ++p) {
            window_places_.push_back(static_cast<std::ptrdiff_t>(shape.window_of(p)));
            output_places_.push_back(static_cast<std::ptrdiff_t>(p * shape.filters));
        }
        for (std::size_t k = 0; k < shape.window(); ++k) {
            std::size_t const row = k / shape.window_row();
            element_places_.push_back(static_cast<std::ptrdiff_t>(row * shape.image_row() + k % shape.window_row()));
            weight_places_.push_back(static_cast<std::ptrdiff_t>(k * shape.filters));
        }
        for (std::size_t i = 0; i < nonzeros_.size(); ++i)
            elements_.push_back(
                {i / shape.image_row(), i / shape.input.channels % shape.input.width, i % shape.input.channels});
    }

    void prepare_forward(matrix_view<T const> weight) noexcept {
        T taint(0);
        for (std::size_t q = 0; q < filter_panels_; ++q)
            for (std::size_t k = 0; k < shape_.window(); ++k)
                for (std::size_t j = 0; j < columns(q, shape_.filters); ++j)
                    taint += T(0) * (forward_weight_[(q * shape_.window() + k) * panel + j] = weight(k, q * panel + j));
        finite_ = taint == T(0);
    }
    void prepare_backward(matrix_view<T const> weight) noexcept {
        T* to = backward_weight_.data();
        for (std::size_t tap = 0; tap < shape_.kernel * shape_.kernel; ++tap)
            for (std::size_t q = 0; q < channel_panels_; ++q)
                for (std::size_t o = 0; o < shape_.filters; ++o, to += panel)
                    for (std::size_t j = 0; j < columns(q, shape_.input.channels); ++j)
                        to[j] = weight(tap * shape_.input.channels + q * panel + j, o);
    }

    void forward(T const* image, vector_view<T const> bias, nn::activation f, matrix_view<T> output) {
        for (std::size_t j = 0; j < shape_.filters; ++j)
            bias_[j] = bias[j];
        if (std::size_t const count = finite_ ? sparse_count(image) : 0; count > 0) {
            for (std::size_t p = 0; p < output_.pixels(); ++p)
                std::copy_n(bias_.data(), shape_.filters, output.data() + p * shape_.filters);
            for_each_use(image, count, [&](T value, std::size_t pixel, std::size_t k) {
                add_product(value, forward_weight_.data() + k * panel, shape_.window() * panel,
                            output.data() + pixel * shape_.filters, panel);
            });
        } else {
            forward_all(image, output);
        }
        if (f != nn::activation::none)
            maps<T>::activate(f, output, output);
    }

    [[nodiscard]] matrix_view<T> delta() noexcept { return {delta_.data(), output_.pixels(), shape_.filters}; }

    void add_weight_gradient(T const* image, matrix_view<T> gradient) noexcept {
        if (std::size_t const count = sparse_count(image); count > 0) {
            for_each_use(image, count, [&](T value, std::size_t pixel, std::size_t k) {
                add_product(value, delta_.data() + pixel * shape_.filters, panel, gradient.data() + k * shape_.filters,
                            panel);
            });
            return;
        }
        for (std::size_t q = 0; q < filter_panels_; ++q) {
            tile t;
            t.segments = output_.height;
            t.length = output_.width;
            t.a = image;
            t.a_segment = static_cast<std::ptrdiff_t>(shape_.stride * shape_.image_row());
            t.a_step = static_cast<std::ptrdiff_t>(shape_.stride * shape_.input.channels);
            t.b = delta_.data() + q * panel;
            t.b_step = static_cast<std::ptrdiff_t>(shape_.filters);
            t.c = gradient.data() + q * panel;
            t.start = t.c;
            run(t, columns(q, shape_.filters), element_places_, weight_places_, weight_places_.data());
        }
    }

    void input_gradient(T* gradient) noexcept {
        std::fill_n(gradient, shape_.input.size(), T(0));
        T const* weight = backward_weight_.data();
        for (std::size_t tap = 0; tap < shape_.kernel * shape_.kernel; ++tap) {
            std::size_t const pixel = tap / shape_.kernel * shape_.input.width + tap % shape_.kernel;
            for (std::size_t q = 0; q < channel_panels_; ++q, weight += shape_.filters * panel) {
                tile t;
                t.length = shape_.filters;
                t.a = delta_.data();
                t.b = weight;
                t.b_step = panel;
                t.c = gradient + pixel * shape_.input.channels + q * panel;
                t.start = t.c;
                run(t, columns(q, shape_.input.channels), output_places_, window_places_, window_places_.data());
            }
        }
    }

private:
    using tile = convolution_tile<T>;
    using places = std::vector<std::ptrdiff_t>;

    static constexpr std::size_t registers = 2;
    static constexpr std::size_t panel = registers * lanes::width_of<V>;
    static constexpr std::size_t height = tiling<V>::many_registers ? 12 : 6;
    static constexpr std::size_t panel_rows = 16384 / (panel * sizeof(T));

    // An image that is mostly zero, as the planes of a grid world are: only what is not zero is added, where it is used. Its
    // products are summed in the order in which all of them would be, so the results are the same; weights that are not
    // finite take the other way, for 0 · ∞. Taken up to one in sixteen; with one in seventy, as in MinAtar's Seaquest, the
    // whole trunk takes three quarters of its time, forward as well as both ways.
    struct element {
        std::size_t row, column, channel;
    };
    [[nodiscard]] static bool suits_sparse_images(nn::convolution_shape const& shape) noexcept {
        return shape.of_bytes && shape.stride == 1 && shape.filters % lanes::width_of<V> == 0;
    }
    /// The number of elements that are not zero, whose places are then in nonzeros_; or 0 if they are too many.
    [[nodiscard]] std::size_t sparse_count(T const* image) noexcept {
        std::size_t count = 0;
        for (std::size_t i = 0; i < nonzeros_.size(); ++i) {
            nonzeros_[count] = static_cast<std::uint32_t>(i);
            count += image[i] != T(0) ? 1u : 0u;
        }
        return 16 * count <= nonzeros_.size() ? count : 0;
    }
    /// Calls visit(value, output pixel, element of its window) for each use of the first `count` elements in nonzeros_.
    template <class Visit>
    void for_each_use(T const* image, std::size_t count, Visit&& visit) const noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            element const& at = elements_[nonzeros_[i]];
            auto const first = [&](std::size_t place) { return place < shape_.kernel ? 0 : place - shape_.kernel + 1; };
            std::size_t const last_row = (std::min)(at.row + 1, output_.height);
            std::size_t const last_column = (std::min)(at.column + 1, output_.width);
            for (std::size_t y = first(at.row); y < last_row; ++y)
                for (std::size_t x = first(at.column); x < last_column; ++x)
                    visit(image[nonzeros_[i]], y * output_.width + x,
                          ((at.row - y) * shape_.kernel + at.column - x) * shape_.input.channels + at.channel);
        }
    }
    /// to[0 … filters) += value · from, where both lie in pieces of a panel, `from_step` and `to_step` apart.
    void add_product(T value, T const* from, std::size_t from_step, T* to, std::size_t to_step) const noexcept {
        V const factor(value);
        for (std::size_t q = 0; q < filter_panels_; ++q, from += from_step, to += to_step)
            for (std::size_t j = 0; j < columns(q, shape_.filters); j += lanes::width_of<V>)
                xsimd::fma(factor, V::load_unaligned(from + j), V::load_unaligned(to + j)).store_unaligned(to + j);
    }

    void forward_all(T const* image, matrix_view<T> output) noexcept {
        std::size_t const length = shape_.window_row();
        // Rows of the window whose weights stay in an L1 cache together.
        std::size_t const chunk = (std::max)(std::size_t{1}, panel_rows / length);
        for (std::size_t first = 0; first < shape_.kernel; first += chunk)
            for (std::size_t q = 0; q < filter_panels_; ++q) {
                tile t;
                t.segments = (std::min)(chunk, shape_.kernel - first);
                t.length = length;
                t.a = image + first * shape_.image_row();
                t.a_segment = static_cast<std::ptrdiff_t>(shape_.image_row());
                t.b = forward_weight_.data() + (q * shape_.window() + first * length) * panel;
                t.b_step = panel;
                t.c = output.data() + q * panel;
                t.start = first == 0 ? bias_.data() + q * panel : t.c;
                run(t, columns(q, shape_.filters), window_places_, output_places_,
                    first == 0 ? nullptr : output_places_.data());
            }
    }

    [[nodiscard]] static std::size_t columns(std::size_t panel_index, std::size_t all) noexcept {
        return (std::min)(panel, all - panel_index * panel);
    }

    /// The first `count` columns of a panel, for all rows, in tiles of nearly equal heights: one register row too few costs
    /// little, a tile of one row as much as a whole one.
    static void run(tile t, std::size_t count, places const& a_rows, places const& c_rows,
                    std::ptrdiff_t const* start_rows) noexcept {
        static constexpr auto kernels = []<std::size_t... I>(std::index_sequence<I...>) {
            return std::array{&compute_tile<V, I + 1, registers>...};
        }(std::make_index_sequence<height>{});
        static constexpr std::array<std::ptrdiff_t, height> same_row{};
        std::size_t const rows = a_rows.size();
        std::size_t const tiles = (rows + height - 1) / height;
        for (std::size_t i = 0, row = 0; i < tiles; ++i) {
            std::size_t const next = (i + 1) * rows / tiles;
            t.a_rows = a_rows.data() + row;
            t.c_rows = c_rows.data() + row;
            t.start_rows = start_rows == nullptr ? same_row.data() : start_rows + row;
            if (count == panel)
                kernels[next - row - 1](t);
            else
                through_copy(kernels[next - row - 1], t, next - row, count);
            row = next;
        }
    }

    /// A tile with fewer columns than a panel.
    static void through_copy(void (*kernel)(tile const&), tile t, std::size_t rows, std::size_t count) noexcept {
        static constexpr auto own_rows = [] {
            std::array<std::ptrdiff_t, height> all{};
            for (std::size_t i = 0; i < height; ++i)
                all[i] = static_cast<std::ptrdiff_t>(i * panel);
            return all;
        }();
        alignas(64) std::array<T, height * panel> copy{};
        T* const c = t.c;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < count; ++j)
                copy[i * panel + j] = t.start[t.start_rows[i] + static_cast<std::ptrdiff_t>(j)];
        std::ptrdiff_t const* const c_rows = std::exchange(t.c_rows, own_rows.data());
        t.start = t.c = copy.data();
        t.start_rows = own_rows.data();
        kernel(t);
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < count; ++j)
                c[c_rows[i] + static_cast<std::ptrdiff_t>(j)] = copy[i * panel + j];
    }

    nn::convolution_shape shape_;
    nn::image_shape output_;
    std::size_t filter_panels_, channel_panels_;
    buffer<T> forward_weight_;  // [filter panels, window, panel]
    buffer<T> backward_weight_; // [kernel · kernel, channel panels, filters, panel]
    buffer<T> bias_;
    buffer<T> delta_;    // [pixels, filters], and a panel more, which may be read
    bool finite_ = true; // are the weights?
    std::vector<std::uint32_t> nonzeros_;
    std::vector<element> elements_; // the place of each element of the image
    places window_places_;          // of each output pixel in the image
    places output_places_;          // of each output pixel in the output
    places element_places_;         // of each element of a window in the image
    places weight_places_;          // of each row of the weight
};

} // namespace gmac::inline GMAC_ABI::backends::detail
