// SPDX-License-Identifier: Apache-2.0
#include "experiment.hpp"

#include "environments.hpp"
#include "episode.hpp"

#include <gmac/environment/normalized.hpp>

#include <utility>

namespace gmac::examples::train {

namespace {

/// Real observations, normalised as the settings ask.
class real_experiment final : public experiment {
public:
    real_experiment(settings const& settings, executor& tasks)
        : settings_(settings),
          tasks_(tasks),
          worlds_(make_environments(settings.environment, settings.environments, settings.seed, tasks),
                  normalization_of(settings)),
          agent_(make_trainer(settings, worlds_, tasks)) {}

    void train(train_options const& options) override { agent_->train(options); }
    void persist(archive& state) override { agent_->persist(state); }
    [[nodiscard]] std::uint64_t frames() const override { return agent_->frames(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_->parameter_count(); }
    void save_policy(std::filesystem::path const& file) const override { agent_->save_policy(file, worlds_); }

    [[nodiscard]] std::vector<finished_episode> evaluate(std::size_t episodes, std::function<bool()> stop) override {
        auto worlds = make_environments(settings_.environment, episodes, settings_.seed + 1'000'000, tasks_);
        auto played = worlds_.evaluation(std::make_unique<stoppable<float>>(std::move(worlds), std::move(stop)));
        return agent_->evaluate(played);
    }

    [[nodiscard]] std::vector<value_panel> value_panels() override {
        auto world =
            worlds_.evaluation(make_environments(settings_.environment, 1, settings_.seed + 2'000'000, tasks_));
        episode const played = play_episode(*agent_, world);
        std::vector<double> const returns = returns_of(*agent_, played, settings_.agent.discount);
        std::vector<value_panel> panels;
        for (std::size_t const step : panel_steps(played.rewards.size()))
            panels.push_back(value_at(*agent_, played, step, returns, reward_scale(worlds_)));
        return panels;
    }

private:
    settings settings_;
    executor& tasks_;
    normalized_environments worlds_;
    std::unique_ptr<trainer> agent_;
};

} // namespace

std::unique_ptr<experiment> make_experiment(settings const& settings, executor& tasks) {
    if (is_atari(settings.environment))
        return make_atari_experiment(settings, tasks);
    return std::make_unique<real_experiment>(settings, tasks);
}

} // namespace gmac::examples::train
