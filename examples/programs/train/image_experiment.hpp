// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"
#include "image_player.hpp"
#include "settings.hpp"

#include <gmac/core/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gmac::examples::train {

/// Games as bytes, and the agent that plays them.
class image_experiment final : public experiment {
public:
    image_experiment(settings const& settings, executor& tasks, image_games games);

    void train(train_options const& options) override { agent_->train(options); }
    void persist(archive& state) override { agent_->persist(state); }
    [[nodiscard]] std::uint64_t frames() const override { return agent_->frames(); }
    [[nodiscard]] std::size_t parameter_count() const override { return agent_->parameter_count(); }
    void save_policy(std::filesystem::path const& file) const override;
    /// Whole games, with the rewards as they are.
    [[nodiscard]] std::vector<finished_episode> evaluate(std::size_t episodes, std::function<bool()> stop) override;
    /// In the rewards that the agent learns from, since it is these that it expects. A long game is not played to its end.
    [[nodiscard]] std::vector<value_panel> value_panels() override;

    [[nodiscard]] image_player& agent() noexcept { return *agent_; }
    /// The state after so many steps of a game with the most likely actions, or the last one of a shorter game.
    [[nodiscard]] std::vector<std::uint8_t> state_after(std::size_t steps, std::uint64_t seed);

private:
    using batch = image_player::batch;

    settings settings_;
    image_games games_;
    std::unique_ptr<batch> worlds_;
    std::unique_ptr<image_player> agent_;
};

/// The experiment on the real emulator. Throws gmac::error if the ROM cannot be played.
[[nodiscard]] std::unique_ptr<image_experiment> make_arcade_experiment(settings const& settings, executor& tasks);

} // namespace gmac::examples::train
