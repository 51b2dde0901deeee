// SPDX-License-Identifier: Apache-2.0
// The games of MinAtar.
#include "minatar_games.hpp"

#include "minatar/games.hpp"

#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <memory>

namespace gmac::examples::train {

image_games minatar_games(settings const& settings, executor& tasks) {
    minatar::settings how;
    how.sticky = settings.sticky.value_or(how.sticky);
    how.full_actions = settings.full_action_set.value_or(how.full_actions);
    how.ramping = settings.ramping;
    return minatar::visit_game(settings.environment.substr(settings.environment.find('/') + 1), [&]<class Rules>() {
        return image_games([how, &tasks](image_games_for use, std::size_t count,
                                         std::uint64_t seed) -> std::unique_ptr<basic_environment_batch<std::uint8_t>> {
            using game = minatar::game<Rules>;
            auto const make = [&how](std::size_t) { return game(how); };
            if (use == image_games_for::learning)
                return std::make_unique<vector_environment<game>>(count, seed, make, &tasks);
            auto const cut = [&](std::size_t i) { return time_limit(make(i), minatar_score_steps); };
            return std::make_unique<vector_environment<time_limit<game>>>(count, seed, cut, &tasks);
        });
    });
}

} // namespace gmac::examples::train
