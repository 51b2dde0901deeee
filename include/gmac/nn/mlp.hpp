// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/nn/linear.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <initializer_list>
#include <numbers>
#include <span>
#include <vector>

namespace gmac::nn {

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

    class tape {
        friend class mlp;
        std::size_t rows = 0;
        std::vector<typename layer::tape> layers;
        std::vector<buffer<scalar>> gradients; // of the output of each layer but the last
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
        require_parameters(parameters.size(), "mlp::initialize");
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
            layers_[i].describe([&](std::string_view name, std::size_t first, std::size_t rows, std::size_t cols) {
                visit(std::string_view(fmt::format("{}.{}", i, name)), offset + first, rows, cols);
            });
            offset += layers_[i].parameter_count();
        }
    }

    [[nodiscard]] tape make_tape(std::size_t rows) const {
        tape t;
        t.rows = rows;
        for (layer const& l : layers_) {
            t.layers.push_back(l.make_tape(rows));
            t.gradients.emplace_back(rows * l.inputs());
        }
        return t;
    }

    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<scalar const> input,
                                      tape& t) const {
        require_parameters(parameters.size(), "mlp::forward");
        std::size_t offset = 0;
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            std::size_t const count = layers_[i].parameter_count();
            input = layers_[i].forward(parameters.subspan(offset, count), input, t.layers[i]);
            offset += count;
        }
        return input;
    }

    void backward(std::span<scalar const> parameters, matrix_view<scalar const> input, tape& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> input_gradient) const {
        require_parameters(parameters.size(), "mlp::backward");
        require_parameters(parameter_gradient.size(), "mlp::backward");
        std::size_t const rows = input.rows();
        std::size_t offset = parameter_count_;
        for (std::size_t i = layers_.size(); i-- > 0;) {
            layer const& l = layers_[i];
            offset -= l.parameter_count();
            matrix_view<scalar const> const layer_input = i == 0 ? input : layers_[i - 1].output(t.layers[i - 1], rows);
            matrix_view<scalar> const gradient =
                i == 0 ? input_gradient : matrix_view<scalar>(t.gradients[i].data(), rows, l.inputs());
            l.backward(parameters.subspan(offset, l.parameter_count()), layer_input, t.layers[i], output_gradient,
                       parameter_gradient.subspan(offset, l.parameter_count()), gradient);
            output_gradient = gradient;
        }
    }

private:
    void require_parameters(std::size_t size, std::string_view where) const {
        require(size == parameter_count_, "{}: {} parameters given, but the network has {}", where, size,
                parameter_count_);
    }

    std::vector<layer> layers_;
    std::size_t parameter_count_ = 0;
};

} // namespace gmac::nn
