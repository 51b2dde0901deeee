// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/module.hpp>

#include <cstddef>
#include <span>

namespace gmac::inline GMAC_ABI::nn {

/// y = f(x), element by element: a module without parameters. (linear and mlp have the activation fused in.)
template <backend Backend>
class activation_layer {
public:
    using backend_type = Backend;
    using scalar = typename Backend::scalar;

    class workspace {
        friend class activation_layer;
        std::size_t rows = 0;
        buffer<scalar> output;
    };

    /// Throws gmac::error if size is zero.
    activation_layer(std::size_t size, activation function) : size_(size), function_(function) {
        require(size > 0, "activation_layer: size is 0, but must be positive");
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return size_; }
    [[nodiscard]] std::size_t outputs() const noexcept { return size_; }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return 0; }
    void initialize(std::span<scalar>, random_stream&) const noexcept {}
    template <class Visit>
    void describe(Visit&&) const noexcept {}

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        workspace t;
        t.rows = rows;
        t.output = buffer<scalar>(rows * size_);
        return t;
    }

    matrix_view<scalar const> forward(std::span<scalar const>, matrix_view<scalar const> input, workspace& t) const {
        require_shape(input, input.rows(), size_, "the input", "activation_layer::forward");
        detail::require_rows(input.rows(), t.rows, "activation_layer::forward");
        matrix_view<scalar> const output(t.output.data(), input.rows(), size_);
        Backend::activate(function_, input, output);
        return output;
    }

    void backward(std::span<scalar const>, matrix_view<scalar const> input, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar>,
                  matrix_view<scalar> input_gradient) const {
        detail::require_rows(input.rows(), t.rows, "activation_layer::backward");
        require_shape(output_gradient, input.rows(), size_, "the output gradient", "activation_layer::backward");
        if (input_gradient.empty())
            return;
        require_shape(input_gradient, input.rows(), size_, "the input gradient", "activation_layer::backward");
        Backend::activate_backward(function_, matrix_view<scalar const>(t.output.data(), input.rows(), size_),
                                   output_gradient, input_gradient);
    }

private:
    std::size_t size_;
    activation function_;
};

} // namespace gmac::inline GMAC_ABI::nn
