// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/convolution.hpp>
#include <gmac/nn/detail/pixels.hpp>
#include <gmac/nn/initialization.hpp>
#include <gmac/nn/module.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>

namespace gmac::inline GMAC_ABI::nn {

/// How the numbers of an image lie in a row of a batch: [height, width, channels], or [channels, height, width] as a stack
/// of frames does.
enum class image_layout { channels_last, channels_first };

struct conv2d_options {
    std::size_t filters = 0; ///< channels of the output; to be given
    std::size_t kernel = 3;  ///< height and width of the window
    std::size_t stride = 1;
    activation function = activation::relu;            ///< applied to the output
    image_layout layout = image_layout::channels_last; ///< of the input; the output's channels come last
    double byte_scale = 1.0 / 255.0;                   ///< what a byte of the input is multiplied by
    double gain = std::numbers::sqrt2;                 ///< of the orthogonal initialisation
};

/// A convolution of images with square windows and without padding: y = f(x * W + b), as deep learning has it (W is not
/// flipped). A row of the input is an image of floats, or of bytes, which are scaled; a row of the output is
/// [height, width, filters], so that the next layer reads whole pixels. Flat layout: W [kernel, kernel, channels, filters]
/// row-major, then b [filters]. Models gmac::nn::module.
///
/// Input is the element type of the input: the scalar type, or std::uint8_t for the first layer of a network that sees
/// screens; there is no gradient with respect to bytes.
template <backend Backend, class Input = typename Backend::scalar>
    requires std::same_as<Input, typename Backend::scalar> || std::same_as<Input, std::uint8_t>
class conv2d {
public:
    using backend_type = Backend;
    using scalar = typename Backend::scalar;
    using input_type = Input;

    class workspace {
        friend class conv2d;
        explicit workspace(conv2d const& layer, std::size_t max_rows)
            : rows(max_rows),
              output(max_rows * layer.outputs()),
              image(layer.inputs()),
              bias_gradient(layer.shape_.filters),
              passes(layer.shape_) {}

        std::size_t rows;
        buffer<scalar> output;
        buffer<scalar> image; // one, its channels last
        buffer<scalar> bias_gradient;
        convolution_of<Backend> passes;
    };

    /// Throws gmac::error if a size is zero, the window is larger than the image, or the gain is not finite.
    conv2d(image_shape input, conv2d_options options)
        : shape_{input, options.filters, options.kernel, options.stride, std::same_as<Input, std::uint8_t>},
          options_(options) {
        require(input.size() > 0 && options.filters > 0 && options.kernel > 0 && options.stride > 0,
                "conv2d: {} x {} x {} images, {} filters, kernel {}, stride {}, but all sizes must be positive",
                input.height, input.width, input.channels, options.filters, options.kernel, options.stride);
        require(options.kernel <= input.height && options.kernel <= input.width,
                "conv2d: kernel is {}, but must fit into images of {} x {} pixels", options.kernel, input.height,
                input.width);
        require(std::isfinite(options.gain), "conv2d: gain is {}, but must be finite", options.gain);
        require(std::isfinite(options.byte_scale), "conv2d: byte_scale is {}, but must be finite", options.byte_scale);
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return shape_.input.size(); }
    [[nodiscard]] std::size_t outputs() const noexcept { return shape_.output().size(); }
    [[nodiscard]] image_shape output_shape() const noexcept { return shape_.output(); }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return (shape_.window() + 1) * shape_.filters; }
    [[nodiscard]] conv2d_options const& options() const noexcept { return options_; }

    /// Orthogonal weight, as a matrix [kernel · kernel · channels, filters]; zero bias.
    void initialize(std::span<scalar> parameters, random_stream& stream) const {
        require_parameters(parameters.size(), "conv2d::initialize");
        initialize_orthogonal(weight(parameters), static_cast<scalar>(options_.gain), stream);
        std::fill_n(parameters.data() + shape_.window() * shape_.filters, shape_.filters, scalar(0));
    }

    template <class Visit>
    void describe(Visit&& visit) const {
        visit(std::string_view("weight"), std::size_t{0}, shape_.window(), shape_.filters);
        visit(std::string_view("bias"), shape_.window() * shape_.filters, std::size_t{1}, shape_.filters);
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const { return workspace(*this, rows); }

    /// input [rows, inputs] → output [rows, outputs]
    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<Input const> input,
                                      workspace& t) const {
        require_parameters(parameters.size(), "conv2d::forward");
        require_rows(input, t, "conv2d::forward");
        t.passes.prepare_forward(weight(parameters));
        for (std::size_t i = 0; i < input.rows(); ++i)
            t.passes.forward(image(input.row(i), t), bias(parameters), options_.function, pixels(output_row(t, i)));
        return {t.output.data(), input.rows(), outputs()};
    }

