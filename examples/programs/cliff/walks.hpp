// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exact.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/deploy/policy_file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <variant>
#include <vector>

namespace gmac::examples::cliff {

/// What episodes of the windy cliff were like.
struct walks {
    std::array<double, cells> passed{}; ///< share of the episodes that were in a cell, also at their end
    double height = 0.0;                ///< mean, of all steps that began above the cliff
    double fall = 0.0;                  ///< share of the episodes
    std::vector<double> returns;        ///< of each episode, undiscounted; the lowest first

    /// The mean of the lowest part of the returns, in (0, 1].
    [[nodiscard]] double lower_mean(double level) const {
        std::vector<outcome> all;
        for (double const value : returns)
            all.push_back({value, 1.0 / static_cast<double>(returns.size())});
        return cliff::lower_mean(all, level);
    }
};

/// The policy in a file. Throws gmac::error if it is not one for the cliff.
[[nodiscard]] inline deployed_policy<> read_policy(std::filesystem::path const& file) {
    auto policy = load_policy(file);
    auto const* const known = std::get_if<discrete>(&policy.action_space());
    std::size_t const told = policy.description().range ? 1 : 0;
    require(policy.observation_size() == classic::windy_cliff().observation_size() + told && known != nullptr &&
                known->count == actions,
            "{}: the policy takes {} numbers, and its actions are not those of classic/windy_cliff", file.string(),
            policy.observation_size());
    return policy;
}

/// Plays episodes with the most likely actions of a policy; if it has learned a range of statistics, by that with this
/// parameter.
[[nodiscard]] inline walks play(deployed_policy<> const& policy, double parameter, std::size_t episodes,
                                std::uint64_t seed) {
    auto memory = policy.make_memory();
    float action = 0.0f;

    classic::windy_cliff walk;
    std::vector<float> observation(walk.observation_size());
    walks seen;
    double crossing = 0.0;
    for (std::size_t episode = 0; episode < episodes; ++episode) {
        random_stream random(seed, episode);
        std::array<bool, cells> here{};
        auto const at = [&]() -> place const& { return walk.world().current(); };
        walk.reset(random, observation);
        double sum = 0.0;
        for (transition done; !done.terminated && !done.truncated; sum += done.reward) {
            here[cell_of(at())] = true;
            seen.height += at().crossing() ? at().height : 0.0;
            crossing += at().crossing() ? 1.0 : 0.0;
            if (policy.description().range)
                policy.act(observation, parameter, {&action, 1}, memory);
            else
                policy.act(observation, {&action, 1}, memory);
            done = walk.step(static_cast<int>(action), random, observation);
        }
        here[cell_of(at())] = true;
        for (std::size_t i = 0; i < cells; ++i)
            seen.passed[i] += here[i] ? 1.0 / static_cast<double>(episodes) : 0.0;
        seen.fall += at().fallen() ? 1.0 / static_cast<double>(episodes) : 0.0;
        seen.returns.push_back(sum);
    }
    seen.height /= crossing; // NaN if nobody came so far
    std::ranges::sort(seen.returns);
    return seen;
}

} // namespace gmac::examples::cliff
