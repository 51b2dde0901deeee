// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI {

namespace detail {
template <class A>
concept knows_features = requires(A const& a) {
    { a.reads_features() } -> std::convertible_to<bool>;
};
} // namespace detail

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
/// An actor may have more:
/// - `reads_features()`: if true, its outputs are [n, output size + features], where the features are what the trunk gives.
///   `free_parameter_count(space, features)` and `initialize(free, features)` are then told how many these are.
/// - a number `noise_steps`: for how many steps its noise is to stay the same, see action_streams.
///
/// actors::categorical, actors::multi_categorical, actors::diagonal_gaussian and actors::state_dependent_exploration are
/// models.
template <class A, class T>
concept actor = requires(A const& a, action_space const& space, matrix_view<T const> in, std::span<T const> free,
                         std::span<random_stream> streams, vector_view<T const> vector, matrix_view<T> out,
                         vector_view<T> vector_out, std::span<T> free_out) {
    { a.output_size(space) } -> std::convertible_to<std::size_t>;
    a.sample(in, free, streams, out);
    a.mode(in, free, out);
    a.log_probability_and_entropy(in, free, in, vector_out, vector_out);
    a.gradient(in, free, in, vector, vector, out, free_out);
} && (detail::knows_features<A> ? requires(A const& a, action_space const& space, std::span<T> free) {
                    { a.free_parameter_count(space, std::size_t{}) } -> std::convertible_to<std::size_t>;
                    a.initialize(free, std::size_t{});
                } : requires(A const& a, action_space const& space, std::span<T> free) {
                    { a.free_parameter_count(space) } -> std::convertible_to<std::size_t>;
                    a.initialize(free);
                });

/// What an actor needs of a network whose trunk gives so many features. Throws gmac::error for an action space that the actor
/// is not for.
struct actor_shape {
    std::size_t outputs;  ///< of the actor's layer
    std::size_t features; ///< that the actor sees beside them: all of the trunk's or none
    std::size_t free;     ///< parameters that do not depend on the state

    template <class A>
    actor_shape(A const& actor, action_space const& space, std::size_t trunk_features)
        : outputs(actor.output_size(space)), features(0) {
        if constexpr (detail::knows_features<A>) {
            features = actor.reads_features() ? trunk_features : 0;
            free = actor.free_parameter_count(space, trunk_features);
        } else {
            free = actor.free_parameter_count(space);
        }
    }
};

/// Writes the start values of an actor's free parameters, for a trunk with so many features.
template <class A, class T>
void initialize_actor(A const& actor, std::span<T> free, std::size_t features) {
    if constexpr (detail::knows_features<A>)
        actor.initialize(free, features);
    else
        actor.initialize(free);
}

/// For how many steps an actor's noise stays the same: 1 unless it says otherwise, 0 for a whole rollout.
template <class A>
[[nodiscard]] std::size_t noise_steps_of(A const& actor) noexcept {
    if constexpr (requires { actor.noise_steps; })
        return actor.noise_steps;
    else
        return 1;
}

/// Random streams with which an actor samples the actions of a rollout, one a row. In `noise_steps` steps, of which the first
/// is step 0, it is given the same random numbers; 0: in all steps of the rollout.
class action_streams {
public:
    action_streams(std::size_t rows, std::size_t noise_steps)
        : noise_steps_(noise_steps), streams_(rows), begin_(noise_steps == 1 ? 0 : rows) {}

    [[nodiscard]] std::span<random_stream> streams() noexcept { return streams_; }
    /// Those for a step of a rollout: 0, 1, … and 0 again for the next one.
    [[nodiscard]] std::span<random_stream> at(std::size_t step) noexcept {
        if (noise_steps_ == 1)
            return streams_;
        if (noise_steps_ > 0 ? step % noise_steps_ == 0 : step == 0)
            begin_ = streams_;
        else
            streams_ = begin_;
        return streams_;
    }

private:
    std::size_t noise_steps_;
    std::vector<random_stream> streams_, begin_;
};

} // namespace gmac::inline GMAC_ABI
