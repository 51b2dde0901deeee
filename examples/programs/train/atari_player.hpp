// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace gmac::examples::train {

/// An agent with the paper's convolutional trunk, whose method was chosen at run time. A state is what the network sees:
/// all frames of the stack, [frames, 84, 84] bytes.
class atari_player {
public:
    using batch = basic_environment_batch<std::uint8_t>;

    virtual ~atari_player() = default;
    virtual void train(train_options const& options) = 0;
    virtual void persist(archive& state) = 0;
    /// The part of `persist` that acting needs.
    virtual void persist_parameters(archive& state) = 0;
    /// Writes what a program needs that acts and does not train.
    virtual void save_policy(std::filesystem::path const& file) const = 0;
    [[nodiscard]] virtual std::uint64_t frames() const = 0;
    [[nodiscard]] virtual std::size_t parameter_count() const = 0;
    /// One episode in each environment with the most likely actions.
    [[nodiscard]] virtual std::vector<finished_episode> evaluate(batch& worlds) const = 0;
    /// The most likely action in one state, as an environment takes it.
    virtual void act(std::span<std::uint8_t const> state, std::span<float> action) = 0;
    /// The value distribution of one state.
    [[nodiscard]] virtual std::vector<value_component> value_distribution(std::span<std::uint8_t const> state) = 0;
};

/// The agent of settings.algorithm, one of the paper's four methods, for these games. Throws gmac::error for another.
[[nodiscard]] std::unique_ptr<atari_player> make_atari_player(settings const& settings, atari_player::batch& worlds,
                                                              executor& tasks);

} // namespace gmac::examples::train
