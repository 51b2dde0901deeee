// SPDX-License-Identifier: Apache-2.0
#include "image_experiment.hpp"

#include "episode.hpp"
#include "make_trainer.hpp"
#include "observe/observed.hpp"
#include "trunk_text.hpp"

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>
#include <gmac/environment/observation_stack.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

namespace gmac::examples::train {

namespace {

/// One game of a batch of one, step by step.
class image_game {
public:
    explicit image_game(std::unique_ptr<image_trainer::batch> world)
        : world_(std::move(world)),
          observation_(world_->observation_size()),
          action_(action_size(world_->action_space())),
          stack_(*world_) {}

    void reset() {
        world_->reset(row(observation_));
        stack_.restart(row(observation_));
        ended = false;
    }
    [[nodiscard]] std::span<std::uint8_t const> state() const {
        auto const first = stack_.states().row(0);
        return {first.data(), first.size()};
    }
    [[nodiscard]] std::span<float> action() noexcept { return action_; }
    [[nodiscard]] matrix_view<std::uint8_t const> mask() const noexcept { return world_->action_masks(); }
    /// With action(); returns the reward.
    double step() {
        world_->step(row(action_), {row(observation_), {}, reward_, terminated_, truncated_});
        stack_.advance({row(observation_), {}, reward_, terminated_, truncated_});
        ended = terminated_[0] != 0 || truncated_[0] != 0;
        return static_cast<double>(reward_[0]);
    }
    void persist(archive& state) {
        world_->persist(state);
        stack_.persist(state);
    }
    [[nodiscard]] bool can_be_stored() const { return world_->checkpointable(); }

    bool ended = false;

private:
    template <class T>
    [[nodiscard]] static matrix_view<T> row(std::vector<T>& values) noexcept {
        return {values.data(), 1, values.size()};
    }

    std::unique_ptr<image_trainer::batch> world_;
    std::vector<std::uint8_t> observation_, terminated_ = {0}, truncated_ = {0};
    std::vector<float> action_, reward_ = {0.0f};
    observation_stack<std::uint8_t> stack_;
};

/// States before each step of an episode, what each step gave, and whether the episode came to its end.
struct image_episode {
    std::vector<std::vector<std::uint8_t>> states;
    std::vector<double> rewards;
    bool ended = false;
};

/// Plays a game with the most likely actions, up to a number of steps.
[[nodiscard]] image_episode play(image_trainer& agent, image_game game, std::size_t most) {
    image_episode played;
    game.reset();
    while (!game.ended && played.rewards.size() < most) {
        played.states.emplace_back(game.state().begin(), game.state().end());
        agent.act(game.state(), game.action(), game.mask());
        played.rewards.push_back(game.step());
    }
    played.ended = game.ended;
    return played;
}

/// The discounted return from each state on; if the game was cut, with the agent's own guess at its last state.
[[nodiscard]] std::vector<double> returns_of(image_trainer& agent, image_episode const& played, double discount) {
    std::vector<double> returns = played.rewards;
    if (!played.ended)
        returns.back() = mean_of(panel_of(0, 0.0, agent.value_distribution(played.states.back()), 1.0));
    for (std::size_t t = returns.size() - 1; t-- > 0;)
        returns[t] += discount * returns[t + 1];
    return returns;
}

/// Loads what a game stored, but with chances of its own.
class other_chances final : public archive {
public:
    other_chances(archive& stored, random_stream const& random)
        : stored_(stored), words_{random.seed(), random.stream(), random.position()} {}