    void backward(std::span<scalar const> parameters, matrix_view<Input const> input, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> input_gradient) const {
        require_parameters(parameters.size(), "conv2d::backward");
        require_parameters(parameter_gradient.size(), "conv2d::backward");
        require_rows(input, t, "conv2d::backward");
        require_shape(output_gradient, input.rows(), outputs(), "the output gradient", "conv2d::backward");
        bool const wants_input = !input_gradient.empty();
        if (wants_input) {
            require(std::same_as<Input, scalar>, "conv2d::backward: there is no gradient with respect to bytes");
            require_shape(input_gradient, input.rows(), inputs(), "the input gradient", "conv2d::backward");
            t.passes.prepare_backward(weight(parameters));
        }
        std::fill(parameter_gradient.begin(), parameter_gradient.end(), scalar(0));
        vector_view<scalar> const bias_sum = bias(parameter_gradient);
        for (std::size_t i = 0; i < input.rows(); ++i) {
            set_delta(t, i, output_gradient.row(i));
            t.passes.add_weight_gradient(image(input.row(i), t), weight(parameter_gradient));
            Backend::column_sums(matrix_view<scalar const>(t.passes.delta()), vector_view<scalar>(t.bias_gradient));
            for (std::size_t j = 0; j < shape_.filters; ++j)
                bias_sum[j] += t.bias_gradient[j];
            if (wants_input)
                write_input_gradient(t, input_gradient.row(i));
        }
    }

private:
    template <class T>
    [[nodiscard]] matrix_view<T> weight(std::span<T> parameters) const noexcept {
        return {parameters.data(), shape_.window(), shape_.filters};
    }
    template <class T>
    [[nodiscard]] vector_view<T> bias(std::span<T> parameters) const noexcept {
        return {parameters.data() + shape_.window() * shape_.filters, shape_.filters};
    }
    [[nodiscard]] std::span<scalar> output_row(workspace& t, std::size_t i) const noexcept {
        return t.output.span().subspan(i * outputs(), outputs());
    }
    /// [pixels, filters]
    template <class T>
    [[nodiscard]] matrix_view<T> pixels(std::span<T> row) const noexcept {
        return {row.data(), shape_.output().pixels(), shape_.filters};
    }
    [[nodiscard]] bool channels_last() const noexcept {
        return options_.layout == image_layout::channels_last || shape_.input.channels == 1;
    }

    /// The image as floats with the channels last: where it is, or in the workspace.
    [[nodiscard]] scalar const* image(vector_view<Input const> const& row, workspace& t) const noexcept {
        if constexpr (std::same_as<Input, scalar>)
            if (channels_last() && row.contiguous())
                return row.data();
        std::size_t const channels = shape_.input.channels;
        std::size_t const count = shape_.input.pixels();
        std::size_t const pixel_step = channels_last() ? channels : 1;
        std::size_t const channel_step = channels_last() ? 1 : count;
        scalar const scale = std::same_as<Input, scalar> ? scalar(1) : static_cast<scalar>(options_.byte_scale);
        std::size_t done = 0;
        if constexpr (std::same_as<Input, std::uint8_t> && std::same_as<scalar, float>)
            if (channels == 4 && !channels_last() && row.contiguous())
                done = detail::interleave_four(row.data(), count, scale, t.image.data());
        for (std::size_t p = done; p < count; ++p)
            for (std::size_t c = 0; c < channels; ++c)
                t.image[p * channels + c] = static_cast<scalar>(row[p * pixel_step + c * channel_step]) * scale;
        return t.image.data();
    }
    /// The gradient with respect to the output before the activation.
    void set_delta(workspace& t, std::size_t i, vector_view<scalar const> const& output_gradient) const {
        matrix_view<scalar> const delta = t.passes.delta();
        matrix_view<scalar const> const output(output_row(t, i).data(), 1, outputs());
        matrix_view<scalar const> const gradient(output_gradient.data(), 1, outputs(), 0, output_gradient.stride());
        Backend::activate_backward(options_.function, output, gradient, {delta.data(), 1, outputs()});
    }

    void write_input_gradient(workspace& t, vector_view<scalar> const& row) const {
        if (channels_last() && row.contiguous())
            return t.passes.input_gradient(row.data());
        t.passes.input_gradient(t.image.data());
        std::size_t const channels = shape_.input.channels;
        std::size_t const count = shape_.input.pixels();
        std::size_t const pixel_step = channels_last() ? channels : 1;
        std::size_t const channel_step = channels_last() ? 1 : count;
        for (std::size_t p = 0; p < count; ++p)
            for (std::size_t c = 0; c < channels; ++c)
                row[p * pixel_step + c * channel_step] = t.image[p * channels + c];
    }

    void require_parameters(std::size_t size, std::string_view where) const {
        require(size == parameter_count(), "{}: {} parameters given, but the layer has {}", where, size,
                parameter_count());
    }
    void require_rows(matrix_view<Input const> const& input, workspace const& t, std::string_view where) const {
        require_shape(input, input.rows(), inputs(), "the input", where);
        detail::require_rows(input.rows(), t.rows, where);
    }

    convolution_shape shape_;
    conv2d_options options_;
};

} // namespace gmac::inline GMAC_ABI::nn
