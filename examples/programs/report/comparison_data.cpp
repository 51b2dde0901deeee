// SPDX-License-Identifier: Apache-2.0
#include "comparison_data.hpp"

#include "report_data.hpp"
#include "tables.hpp"
#include "train/evaluate/statistics.hpp"
#include "train/output/learning_curve.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gmac::examples::report {

namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr train::bootstrap intervals{.resamples = 2000};
constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct run {
    std::string name, environment, algorithm, method;
    json seed, frames, seconds;
    double evaluation = none, last = none, score = none;
    std::map<std::string, json> settings{};
    std::vector<double> at{}, returns{}; ///< the learning curve, where it has numbers
};

[[nodiscard]] double number_in(json const& object, json::json_pointer const& place) {
    return object.contains(place) && object[place].is_number() ? object[place].get<double>() : none;
}

/// A run with an environment and an algorithm; nothing if it has none.
[[nodiscard]] std::optional<run> read_run(train::registry const& known, fs::path const& folder, json& problems) {
    json const data = report_data(known, folder);
    auto const& about = data["run"];
    run one{.name = about["name"],
            .environment = about["env"],
            .algorithm = about["algorithm"],
            .method = {},
            .seed = about["seed"],
            .frames = about["frames"],
            .seconds = about["seconds"]};
    for (auto const& problem : data["problems"])
        if (problem["where"] != "machine.json")
            problems.push_back({{"where", fmt::format("{}/{}", one.name, problem["where"].get<std::string>())},
                                {"what", problem["what"]}});
    if (one.environment.empty() || one.algorithm.empty())
        return std::nullopt;
    one.evaluation = number_in(data, json::json_pointer("/summary/evaluation/mean"));
    one.last = number_in(data, json::json_pointer("/run/mean_return"));
    for (auto const& setting : data["settings"])
        if (setting["name"] != "rom") // a path of one machine
            one.settings[setting["name"]] = setting["value"];
    auto const& metrics = data["metrics"];
    if (metrics["columns"].contains("mean_return"))
        for (std::size_t i = 0; i < metrics["x"].size(); ++i)
            if (auto const& value = metrics["columns"]["mean_return"]["mean"][i];
                value.is_number() && metrics["x"][i].is_number()) {
                one.at.push_back(metrics["x"][i]);
                one.returns.push_back(value);
            }
    return one;
}

/// Of each run its evaluation, if all runs on the environment have one.
void score(std::vector<run>& runs, json& problems) {
    std::map<std::string, bool> evaluated;
    for (run const& one : runs)
        evaluated.try_emplace(one.environment, true).first->second &= std::isfinite(one.evaluation);
    for (run& one : runs)
        one.score = evaluated[one.environment] ? one.evaluation : one.last;
    std::erase_if(runs, [&](run const& one) {
        if (!std::isfinite(one.score))
            problems.push_back({{"where", one.name}, {"what", "no episode has ended: it is left out"}});
        return !std::isfinite(one.score);
    });
}

/// The settings in which runs of one algorithm on one environment differ, by algorithm.
[[nodiscard]] std::map<std::string, std::set<std::string>> differences(std::vector<run> const& runs) {
    std::map<std::string, std::set<std::string>> names;
    for (run const& a : runs)
        for (run const& b : runs)
            if (a.environment == b.environment && a.algorithm == b.algorithm)
                for (auto const& [name, value] : a.settings)
                    if (auto const other = b.settings.find(name); other == b.settings.end() || other->second != value)
                        names[a.algorithm].insert(name);
    return names;
}

