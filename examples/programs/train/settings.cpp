// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace gmac {

NLOHMANN_JSON_SERIALIZE_ENUM(rate_schedule, {{rate_schedule::constant, "constant"}, {rate_schedule::linear, "linear"}})
NLOHMANN_JSON_SERIALIZE_ENUM(optimiser_kind, {{optimiser_kind::adam, "adam"}, {optimiser_kind::rmsprop, "rmsprop"}})

} // namespace gmac

namespace gmac::nn {

NLOHMANN_JSON_SERIALIZE_ENUM(activation,
                             {{activation::none, "none"}, {activation::tanh, "tanh"}, {activation::relu, "relu"}})

} // namespace gmac::nn

namespace gmac::examples::train {

namespace {

constexpr std::array<std::string_view, 7> environments{"classic/cart_pole", "classic/pendulum",    "bullet/hopper",
                                                       "bullet/walker2d",   "bullet/half_cheetah", "bullet/ant",
                                                       "bullet/humanoid"};
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

/// JSON has no infinity: a string stands for it.
template <class T>
nlohmann::ordered_json to_json_value(std::optional<T> const& value) {
    if constexpr (std::floating_point<T>)
        if (value && std::isinf(*value))
            return "infinity";
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}
template <class T>
void from_json_value(nlohmann::ordered_json const& json, std::optional<T>& value) {
    if constexpr (std::floating_point<T>)
        if (json == "infinity") {
            value = std::numeric_limits<T>::infinity();
            return;
        }
    value = json.is_null() ? std::nullopt : std::optional(json.get<T>());
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

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

} // namespace

bool is_atari(std::string_view environment) {
    return environment.starts_with("ale/") && environment.size() > 4;
}
std::string atari_game(std::string_view environment) {
    return std::string(environment.substr(4));
}

std::span<std::string_view const> environment_names() {
    return environments;
}
std::span<std::string_view const> preset_names() {
    return presets;
}

void require_known(std::string_view what, std::string_view name, std::span<std::string_view const> known) {
    require(std::ranges::find(known, name) != known.end(), "unknown {} \"{}\"; known are {}", what, name,
            fmt::join(known, ", "));
}

settings default_settings(std::string const& environment, std::string const& algorithm) {
    if (!is_atari(environment))
        require_known("environment", environment, environments);
    settings s = is_atari(environment)                ? atari()
                 : environment == "classic/cart_pole" ? cart_pole(algorithm)
                 : environment == "classic/pendulum"  ? pendulum()
                                                      : bullet();
    s.environment = environment;
    s.algorithm = algorithm;
    return s;
}

settings preset_settings(std::string const& preset) {
    require_known("preset", preset, presets);
    return fast(preset.substr(0, preset.rfind('-')));
}

nlohmann::ordered_json to_json(settings all) {
    nlohmann::ordered_json json;
    json["env"] = all.environment;
    json["algorithm"] = all.algorithm;
    all.describe([&](auto const&, std::string const& name, auto const& field, auto const&) {
        using field_type = std::remove_cvref_t<decltype(field)>;
        if constexpr (is_optional<field_type>)
            json[name] = to_json_value(field);
        else
            json[name] = field;
    });
    return json;
}

settings from_json(nlohmann::ordered_json const& json) {
    require(json.is_object(), "the settings must be a JSON object");
    settings all;
    std::vector<std::string> known{"env", "algorithm"};
    try {
        all.environment = json.at("env").get<std::string>();
        all.algorithm = json.at("algorithm").get<std::string>();
        all.describe([&](auto const&, std::string const& name, auto& field, auto const&) {
            using field_type = std::remove_cvref_t<decltype(field)>;
            known.push_back(name);
            if (!json.contains(name))
                return;
            auto const& value = json.at(name);
            if constexpr (is_optional<field_type>)
                from_json_value(value, field);
            else
                field = value.template get<field_type>();
        });
    } catch (nlohmann::json::exception const& problem) {
        fail("the settings cannot be read: {}", problem.what());
    }
    for (auto const& item : json.items())
        require(std::ranges::find(known, item.key()) != known.end(), "the settings have an unknown field \"{}\"",
                item.key());
    return all;
}

} // namespace gmac::examples::train
