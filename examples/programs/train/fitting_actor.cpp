// SPDX-License-Identifier: Apache-2.0
#include <gmac/train/fitting_actor.hpp>

namespace gmac::inline GMAC_ABI::train {

fitting_actor::fitting_actor(settings const& settings, action_space const& space) {
    bool const real = std::holds_alternative<box>(space);
    require(real || !settings.state_dependent_exploration,
            "--state-dependent-exploration is true, but must be false with {}, whose actions are discrete",
            settings.environment);
    if (settings.state_dependent_exploration)
        inner_ = actors::state_dependent_exploration{.initial_deviation = settings.initial_deviation,
                                                     .noise_steps = noise_steps = settings.noise_steps};
    else if (real)
        inner_ = actors::diagonal_gaussian{.deviations = settings.state_dependent_deviation
                                                             ? actors::deviation_model::state_dependent
                                                             : actors::deviation_model::state_independent,
                                           .initial_deviation = settings.initial_deviation,
                                           .floor = settings.deviation_floor};
    else if (auto const* const several = std::get_if<multi_discrete>(&space))
        inner_ = actors::multi_categorical{*several};
}

std::size_t fitting_actor::output_size(action_space const& space) const {
    return std::visit([&](auto const& actor) { return actor.output_size(space); }, inner_);
}
bool fitting_actor::reads_features() const noexcept {
    return std::holds_alternative<actors::state_dependent_exploration>(inner_);
}
std::size_t fitting_actor::free_parameter_count(action_space const& space, std::size_t features) const {
    return std::visit([&](auto const& actor) { return actor_shape(actor, space, features).free; }, inner_);
}
void fitting_actor::initialize(std::span<float> free, std::size_t features) const {
    std::visit([&](auto const& actor) { initialize_actor(actor, free, features); }, inner_);
}
void fitting_actor::sample(matrix_view<float const> outputs, std::span<float const> free,
                           std::span<random_stream> streams, matrix_view<float> actions) const {
    std::visit([&](auto const& actor) { actor.sample(outputs, free, streams, actions); }, inner_);
}
void fitting_actor::mode(matrix_view<float const> outputs, std::span<float const> free,
                         matrix_view<float> actions) const {
    std::visit([&](auto const& actor) { actor.mode(outputs, free, actions); }, inner_);
}
void fitting_actor::log_probability_and_entropy(matrix_view<float const> outputs, std::span<float const> free,
                                                matrix_view<float const> actions, vector_view<float> log_probabilities,
                                                vector_view<float> entropies) const {
    std::visit(
        [&](auto const& actor) {
            actor.log_probability_and_entropy(outputs, free, actions, log_probabilities, entropies);
        },
        inner_);
}
void fitting_actor::gradient(matrix_view<float const> outputs, std::span<float const> free,
                             matrix_view<float const> actions, vector_view<float const> log_probability_gradient,
                             vector_view<float const> entropy_gradient, matrix_view<float> output_gradient,
                             std::span<float> free_gradient) const {
    std::visit(
        [&](auto const& actor) {
            actor.gradient(outputs, free, actions, log_probability_gradient, entropy_gradient, output_gradient,
                           free_gradient);
        },
        inner_);
}

} // namespace gmac::inline GMAC_ABI::train