[[nodiscard]] std::string text_of(json const& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

void name_methods(std::vector<run>& runs) {
    auto const differing = differences(runs);
    for (run& one : runs) {
        std::vector<std::string> own;
        if (auto const names = differing.find(one.algorithm); names != differing.end())
            for (std::string const& name : names->second)
                if (auto const value = one.settings.find(name); value != one.settings.end())
                    own.push_back(fmt::format("{} {}", name, text_of(value->second)));
        one.method = own.empty() ? one.algorithm : fmt::format("{} ({})", one.algorithm, fmt::join(own, ", "));
    }
}

void tell_twins(std::vector<run> const& runs, json& problems) {
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (runs[i].environment == runs[j].environment && runs[i].method == runs[j].method &&
                runs[i].seed == runs[j].seed)
                problems.push_back(
                    {{"where", runs[i].name},
                     {"what", fmt::format("it has the seed, the settings and the environment of {}: runs that are not "
                                          "independent make intervals too narrow",
                                          runs[j].name)}});
}

[[nodiscard]] json estimate_json(train::estimate const& found) {
    return {{"value", json_number(found.value)}, {"low", json_number(found.low)}, {"high", json_number(found.high)}};
}

using run_list = std::vector<run const*>;

/// Over the frames that all of the runs have.
[[nodiscard]] json curve_of(run_list const& runs) {
    std::vector<train::detail::curve> curves;
    for (run const* one : runs)
        if (!one->at.empty())
            curves.push_back({one->at, one->returns});
    auto const all = curves.size() == runs.size() ? train::detail::spread_of(curves, 201) : train::detail::spread();
    return {{"x", json_numbers(all.x)},
            {"y", json_numbers(all.mean)},
            {"low", json_numbers(all.low)},
            {"high", json_numbers(all.high)}};
}

/// By method, [task][run].
using scores_by_method = std::vector<std::pair<std::string, std::vector<std::vector<double>>>>;

/// "thresholds", and the profile of each method over them.
[[nodiscard]] json profiles_of(scores_by_method const& methods) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (auto const& [name, tasks] : methods)
        for (auto const& scores : tasks) {
            low = std::min(low, std::ranges::min(scores));
            high = std::max(high, std::ranges::max(scores));
        }
    double const margin = low < high ? 0.03 * (high - low) : std::max(1.0, std::abs(low)) * 0.03;
    std::vector<double> thresholds;
    for (int i = 0; i <= 100; ++i)
        thresholds.push_back(low - margin + (high - low + 2.0 * margin) * i / 100.0);
    json all{{"thresholds", json_numbers(thresholds)}, {"methods", json::array()}};
    for (auto const& [name, tasks] : methods) {
        std::vector<double> share, from, to;
        for (auto const& one : train::performance_profile(tasks, thresholds, intervals)) {
            share.push_back(one.value);
            from.push_back(one.low);
            to.push_back(one.high);
        }
        all["methods"].push_back(
            {{"name", name}, {"share", json_numbers(share)}, {"low", json_numbers(from)}, {"high", json_numbers(to)}});
    }
    return all;
}

/// The chance of a run of the method of a row to be better than one of the column's; null on the diagonal. Since a tie counts
/// half, the other way round it is what is left of 1.
[[nodiscard]] json improvements_of(scores_by_method const& methods) {
    std::vector<std::vector<json>> chances(methods.size(), std::vector<json>(methods.size()));
    for (std::size_t i = 0; i < methods.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            auto const found = train::probability_of_improvement(methods[i].second, methods[j].second, intervals);
            chances[i][j] = estimate_json(found);
            chances[j][i] = estimate_json({1.0 - found.value, 1.0 - found.high, 1.0 - found.low});
        }
    return chances;
}

[[nodiscard]] std::vector<std::string> methods_of(std::vector<run> const& runs) {
    std::vector<std::string> names;
    for (run const& one : runs)
        if (std::ranges::find(names, one.method) == names.end())
            names.push_back(one.method);
    return names;
}

[[nodiscard]] run_list select(std::vector<run> const& runs, std::string const& environment, std::string const& method) {
    run_list chosen;
    for (run const& one : runs)
        if (one.environment == environment && one.method == method)
            chosen.push_back(&one);
    return chosen;
}
[[nodiscard]] std::vector<double> scores_of(run_list const& runs) {
    std::vector<double> scores;
    for (run const* one : runs)
        scores.push_back(one->score);
    return scores;
}

[[nodiscard]] json task_of(std::vector<run> const& runs, std::string const& environment) {
    json methods = json::array();
    scores_by_method all;
    bool evaluated = true;
    for (std::string const& name : methods_of(runs)) {
        run_list const own = select(runs, environment, name);
        if (own.empty())
            continue;
        auto const scores = scores_of(own);
        auto const found = train::summarize(scores, intervals);
        for (run const* one : own)
            evaluated = evaluated && one->score == one->evaluation;
        methods.push_back({{"name", name},
                           {"scores", json_numbers(scores)},
                           {"curve", curve_of(own)},
                           {"interquartile_mean", estimate_json(found.interquartile_mean)},
                           {"mean", estimate_json(found.mean)}});
        all.push_back({name, {scores}});
    }
    return {{"env", environment},
            {"evaluated", evaluated},
            {"methods", methods},
            {"profile", profiles_of(all)},
            {"improvement", improvements_of(all)}};
}

/// Interquartile means and profiles of scores in units of the baseline's mean on each task; nothing but a sentence if one is
/// not positive.
void add_relative(json& overall, scores_by_method scores, std::string const& baseline, std::string& problem) {
    auto const units = std::ranges::find(scores, baseline, &scores_by_method::value_type::first)->second;
    for (std::size_t task = 0; task < units.size(); ++task) {
        double const unit = train::mean(units[task]);
        if (!(unit > 0.0)) {
            problem = fmt::format(
                "The mean of {} on {} is {:.4g}, in which no score can be measured, so there are no "
                "means over all environments.",
                baseline, overall["tasks"][task].get<std::string>(), unit);
            return;
        }
    }
    overall["methods"] = json::array();
    for (auto& [name, tasks] : scores) {
        auto const interquartile =
            train::detail::stratified(tasks, units, intervals, [&](auto const& drawn, auto const& drawn_units) {
                return train::detail::relative_interquartile_mean(drawn, name == baseline ? drawn : drawn_units);
            });
        std::vector<double> all;
        for (std::size_t task = 0; task < tasks.size(); ++task)
            for (double& score : tasks[task])
                all.push_back(score /= train::mean(units[task]));
        overall["methods"].push_back(
            {{"name", name}, {"scores", json_numbers(all)}, {"interquartile_mean", estimate_json(interquartile)}});
    }
    overall["profile"] = profiles_of(scores);
}

