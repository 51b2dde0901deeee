// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/nn/module.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace gmac::inline GMAC_ABI::nn {

/// Modules one after the other, chosen at compile time: the output of each is the input of the next. Each has a member
/// type `scalar`, the same for all. Flat layout: module after module. Models gmac::nn::module.
///
///     nn::sequential net(nn::linear<B>(4, 64), nn::activation_layer<B>(64, nn::activation::tanh), nn::linear<B>(64, 2));
template <class First, class... Rest>
    requires module<First, typename First::scalar> && (module<Rest, typename First::scalar> && ...)
class sequential {
public:
    using scalar = typename First::scalar;
    using input_type = input_of<First, scalar>;
    static constexpr std::size_t size = 1 + sizeof...(Rest);

    /// Movable only: it remembers views into itself.
    class workspace {
    public:
        workspace(workspace&&) noexcept = default;
        workspace& operator=(workspace&&) noexcept = default;

    private:
        friend class sequential;
        explicit workspace(std::tuple<typename First::workspace, typename Rest::workspace...> t)
            : workspaces(std::move(t)) {}

        std::tuple<typename First::workspace, typename Rest::workspace...> workspaces;
        std::array<buffer<scalar>, size> gradients;            // of each module's input; the first stays empty
        std::array<matrix_view<scalar const>, size> outputs{}; // of the last forward pass
    };

    /// Throws gmac::error if a module's inputs are not the outputs of the one before.
    explicit sequential(First first, Rest... rest) : modules_(std::move(first), std::move(rest)...) {
        std::size_t outputs = inputs();
        for_each_module([&]<std::size_t I>(std::integral_constant<std::size_t, I>, auto const& m) {
            require(m.inputs() == outputs, "sequential: module {} takes {} inputs, but module {} has {} outputs", I,
                    m.inputs(), I - 1, outputs);
            outputs = m.outputs();
            offsets_[I + 1] = offsets_[I] + m.parameter_count();
        });
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return std::get<0>(modules_).inputs(); }
    [[nodiscard]] std::size_t outputs() const noexcept { return std::get<size - 1>(modules_).outputs(); }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return offsets_[size]; }
    template <std::size_t I>
    [[nodiscard]] auto const& get() const noexcept {
        return std::get<I>(modules_);
    }

    void initialize(std::span<scalar> parameters, random_stream& stream) const {
        detail::require_parameters(parameters.size(), parameter_count(), "sequential::initialize");
        for_each_module([&](auto i, auto const& m) { m.initialize(part<i>(parameters), stream); });
    }

    /// Names are "0.weight", "0.bias", …
    template <class Visit>
    void describe(Visit&& visit) const {
        for_each_module(
            [&](auto i, auto const& m) { describe_part(m, std::to_string(std::size_t{i}), offsets_[i], visit); });
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        workspace t(std::apply([&](auto const&... m) { return std::tuple(m.make_workspace(rows)...); }, modules_));
        for_each_module([&](auto i, auto const& m) {
            if constexpr (i > 0)
                t.gradients[i] = buffer<scalar>(rows * m.inputs());
        });
        return t;
    }

    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<input_type const> input,
                                      workspace& t) const {
        detail::require_parameters(parameters.size(), parameter_count(), "sequential::forward");
        for_each_module([&](auto i, auto const& m) {
            t.outputs[i] = m.forward(part<i>(parameters), input_of_module<i>(input, t), std::get<i>(t.workspaces));
        });
        return t.outputs[size - 1];
    }

    void backward(std::span<scalar const> parameters, matrix_view<input_type const> input, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> input_gradient) const {
        detail::require_parameters(parameters.size(), parameter_count(), "sequential::backward");
        detail::require_parameters(parameter_gradient.size(), parameter_count(), "sequential::backward");
        require(t.outputs[size - 1].rows() == input.rows(),
                "sequential::backward: the input has {} rows, but the last forward pass had {}", input.rows(),
                t.outputs[size - 1].rows());
        for_each_module([&](auto reversed, auto const&) {
            constexpr std::size_t i = size - 1 - reversed;
            auto const& m = std::get<i>(modules_);
            matrix_view<scalar> gradient = input_gradient;
            if constexpr (i > 0)
                gradient = matrix_view<scalar>(t.gradients[i].data(), input.rows(), m.inputs());
            m.backward(part<i>(parameters), input_of_module<i>(input, t), std::get<i>(t.workspaces), output_gradient,
                       part<i>(parameter_gradient), gradient);
            output_gradient = gradient;
        });
    }

private:
    template <class F>
    void for_each_module(F&& f) const {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (f(std::integral_constant<std::size_t, I>{}, std::get<I>(modules_)), ...);
        }(std::make_index_sequence<size>{});
    }
    template <std::size_t I>
    [[nodiscard]] static auto input_of_module(matrix_view<input_type const> const& input, workspace const& t) noexcept {
        if constexpr (I == 0)
            return input;
        else
            return t.outputs[I - 1];
    }
    template <std::size_t I, class T>
    [[nodiscard]] std::span<T> part(std::span<T> all) const noexcept {
        return all.subspan(offsets_[I], offsets_[I + 1] - offsets_[I]);
    }

    std::tuple<First, Rest...> modules_;
    std::array<std::size_t, size + 1> offsets_{};
};

} // namespace gmac::inline GMAC_ABI::nn
