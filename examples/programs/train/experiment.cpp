// SPDX-License-Identifier: Apache-2.0
#include "experiment.hpp"

#include "environments.hpp"
#include "episode.hpp"
#include "image_experiment.hpp"
#include "make_trainer.hpp"
#include "observe/observed.hpp"
#include "observe/real_pictures.hpp"
#include "run_memory.hpp"
#include "trunk_text.hpp"

#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>
#include <gmac/environment/normalized.hpp>

#include <new>
#include <stdexcept>
#include <utility>

namespace gmac::examples::train {

namespace {

/// Real observations, normalised as the settings ask.
class real_experiment final : public experiment {
public:
    real_experiment(registry const& known, settings const& settings, executor& tasks, communicator* ranks,
                    std::uint64_t frames_before)
        : known_(known),
          settings_(settings),
          tasks_(tasks),
          worlds_(settings,
                  make_environments(known, settings, settings.environments,
                                    environment_seed(settings, ranks, frames_before), tasks),
                  environment_seed(settings, ranks)), // whose draws are where they were
          agent_(make_trainer(known, settings, worlds_.batch(), tasks, ranks)) {}

    void train(train_options const& options) override { agent_->train(options); }
    void persist(archive& state) override { agent_->persist(state); }
    void persist_shared(archive& state) override { agent_->persist_shared(state); }
    [[nodiscard]] std::uint64_t frames() const override { return agent_->frames(); }
    [[nodiscard]] bool stores_episodes() const override { return worlds_.normalized().checkpointable(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_->parameter_count(); }
    [[nodiscard]] std::vector<std::pair<std::string, observer_report>> critics() const override {
        return agent_->critic_reports();
    }
    void save_policy(std::filesystem::path const& file, checkpoint_metadata const& notes) const override {
        gmac::save_policy(file, agent_->policy(&worlds_.normalized()), notes);
    }
    void save_value(std::filesystem::path const& file) const override {
        gmac::save_value(file, agent_->value(&worlds_.normalized()));
    }

    [[nodiscard]] std::vector<finished_episode> evaluate(evaluation which, std::size_t episodes,
                                                         std::function<bool()> stop) override {
        std::uint64_t const seed = evaluation_seed(settings_, which);
        auto worlds = make_environments(known_, as_evaluated(settings_), episodes, seed, tasks_);
        auto played = worlds_.evaluation(std::make_unique<stoppable<float>>(std::move(worlds), std::move(stop)), seed);
        return agent_->evaluate(played.batch());
    }

    [[nodiscard]] std::vector<value_panel> value_panels() override {
        std::uint64_t const seed = settings_.seed + 2'000'000;
        auto world = worlds_.evaluation(make_environments(known_, as_evaluated(settings_), 1, seed, tasks_), seed);
        episode const played = play_episode(*agent_, world.batch());
        std::vector<double> const returns = returns_of(*agent_, played, settings_.agent.discount);
        std::vector<value_panel> panels;
        for (std::size_t const step : panel_steps(played.rewards.size()))
            panels.push_back(value_at(*agent_, played, step, returns, reward_scale(worlds_.normalized())));
        return panels;
    }
    [[nodiscard]] std::vector<value_panel> latest_values() override {
        return panels_of(agent_->latest_values(latest_count), reward_scale(worlds_.normalized()));
    }

    [[nodiscard]] nlohmann::ordered_json observed(std::function<bool()> stop) override {
        observation_seeds const seeds(settings_);
        double const discount = settings_.agent.discount, scale = reward_scale(worlds_.normalized());
        auto many = make_environments(known_, settings_, 16, seeds.calibration, tasks_);
        auto worlds = worlds_.evaluation(std::make_unique<stoppable<float>>(std::move(many), stop), seeds.calibration);
        auto calibration = calibrate(*agent_, worlds.batch(),
                                     {.discount = discount,
                                      .scale = scale,
                                      .seed = seeds.calibration,
                                      .noise_steps = settings_.state_dependent_exploration ? settings_.noise_steps : 1,
                                      .rollout_steps = settings_.agent.steps,
                                      .steps = calibration_steps(discount)});
        return observed_json(settings_, frames(), scale, std::move(calibration),
                             watched({.seed = seeds.episode}, std::move(stop)));
    }

    [[nodiscard]] report::watched_episode watched(episode_choice const& choice, std::function<bool()> stop) override {
        double const discount = settings_.agent.discount, scale = reward_scale(worlds_.normalized());
        auto one = make_environments(known_, as_evaluated(settings_), 1, choice.seed, tasks_);
        auto const& entry = find_environment(known_, settings_.environment);
        real_pictures const pictures(*one, entry.pictures ? entry.pictures(*one) : nullptr);
        auto world = worlds_.evaluation(std::make_unique<stoppable<float>>(std::move(one), std::move(stop)),
                                        choice.seed, choice.risk);
        report::watched_episode watched;
        episode const played = play_episode(*agent_, world.batch(), choice.steps, [&] {
            if (watched.steps.empty()) // nothing can be drawn before the reset
                watched = pictures.empty_episode();
            watched.steps.push_back({.picture = pictures.now(), .value = {}});
        });
        auto const returns = returns_of(*agent_, played, discount);
        std::size_t const count = watched.steps.size();
        for (std::size_t t = 0; t < count; ++t) {
            watched.steps[t].reward = scale * played.rewards[t];
            watched.steps[t].value = value_at(*agent_, played, t, returns, scale);
        }
        watched.ended = played.terminated ? "terminated" : count < choice.steps ? "cut" : "stopped";
        watched.known = known_steps(count, played.terminated, discount);
        return watched;
    }

private:
    registry const& known_;
    settings settings_;
    executor& tasks_;
    observed_environments worlds_;
    std::unique_ptr<trainer> agent_;
};

[[nodiscard]] step_size step_of(registry const& known, settings const& settings) {
    if (sees_images(settings)) {
        nn::image_trunk_options const trunk = trunk_of(settings);
        // A stack's frames that a state has in common with the one before are stored once.
        return {.observation_bytes = static_cast<double>(trunk.input.size() / settings.images->frames),
                .inputs = static_cast<double>(features_of_convolutions(trunk)),
                .actions = 1.0};
    }
    serial_executor tasks;
    auto const one = make_environments(known, settings, 1, settings.seed, tasks);
    auto const observation = static_cast<double>(one->observation_size() + (learns_a_range(settings) ? 1 : 0));
    return {.observation_bytes = observation * sizeof(float),
            .inputs = observation,
            .actions = static_cast<double>(action_size(one->action_space()))};
}

} // namespace

std::unique_ptr<experiment> make_experiment(registry const& known, settings const& settings, executor& tasks,
                                            communicator* ranks, std::uint64_t frames_before) {
    auto sized = settings;
    if (sees_images(settings))
        sized.agent.hidden = trunk_of(settings).hidden;
    auto const uses = memory_of(sized, step_of(known, settings));
    require_memory(uses);
    try {
        if (sees_images(settings))
            return make_image_experiment(known, settings, tasks, ranks, frames_before);
        return std::make_unique<real_experiment>(known, settings, tasks, ranks, frames_before);
    } catch (std::bad_alloc const&) {
    } catch (std::length_error const&) { // of a container
    }
    fail("the run takes more memory than there is; {} alone takes {} or more", largest(uses).what,
         in_bytes(largest(uses).bytes));
}

} // namespace gmac::examples::train
