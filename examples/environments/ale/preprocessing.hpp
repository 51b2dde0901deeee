// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame_wrappers.hpp"
#include "grey.hpp"

#include <gmac/core/error.hpp>
#include <gmac/environment/environment.hpp>

#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gmac::examples::ale {

/// How a game is made an environment. Where each number of a preset comes from is said in docs/ale.md.
struct preprocessing {
    double sticky = 0.0;                 ///< probability that a frame repeats the action of the frame before
    start_options starts{};              ///< frames without an action before an episode
    std::size_t skip = 4;                ///< frames of a step
    std::uint64_t frame_limit = 108'000; ///< frames of a game, after which it is truncated; 0 for none
    bool episodic_life = true;           ///< a lost life ends what is learned from
    bool fire_on_reset = true;           ///< in games that wait for it, after every reset
    bool full_action_set = false;        ///< all 18 actions instead of those that the game knows
    grey_rule grey = grey_rule::maximum_colour;
    std::size_t stack = 4; ///< observations that the network sees at once
    history_padding padding = history_padding::first;
    bool clip_rewards = true; ///< to ±1, for learning; scores are counted before
};

/// The paper's: what its authors' code asks of OpenAI's baselines.
[[nodiscard]] inline preprocessing paper_preprocessing() {
    return {};
}

/// The protocol of Machado et al. 2018: sticky actions, all actions, no signal of a lost life.
[[nodiscard]] inline preprocessing machado2018_preprocessing() {
    preprocessing rules;
    rules.sticky = 0.25;
    rules.starts = {.fewest = 0, .most = 0};
    rules.skip = 5;
    rules.frame_limit = 18'000;
    rules.episodic_life = false;
    rules.fire_on_reset = false;
    rules.full_action_set = true;
    return rules;
}

/// The defaults of ALE's own vector environment.
[[nodiscard]] inline preprocessing ale_vector_preprocessing() {
    preprocessing rules;
    rules.starts = {.fewest = 0, .most = 29, .fire_first = true};
    rules.episodic_life = false;
    rules.fire_on_reset = false;
    rules.grey = grey_rule::maximum_grey;
    rules.padding = history_padding::zeros;
    return rules;
}

inline constexpr std::array<std::string_view, 3> preprocessing_names{"paper", "machado2018", "ale_vector"};

/// Throws gmac::error that lists the names if this one is not known.
[[nodiscard]] inline preprocessing preprocessing_named(std::string_view name) {
    if (name == "paper")
        return paper_preprocessing();
    if (name == "machado2018")
        return machado2018_preprocessing();
    require(name == "ale_vector", "unknown preprocessing \"{}\"; known are {}", name,
            fmt::join(preprocessing_names, ", "));
    return ale_vector_preprocessing();
}

} // namespace gmac::examples::ale
