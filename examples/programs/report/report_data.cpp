// SPDX-License-Identifier: Apache-2.0
#include "report_data.hpp"

#include "tables.hpp"
#include "train/settings.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gmac::examples::report {

namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;
using problems = std::vector<problem>;

constexpr std::size_t most_points = 400, most_episodes = 2400;

/// The object in a file; null if there is no file, and, with a line in `told`, if it is no object.
[[nodiscard]] json read_object(fs::path const& file, problems& told) {
    if (std::error_code none; !fs::exists(file, none))
        return nullptr;
    std::string const name = file.filename().string();
    try {
        json value = read_json<json>(file);
        if (value.is_object())
            return value;
        told.push_back({name, "it is not a JSON object"});
    } catch (error const& unreadable) {
        told.push_back({name, unreadable.what()});
    }
    return nullptr;
}

/// The same, of a file in which "format" must be this.
[[nodiscard]] json read_format(fs::path const& file, std::string_view format, problems& told) {
    json value = read_object(file, told);
    if (value.is_null() || (value.contains("format") && value["format"] == format))
        return value;
    told.push_back({file.filename().string(), fmt::format("its \"format\" is not {}", format)});
    return nullptr;
}

[[nodiscard]] std::string text_in(json const& object, char const* name) {
    return object.is_object() && object.contains(name) && object[name].is_string() ? object[name].get<std::string>()
                                                                                   : std::string();
}

/// What the program would have taken without options.
struct defaults {
    std::string asked; ///< "--env bullet/hopper --algorithm gmac"
    json settings;
    std::size_t differences = 0;
};

[[nodiscard]] defaults compared(std::string asked, train::settings const& settings, json const& config) {
    defaults result{.asked = std::move(asked), .settings = train::to_json(settings)};
    for (auto const& [name, value] : result.settings.items())
        result.differences += config.contains(name) && config[name] != value ? 1u : 0u;
    return result;
}

/// Those of the environment and the algorithm, or of the preset of this environment that is nearer.
[[nodiscard]] std::optional<defaults> defaults_of(train::registry const& known, json const& config, problems& told) {
    std::string const environment = text_in(config, "env"), algorithm = text_in(config, "algorithm");
    try {
        auto nearest = compared(fmt::format("--env {} --algorithm {}", environment, algorithm),
                                train::default_settings(known, environment, algorithm), config);
        for (std::string const& preset : train::preset_names(known)) {
            auto settings = train::preset_settings(known, preset);
            settings.algorithm = algorithm;
            auto other = compared(fmt::format("--preset {} --algorithm {}", preset, algorithm), settings, config);
            if (settings.environment == environment && other.differences < nearest.differences)
                nearest = std::move(other);
        }
        return nearest;
    } catch (error const& unknown) {
        told.push_back(
            {"config.json", fmt::format("this version knows no defaults to compare with: {}", unknown.what())});
        return std::nullopt;
    }
}

/// [{"name", "group", "help", "value", "default"}], in the order of the help text; then what this version does not know.
[[nodiscard]] json settings_of(train::registry const& known, json const& config,
                               std::optional<defaults> const& nearest) {
    json all = json::array();
    std::vector<std::string> names{"env", "algorithm", "seed", "frames"};
    std::string const environment = text_in(config, "env");
    auto const add = [&](std::string const& name, std::string_view group, std::string_view help) {
        json one{{"name", name}, {"group", group}, {"help", help}, {"value", config[name]}};
        if (nearest && nearest->settings.contains(name))
            one["default"] = nearest->settings[name];
        all.push_back(std::move(one));
    };
    train::settings every;
    train::describe(every, [&](std::string_view group, std::string const& name, auto const&, std::string_view help) {
        if (name != "seed")
            names.push_back(name);
        if (name != "seed" && config.contains(name) && train::group_fits(known, group, environment))
            add(name, group, help);
    });
    if (names.emplace_back("env-option"); config.contains("env-option"))
        add("env-option", "Environment", "options of the environment itself");
    for (auto const& [name, value] : config.items())
        if (std::ranges::find(names, name) == names.end())
            add(name, "Other", "not known to this version");
    return all;
}

