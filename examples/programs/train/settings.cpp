// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include "trunk_text.hpp"

#include "ale/preprocessing.hpp"

#include <gmac/core/error.hpp>

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
#include <vector>

namespace gmac::examples::train {

namespace {

constexpr std::array<std::string_view, 15> environments{"classic/cart_pole",
                                                        "classic/pendulum",
                                                        "classic/windy_cliff",
                                                        "classic/deep_sea:N",
                                                        "classic/deep_sea_stochastic:N",
                                                        "bullet/hopper",
                                                        "bullet/walker2d",
                                                        "bullet/half_cheetah",
                                                        "bullet/ant",
                                                        "bullet/humanoid",
                                                        "minatar/asterix",
                                                        "minatar/breakout",
                                                        "minatar/freeway",
                                                        "minatar/seaquest",
                                                        "minatar/space_invaders"};
constexpr std::array<std::string_view, 3> presets{"hopper-fast", "half_cheetah-fast", "walker2d-fast"};

settings cart_pole(std::string const& algorithm) {
    settings s;
    s.frames = 100'000;
    s.environments = 8;
    s.agent.steps = 32;
    s.agent.minibatch = 256;
    s.agent.epochs = 20;
    s.agent.learning_rate = 1e-3;
    s.agent.schedule = rate_schedule::linear;
    s.agent.discount = 0.98;
    s.agent.lambda = 0.8;
    s.agent.entropy_coefficient = 0.0;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    // A distribution's width is in units of the return, so its head wants returns of order one.
    s.normalize_rewards = algorithm != "ppo";
    return s;
}

settings pendulum() {
    settings s;
    s.frames = 300'000;
    s.environments = 4;
    s.agent.steps = 1024;
    s.agent.minibatch = 256;
    s.agent.epochs = 10;
    s.agent.learning_rate = 1e-3;
    s.agent.discount = 0.9;
    s.agent.entropy_coefficient = 0.0;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    s.normalize_rewards = true;
    s.state_dependent_deviation = false;
    return s;
}

/// With a lambda so small that a statistic of the value counts (at lambda = 1 the advantage is that of the mean return), and
/// an entropy bonus that keeps all heights tried until the distributions there are learned.
settings windy_cliff() {
    settings s;
    s.frames = 1'000'000;
    s.environments = 64;
    s.agent.steps = 32;
    s.agent.minibatch = 256;
    s.agent.epochs = 4;
    s.agent.learning_rate = 1e-3;
    s.agent.schedule = rate_schedule::linear;
    s.agent.lambda = 0.2;
    s.agent.replacement = targets::resampling::stratified;
    s.agent.entropy_coefficient = 0.4;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    s.exploring_starts = 0.5;
    return s;
}

/// As many episodes as the behaviour suite gives its agents.
settings deep_sea(std::size_t size) {
    settings s;
    s.frames = 10'000 * size;
    s.environments = 16;
    s.agent.steps = 32;
    s.agent.minibatch = 128;
    s.agent.epochs = 4;
    s.agent.learning_rate = 1e-3;
    s.agent.entropy_coefficient = 0.01;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    return s;
}

/// Of which nothing is known.
settings own() {
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

/// The paper's, which are the defaults of agent_options too.
settings bullet() {
    settings s;
    s.frames = 50'000'000;
    s.environments = 64;
    s.normalize_observations = true;
    s.normalize_rewards = true;
    s.deviation_floor = 0.05;
    return s;
}

/// Settings with which Hopper hops within two million frames, and the other planar robots walk.
settings fast(std::string_view robot) {
    settings s = bullet();
    s.environment = fmt::format("bullet/{}", robot);
    s.frames = 2'000'000;
    s.environments = 16;
    s.agent.minibatch = 64;
    s.agent.learning_rate = 3e-4;
    s.agent.schedule = rate_schedule::linear;
    s.agent.discount = 0.985;
    // Standing pays, and without a bonus a robot that has learnt it early may go on standing. HalfCheetah cannot fall.
    s.agent.entropy_coefficient = robot == "half_cheetah" ? 0.0 : 0.005;
    s.agent.max_gradient_norm = 0.5;
    s.agent.hidden = {64, 64};
    s.agent.shared_trunk = false;
    s.deviation_floor = 0.25;
    return s;
}

/// The paper's for the Arcade Learning Environment, with the 200 million frames of its authors' code: four a step.
settings atari() {
    settings s;
    s.agent = atari_options();
    s.agent.hidden = {512};
    s.frames = 50'000'000;
    s.environments = 64;
    return s;
}

/// The paper's for Atari games, with the network of MinAtar's authors, which is smaller and learns faster.
settings minatar() {
    settings s = atari();
    s.agent.learning_rate = 1e-3;
    s.agent.hidden = {128};
    s.frames = 5'000'000;
    return s;
}

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

} // namespace

bool is_file(std::string_view environment) {
    return environment.starts_with('.') || environment.starts_with('/') || environment.ends_with(".so") ||
           environment.ends_with(".py");
}
bool is_atari(std::string_view environment) {
    return environment.starts_with("ale/") && environment.size() > 4;
}
std::string atari_game(std::string_view environment) {
    return std::string(environment.substr(4));
}

bool is_minatar(std::string_view environment) {
    return environment.starts_with("minatar/");
}
std::string minatar_game(std::string_view environment) {
    return std::string(environment.substr(8));
}
bool sees_images(std::string_view environment) {
    return is_atari(environment) || is_minatar(environment);
}
bool group_fits(std::string_view group, std::string_view environment) {
    if (group == "Atari and MinAtar games")
        return sees_images(environment);
    if (group == "Atari games")
        return is_atari(environment);
    if (group == "Robots")
        return environment.starts_with("bullet/");
    if (group == "Environments of your own")
        return is_file(environment);
    if (group == "Windy cliff")
        return environment == "classic/windy_cliff";
    return group != "MinAtar games" || is_minatar(environment);
}

std::span<std::string_view const> environment_names() {
    return environments;
}

std::optional<std::size_t> deep_sea_size(std::string const& environment) {
    for (std::string const prefix : {"classic/deep_sea:", "classic/deep_sea_stochastic:"})
        if (environment.starts_with(prefix)) {
            std::size_t size = 0;
            read_value("the size of " + environment, environment.substr(prefix.size()), size);
            return size;
        }
    return std::nullopt;
}

void require_environment(std::string const& name) {
    std::string const listed = deep_sea_size(name) ? name.substr(0, name.find(':')) + ":N" : name;
    require(is_file(name) || std::ranges::find(environments, listed) != environments.end(),
            "unknown environment \"{}\"; known are {}, and your own: a shared library, FILE.so, or a program, ./FILE",
            name, fmt::join(environments, ", "));
}
std::span<std::string_view const> preset_names() {
    return presets;
}

void require_known(std::string_view what, std::string_view name, std::span<std::string_view const> known) {
    require(std::ranges::find(known, name) != known.end(), "unknown {} \"{}\"; known are {}", what, name,
            fmt::join(known, ", "));
}

std::vector<std::string> critics_of(settings const& settings) {
    std::vector<std::string> names;
    if (settings.critics.empty())
        return names;
    for (std::size_t begin = 0; begin <= settings.critics.size();) {
        std::size_t const end = (std::min)(settings.critics.find(',', begin), settings.critics.size());
        std::string name = settings.critics.substr(begin, end - begin);
        require(!name.empty(), "--critics is \"{}\", but must be names of methods with a comma between two of them",
                settings.critics);
        require(std::ranges::find(names, name) == names.end(), "--critics is \"{}\", which has {} twice",
                settings.critics, name);
        names.push_back(std::move(name));
        begin = end + 1;
    }
    return names;
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
    require(!sees_images(settings.environment),
            "--statistic is {}, but must have one parameter with {}, whose observations are images", text,
            settings.environment);
    return found;
}

settings default_settings(std::string const& environment, std::string const& algorithm) {
    if (!is_atari(environment))
        require_environment(environment);
    auto const sea = deep_sea_size(environment);
    settings s = is_atari(environment)                  ? atari()
                 : sea                                  ? deep_sea(*sea)
                 : is_minatar(environment)              ? minatar()
                 : environment == "classic/cart_pole"   ? cart_pole(algorithm)
                 : environment == "classic/pendulum"    ? pendulum()
                 : environment == "classic/windy_cliff" ? windy_cliff()
                 : is_file(environment)                 ? own()
                                                        : bullet();
    s.environment = environment;
    s.algorithm = algorithm;
    return s;
}

settings preset_settings(std::string const& preset) {
    require_known("preset", preset, presets);
    return fast(preset.substr(0, preset.rfind('-')));
}

void validate(settings const& all) {
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
    if (is_atari(all.environment))
        static_cast<void>(ale::preprocessing_named(all.preprocessing));
    if (sees_images(all.environment) && !all.trunk.empty())
        static_cast<void>(read_trunk(all.trunk));
    require(!all.sticky || (*all.sticky >= 0.0 && *all.sticky <= 1.0), "--sticky is {}, but must be in [0, 1]",
            all.sticky.value_or(0.0));
    auto const given = to_json(all), unset = to_json({});
    settings{}.describe([&](std::string_view group, std::string const& name, auto const&, auto const&) {
        require(group_fits(group, all.environment) || given[name] == unset[name],
                "--{} is an option of {} and does not go with {}", name, group, all.environment);
    });
}

nlohmann::ordered_json to_json(settings all) {
    nlohmann::ordered_json json;
    json["env"] = all.environment;
    json["algorithm"] = all.algorithm;
    all.describe(
        [&](auto const&, std::string const& name, auto const& field, auto const&) { json[name] = json_of(field); });
    return json;
}

settings from_json(nlohmann::ordered_json const& json) {
    require(json.is_object(), "the settings must be a JSON object");
    settings all;
    std::vector<std::string> known{"env", "algorithm"};
    for (auto const& [name, field] : {std::pair("env", &all.environment), std::pair("algorithm", &all.algorithm)}) {
        require(json.contains(name), "the settings lack {}", name);
        from_json_value(name, json.at(name), *field);
    }
    all.describe([&](auto const&, std::string const& name, auto& field, auto const&) {
        known.push_back(name);
        if (json.contains(name))
            from_json_value(name, json.at(name), field);
    });
    for (auto const& item : json.items())
        require(std::ranges::find(known, item.key()) != known.end(), "the settings have an unknown field \"{}\"",
                item.key());
    validate(all);
    return all;
}

} // namespace gmac::examples::train
