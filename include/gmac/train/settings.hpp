// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/agent/random_network_distillation.hpp>
#include <gmac/statistics/statistic_range.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gmac::inline GMAC_ABI::train {

/// What an agent is rewarded for besides what the environment gives; see gmac/agent/exploration.hpp.
enum class curiosity { none, td_error, energy_distance, cramer_distance, random_network_distillation };

/// What observations of bytes are images of, and the network that looks at them by default.
struct image_view {
    std::size_t height = 0, width = 0;
    std::size_t channels = 1;   ///< that the network sees: of all frames of the history
    std::size_t frames = 1;     ///< of these, each one observation
    bool channels_last = false; ///< the order of the bytes: rows, columns, channels; else channels, rows, columns
    double byte_scale = 1.0;    ///< what a byte is multiplied by
    std::string trunk{};        ///< as for --trunk; empty: the paper's convolutions for Atari games
    bool cells = false;         ///< a small board, whose channels are kinds of things, and no screen in greys
};

/// Everything that decides what a run computes, as data. The program's options are made from it (`--help` says what each of
/// them means), and it is stored as config.json and in the checkpoint.
struct settings {
    std::string environment;
    std::string algorithm = "gmac";
    std::uint64_t frames = 0;
    std::uint64_t seed = 1;
    std::size_t environments = 1;
    std::uint64_t eval_every = 0; ///< frames; 0: never
    std::size_t eval_episodes = 10;
    std::optional<double> target_return{};
    agent_options agent; ///< its member `exploration` is set from the three below
    curiosity intrinsic = curiosity::none;
    exploration_options exploration;
    random_network_distillation_options distillation;
    std::string statistic = "mean";        ///< of statistic_of
    bool state_dependent_deviation = true; ///< the policy's deviation from the network, or one free parameter an action
    bool state_dependent_exploration = false; ///< instead, noise that is a function of the trunk's features (gSDE)
    std::size_t noise_steps = 4;              ///< for which this stays the same function
    double deviation_floor = 0.25;            ///< deviation = sqrt(softplus(x) + floor²), if it depends on the state
    double initial_deviation = 1.0;           ///< otherwise
    double variance_scale = 0.05 * 0.05;      ///< of the mixture head, squared units of the (normalised) return
    double variance_floor = 1.0;
    std::size_t quantile_samples = 64;   ///< N, fractions of the implicit quantile head
    std::size_t quantile_embedding = 64; ///< cosines of a fraction
    std::size_t quantile_hidden = 256;   ///< units of its hidden layer
    double atom_minimum = -10.0;         ///< of the categorical head, in units of the (normalised) return
    double atom_maximum = 10.0;
    bool atom_symlog = false;
    double histogram_deviation = 0.75; ///< of HL-Gauss, in widths of a bin
    bool normalize_observations = false;
    bool normalize_rewards = false;
    double pushes = 0.0;             ///< N s, of the robots
    double exploring_starts = 0.0;   ///< share of the episodes, of the windy cliff
    std::string environment_options; ///< text for an environment of one's own
    std::string critics;             ///< methods with a comma between two of them
    // For images.
    std::string trunk;              ///< of read_trunk; without a value the environment decides
    std::optional<double> sticky{}; ///< likewise, and for Atari games the preprocessing
    std::optional<bool> full_action_set{};
    bool ramping = true; ///< of MinAtar
    // For Atari games.
    std::string rom; ///< absolute path
    std::string preprocessing = "paper";
    std::optional<int> mode{};
    int difficulty = 0;
    /// Of the environment, by name, as text: those of its entry in a registry, all of them.
    std::map<std::string, std::string> environment_values{};
    /// What the environment's entry says of its images; nothing if it has real observations. It is not stored.
    std::optional<image_view> images{};
};

/// Whether observations are images of bytes.
[[nodiscard]] inline bool sees_images(settings const& settings) noexcept {
    return settings.images.has_value();
}

/// Settings for an environment of which nothing is known: a million frames of 16 environments, normalised observations and
/// rewards, two layers of 64 units for each network.
[[nodiscard]] settings own_defaults();

/// The statistic in settings.statistic: NAME or NAME:PARAMETER, whose `low` and `high` are the same, or NAME:LOW..HIGH. Throws
/// gmac::error if it is none, or outside its range.
[[nodiscard]] statistic_range statistic_of(settings const& settings);
/// Whether the agent is told of a parameter by the last number of its observations.
[[nodiscard]] inline bool learns_a_range(settings const& settings) {
    statistic_range const wanted = statistic_of(settings);
    return wanted.low < wanted.high;
}

} // namespace gmac::inline GMAC_ABI::train
