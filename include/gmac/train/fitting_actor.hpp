// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/actor.hpp>
#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/actors/multi_categorical.hpp>
#include <gmac/actors/state_dependent_exploration.hpp>
#include <gmac/train/settings.hpp>

#include <cstddef>
#include <span>
#include <variant>

namespace gmac::inline GMAC_ABI::train {

/// The actor that fits the actions of an environment, chosen at run time and compiled once: a method is compiled for this
/// one, and not for each of them.
class fitting_actor {
public:
    using any = std::variant<actors::categorical, actors::diagonal_gaussian, actors::multi_categorical,
                             actors::state_dependent_exploration>;

    fitting_actor() = default;
    /// Throws gmac::error for settings of real actions where they are discrete.
    fitting_actor(settings const& settings, action_space const& space);

    operator any() const { return inner_; }

    [[nodiscard]] std::size_t output_size(action_space const& space) const;
    [[nodiscard]] bool reads_features() const noexcept;
    [[nodiscard]] std::size_t free_parameter_count(action_space const& space, std::size_t features) const;
    void initialize(std::span<float> free, std::size_t features) const;
    void sample(matrix_view<float const> outputs, std::span<float const> free, std::span<random_stream> streams,
                matrix_view<float> actions) const;
    void mode(matrix_view<float const> outputs, std::span<float const> free, matrix_view<float> actions) const;
    void log_probability_and_entropy(matrix_view<float const> outputs, std::span<float const> free,
                                     matrix_view<float const> actions, vector_view<float> log_probabilities,
                                     vector_view<float> entropies) const;
    void gradient(matrix_view<float const> outputs, std::span<float const> free, matrix_view<float const> actions,
                  vector_view<float const> log_probability_gradient, vector_view<float const> entropy_gradient,
                  matrix_view<float> output_gradient, std::span<float> free_gradient) const;

    std::size_t noise_steps = 1;

private:
    any inner_;
};

static_assert(actor<fitting_actor, float>);

} // namespace gmac::inline GMAC_ABI::train