    [[nodiscard]] bool loading() const noexcept override { return true; }
    void array(std::string const& name, element_type type, std::span<std::size_t const> shape, void* data) override {
        stored_.array(name, type, shape, data);
        if (name.ends_with("streams"))
            std::ranges::copy(words_, static_cast<std::uint64_t*>(data));
    }
    void bytes(std::string const& name, std::vector<std::byte>& data) override { stored_.bytes(name, data); }

private:
    archive& stored_;
    std::array<std::uint64_t, 3> words_;
};

} // namespace

image_experiment::image_experiment(registry const& known, settings const& settings, executor& tasks, image_games games,
                                   communicator* ranks, std::uint64_t frames_before)
    : settings_(settings),
      games_(std::move(games)),
      worlds_(
          games_(image_games_for::learning, settings.environments, environment_seed(settings, ranks, frames_before))),
      agent_(make_image_trainer(known, settings, *worlds_, tasks, ranks)) {}

void image_experiment::save_policy(std::filesystem::path const& file, checkpoint_metadata const& notes) const {
    gmac::save_policy(file, agent_->policy(nullptr), notes);
}

void image_experiment::save_value(std::filesystem::path const& file) const {
    gmac::save_value(file, agent_->value(nullptr));
}

std::vector<finished_episode> image_experiment::evaluate(evaluation which, std::size_t episodes,
                                                         std::function<bool()> stop) {
    stoppable<std::uint8_t> games(games_(image_games_for::scores, episodes, evaluation_seed(settings_, which)),
                                  std::move(stop));
    return agent_->evaluate(games);
}

std::vector<value_panel> image_experiment::value_panels() {
    constexpr std::size_t most = 2000;
    auto const played =
        play(*agent_, image_game(games_(image_games_for::learning, 1, settings_.seed + 2'000'000)), most);
    auto const returns = returns_of(*agent_, played, settings_.agent.discount);
    std::vector<value_panel> panels;
    for (std::size_t const step : panel_steps(returns.size()))
        panels.push_back(panel_of(step, returns[step], agent_->value_distribution(played.states[step]), 1.0));
    return panels;
}

std::vector<value_panel> image_experiment::latest_values() {
    return panels_of(agent_->latest_values(latest_count), 1.0);
}

namespace {

/// A digit for each cell of a game of MinAtar, its last channel that is not zero, or a dot.
[[nodiscard]] std::string cells_of(std::span<std::uint8_t const> state, std::size_t cells) {
    std::string text(cells, '.');
    std::size_t const channels = state.size() / cells;
    for (std::size_t i = 0; i < state.size(); ++i)
        if (state[i] != 0)
            text[i / channels] = static_cast<char>('0' + i % channels);
    return text;
}

} // namespace

nlohmann::ordered_json image_experiment::observed(std::function<bool()> stop) {
    observation_seeds const seeds(settings_);
    double const discount = settings_.agent.discount;
    bool const small = settings_.images->cells;
    // A network for screens takes a hundred times as long.
    auto games = games_(image_games_for::learning, small ? 16 : 4, seeds.calibration);
    stoppable<std::uint8_t> worlds(std::move(games), stop);
    auto calibration = calibrate(*agent_, worlds,
                                 {.discount = discount,
                                  .seed = seeds.calibration,
                                  .steps = calibration_steps(discount) / (small ? 1 : 2),
                                  .states = small ? std::size_t{3'000} : std::size_t{600}});
    return observed_json(settings_, frames(), 1.0, std::move(calibration),
                         watched({.seed = seeds.episode}, std::move(stop)));
}

report::watched_episode image_experiment::watched(episode_choice const& choice, std::function<bool()> stop) {
    require(!choice.risk, "--risk is {}, but the run has learned to act by one statistic only, {}",
            choice.risk.value_or(0.0), settings_.statistic);
    double const discount = settings_.agent.discount;
    bool const small = settings_.images->cells;
    auto one = std::make_unique<stoppable<std::uint8_t>>(games_(image_games_for::learning, 1, choice.seed), stop);
    image_episode const played = play(*agent_, image_game(std::move(one)), choice.steps);
    nn::image_shape const shape = trunk_of(settings_).input;
    report::watched_episode watched{.kind = small ? "cells" : "grey",
                                    .header = {{"wide", shape.width}, {"high", shape.height}},
                                    .ended = played.ended ? "terminated" : "stopped",
                                    .known = known_steps(played.rewards.size(), played.ended, discount)};
    auto const returns = returns_of(*agent_, played, discount);
    for (std::size_t t = 0; t < returns.size(); ++t) {
        std::span<std::uint8_t const> const state = played.states[t];
        watched.steps.push_back(
            {.picture = small ? nlohmann::ordered_json{{"cells", cells_of(state, shape.pixels())}}
                              : nlohmann::ordered_json{{"grey", report::runs_of_greys(state.last(shape.pixels()))}},
             .reward = played.rewards[t],
             .value = panel_of(t, returns[t], agent_->value_distribution(played.states[t]), 1.0)});
    }
    return watched;
}

namespace {

/// One step with an action as in training; returns the reward.
double sampled_step(image_trainer& agent, image_game& game, random_stream& random) {
    agent.sample({game.state().data(), 1, game.state().size()}, {&random, 1},
                 {game.action().data(), 1, game.action().size()}, game.mask());
    return game.step();
}

[[nodiscard]] image_moment moment_of(image_game& game, std::size_t step) {
    image_moment now{.step = step, .state = {game.state().begin(), game.state().end()}, .world = {}};
    if (game.can_be_stored())
        now.world = snapshot::of([&](archive& state) { game.persist(state); });
    return now;
}

} // namespace

image_moment image_experiment::moment_after(std::size_t steps, std::uint64_t seed) {
    image_game game(games_(image_games_for::learning, 1, seed));
    random_stream random = stream_for(seed, stream_purpose::action);
    game.reset();
    for (std::size_t t = 0; t < steps; ++t) {
        static_cast<void>(sampled_step(*agent_, game, random));
        require(!game.ended, "the game of seed {} ends with step {}: there is no state after {}", seed, t + 1, steps);
    }
    return moment_of(game, steps);
}

image_moment image_experiment::moment_before_end(std::size_t steps, std::uint64_t seed) {
    require(steps > 0, "the state is 0 steps before the end of a game, but must be at least 1 before it");
    constexpr std::size_t most = 20'000;
    image_game game(games_(image_games_for::learning, 1, seed));
    random_stream random = stream_for(seed, stream_purpose::action);
    game.reset();
    std::deque<image_moment> latest; // the last one is the state before the coming step
    for (std::size_t t = 0; !game.ended; ++t) {
        require(t < most, "the game of seed {} has not ended after {} steps", seed, most);
        latest.push_back(moment_of(game, t));
        if (latest.size() > steps)
            latest.pop_front();
        static_cast<void>(sampled_step(*agent_, game, random));
    }
    require(latest.size() == steps, "the game of seed {} has {} steps: there is no state {} before its end", seed,
            latest.size(), steps);
    return std::move(latest.front());
}

std::vector<double> image_experiment::returns_from(image_moment const& moment, std::size_t plays, std::uint64_t seed) {
    if (plays == 0)
        return {};
    require(!moment.world.tensors().empty(), "a state of this game cannot be stored: no game can go on from it");
    double const discount = settings_.agent.discount;
    // What comes after this many steps counts less than a ten-thousandth.
    double const horizon = discount < 1.0 ? std::ceil(std::log(1e-4) / std::log(discount)) : 10'000.0;
    auto const most = static_cast<std::size_t>((std::max)(horizon, 1.0));
    std::deque<image_game> games;
    std::vector<random_stream> streams;
    for (std::size_t i = 0; i < plays; ++i) {
        auto& game = games.emplace_back(games_(image_games_for::learning, 1, seed));
        moment.world.restore([&](archive& stored) {
            other_chances chances(stored, stream_for(seed, stream_purpose::evaluation, 2 * i));
            game.persist(chances);
        });
        streams.push_back(stream_for(seed, stream_purpose::evaluation, 2 * i + 1));
    }
    std::vector<std::size_t> going(plays); // games, in the order of their rows
    std::iota(going.begin(), going.end(), std::size_t{0});
    std::vector<double> returns(plays);
    std::size_t const size = games.front().state().size(), width = games.front().action().size();
    std::size_t const masked = games.front().mask().cols();
    std::vector<std::uint8_t> states(plays * size), masks(plays * masked);
    std::vector<float> actions(plays * width);
    double weight = 1.0;
    for (std::size_t t = 0; t < most && !going.empty(); ++t, weight *= discount) {
        std::vector<random_stream> chances;
        for (std::size_t row = 0; row < going.size(); ++row) {
            std::ranges::copy(games[going[row]].state(), states.data() + row * size);
            for (std::size_t j = 0; j < masked; ++j)
                masks[row * masked + j] = games[going[row]].mask()(0, j);
            chances.push_back(streams[going[row]]);
        }
        agent_->sample({states.data(), going.size(), size}, chances, {actions.data(), going.size(), width},
                       {masks.data(), going.size(), masked});
        std::vector<std::size_t> still;
        for (std::size_t row = 0; row < going.size(); ++row) {
            std::size_t const i = going[row];
            streams[i] = chances[row];
            std::copy_n(actions.data() + row * width, width, games[i].action().data());
            returns[i] += weight * games[i].step();
            if (!games[i].ended)
                still.push_back(i);
        }
        going = std::move(still);
    }
    return returns;
}

std::unique_ptr<image_experiment> make_image_experiment(registry const& known, settings const& settings,
                                                        executor& tasks, communicator* ranks,
                                                        std::uint64_t frames_before) {
    auto const& entry = find_environment(known, settings.environment);
    require(entry.make_images != nullptr, "{} has real observations and shows no images", settings.environment);
    return std::make_unique<image_experiment>(known, settings, tasks, entry.make_images(settings, tasks), ranks,
                                              frames_before);
}

} // namespace gmac::examples::train
