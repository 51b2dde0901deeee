// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "atari_player.hpp"

#include "ale/atari.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace gmac::examples::train {

/// Makes `count` environments of one game that are preprocessed by these rules.
using atari_games = std::function<std::unique_ptr<atari_player::batch>(ale::preprocessing const& rules,
                                                                       std::size_t count, std::uint64_t seed)>;

/// The games of an emulator: `make(rules)` gives one, with the action set that the rules ask for. They share a table of
/// greys.
template <std::invocable<ale::preprocessing const&> Make>
    requires ale::emulator<std::invoke_result_t<Make&, ale::preprocessing const&>>
[[nodiscard]] atari_games games_of(Make make, executor& tasks) {
    return [make = std::move(make), &tasks](ale::preprocessing const& rules, std::size_t count, std::uint64_t seed) {
        using emulator = std::invoke_result_t<Make const&, ale::preprocessing const&>;
        std::shared_ptr<ale::grey_maximum const> grey;
        auto const game = [&](std::size_t) {
            emulator machine = make(rules);
            if (!grey)
                grey = std::make_shared<ale::grey_maximum const>(machine.colours(), rules.grey);
            return ale::atari(std::move(machine), rules, grey);
        };
        return std::make_unique<vector_environment<ale::atari<emulator>>>(count, seed, game, &tasks);
    };
}

} // namespace gmac::examples::train
