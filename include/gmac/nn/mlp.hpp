// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/nn/linear.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <numbers>
#include <span>
#include <string>
#include <vector>

namespace gmac::inline GMAC_ABI::nn {

struct mlp_options {
    activation function = activation::tanh; ///< after each layer
    bool activate_last = true;              ///< false: the last layer is linear (a head rather than a trunk)
    double gain = std::numbers::sqrt2;      ///< of the orthogonal initialisation
    double last_gain = std::numbers::sqrt2; ///< of the last layer
};

/// A multilayer perceptron whose widths are chosen at run time: widths[0] inputs, then one linear layer for each further
/// width. Flat layout: layer after layer, each W [inputs, outputs] row-major, then b. Models gmac::nn::module.
template <backend Backend>
class mlp {
public:
    using backend_type = Backend;
    using scalar = typename Backend::scalar;
    using layer = linear<Backend>;

    class workspace {
        friend class mlp;
        std::size_t rows = 0;
        std::vector<buffer<scalar>> outputs;     // of each layer
        std::array<buffer<scalar>, 2> gradients; // before the activation, of even and odd layers in turn
    };

    /// Throws gmac::error if there are fewer than two widths or one is zero.
    explicit mlp(std::span<std::size_t const> widths, mlp_options options = {}) {
        require(widths.size() >= 2, "mlp: {} widths given, but there must be at least two (inputs, outputs)",
                widths.size());
        for (std::size_t i = 1; i < widths.size(); ++i) {
            bool const last = i + 1 == widths.size();
            layers_.emplace_back(widths[i - 1], widths[i],
                                 linear_options{.function = last && !options.activate_last ? activation::none
                                                                                           : options.function,
                                                .gain = last ? options.last_gain : options.gain});
            parameter_count_ += layers_.back().parameter_count();
        }
    }
    explicit mlp(std::initializer_list<std::size_t> widths, mlp_options options = {})
        : mlp(std::span<std::size_t const>(widths.begin(), widths.size()), options) {}

    [[nodiscard]] std::size_t inputs() const noexcept { return layers_.front().inputs(); }
    [[nodiscard]] std::size_t outputs() const noexcept { return layers_.back().outputs(); }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return parameter_count_; }
    [[nodiscard]] std::span<layer const> layers() const noexcept { return layers_; }

    void initialize(std::span<scalar> parameters, random_stream& stream) const {
        detail::require_parameters(parameters.size(), parameter_count(), "mlp::initialize");
        for (std::size_t offset = 0; layer const& l : layers_) {
            l.initialize(parameters.subspan(offset, l.parameter_count()), stream);
            offset += l.parameter_count();
        }
    }

    /// Names are "0.weight", "0.bias", "1.weight", …
    template <class Visit>
    void describe(Visit&& visit) const {
        std::size_t offset = 0;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            describe_part(layers_[i], std::to_string(i), offset, visit);
            offset += layers_[i].parameter_count();
        }
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        workspace t;
        t.rows = rows;
        std::size_t widest = 0;
        for (layer const& l : layers_) {
            t.outputs.emplace_back(rows * l.outputs());
            widest = (std::max)(widest, l.outputs());
        }
        for (buffer<scalar>& gradient : t.gradients)
            gradient = buffer<scalar>(rows * widest);
        return t;
    }

    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<scalar const> input,
                                      workspace& t) const {
        detail::require_parameters(parameters.size(), parameter_count(), "mlp::forward");
        detail::require_rows(input.rows(), t.rows, "mlp::forward");
        std::size_t offset = 0;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            layer const& l = layers_[i];
            matrix_view<scalar> const output(t.outputs[i].data(), input.rows(), l.outputs());
            l.apply(parameters.subspan(offset, l.parameter_count()), input, output);
            input = output;
            offset += l.parameter_count();
        }
        return input;
    }

    void backward(std::span<scalar const> parameters, matrix_view<scalar const> input, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> input_gradient) const {
        detail::require_parameters(parameters.size(), parameter_count(), "mlp::backward");
        detail::require_parameters(parameter_gradient.size(), parameter_count(), "mlp::backward");
        std::size_t const rows = input.rows();
        detail::require_rows(rows, t.rows, "mlp::backward");
        require_shape(input, rows, inputs(), "the input", "mlp::backward");
        require_shape(output_gradient, rows, outputs(), "the output gradient", "mlp::backward");
        std::size_t i = layers_.size() - 1;
        if (activation const last = layers_[i].options().function; last != activation::none) {
            Backend::activate_backward(last, output(t, i, rows), output_gradient, gradient(t, i, rows));
            output_gradient = gradient(t, i, rows);
        }
        // From here on the gradients are those before the activation.
        std::size_t offset = parameter_count_;
        for (; i > 0; --i) {
            offset -= layers_[i].parameter_count();
            backward_layer(i, offset, parameters, output(t, i - 1, rows), layers_[i - 1].options().function,
                           output_gradient, parameter_gradient, gradient(t, i - 1, rows));
            output_gradient = gradient(t, i - 1, rows);
        }
        backward_layer(0, 0, parameters, input, activation::none, output_gradient, parameter_gradient, input_gradient);
    }

private:
    [[nodiscard]] matrix_view<scalar const> output(workspace const& t, std::size_t i, std::size_t rows) const noexcept {
        return {t.outputs[i].data(), rows, layers_[i].outputs()};
    }
    [[nodiscard]] matrix_view<scalar> gradient(workspace& t, std::size_t i, std::size_t rows) const noexcept {
        return {t.gradients[i % 2].data(), rows, layers_[i].outputs()};
    }
    void backward_layer(std::size_t i, std::size_t offset, std::span<scalar const> parameters,
                        matrix_view<scalar const> input, activation input_function, matrix_view<scalar const> delta,
                        std::span<scalar> parameter_gradient, matrix_view<scalar> input_gradient) const {
        std::size_t const count = layers_[i].parameter_count();
        layers_[i].backward_affine(parameters.subspan(offset, count), input, input_function, delta,
                                   parameter_gradient.subspan(offset, count), input_gradient);
    }

    std::vector<layer> layers_;
    std::size_t parameter_count_ = 0;
};

} // namespace gmac::inline GMAC_ABI::nn
