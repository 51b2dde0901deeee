// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer.hpp"

#include <gmac/backends/simd.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/nn/image_trunk.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace gmac::examples::train {

using image_backend = backends::simd<float>;
using image_trunk = nn::image_trunk<image_backend>;
using deployed_image_policy = deployed_policy<image_backend, image_trunk>;

/// An agent with a convolutional trunk, whose method was chosen at run time. A state is what the network sees: all images of
/// the history, one after the other.
class image_player {
public:
    using batch = basic_environment_batch<std::uint8_t>;

    virtual ~image_player() = default;
    virtual void train(train_options const& options) = 0;
    virtual void persist(archive& state) = 0;
    /// The part of `persist` that acting needs.
    virtual void persist_parameters(archive& state) = 0;
    /// What acts as the agent and does not train.
    [[nodiscard]] virtual deployed_image_policy policy() const = 0;
    [[nodiscard]] virtual std::uint64_t frames() const = 0;
    [[nodiscard]] virtual std::size_t parameter_count() const = 0;
    /// One episode in each environment with the most likely actions.
    [[nodiscard]] virtual std::vector<finished_episode> evaluate(batch& worlds) const = 0;
    /// The most likely action in one state, as an environment takes it.
    virtual void act(std::span<std::uint8_t const> state, std::span<float> action) = 0;
    /// The value distribution of one state.
    [[nodiscard]] virtual std::vector<value_component> value_distribution(std::span<std::uint8_t const> state) = 0;
};

enum class image_games_for { learning, scores };
/// Makes `count` environments of one game, as it is learned from or as it is scored.
using image_games =
    std::function<std::unique_ptr<image_player::batch>(image_games_for use, std::size_t count, std::uint64_t seed)>;

/// The agent of settings.algorithm, one of the paper's four methods, for these games. Throws gmac::error for another, and for
/// a trunk that does not fit the images.
[[nodiscard]] std::unique_ptr<image_player> make_image_player(settings const& settings, image_player::batch& worlds,
                                                              executor& tasks);

} // namespace gmac::examples::train
