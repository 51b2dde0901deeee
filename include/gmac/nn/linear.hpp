// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/initialization.hpp>
#include <gmac/nn/module.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>

namespace gmac::inline GMAC_ABI::nn {

struct linear_options {
    activation function = activation::none; ///< applied to the output, fused with the product
    double gain = std::numbers::sqrt2; ///< of the orthogonal initialisation; √2 trunk, 0.1 actor head, 1 value head
};

/// y = f(x W + b) with x [rows, inputs], W [inputs, outputs], b [outputs]. Flat layout: W row-major, then b.
/// Models gmac::nn::module.
template <backend Backend>
class linear {
public:
    using backend_type = Backend;
    using scalar = typename Backend::scalar;

    class workspace {
        friend class linear;
        std::size_t rows = 0;
        buffer<scalar> output;
        buffer<scalar> delta; // gradient before the activation; empty without one
    };

    /// Throws gmac::error if inputs or outputs is zero or not below 2^31, or the gain is not finite.
    linear(std::size_t inputs, std::size_t outputs, linear_options options = {})
        : inputs_(inputs), outputs_(outputs), options_(options) {
        require(inputs > 0 && outputs > 0, "linear: the layer is {} -> {}, but both sizes must be positive", inputs,
                outputs);
        constexpr std::size_t most = (std::size_t{1} << 31u) - 1; // (inputs + 1) × outputs does not overflow
        require(inputs <= most && outputs <= most, "linear: the layer is {} -> {}, but both sizes must be at most {}",
                inputs, outputs, most);
        require(std::isfinite(options.gain), "linear: gain is {}, but must be finite", options.gain);
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
    [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return (inputs_ + 1) * outputs_; }
    [[nodiscard]] linear_options const& options() const noexcept { return options_; }

    /// Orthogonal weight, zero bias.
    void initialize(std::span<scalar> parameters, random_stream& stream) const {
        require_parameters(parameters.size(), "linear::initialize");
        initialize_orthogonal(matrix_view<scalar>(parameters.data(), inputs_, outputs_),
                              static_cast<scalar>(options_.gain), stream);
        std::fill_n(parameters.data() + inputs_ * outputs_, outputs_, scalar(0));
    }

    template <class Visit>
    void describe(Visit&& visit) const {
        visit(std::string_view("weight"), std::size_t{0}, inputs_, outputs_);
        visit(std::string_view("bias"), inputs_ * outputs_, std::size_t{1}, outputs_);
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        workspace t;
        t.rows = rows;
        t.output = buffer<scalar>(rows * outputs_);
        if (options_.function != activation::none)
            t.delta = buffer<scalar>(rows * outputs_);
        return t;
    }

    /// [inputs, outputs]
    template <class T>
    [[nodiscard]] matrix_view<T> weight(std::span<T> parameters) const noexcept {
        return {parameters.data(), inputs_, outputs_};
    }
    /// [outputs]
    template <class T>
    [[nodiscard]] vector_view<T> bias(std::span<T> parameters) const noexcept {
        return {parameters.data() + inputs_ * outputs_, outputs_};
    }

    /// The forward pass into memory of the caller's, without a workspace: input [rows, inputs] → output [rows, outputs].
    void apply(std::span<scalar const> parameters, matrix_view<scalar const> input, matrix_view<scalar> output) const {
        require_parameters(parameters.size(), "linear::forward");
        require_shape(input, input.rows(), inputs_, "the input", "linear::forward");
        Backend::affine(input, weight(parameters), bias(parameters), options_.function, output);
    }

    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<scalar const> input,
                                      workspace& t) const {
        detail::require_rows(input.rows(), t.rows, "linear::forward");
        matrix_view<scalar> const output(t.output.data(), input.rows(), outputs_);
        apply(parameters, input, output);
        return output;
    }

    void backward(std::span<scalar const> parameters, matrix_view<scalar const> input, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> input_gradient) const {
        std::size_t const rows = input.rows();
        require_shape(input, rows, inputs_, "the input", "linear::backward");
        detail::require_rows(rows, t.rows, "linear::backward");
        require_shape(output_gradient, rows, outputs_, "the output gradient", "linear::backward");
        if (options_.function != activation::none) {
            matrix_view<scalar> const delta(t.delta.data(), rows, outputs_);
            Backend::activate_backward(options_.function, matrix_view<scalar const>(t.output.data(), rows, outputs_),
                                       output_gradient, delta);
            output_gradient = delta;
        }
        backward_affine(parameters, input, activation::none, output_gradient, parameter_gradient, input_gradient);
    }

    /// The backward pass of x W + b alone: `delta` [rows, outputs] is the gradient before the activation. If the input is
    /// itself the output of an activation, `input_function`, then `input_gradient` is the gradient before that.
    void backward_affine(std::span<scalar const> parameters, matrix_view<scalar const> input, activation input_function,
                         matrix_view<scalar const> delta, std::span<scalar> parameter_gradient,
                         matrix_view<scalar> input_gradient) const {
        require_parameters(parameters.size(), "linear::backward");
        require_parameters(parameter_gradient.size(), "linear::backward");
        Backend::product(transposed(input), delta, weight(parameter_gradient));
        Backend::column_sums(delta, bias(parameter_gradient));
        if (input_gradient.empty())
            return;
        require_shape(input_gradient, input.rows(), inputs_, "the input gradient", "linear::backward");
        product_backward<Backend>(delta, transposed(weight(parameters)), input_function, input, input_gradient);
    }

private:
    void require_parameters(std::size_t size, std::string_view where) const {
        require(size == parameter_count(), "{}: {} parameters given, but the layer {} -> {} has {}", where, size,
                inputs_, outputs_, parameter_count());
    }

    std::size_t inputs_;
    std::size_t outputs_;
    linear_options options_;
};

} // namespace gmac::inline GMAC_ABI::nn
