// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"
#include "settings.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/storage/snapshot.hpp>
#include <gmac/train/trainer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gmac::examples::train {

/// A moment of a game: the state that the network sees, and what it takes to play on from it.
struct image_moment {
    std::size_t step = 0;
    std::vector<std::uint8_t> state;
    snapshot world; ///< of a batch of one, and of its observation_stack
};

/// Games as bytes, and the agent that plays them.
class image_experiment final : public experiment {
public:
    image_experiment(registry const& known, settings const& settings, executor& tasks, image_games games,
                     communicator* ranks = nullptr, std::uint64_t frames_before = 0);

    void train(train_options const& options) override { agent_->train(options); }
    void persist(archive& state) override { agent_->persist(state); }
    void persist_shared(archive& state) override { agent_->persist_shared(state); }
    [[nodiscard]] std::uint64_t frames() const override { return agent_->frames(); }
    [[nodiscard]] bool stores_episodes() const override { return worlds_->checkpointable(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_->parameter_count(); }
    [[nodiscard]] std::vector<std::pair<std::string, observer_report>> critics() const override {
        return agent_->critic_reports();
    }
    void save_policy(std::filesystem::path const& file, checkpoint_metadata const& notes) const override;
    void save_value(std::filesystem::path const& file) const override;
    /// Whole games, with the rewards as they are.
    [[nodiscard]] std::vector<finished_episode> evaluate(evaluation which, std::size_t episodes,
                                                         std::function<bool()> stop) override;
    /// In the rewards that the agent learns from, since it is these that it expects. A long game is not played to its end.
    [[nodiscard]] std::vector<value_panel> value_panels() override;
    [[nodiscard]] std::vector<value_panel> latest_values() override;

    /// In the same rewards. A long game is not played to its end.
    [[nodiscard]] nlohmann::ordered_json observed(std::function<bool()> stop) override;
    /// The same. There is no range of statistics for images.
    [[nodiscard]] report::watched_episode watched(episode_choice const& choice, std::function<bool()> stop) override;

    [[nodiscard]] image_trainer& agent() noexcept { return *agent_; }
    /// The state after so many steps of a game with actions as in training, or the one from which so many
    /// steps ended it.
    /// Throws gmac::error if the game is shorter, or has not ended after many.
    [[nodiscard]] image_moment moment_after(std::size_t steps, std::uint64_t seed);
    [[nodiscard]] image_moment moment_before_end(std::size_t steps, std::uint64_t seed);
    /// The discounted return of each of `plays` games that go on from a moment, with actions as in training and chances of
    /// their own. A game is cut where a reward hardly counts any more.
    [[nodiscard]] std::vector<double> returns_from(image_moment const& moment, std::size_t plays, std::uint64_t seed);

private:
    using batch = image_trainer::batch;

    settings settings_;
    image_games games_;
    std::unique_ptr<batch> worlds_;
    std::unique_ptr<image_trainer> agent_;
};

/// Of the games that the registry has for these settings. Throws gmac::error if they cannot be made.
[[nodiscard]] std::unique_ptr<image_experiment> make_image_experiment(registry const& known, settings const& settings,
                                                                      executor& tasks, communicator* ranks = nullptr,
                                                                      std::uint64_t frames_before = 0);

} // namespace gmac::examples::train
