// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/as_float.hpp>
#include <gmac/core/error.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/targets/replacement.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace gmac::inline GMAC_ABI {

enum class optimiser_kind { adam, rmsprop };
/// How the learning rate goes on over a run: as it is, falling linearly to zero at the last frame, or as kl_schedule says
/// after each epoch.
enum class rate_schedule { constant, linear, kl };

/// How an agent weighs what it is curious about; see actor_critic::explore and gmac/agent/exploration.hpp. The defaults are
/// those of random network distillation (Burda et al. 2019).
struct exploration_options {
    double coefficient = 1.0;           ///< of the advantages of intrinsic rewards
    double extrinsic_coefficient = 2.0; ///< of those of the environments' rewards
    double discount = 0.99;             ///< of intrinsic rewards, whose returns go on where an episode ends
};

/// The hyperparameters of an actor_critic. The defaults are the paper's for PyBullet (Table "Parameter settings");
/// atari_options() has those for the Arcade Learning Environment.
struct agent_options {
    std::size_t steps = 512;      ///< T, environment steps of one rollout in each environment
    std::size_t minibatch = 2048; ///< states; the last minibatch of an epoch may be smaller
    std::size_t epochs = 10;      ///< passes over a rollout
    double learning_rate = 1e-4;
    rate_schedule schedule = rate_schedule::constant;
    double target_kl = 0.01; ///< of rate_schedule::kl and of early_stop
    /// Between which rate_schedule::kl keeps the learning rate.
    double learning_rate_minimum = 1e-5, learning_rate_maximum = 1e-2;
    /// Ends the epochs of an update at the first minibatch whose approximate KL divergence is above 1.5 target_kl, without
    /// a step for it.
    bool early_stop = false;
    double discount = 0.99;
    double lambda = 0.95; ///< of GAE and of SR(lambda)
    double clip = 0.2;    ///< range of the probability ratio around 1
    double value_coefficient = 0.5;
    double entropy_coefficient = 0.001;
    /// Of all parameters together; infinity: none. Unset, it is what the loss has as its member `max_gradient_norm`, the
    /// mixture energy 5 (as the authors do), and 0.5 for a loss that has none.
    std::optional<double> max_gradient_norm{};
    /// With separate trunks: max_gradient_norm limits the actor's gradient and the critic's, each by itself, so that the
    /// larger one does not shrink the other.
    bool clip_networks_separately = false;
    bool normalize_advantages = true; ///< in each minibatch, by the n − 1 standard deviation
    std::size_t particles = 128;      ///< m, of SR(lambda)
    targets::resampling replacement = targets::resampling::independent; ///< of these particles
    std::vector<std::size_t> hidden{256, 256, 512};
    nn::activation activation = nn::activation::tanh;
    bool shared_trunk = true; ///< one trunk for actor and critic, or one each
    double trunk_gain = std::sqrt(2.0);
    double actor_gain = 0.1;
    double value_gain = std::sqrt(2.0);
    optimiser_kind optimiser = optimiser_kind::adam;
    double optimiser_epsilon = 1e-5;
    /// Parts that the states of a minibatch are cut into; each part is one task, or two with separate trunks, and the parts'
    /// gradients are added in a fixed order, so this number, and not that of the threads, decides the rounding. 0 means one
    /// task for each 32 states, at most 8.
    std::size_t shards = 0;
    /// Gives the agent a value of intrinsic rewards, which it must then be given: actor_critic::explore.
    std::optional<exploration_options> exploration{};
};

/// The paper's settings for the Arcade Learning Environment.
[[nodiscard]] inline agent_options atari_options() {
    agent_options options;
    options.steps = 128;
    options.minibatch = 512;
    options.epochs = 4;
    options.learning_rate = 2.5e-4;
    options.clip = 0.1;
    options.entropy_coefficient = 0.01;
    options.activation = nn::activation::relu;
    return options;
}

