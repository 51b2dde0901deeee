// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <concepts>
#include <cstddef>
#include <span>

namespace gmac::inline GMAC_ABI {

/// What an agent needs of the policy that makes actions of network outputs, with scalar type T. One state a row: outputs
/// [n, output size], actions [n, action size] as they are sampled, all vectors [n].
///
/// - `output_size(space)`: columns that the actor's layer must give. Throws gmac::error for an action space that the actor
///   is not for.
/// - `free_parameter_count(space)`: how many parameters it has that do not depend on the state, learned with the rest.
/// - `initialize(free)`: their start values.
/// - `sample(outputs, free, streams, actions)`: draws an action for each row, with the row's random stream.
/// - `mode(outputs, free, actions)`: the most likely actions.
/// - `log_probability_and_entropy(outputs, free, actions, log_probabilities, entropies)`
/// - `gradient(outputs, free, actions, c, d, output_gradient, free_gradient)`: of Σᵢ (cᵢ log π(aᵢ) + dᵢ entropyᵢ). Writes
///   both gradients.
///
/// actors::categorical and actors::diagonal_gaussian are models.
template <class A, class T>
concept actor = requires(A const& a, action_space const& space, matrix_view<T const> in, std::span<T const> free,
                         std::span<random_stream> streams, vector_view<T const> vector, matrix_view<T> out,
                         vector_view<T> vector_out, std::span<T> free_out) {
    { a.output_size(space) } -> std::convertible_to<std::size_t>;
    { a.free_parameter_count(space) } -> std::convertible_to<std::size_t>;
    a.initialize(free_out);
    a.sample(in, free, streams, out);
    a.mode(in, free, out);
    a.log_probability_and_entropy(in, free, in, vector_out, vector_out);
    a.gradient(in, free, in, vector, vector, out, free_out);
};

} // namespace gmac::inline GMAC_ABI
