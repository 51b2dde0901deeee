// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/nn/conv2d.hpp>
#include <gmac/nn/convolution.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/nn/module.hpp>

#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::nn {

struct image_convolution {
    std::size_t filters = 0, kernel = 0, stride = 1;

    friend bool operator==(image_convolution const&, image_convolution const&) = default;
};

struct image_trunk_options {
    image_shape input{84, 84, 4};                                                    ///< a stack of four grey screens
    image_layout layout = image_layout::channels_first;                              ///< of the input
    double byte_scale = 1.0 / 255.0;                                                 ///< what a byte is multiplied by
    std::vector<image_convolution> convolutions{{32, 8, 4}, {64, 4, 2}, {32, 3, 1}}; ///< at least one
    std::vector<std::size_t> hidden{512}; ///< widths of the fully connected layers, at least one
    double gain = std::numbers::sqrt2;    ///< of the orthogonal initialisation
};

/// A network for images of bytes: convolutions, then fully connected layers, each with a ReLU. By default it is the paper's for
/// the Arcade Learning Environment (its architecture table; the paper's cost table counts with 256 units in place of 512). Flat
/// layout: layer after layer. Models gmac::nn::module.
///
///     nn::image_trunk<B> minatar({.input = {10, 10, 4}, .layout = nn::image_layout::channels_last, .byte_scale = 1.0,
///                                 .convolutions = {{16, 3, 1}}, .hidden = {128}});
template <backend Backend>
class image_trunk {
    using first_layer = conv2d<Backend, std::uint8_t>;
    using layer = conv2d<Backend>;

public:
    using backend_type = Backend;
    using scalar = typename Backend::scalar;
    using input_type = std::uint8_t;

    class workspace {
        friend class image_trunk;
        explicit workspace(image_trunk const& trunk, std::size_t rows)
            : first(trunk.first_.make_workspace(rows)), dense(trunk.dense_.make_workspace(rows)) {
            outputs.resize(trunk.more_.size() + 1);
            for (layer const& l : trunk.more_) {
                more.push_back(l.make_workspace(rows));
                gradients.emplace_back(rows * l.inputs());
            }
            gradients.emplace_back(rows * trunk.dense_.inputs());
        }

        typename first_layer::workspace first;
        std::vector<typename layer::workspace> more;
        typename mlp<Backend>::workspace dense;
        std::vector<matrix_view<scalar const>> outputs; // of the convolutions in the last forward pass
        std::vector<buffer<scalar>> gradients;          // of these
    };

    /// Throws gmac::error if there is no convolution or no fully connected layer, a size is zero, or a window is larger than
    /// its image.
    explicit image_trunk(image_trunk_options options = {})
        : options_(std::move(options)), first_(make_first(options_)), more_(make_more(options_)), dense_(make_dense()) {
        parameter_count_ = first_.parameter_count() + dense_.parameter_count();
        for (layer const& l : more_)
            parameter_count_ += l.parameter_count();
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return first_.inputs(); }
    [[nodiscard]] std::size_t outputs() const noexcept { return dense_.outputs(); }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return parameter_count_; }
    [[nodiscard]] image_trunk_options const& options() const noexcept { return options_; }

    void initialize(std::span<scalar> parameters, random_stream& stream) const {
        detail::require_parameters(parameters.size(), parameter_count(), "image_trunk::initialize");
        for_each_layer([&](std::size_t, std::size_t first, auto const& l) {
            l.initialize(parameters.subspan(first, l.parameter_count()), stream);
        });
    }

    /// Names are "0.weight", "0.bias", "1.weight", …, those of the fully connected layers last.
    template <class Visit>
    void describe(Visit&& visit) const {
        for_each_layer([&](std::size_t i, std::size_t offset, auto const& l) {
            describe_part(l, std::to_string(i), offset, visit);
        });
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const { return workspace(*this, rows); }

    /// Images [rows, inputs] → features [rows, outputs].
    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<std::uint8_t const> images,
                                      workspace& t) const {
        detail::require_parameters(parameters.size(), parameter_count(), "image_trunk::forward");
        t.outputs[0] = first_.forward(part(parameters, 0), images, t.first);
        for (std::size_t i = 0; i < more_.size(); ++i)
            t.outputs[i + 1] = more_[i].forward(part(parameters, i + 1), t.outputs[i], t.more[i]);
        return dense_.forward(dense_part(parameters), t.outputs.back(), t.dense);
    }

    /// `input_gradient` must be empty: there is none with respect to bytes.
    void backward(std::span<scalar const> parameters, matrix_view<std::uint8_t const> images, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> input_gradient) const {
        detail::require_parameters(parameters.size(), parameter_count(), "image_trunk::backward");
        detail::require_parameters(parameter_gradient.size(), parameter_count(), "image_trunk::backward");
        std::size_t const rows = images.rows();
        require(t.outputs.back().rows() == rows,
                "image_trunk::backward: the input has {} rows, but the last forward pass had {}", rows,
                t.outputs.back().rows());
        auto const gradient = [&](std::size_t i) {
            return matrix_view<scalar>(t.gradients[i].data(), rows, t.outputs[i].cols());
        };
        std::size_t i = more_.size();
        dense_.backward(dense_part(parameters), t.outputs[i], t.dense, output_gradient, dense_part(parameter_gradient),
                        gradient(i));
        for (; i > 0; --i)
            more_[i - 1].backward(part(parameters, i), t.outputs[i - 1], t.more[i - 1], gradient(i),
                                  part(parameter_gradient, i), gradient(i - 1));
        first_.backward(part(parameters, 0), images, t.first, gradient(0), part(parameter_gradient, 0), input_gradient);
    }

