// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

#include "train/environments.hpp"
#include "train/experiment.hpp"
#include "train/our_environments.hpp"
#include "train/run_memory.hpp"
#include "train/stored_run.hpp"

#include <gmac/agent/policy.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/conditioned.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

namespace gmac::examples::exporting {

namespace {

/// A policy with memory for a batch, as gmac::evaluate takes it.
template <class Policy>
struct player {
    using observation_type = typename Policy::observation_type;

    Policy const& policy;
    typename Policy::memory memory;

    void act(matrix_view<observation_type const> observations, matrix_view<float> actions,
             matrix_view<std::uint8_t const> masks) {
        policy.act(observations, actions, memory, masks);
    }
};

[[nodiscard]] std::unique_ptr<environment_batch> worlds_for(train::registry const& known, deployed_policy<> const&,
                                                            train::settings const& settings, std::size_t count,
                                                            std::uint64_t seed, executor& tasks) {
    return train::make_environments(known, train::as_evaluated(settings), count, seed, tasks);
}
template <class Policy>
[[nodiscard]] std::unique_ptr<basic_environment_batch<std::uint8_t>> worlds_for(train::registry const& known,
                                                                                Policy const&,
                                                                                train::settings const& settings,
                                                                                std::size_t count, std::uint64_t seed,
                                                                                executor& tasks) {
    require(settings.images && settings.images->cells, "--evaluate plays no Atari games, but the run is on {}",
            settings.environment);
    auto const& entry = train::find_environment(known, settings.environment);
    return entry.make_images(settings, tasks)(train::image_games_for::scores, count, seed);
}

/// Of the episodes, in their order.
template <class Policy>
[[nodiscard]] std::vector<double> returns_of(train::registry const& known, Policy const& policy,
                                             train::settings const& settings, std::size_t count, executor& tasks) {
    std::uint64_t const seed = train::evaluation_seed(settings, train::evaluation::final);
    auto const worlds = worlds_for(known, policy, settings, count, seed, tasks);
    player<Policy> acting{policy, policy.make_memory(count)};
    auto const episodes = [&] {
        if constexpr (std::same_as<Policy, deployed_policy<>>)
            if (policy.description().range) {
                conditioned_environments told(*worlds, seed);
                return evaluate(acting, told);
            }
        return evaluate(acting, *worlds);
    }();
    std::vector<double> all;
    for (finished_episode const& one : episodes)
        all.push_back(one.reward_sum);
    return all;
}

[[nodiscard]] mean_return mean_of(std::vector<double> const& all) {
    double sum = 0.0, squares = 0.0;
    for (double const x : all)
        sum += x;
    auto const count = static_cast<double>(all.size());
    for (double const x : all)
        squares += (x - sum / count) * (x - sum / count);
    return {sum / count, std::sqrt(squares / (count - 1.0) / count)};
}

} // namespace

returns play(std::filesystem::path const& run, std::size_t episodes, any_policy<> const& exact,
             any_policy<> const& rounded) {
    examples::require_memory(std::array{train::memory_of_environments("--evaluate", episodes)});
    auto const file = run / "checkpoint.safetensors";
    auto const known = train::our_registry();
    auto const settings = train::settings_of(known, read_checkpoint(file), file);
    tbb_executor tasks((std::max)(1u, std::thread::hardware_concurrency()));
    auto const returns_by = [&](any_policy<> const& policy) {
        return std::visit([&](auto const& one) { return returns_of(known, one, settings, episodes, tasks); }, policy);
    };
    auto const wanted = returns_by(exact), found = returns_by(rounded);
    std::vector<double> losses;
    for (std::size_t i = 0; i < episodes; ++i)
        losses.push_back(wanted[i] - found[i]);
    return {episodes, mean_of(wanted), mean_of(found), mean_of(losses)};
}

} // namespace gmac::examples::exporting