/// Over the tasks on which every method has runs; null, and a sentence if that may surprise, if there are no two.
[[nodiscard]] json overall_of(std::vector<run> const& runs, std::vector<std::string> const& environments,
                              std::string const& baseline, std::string& problem) {
    auto const names = methods_of(runs);
    if (environments.size() < 2 || names.size() < 2)
        return nullptr;
    std::vector<std::string> common;
    for (std::string const& environment : environments)
        if (std::ranges::all_of(names, [&](auto const& name) { return !select(runs, environment, name).empty(); }))
            common.push_back(environment);
    if (common.size() < 2) {
        problem = "There are no two environments on which all methods have runs, so nothing is said over all of them.";
        return nullptr;
    }
    scores_by_method all;
    for (std::string const& name : names) {
        auto& [_, tasks] = all.emplace_back(name, std::vector<std::vector<double>>());
        for (std::string const& environment : common)
            tasks.push_back(scores_of(select(runs, environment, name)));
    }
    json overall{{"baseline", baseline}, {"tasks", common}, {"names", names}, {"improvement", improvements_of(all)}};
    add_relative(overall, std::move(all), baseline, problem);
    return overall;
}

/// Those of which two methods on one environment, or two runs, have other values.
[[nodiscard]] json settings_of(std::vector<run> const& runs, std::vector<std::string> const& environments) {
    std::set<std::string> names;
    for (run const& one : runs)
        for (auto const& [name, value] : one.settings)
            names.insert(name);
    json all = json::array();
    for (std::string const& environment : environments)
        for (std::string const& name : names) {
            json values = json::object();
            std::set<std::string> different;
            for (run const& one : runs) {
                if (one.environment != environment)
                    continue;
                auto const found = one.settings.find(name);
                std::string const text = found == one.settings.end() ? "–" : text_of(found->second);
                values[one.method] = text;
                different.insert(text);
            }
            if (different.size() > 1)
                all.push_back({{"env", environment}, {"name", name}, {"values", values}});
        }
    return all;
}

[[nodiscard]] std::string baseline_of(std::vector<std::string> const& methods, std::string const& asked) {
    if (asked.empty())
        return std::ranges::find(methods, "ppo") != methods.end() ? "ppo" : methods.front();
    require(std::ranges::find(methods, asked) != methods.end(),
            "the baseline is {}, but must be one of the methods of the runs: {}", asked, fmt::join(methods, ", "));
    return asked;
}

} // namespace

json comparison_data(train::registry const& known, std::span<fs::path const> folders, std::string const& baseline) {
    json problems = json::array();
    std::vector<run> runs;
    for (fs::path const& folder : folders)
        if (auto one = read_run(known, folder, problems))
            runs.push_back(std::move(*one));
    score(runs, problems);
    require(runs.size() >= 2, "there {} with a score, but two at least are needed to compare: {}",
            runs.size() == 1 ? "is one run" : "are 0 runs",
            problems.empty() ? std::string("no other was given")
                             : fmt::format("{}: {}", problems.back()["where"].get<std::string>(),
                                           problems.back()["what"].get<std::string>()));
    name_methods(runs);
    tell_twins(runs, problems);
    std::vector<std::string> environments;
    for (run const& one : runs)
        if (std::ranges::find(environments, one.environment) == environments.end())
            environments.push_back(one.environment);
    std::string const against = baseline_of(methods_of(runs), baseline);

    json list = json::array(), tasks = json::array();
    for (run const& one : runs)
        list.push_back({{"name", one.name},
                        {"env", one.environment},
                        {"method", one.method},
                        {"seed", one.seed},
                        {"frames", one.frames},
                        {"seconds", one.seconds},
                        {"last", json_number(one.last)},
                        {"evaluation", json_number(one.evaluation)},
                        {"score", json_number(one.score)}});
    for (std::string const& environment : environments)
        tasks.push_back(task_of(runs, environment));
    std::string problem;
    json overall = overall_of(runs, environments, against, problem);
    return {{"format", "gmac-comparison-1"},
            {"methods", methods_of(runs)},
            {"runs", list},
            {"tasks", tasks},
            {"overall", overall},
            {"overall_problem", problem},
            {"settings", settings_of(runs, environments)},
            {"problems", problems}};
}

} // namespace gmac::examples::report
