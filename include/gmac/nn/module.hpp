// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// Networks. A module is only the shape of a computation: its parameters lie in a flat range that the caller owns (a part
/// of the agent's one buffer), its gradients in another, and its activations in a workspace. So one module serves any number
/// of threads at once, each with a workspace of its own, and nothing is allocated after make_workspace.
namespace gmac::inline GMAC_ABI::nn {

namespace detail {
struct describe_nothing {
    void operator()(std::string_view, std::size_t, std::size_t, std::size_t) const noexcept {}
};

inline void require_rows(std::size_t rows, std::size_t capacity, std::string_view where) {
    require(rows <= capacity, "{}: the input has {} rows, but the workspace was made for {}", where, rows, capacity);
}
inline void require_parameters(std::size_t given, std::size_t wanted, std::string_view where) {
    require(given == wanted, "{}: {} parameters given, but the network has {}", where, given, wanted);
}

template <class M, class T>
struct input_of {
    using type = T;
};
template <class M, class T>
    requires requires { typename M::input_type; }
struct input_of<M, T> {
    using type = typename M::input_type;
};
} // namespace detail

/// The element type of a module's input: its member type `input_type`, or its scalar type T.
template <class M, class T>
using input_of = typename detail::input_of<M, T>::type;

/// What an agent needs of a network with scalar type T.
///
/// - `inputs()`, `outputs()`: columns of the input and of the output; one state a row.
/// - `input_type`: the element type of the input, if it is not T: std::uint8_t for a network that sees screens.
/// - `parameter_count()`: size of the flat ranges of parameters and of gradients.
/// - `initialize(parameters, stream)`: writes the start values.
/// - `make_workspace(rows)`: memory for batches of up to `rows` rows.
/// - `forward(parameters, input, workspace)`: the output [rows, outputs()], a view into the workspace that is valid until the
///   workspace's next use. The input must not lie in the workspace.
/// - `backward(parameters, input, workspace, output_gradient, parameter_gradient, input_gradient)`: after a forward pass with
///   the same parameters, input and workspace. Overwrites `parameter_gradient` with the sum over the rows, and
///   `input_gradient` [rows, inputs()] unless it is an empty view. May be called more than once for one forward pass.
/// - `describe(visit)`: visit(name, offset, rows, cols) for each parameter tensor, row-major in the flat range.
template <class M, class T>
concept module = requires(M const m, std::span<T> parameters, std::span<T const> constant_parameters,
                          matrix_view<T const> output_gradient, matrix_view<input_of<M, T> const> module_input,
                          matrix_view<T> input_gradient, typename M::workspace& workspace, random_stream& stream) {
    { m.inputs() } -> std::convertible_to<std::size_t>;
    { m.outputs() } -> std::convertible_to<std::size_t>;
    { m.parameter_count() } -> std::convertible_to<std::size_t>;
    m.initialize(parameters, stream);
    { m.make_workspace(std::size_t{}) } -> std::same_as<typename M::workspace>;
    { m.forward(constant_parameters, module_input, workspace) } -> std::same_as<matrix_view<T const>>;
    m.backward(constant_parameters, module_input, workspace, output_gradient, parameters, input_gradient);
    m.describe(detail::describe_nothing{});
};

/// Describes a part of a module, whose parameters begin with `first` of the module's: its tensors' names get `name` and a dot
/// before them.
template <class Part, class Visit>
void describe_part(Part const& part, std::string_view name, std::size_t first, Visit& visit) {
    part.describe([&](std::string_view tensor, std::size_t offset, std::size_t rows, std::size_t cols) {
        std::string full(name);
        full += '.';
        full += tensor;
        visit(full, first + offset, rows, cols);
    });
}

/// Visits each tensor of a network's parameters by its name.
template <class Network, class T>
void persist_parameters(archive& state, Network const& network, std::span<T> parameters) {
    network.describe([&](std::string_view name, std::size_t offset, std::size_t rows, std::size_t cols) {
        state(name, parameters.subspan(offset, rows * cols), rows, cols);
    });
}

} // namespace gmac::inline GMAC_ABI::nn
