// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include "action_continuity.hpp"
#include "train/environments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace gmac::examples::train {

namespace {

using json = nlohmann::ordered_json;

[[nodiscard]] json with_interval(estimate const& one) {
    return {{"value", one.value}, {"interval", {one.low, one.high}}};
}

[[nodiscard]] json to_json(summary const& returns) {
    return {{"mean", with_interval(returns.mean)},
            {"median", with_interval(returns.median)},
            {"interquartile_mean", with_interval(returns.interquartile_mean)},
            {"minimum", returns.minimum},
            {"maximum", returns.maximum}};
}

[[nodiscard]] json to_json(run_score const& run) {
    std::vector<double> returns;
    std::vector<std::size_t> lengths;
    double steps = 0.0;
    for (auto const& episode : run.episodes) {
        returns.push_back(episode.reward_sum);
        lengths.push_back(episode.length);
        steps += static_cast<double>(episode.length);
    }
    auto const [shortest, longest] = std::ranges::minmax(lengths);
    return {{"run", run.path},
            {"environment", run.environment},
            {"algorithm", run.algorithm},
            {"training_seed", run.training_seed},
            {"frames", run.frames},
            {"return", to_json(run.returns)},
            {"length",
             {{"mean", steps / static_cast<double>(lengths.size())}, {"minimum", shortest}, {"maximum", longest}}},
            {"continuity_cost", std::isnan(run.continuity_cost) ? json() : json(run.continuity_cost)},
            {"returns", returns},
            {"lengths", lengths}};
}

[[nodiscard]] std::string cell(estimate const& one) {
    return fmt::format("{:.1f} ({:.1f} … {:.1f})", one.value, one.low, one.high);
}

[[nodiscard]] std::string line(std::string const& environment, std::string const& algorithm, std::string const& seed,
                               summary const& returns, double continuity_cost) {
    return fmt::format("| {} | {} | {} | {} | {} | {} | {:.1f} | {:.1f} | {} |\n", environment, algorithm, seed,
                       cell(returns.mean), cell(returns.median), cell(returns.interquartile_mean), returns.minimum,
                       returns.maximum, std::isnan(continuity_cost) ? "" : fmt::format("{:.2f}", continuity_cost));
}

} // namespace

run_score score(registry const& known, std::string const& path, std::size_t episodes, std::uint64_t seed,
                std::optional<double> risk, bootstrap const& options, executor& tasks) {
    stored_run run(known, path, tasks);
    auto const& settings = run.settings();
    auto watched =
        std::make_unique<watched_actions>(make_environments(known, as_evaluated(settings), episodes, seed, tasks));
    watched_actions const& actions = *watched;
    auto worlds = run.evaluation(std::move(watched), seed, risk);
    run_score result{path,
                     settings.environment,
                     settings.algorithm,
                     settings.seed,
                     run.frames(),
                     run.agent().evaluate(worlds.batch()),
                     {},
                     0.0};
    result.continuity_cost = actions.continuity_cost();
    std::vector<double> returns;
    for (auto const& episode : result.episodes)
        returns.push_back(episode.reward_sum);
    result.returns = summarize(returns, options);
    return result;
}

std::vector<group_score> group(std::vector<run_score> const& runs, bootstrap const& options) {
    std::vector<group_score> groups;
    auto const same = [](auto const& a) {
        return [&a](auto const& b) { return a.environment == b.environment && a.algorithm == b.algorithm; };
    };
    for (run_score const& first : runs) {
        if (std::ranges::count_if(runs, same(first)) < 2 || std::ranges::any_of(groups, same(first)))
            continue;
        group_score all{first.environment, first.algorithm, {}, {}, 0.0};
        std::vector<double> means;
        for (run_score const& run : runs)
            if (same(first)(run)) {
                all.training_seeds.push_back(run.training_seed);
                means.push_back(run.returns.mean.value);
                all.continuity_cost += run.continuity_cost;
            }
        all.continuity_cost /= static_cast<double>(means.size());
        all.returns = summarize(means, options);
        groups.push_back(std::move(all));
    }
    return groups;
}

json to_json(std::vector<run_score> const& runs, std::vector<group_score> const& groups) {
    json all{{"runs", json::array()}, {"groups", json::array()}};
    for (auto const& run : runs)
        all["runs"].push_back(to_json(run));
    for (auto const& one : groups)
        all["groups"].push_back(
            {{"environment", one.environment},
             {"algorithm", one.algorithm},
             {"training_seeds", one.training_seeds},
             {"mean_return_of_a_run", to_json(one.returns)},
             {"continuity_cost", std::isnan(one.continuity_cost) ? json() : json(one.continuity_cost)}});
    return all;
}

std::string table(std::vector<run_score> const& runs, std::vector<group_score> const& groups) {
    std::string text =
        "| environment | algorithm | seed | mean | median | interquartile mean | lowest | highest | continuity cost |\n"
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (auto const& run : runs)
        text += line(run.environment, run.algorithm, fmt::format("{}", run.training_seed), run.returns,
                     run.continuity_cost);
    for (auto const& one : groups)
        text += line(one.environment, one.algorithm, fmt::format("means of {} runs", one.training_seeds.size()),
                     one.returns, one.continuity_cost);
    return text;
}

} // namespace gmac::examples::train