private:
    [[nodiscard]] static conv2d_options convolution_options(image_trunk_options const& all, std::size_t i) {
        image_convolution const& one = all.convolutions[i];
        return {.filters = one.filters,
                .kernel = one.kernel,
                .stride = one.stride,
                .layout = i == 0 ? all.layout : image_layout::channels_last,
                .byte_scale = all.byte_scale,
                .gain = all.gain};
    }
    [[nodiscard]] static first_layer make_first(image_trunk_options const& all) {
        require(!all.convolutions.empty(), "image_trunk: there is no convolution, but must be at least one");
        require(!all.hidden.empty(), "image_trunk: there is no fully connected layer, but must be at least one");
        return first_layer(all.input, convolution_options(all, 0));
    }
    [[nodiscard]] std::vector<layer> make_more(image_trunk_options const& all) const {
        std::vector<layer> layers;
        image_shape shape = first_.output_shape();
        for (std::size_t i = 1; i < all.convolutions.size(); ++i) {
            layers.emplace_back(shape, convolution_options(all, i));
            shape = layers.back().output_shape();
        }
        return layers;
    }
    [[nodiscard]] mlp<Backend> make_dense() const {
        std::vector<std::size_t> widths{more_.empty() ? first_.outputs() : more_.back().outputs()};
        widths.insert(widths.end(), options_.hidden.begin(), options_.hidden.end());
        return mlp<Backend>(widths, {.function = activation::relu, .gain = options_.gain, .last_gain = options_.gain});
    }

    /// visit(number, offset, layer) for every layer.
    template <class Visit>
    void for_each_layer(Visit&& visit) const {
        std::size_t number = 0, offset = 0;
        auto const next = [&](auto const& l) {
            visit(number++, offset, l);
            offset += l.parameter_count();
        };
        next(first_);
        for (layer const& l : more_)
            next(l);
        for (auto const& l : dense_.layers())
            next(l);
    }
    /// Of convolution i.
    template <class T>
    [[nodiscard]] std::span<T> part(std::span<T> all, std::size_t i) const noexcept {
        std::size_t offset = 0, size = first_.parameter_count();
        for (std::size_t k = 0; k < i; ++k) {
            offset += size;
            size = more_[k].parameter_count();
        }
        return all.subspan(offset, size);
    }
    template <class T>
    [[nodiscard]] std::span<T> dense_part(std::span<T> all) const noexcept {
        return all.last(dense_.parameter_count());
    }

    image_trunk_options options_;
    first_layer first_;
    std::vector<layer> more_;
    mlp<Backend> dense_;
    std::size_t parameter_count_ = 0;
};

} // namespace gmac::inline GMAC_ABI::nn
