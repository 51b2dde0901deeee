// SPDX-License-Identifier: Apache-2.0
#include "our_environments.hpp"

#include "atari_games.hpp"
#include "minatar_games.hpp"
#include "robot_pictures.hpp"
#include "support/read_value.hpp"

#include "classic/cart_pole.hpp"
#include "classic/deep_sea.hpp"
#include "classic/pendulum.hpp"
#include "classic/windy_cliff.hpp"
#include "minatar/games.hpp"
#if defined(GMAC_TRAIN_WITH_BULLET)
#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"
#endif

#include <gmac/core/error.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/train/methods.hpp>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gmac::examples::train {

namespace {

[[nodiscard]] settings cart_pole_defaults(std::string const& algorithm) {
    settings s;
    s.frames = 100'000;
    s.environments = 8;
    s.agent.steps = 32;
    s.agent.minibatch = 256;
    s.agent.epochs = 20;
    s.agent.learning_rate = 1e-3;
    s.agent.schedule = rate_schedule::linear;
    s.agent.discount = 0.98;
    s.agent.lambda = 0.8;
    s.agent.entropy_coefficient = 0.0;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    // A distribution's width is in units of the return, so its head wants returns of order one.
    s.normalize_rewards = algorithm != "ppo";
    return s;
}

[[nodiscard]] settings pendulum_defaults() {
    settings s;
    s.frames = 300'000;
    s.environments = 4;
    s.agent.steps = 1024;
    s.agent.minibatch = 256;
    s.agent.epochs = 10;
    s.agent.learning_rate = 1e-3;
    s.agent.discount = 0.9;
    s.agent.entropy_coefficient = 0.0;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    s.normalize_rewards = true;
    s.state_dependent_deviation = false;
    return s;
}

/// With a lambda so small that a statistic of the value counts (at lambda = 1 the advantage is that of the mean return), and
/// an entropy bonus that keeps all heights tried until the distributions there are learned.
[[nodiscard]] settings windy_cliff_defaults() {
    settings s;
    s.frames = 1'000'000;
    s.environments = 64;
    s.agent.steps = 32;
    s.agent.minibatch = 256;
    s.agent.epochs = 4;
    s.agent.learning_rate = 1e-3;
    s.agent.schedule = rate_schedule::linear;
    s.agent.lambda = 0.2;
    s.agent.replacement = targets::resampling::stratified;
    s.agent.entropy_coefficient = 0.4;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    s.exploring_starts = 0.5;
    return s;
}

/// As many episodes as the behaviour suite gives its agents.
[[nodiscard]] settings deep_sea_defaults(std::size_t size) {
    settings s;
    s.frames = 10'000 * size;
    s.environments = 16;
    s.agent.steps = 32;
    s.agent.minibatch = 128;
    s.agent.epochs = 4;
    s.agent.learning_rate = 1e-3;
    s.agent.entropy_coefficient = 0.01;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    return s;
}

/// The paper's, which are the defaults of agent_options too.
[[nodiscard]] settings robot_defaults() {
    settings s;
    s.frames = 50'000'000;
    s.environments = 64;
    s.normalize_observations = true;
    s.normalize_rewards = true;
    s.deviation_floor = 0.05;
    return s;
}

/// Settings with which robots learn to walk within two million frames; see docs/results.md.
[[nodiscard]] settings fast_robot(std::string_view robot) {
    settings s = robot_defaults();
    s.environment = fmt::format("bullet/{}", robot);
    s.frames = 2'000'000;
    s.environments = 16;
    s.agent.minibatch = 64;
    s.agent.schedule = rate_schedule::linear;
    s.agent.replacement = targets::resampling::stratified;
    s.agent.entropy_coefficient = 0.0;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {128, 128};
    s.agent.activation = nn::activation::relu;
    s.agent.shared_trunk = false;
    s.deviation_floor = 0.25;
    bool const cannot_fall = robot == "half_cheetah"; // and learns faster
    s.agent.learning_rate = cannot_fall ? 3e-4 : 1e-4;
    s.agent.clip = cannot_fall ? 0.2 : 0.3;
    return s;
}
/// Half as large, with which Hopper hops after a minute. Standing pays, and without a bonus one that has learnt it early may go on
/// standing.
[[nodiscard]] settings fast_hopper() {
    settings s = fast_robot("hopper");
    s.agent.learning_rate = 3e-4;
    s.agent.clip = 0.2;
    s.agent.discount = 0.985;
    s.agent.replacement = targets::resampling::independent;
    s.agent.entropy_coefficient = 0.005;
    s.agent.hidden = {64, 64};
    s.agent.activation = nn::activation::tanh;
    return s;
}

/// The paper's for the Arcade Learning Environment, with the 200 million frames of its authors' code: four a step.
[[nodiscard]] settings atari_defaults() {
    settings s;
    s.agent = atari_options();
    s.agent.hidden = {512};
    s.frames = 50'000'000;
    s.environments = 64;
    return s;
}

/// The paper's for Atari games, with the network of MinAtar's authors, which is smaller and learns faster.
[[nodiscard]] settings minatar_defaults() {
    settings s = atari_defaults();
    s.agent.learning_rate = 1e-3;
    s.agent.hidden = {128};
    s.frames = 5'000'000;
    return s;
}

/// Environments of a type, as `factory(settings)` makes each of them.
template <class Factory>
[[nodiscard]] auto batches_of(Factory factory) {
    using environment = std::invoke_result_t<Factory const&, settings const&>;
    return [factory](settings const& settings, std::size_t count, std::uint64_t seed, executor& tasks) {
        return std::make_unique<vector_environment<environment>>(
            count, seed, [&](std::size_t) { return factory(settings); }, &tasks);
    };
}

/// The N of classic/deep_sea:N and classic/deep_sea_stochastic:N. Throws gmac::error if it is none of a deep sea.
[[nodiscard]] std::size_t deep_sea_size(std::string const& environment) {
    std::size_t size = 0;
    read_value("the size of " + environment, environment.substr(environment.find(':') + 1), size);
    static_cast<void>(classic::deep_sea(size)); // throws for one that cannot be
    return size;
}

void add_classic(registry& known) {
    known.environments.push_back(
        {.name = "classic/cart_pole",
         .defaults = [](auto const&, std::string const& algorithm) { return cart_pole_defaults(algorithm); },
         .make = batches_of([](settings const&) { return classic::cart_pole(); })});
    known.environments.push_back({.name = "classic/pendulum",
                                  .defaults = [](auto const&, auto const&) { return pendulum_defaults(); },
                                  .make = batches_of([](settings const&) { return classic::pendulum(); })});
    known.environments.push_back(
        {.name = "classic/windy_cliff",
         .groups = {"Windy cliff"},
         .defaults = [](auto const&, auto const&) { return windy_cliff_defaults(); },
         .make = batches_of([](settings const& settings) { return classic::windy_cliff(settings.exploring_starts); })});
    for (bool const stochastic : {false, true})
        known.environments.push_back(
            {.name = stochastic ? "classic/deep_sea_stochastic:" : "classic/deep_sea:",
             .rest = "N",
             .defaults = [](std::string const& environment,
                            auto const&) { return deep_sea_defaults(deep_sea_size(environment)); },
             .make = batches_of([stochastic](settings const& settings) {
                 return classic::deep_sea(deep_sea_size(settings.environment), stochastic);
             })});
}

#if defined(GMAC_TRAIN_WITH_BULLET)
[[nodiscard]] auto robots(std::string const& name) {
    bullet::robot const& table = bullet::find_robot(name);
    return batches_of([&table](settings const& settings) {
        return bullet::locomotion(table, bullet::link_layout::separate, {.impulse = settings.pushes});
    });
}
#else
[[nodiscard]] auto robots(std::string const& name) {
    return [name](settings const&, std::size_t, std::uint64_t, executor&) -> std::unique_ptr<environment_batch> {
        fail(
            "bullet/{} needs the Bullet library, which was missing when this program was built; install libbullet-dev "
            "and configure again",
            name);
    };
}
#endif

void add_robots(registry& known) {
    for (std::string const name : {"hopper", "walker2d", "half_cheetah", "ant", "humanoid"})
        known.environments.push_back({.name = "bullet/" + name,
                                      .groups = {"Robots"},
                                      .defaults = [](auto const&, auto const&) { return robot_defaults(); },
                                      .make = robots(name),
                                      .pictures = robot_pictures});
    known.presets.push_back({"hopper-fast", fast_hopper()});
    for (std::string const name : {"walker2d", "half_cheetah", "ant", "humanoid"})
        known.presets.push_back({name + "-fast", fast_robot(name)});
}

void add_minatar(registry& known) {
    for (std::string const name : {"asterix", "breakout", "freeway", "seaquest", "space_invaders"})
        known.environments.push_back(
            {.name = "minatar/" + name,
             .groups = {"Atari and MinAtar games", "MinAtar games"},
             .defaults = [](auto const&, auto const&) { return minatar_defaults(); },
             .make_images = minatar_games,
             .images =
                 [name](settings const&) {
                     return image_view{.height = minatar::side,
                                       .width = minatar::side,
                                       .channels =
                                           minatar::visit_game(name, []<class Rules>() { return Rules::channels; }),
                                       .channels_last = true,
                                       .trunk = "conv:16x3x1",
                                       .cells = true};
                 }});
}

void add_atari(registry& known) {
    known.environments.push_back({.name = "ale/",
                                  .rest = "GAME",
                                  .help = "an Atari game",
                                  .groups = {"Atari and MinAtar games", "Atari games"},
                                  .defaults = [](auto const&, auto const&) { return atari_defaults(); },
                                  .make_images = atari_games,
                                  .images =
                                      [](settings const& settings) {
                                          std::size_t const stack =
                                              ale::preprocessing_named(settings.preprocessing).stack;
                                          return image_view{.height = ale::atari_side,
                                                            .width = ale::atari_side,
                                                            .channels = stack,
                                                            .frames = stack,
                                                            .byte_scale = 1.0 / 255.0};
                                      },
                                  .prepare = find_game_rom});
}

} // namespace

registry our_registry() {
    registry known{.program = "gmac-train", .methods = all_methods(), .shown = "bullet/hopper"};
    add_classic(known);
    add_robots(known);
    add_minatar(known);
    add_atari(known);
    return known;
}

} // namespace gmac::examples::train