/// Throws gmac::error for the first option outside its range, with its name, its value and the range. Numbers must be in
/// their range as float, too.
inline void validate(agent_options const& options) {
    auto const positive = [](std::string_view name, std::size_t value) {
        require(value > 0, "agent_options: {} is 0, but must be at least 1", name);
    };
    auto const within = [](std::string_view name, double value, double low, double high) {
        require(value >= low && value <= high, "agent_options: {} is {}, but must be in [{}, {}]", name, value, low,
                high);
    };
    auto const at_least_zero = [](std::string_view name, double value) {
        require(std::isfinite(static_cast<float>(value)) && value >= 0.0,
                "agent_options: {} is {}, but must be finite and not negative{}", name, value, detail::as_float(value));
    };
    auto const above_zero = [](std::string_view name, double value) {
        float const number = static_cast<float>(value);
        require(std::isfinite(number) && number > 0.0f, "agent_options: {} is {}, but must be finite and positive{}",
                name, value, detail::as_float(value));
    };
    // Products of sizes must not overflow: these are bounded here, steps × environments by the rollout.
    auto const size = [](std::string_view name, std::size_t value) {
        constexpr std::size_t most = std::size_t{1} << 24u;
        require(value >= 1 && value <= most, "agent_options: {} is {}, but must be in [1, {}]", name, value, most);
    };
    positive("steps", options.steps);
    positive("minibatch", options.minibatch);
    positive("epochs", options.epochs);
    size("particles", options.particles);
    require(!options.hidden.empty(), "agent_options: hidden is empty, but must name the width of at least one layer");
    for (auto const width : options.hidden)
        size("a width in hidden", width);
    within("discount", options.discount, 0.0, 1.0);
    within("lambda", options.lambda, 0.0, 1.0);
    above_zero("learning_rate", options.learning_rate);
    above_zero("target_kl", options.target_kl);
    above_zero("learning_rate_minimum", options.learning_rate_minimum);
    above_zero("learning_rate_maximum", options.learning_rate_maximum);
    require(
        options.learning_rate_minimum <= options.learning_rate_maximum,
        "agent_options: learning_rate_minimum is {} and learning_rate_maximum {}, but the minimum must not be above "
        "the maximum",
        options.learning_rate_minimum, options.learning_rate_maximum);
    if (options.schedule == rate_schedule::kl)
        require(options.learning_rate >= options.learning_rate_minimum &&
                    options.learning_rate <= options.learning_rate_maximum,
                "agent_options: learning_rate is {}, but with the schedule kl it must be in [{}, {}], from "
                "learning_rate_minimum to learning_rate_maximum",
                options.learning_rate, options.learning_rate_minimum, options.learning_rate_maximum);
    above_zero("clip", options.clip);
    at_least_zero("value_coefficient", options.value_coefficient);
    at_least_zero("entropy_coefficient", options.entropy_coefficient);
    if (options.max_gradient_norm)
        require(static_cast<float>(*options.max_gradient_norm) > 0.0f,
                "agent_options: max_gradient_norm is {}, but must be positive{} (infinity: no clipping)",
                *options.max_gradient_norm, detail::as_float(*options.max_gradient_norm));
    require(
        !options.clip_networks_separately || !options.shared_trunk,
        "agent_options: clip_networks_separately is true, but must be false with a shared trunk, whose gradient is of "
        "both networks");
    at_least_zero("trunk_gain", options.trunk_gain);
    at_least_zero("actor_gain", options.actor_gain);
    at_least_zero("value_gain", options.value_gain);
    above_zero("optimiser_epsilon", options.optimiser_epsilon);
    if (options.exploration) {
        at_least_zero("exploration.coefficient", options.exploration->coefficient);
        at_least_zero("exploration.extrinsic_coefficient", options.exploration->extrinsic_coefficient);
        require(options.exploration->discount >= 0.0 && options.exploration->discount < 1.0,
                "agent_options: exploration.discount is {}, but must be in [0, 1)", options.exploration->discount);
    }
}

namespace detail {
[[nodiscard]] inline agent_options checked(agent_options options) {
    validate(options);
    return options;
}
} // namespace detail

} // namespace gmac::inline GMAC_ABI
