// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include "support/split.hpp"
#include "trunk_text.hpp"

#include <gmac/core/error.hpp>
#include <gmac/environment/plugin/environments.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::train {

using examples::read_value;

settings own_defaults() {
    settings s;
    s.frames = 1'000'000;
    s.environments = 16;
    s.agent.steps = 128;
    s.agent.minibatch = 256;
    s.agent.learning_rate = 5e-4;
    s.agent.schedule = rate_schedule::linear;
    s.agent.entropy_coefficient = 0.01;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    s.normalize_observations = true;
    s.normalize_rewards = true;
    return s;
}

statistic_range statistic_of(settings const& settings) {
    std::string const& text = settings.statistic;
    std::size_t const colon = text.find(':');
    std::string const name = text.substr(0, colon);
    auto const kind = statistic_kind_of(name);
    require(kind.has_value(),
            "--statistic is \"{}\", but must be mean, cvar:ALPHA, upper_cvar:ALPHA, wang:ETA, power:ETA, "
            "mean_minus_deviations:K or quantile:P, or a range of parameters as cvar:LOW..HIGH",
            text);
    bool const takes_none = kind == statistic_kind::mean;
    require((colon == std::string::npos) == takes_none, "--statistic is \"{}\", but {} is given {}", text, name,
            takes_none ? "without a parameter" : "as NAME:PARAMETER");
    statistic_range found{.kind = *kind};
    if (takes_none)
        return found;
    require(settings.algorithm != "ppo", "--statistic is {}, but must be mean with ppo, which learns no distribution",
            text);
    std::string const parameters = text.substr(colon + 1);
    std::size_t const dots = parameters.find("..");
    read_value("the parameter of --statistic", parameters.substr(0, dots), found.low);
    if (dots == std::string::npos) {
        found.high = found.low;
        gmac::validate(statistic{*kind, found.low});
        return found;
    }
    std::string const second = parameters.substr(dots + 2);
    require(!second.starts_with('.'), "--statistic is \"{}\", whose three dots can be read in two ways", text);
    read_value("the second parameter of --statistic", second, found.high);
    gmac::validate(found);
    require(!sees_images(settings),
            "--statistic is {}, but must have one parameter with {}, whose observations are images", text,
            settings.environment);
    return found;
}

} // namespace gmac::inline GMAC_ABI::train