/// Numbers of the metrics that are always finite, unless the training has gone wrong.
[[nodiscard]] bool may_be_missing(std::string_view column) {
    return column.ends_with("_return") || column.ends_with("_length") || column.ends_with("explained_variance");
}

void find_not_finite(train::csv_table const& table, char const* file, char const* rows, problems& told) {
    auto const key = std::ranges::find(table.columns, "frames") - table.columns.begin();
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (may_be_missing(table.columns[i]))
            continue;
        auto const& values = table.values[i];
        auto const bad = [](double value) { return !std::isfinite(value); };
        auto const count = std::ranges::count_if(values, bad);
        if (count == 0)
            continue;
        auto const first = std::ranges::find_if(values, bad) - values.begin();
        std::string const when =
            key < std::ssize(table.columns)
                ? fmt::format(", first after {} frames",
                              table.values[static_cast<std::size_t>(key)][static_cast<std::size_t>(first)])
                : std::string();
        told.push_back({file, fmt::format("{} is not a finite number in {} of {} {}{}", table.columns[i], count,
                                          values.size(), rows, when)});
    }
}

[[nodiscard]] json last_of(train::csv_table const& table, std::string_view column) {
    auto const found = std::ranges::find(table.columns, column);
    if (found == table.columns.end() || table.rows() == 0)
        return nullptr;
    return json_number(table.values[static_cast<std::size_t>(found - table.columns.begin())].back());
}

[[nodiscard]] json machines_of(fs::path const& file, problems& told) {
    json const list = read_format(file, "gmac-machine-1", told);
    if (list.is_object() && list.contains("processes") && list["processes"].is_array())
        return list["processes"];
    if (std::error_code none; !fs::exists(file, none))
        told.push_back({"machine.json", "there is none: it is not known where this run was trained"});
    return json::array();
}

[[nodiscard]] std::string name_of(fs::path const& run) {
    std::error_code none;
    fs::path const whole = fs::weakly_canonical(run, none);
    return (none ? run : whole).filename().string();
}

} // namespace

json report_data(train::registry const& known, fs::path const& run) {
    problems told;
    json const config = read_object(run / "config.json", told);
    if (std::error_code none; !fs::exists(run / "config.json", none))
        told.push_back({"config.json", "there is none: it is not known what was run"});
    json const summary = read_object(run / "summary.json", told);
    auto const metrics = read_table(run / "metrics.csv", told);
    auto const episodes = read_table(run / "episodes.csv", told);
    auto const evaluations = read_table(run / "evaluations.csv", told);
    if (metrics.rows() == 0)
        told.push_back({"metrics.csv", "it has no update: nothing was learned yet"});
    find_not_finite(metrics, "metrics.csv", "updates", told);
    find_not_finite(episodes, "episodes.csv", "episodes", told);

    auto const nearest = config.is_object() ? defaults_of(known, config, told) : std::nullopt;
    auto const given = [&](char const* name) {
        return config.is_object() && config.contains(name) ? config[name] : json(nullptr);
    };
    json data{{"format", "gmac-report-1"},
              {"program", known.program},
              {"run",
               {{"name", name_of(run)},
                {"env", text_in(config, "env")},
                {"algorithm", text_in(config, "algorithm")},
                {"seed", given("seed")},
                {"frames_asked", given("frames")},
                {"frames", last_of(metrics, "frames")},
                {"seconds", last_of(metrics, "seconds")},
                {"updates", metrics.rows()},
                {"episodes", episodes.rows()},
                {"mean_return", last_of(metrics, "mean_return")},
                {"finished", summary.is_object()}}},
              {"defaults", nearest ? json(nearest->asked) : json(nullptr)},
              {"settings", config.is_object() ? settings_of(known, config, nearest) : json::array()},
              {"machines", machines_of(run / "machine.json", told)},
              {"metrics", thinned(metrics, "frames", most_points)},
              {"episodes", sampled_episodes(episodes, most_episodes)},
              {"evaluations", thinned(evaluations, "frames", most_points)},
              {"summary", summary},
              {"observed", read_format(run / "observed.json", "gmac-observed-1", told)}};
    data["problems"] = json::array();
    for (auto const& [where, what] : told)
        data["problems"].push_back({{"where", where}, {"what", what}});
    return data;
}

} // namespace gmac::examples::report
