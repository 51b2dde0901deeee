// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/detail/state_input.hpp>
#include <gmac/agent/value_network.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/module.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// A critic without an actor: a trunk and the head's network. Their parameters lie one after the other in a flat range of
/// the caller's.
template <class Head, nn::backend Backend, class Trunk>
class critic_network {
public:
    using scalar = typename Backend::scalar;
    using value_net = value_network<Head, Backend>;
    using input_type = typename detail::state_input<scalar, Trunk>::input_type;
    using observation_type = typename detail::state_input<scalar, Trunk>::observation_type;

    /// Memory for the passes of one thread over up to `rows` states.
    struct workspace {
        detail::state_input<scalar, Trunk> observations;
        typename Trunk::workspace trunk;
        typename value_net::workspace value;
        buffer<scalar> value_gradient, feature_gradient; // [rows, outputs], [rows, F]
        matrix_view<scalar const> features{};            // of the last forward pass, [n, F]
    };

    critic_network(Trunk trunk, Head const& head, double value_gain)
        : trunk_(std::move(trunk)), value_(head, trunk_.outputs(), value_gain), outputs_(head.output_size()) {}

    [[nodiscard]] std::size_t parameter_count() const noexcept {
        return trunk_.parameter_count() + value_.parameter_count();
    }
    [[nodiscard]] std::size_t inputs() const noexcept { return trunk_.inputs(); }
    [[nodiscard]] std::size_t value_outputs() const noexcept { return outputs_; }

    void initialize(std::span<scalar> parameters, random_stream& random) const {
        trunk_.initialize(trunk_part(parameters), random);
        value_.initialize(value_part(parameters), random);
    }

    /// visit(name, offset, rows, columns) for every tensor of the flat range, in its order.
    template <class Visit>
    void describe(Visit&& visit) const {
        nn::describe_part(trunk_, "trunk", 0, visit);
        nn::describe_part(value_, "value", trunk_.parameter_count(), visit);
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        return {{rows, inputs(), "observer"},
                trunk_.make_workspace(rows),
                value_.make_workspace(rows),
                buffer<scalar>(rows * outputs_),
                buffer<scalar>(rows * trunk_.outputs())};
    }

    /// Observations [n, inputs] as the trunk reads them: the view itself, or a copy in the workspace.
    [[nodiscard]] matrix_view<input_type const> input(matrix_view<observation_type const> observations,
                                                      workspace& work) const {
        return work.observations.of(observations);
    }
    /// states [n, inputs] → what a loss takes as outputs of the head.
    auto value_forward(std::span<scalar const> parameters, matrix_view<input_type const> states, random_stream& random,
                       workspace& work) const {
        work.features = trunk_.forward(trunk_part(parameters), states, work.trunk);
        return value_.predict(value_part(parameters), work.features, random, work.value);
    }
    /// After a forward pass on the same states: from the gradient in work.value_gradient to that of all parameters.
    void critic_backward(std::span<scalar const> parameters, matrix_view<input_type const> states, workspace& work,
                         std::span<scalar> gradient) const {
        matrix_view<scalar> const feature_gradient(work.feature_gradient.data(), states.rows(), trunk_.outputs());
        value_.backward(value_part(parameters), work.features, work.value,
                        {work.value_gradient.data(), states.rows(), outputs_}, value_part(gradient), feature_gradient);
        trunk_.backward(trunk_part(parameters), states, work.trunk, feature_gradient, trunk_part(gradient), {});
    }

private:
    template <class T>
    [[nodiscard]] std::span<T> trunk_part(std::span<T> parameters) const noexcept {
        return parameters.first(trunk_.parameter_count());
    }
    template <class T>
    [[nodiscard]] std::span<T> value_part(std::span<T> parameters) const noexcept {
        return parameters.subspan(trunk_.parameter_count(), value_.parameter_count());
    }

    Trunk trunk_;
    value_net value_;
    std::size_t outputs_;
};

} // namespace gmac::inline GMAC_ABI