namespace gmac::examples::train {

namespace {

/// Headings in --help of options that are of a few environments, which name them in their entries.
constexpr std::array<std::string_view, 7> special_groups{"Robots",
                                                         "Windy cliff",
                                                         "Environments of your own",
                                                         "Images",
                                                         "Atari and MinAtar games",
                                                         "MinAtar games",
                                                         "Atari games"};
constexpr std::string_view values_name = "env-option"; // of settings.environment_values, in JSON

/// JSON has no infinity: a string stands for it.
constexpr std::string_view infinity = "infinity";

template <class T>
[[nodiscard]] nlohmann::ordered_json json_of(T const& value) {
    if constexpr (is_optional<T>)
        return value ? json_of(*value) : nlohmann::ordered_json(nullptr);
    else if constexpr (std::is_enum_v<T>)
        return name_of(value);
    else if constexpr (std::floating_point<T>)
        return std::isinf(value) ? nlohmann::ordered_json(infinity) : nlohmann::ordered_json(value);
    else
        return value;
}

/// Reads what `json_of` makes, by the rules of the command line.
template <class T>
void from_json_value(std::string_view name, nlohmann::ordered_json const& json, T& value) {
    auto const require_type = [&](bool is_right, char const* type) {
        require(is_right, "{} is {}, but must be {}", name, json.dump(), type);
    };
    if constexpr (is_optional<T>) {
        value.reset();
        if (!json.is_null())
            from_json_value(name, json, value.emplace());
    } else if constexpr (std::same_as<T, std::string>) {
        require_type(json.is_string(), "text");
        value = json.template get<std::string>();
    } else if constexpr (std::is_enum_v<T>) {
        require_type(json.is_string(), "text");
        read_value(name, json.template get_ref<std::string const&>(), value);
    } else if constexpr (std::same_as<T, bool>) {
        require_type(json.is_boolean(), "true or false");
        value = json.template get<bool>();
    } else if constexpr (number<T>) {
        bool const infinite = std::floating_point<T> && json == infinity;
        require_type(json.is_number() || infinite, "a number");
        read_value(name, infinite ? std::string(infinity) : json.dump(), value);
    } else {
        require_type(json.is_array(), "a list of numbers");
        value.clear();
        for (auto const& one : json)
            from_json_value(name, one, value.emplace_back());
    }
}

/// A shared library or a program, which any of our programs takes.
[[nodiscard]] environment_entry const& file_entry() {
    static environment_entry const entry{.name = "./",
                                         .rest = "FILE",
                                         .groups = {"Environments of your own"},
                                         .defaults = {},
                                         .make = [](settings const& settings, std::size_t count, std::uint64_t seed,
                                                    executor&) {
                                             return std::make_unique<plugin_environments>(settings.environment, count,
                                                                                          seed,
                                                                                          settings.environment_options);
                                         }};
    return entry;
}

/// Nothing if there is none of this name.
[[nodiscard]] environment_entry const* entry_of(registry const& known, std::string const& name) {
    if (is_file(name))
        return &file_entry();
    auto const found = std::ranges::find_if(known.environments, [&](auto const& one) { return one.takes(name); });
    return found == known.environments.end() ? nullptr : &*found;
}

[[nodiscard]] bool has_group(environment_entry const& entry, std::string_view group) {
    return group == "Images" ? entry.make_images != nullptr
                             : std::ranges::find(entry.groups, group) != entry.groups.end();
}

template <class T>
[[nodiscard]] std::vector<std::string> names_in(std::vector<T> const& list) {
    std::vector<std::string> names;
    for (auto const& one : list)
        names.push_back(one.name);
    return names;
}

} // namespace

bool is_file(std::string_view environment) {
    return environment.starts_with('.') || environment.starts_with('/') || environment.ends_with(".so") ||
           environment.ends_with(".py");
}

environment_entry const& find_environment(registry const& known, std::string const& name) {
    auto const* const found = entry_of(known, name);
    require(found != nullptr,
            "unknown environment \"{}\"; known are {}, and your own: a shared library, FILE.so, or a program, ./FILE",
            name, fmt::join(environment_names(known), ", "));
    return *found;
}

std::vector<std::string> environment_names(registry const& known) {
    std::vector<std::string> names;
    for (auto const& one : known.environments)
        names.push_back(one.name + one.rest);
    return names;
}
std::vector<std::string> preset_names(registry const& known) {
    return names_in(known.presets);
}
std::vector<std::string> algorithm_names(registry const& known) {
    return names_in(known.methods);
}

bool group_fits(registry const& known, std::string_view group, std::string const& environment) {
    if (std::ranges::find(special_groups, group) == special_groups.end())
        return true;
    auto const* const entry = entry_of(known, environment);
    return entry != nullptr && has_group(*entry, group);
}
bool group_fits_one(registry const& known, std::string_view group) {
    return std::ranges::find(special_groups, group) == special_groups.end() || has_group(file_entry(), group) ||
           std::ranges::any_of(known.environments, [&](auto const& one) { return has_group(one, group); });
}

void require_known(std::string_view what, std::string_view name, std::span<std::string const> known) {
    require(std::ranges::find(known, name) != known.end(), "unknown {} \"{}\"; known are {}", what, name,
            fmt::join(known, ", "));
}

std::vector<std::string> critics_of(settings const& settings) {
    std::vector<std::string> names;
    if (settings.critics.empty())
        return names;
    for (std::string_view const name : split(settings.critics, ',')) {
        require(!name.empty(), "--critics is \"{}\", but must be names of methods with a comma between two of them",
                settings.critics);
        require(std::ranges::find(names, name) == names.end(), "--critics is \"{}\", which has {} twice",
                settings.critics, name);
        names.emplace_back(name);
    }
    return names;
}

settings default_settings(registry const& known, std::string const& environment, std::string const& algorithm) {
    auto const& entry = find_environment(known, environment);
    settings all = entry.defaults ? entry.defaults(environment, algorithm) : own_defaults();
    if (!entry.defaults && entry.make_images) { // of which no more is known
        all.normalize_observations = all.normalize_rewards = false;
        all.agent.shared_trunk = true;
        all.agent.hidden = {128};
    }
    all.environment = environment;
    all.algorithm = algorithm;
    complete(known, all);
    return all;
}

settings preset_settings(registry const& known, std::string const& preset) {
    require_known("preset", preset, preset_names(known));
    settings all = std::ranges::find(known.presets, preset, &gmac::train::preset::name)->settings;
    complete(known, all);
    return all;
}

void complete(registry const& known, settings& all) {
    auto const& entry = find_environment(known, all.environment);
    all.environment_values = environment_values(entry.options, all.environment_values).texts();
    all.images.reset();
    if (entry.images)
        all.images = entry.images(all);
}

void validate(registry const& known, settings const& all) {
    auto const& entry = find_environment(known, all.environment);
    auto const at_least_one = [](std::string_view name, std::uint64_t value) {
        require(value > 0, "--{} is 0, but must be at least 1", name);
    };
    at_least_one("frames", all.frames);
    at_least_one("envs", all.environments);
    at_least_one("eval-episodes", all.eval_episodes);
    require(!all.target_return || std::isfinite(*all.target_return), "--target-return is {}, but must be finite",
            all.target_return.value_or(0.0));
    at_least_one("quantile-samples", all.quantile_samples);
    at_least_one("quantile-embedding", all.quantile_embedding);
    at_least_one("quantile-hidden", all.quantile_hidden);
    for (auto const& [name, value] :
         {std::pair("variance-scale", all.variance_scale), std::pair("initial-deviation", all.initial_deviation),
          std::pair("histogram-deviation", all.histogram_deviation)})
        require(value > 0.0 && std::isfinite(value), "--{} is {}, but must be positive and finite", name, value);
    for (auto const& [name, value] :
         {std::pair("variance-floor", all.variance_floor), std::pair("deviation-floor", all.deviation_floor),
          std::pair("pushes", all.pushes)})
        require(value >= 0.0 && std::isfinite(value), "--{} is {}, but must be finite and not negative", name, value);
    require(!all.state_dependent_exploration || !sees_images(all),
            "--state-dependent-exploration is true, but must be false with {}, whose observations are images",
            all.environment);
    require(std::isfinite(all.atom_minimum) && std::isfinite(all.atom_maximum) && all.atom_minimum < all.atom_maximum,
            "--atom-minimum is {} and --atom-maximum {}, but both must be finite and the minimum the lower one",
            all.atom_minimum, all.atom_maximum);
    require(all.exploring_starts >= 0.0 && all.exploring_starts <= 1.0,
            "--exploring-starts is {}, but must be in [0, 1]", all.exploring_starts);
    agent_options agent = all.agent;
    agent.exploration = all.exploration;
    validate(agent);
    validate(all.distillation);
    static_cast<void>(critics_of(all));
    static_cast<void>(statistic_of(all));
    static_cast<void>(environment_values(entry.options, all.environment_values));
    if (sees_images(all) && !all.trunk.empty())
        static_cast<void>(read_trunk(all.trunk));
    require(!all.sticky || (*all.sticky >= 0.0 && *all.sticky < 1.0),
            "--sticky is {}, but must be at least 0 and below 1", all.sticky.value_or(0.0));
    auto const given = to_json(all), unset = to_json({});
    for (auto const& [name, value] : given.items())
        require(value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::ignore) ==
                    value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                "--{} is {}, which is no text in UTF-8", name,
                value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    settings every;
    describe(every, [&](std::string_view group, std::string const& name, auto const&, auto const&) {
        require(group_fits(known, group, all.environment) || given[name] == unset[name],
                "--{} is an option of {} and does not go with {}", name, group, all.environment);
    });
}

nlohmann::ordered_json to_json(settings all) {
    nlohmann::ordered_json json;
    json["env"] = all.environment;
    json["algorithm"] = all.algorithm;
    describe(all, [&](auto const&, std::string const& name, auto const& field, auto const&) {
        json[name] = json_of(field);
    });
    if (!all.environment_values.empty())
        json[values_name] = all.environment_values;
    return json;
}

settings from_json(registry const& known, nlohmann::ordered_json const& json) {
    require(json.is_object(), "the settings must be a JSON object");
    settings all;
    std::vector<std::string> names{"env", "algorithm", std::string(values_name)};
    for (auto const& [name, field] : {std::pair("env", &all.environment), std::pair("algorithm", &all.algorithm)}) {
        require(json.contains(name), "the settings lack {}", name);
        from_json_value(name, json.at(name), *field);
    }
    describe(all, [&](auto const&, std::string const& name, auto& field, auto const&) {
        names.push_back(name);
        if (json.contains(name))
            from_json_value(name, json.at(name), field);
    });
    if (json.contains(values_name)) {
        auto const& values = json.at(values_name);
        require(values.is_object(), "{} is {}, but must be an object of texts", values_name, values.dump());
        for (auto const& [name, value] : values.items())
            from_json_value(name, value, all.environment_values[name]);
    }
    for (auto const& item : json.items())
        require(std::ranges::find(names, item.key()) != names.end(), "the settings have an unknown field \"{}\"",
                item.key());
    complete(known, all);
    validate(known, all);
    return all;
}

} // namespace gmac::examples::train
