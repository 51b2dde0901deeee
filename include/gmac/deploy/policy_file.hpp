// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/deploy/policy.hpp>
#include <gmac/nn/atari_trunk.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// A policy in one safetensors file, in the format of a checkpoint: the tensors of deployed_policy::persist, and the string
/// "policy", a JSON object of the rest. Opt-in: needs what checkpoints need (CMake: gmac::checkpoint).
namespace gmac {

namespace detail {

inline constexpr std::array activation_names{std::pair(nn::activation::none, std::string_view("none")),
                                             std::pair(nn::activation::tanh, std::string_view("tanh")),
                                             std::pair(nn::activation::relu, std::string_view("relu"))};

template <class Trunk>
inline constexpr bool is_mlp = false;
template <class Backend>
inline constexpr bool is_mlp<nn::mlp<Backend>> = true;

template <class Trunk>
inline constexpr bool is_atari_trunk = false;
template <class Backend>
inline constexpr bool is_atari_trunk<nn::atari_trunk<Backend>> = true;

template <class Trunk>
[[nodiscard]] nlohmann::ordered_json describe_trunk(Trunk const& trunk) {
    if constexpr (is_mlp<Trunk>) {
        std::vector<std::size_t> widths{trunk.inputs()};
        for (auto const& layer : trunk.layers())
            widths.push_back(layer.outputs());
        nn::activation const inner = trunk.layers().front().options().function;
        nn::activation const last = trunk.layers().back().options().function;
        for (auto const& [function, name] : activation_names)
            if (function == inner)
                return {{"kind", "mlp"}, {"widths", widths}, {"activation", name}, {"activate_last", last == inner}};
    } else if constexpr (is_atari_trunk<Trunk>) {
        return {{"kind", "atari"},
                {"frames", trunk.template get<0>().input_shape().channels},
                {"units", trunk.outputs()}};
    }
    return {{"kind", "custom"}, {"inputs", trunk.inputs()}, {"outputs", trunk.outputs()}};
}

[[nodiscard]] inline nlohmann::ordered_json describe_actor(policy_actor const& actor) {
    auto const* const gaussian = std::get_if<actors::diagonal_gaussian>(&actor);
    if (!gaussian)
        return {{"kind", "categorical"}};
    bool const dependent = gaussian->deviations == actors::deviation_model::state_dependent;
    return {{"kind", "diagonal_gaussian"},
            {"deviations", dependent ? "state_dependent" : "state_independent"},
            {"initial_deviation", gaussian->initial_deviation},
            {"floor", gaussian->floor}};
}

/// Reads the description of a policy, and says what is missing or of another type.
class policy_reader {
public:
    policy_reader(std::string const& text, std::string where)
        : json_(nlohmann::json::parse(text, nullptr, false)), where_(std::move(where)) {
        require(json_.is_object(), "{}: the description of the policy is not a JSON object", where_);
    }

    [[nodiscard]] bool has_mlp() const { return text("/trunk/kind") == "mlp"; }
    [[nodiscard]] bool has_atari_trunk() const { return text("/trunk/kind") == "atari"; }

    template <class Backend>
    [[nodiscard]] nn::mlp<Backend> mlp(std::size_t bytes) const {
        nlohmann::json const& list = at("/trunk/widths");
        bool fits = list.is_array() && list.size() >= 2;
        std::vector<std::size_t> widths;
        double size = 0.0;
        for (std::size_t i = 0; fits && i < list.size(); ++i) {
            fits = list[i].is_number_unsigned() && list[i] > 0;
            widths.push_back(fits ? list[i].get<std::size_t>() : 0);
            if (i > 0)
                size += static_cast<double>(widths[i - 1]) * static_cast<double>(widths[i]);
        }
        require(fits, "{}: the widths of the trunk are {}, but must be at least two positive numbers", where_,
                list.dump());
        // Before memory is taken for them.
        require(size * sizeof(typename Backend::scalar) <= static_cast<double>(bytes),
                "{}: a trunk of the widths {} has more numbers than the file", where_, list.dump());
        std::string const name = text("/trunk/activation");
        std::optional<nn::activation> function;
        for (auto const& [known, known_name] : activation_names)
            if (name == known_name)
                function = known;
        require(function.has_value(), "{}: the activation of the trunk is {}, but must be none, tanh or relu", where_,
                safetensors::in_quotes(name));
        nlohmann::json const& activate_last = at("/trunk/activate_last");
        require(activate_last.is_boolean(), "{}: /trunk/activate_last is not a boolean", where_);
        return nn::mlp<Backend>(widths, {.function = *function, .activate_last = activate_last.get<bool>()});
    }

    template <class Backend>
    [[nodiscard]] nn::atari_trunk<Backend> atari_trunk(std::size_t bytes) const {
        nlohmann::json const &frames = at("/trunk/frames"), &units = at("/trunk/units");
        bool const fits = frames.is_number_unsigned() && frames > 0 && units.is_number_unsigned() && units > 0;
        // Before memory is taken for them: the weights of the first and the last layer.
        double const size = fits ? 64.0 * 32.0 * frames.get<double>() + 7.0 * 7.0 * 32.0 * units.get<double>() : 0.0;
        require(
            fits && size * sizeof(typename Backend::scalar) <= static_cast<double>(bytes),
            "{}: the trunk has {} frames and {} units, but must have at least one of each, and no more weights than "
            "the file has numbers",
            where_, frames.dump(), units.dump());
        return nn::atari_trunk<Backend>({.frames = frames.get<std::size_t>(), .units = units.get<std::size_t>()});
    }

    [[nodiscard]] policy_description description() const {
        policy_description result{actor(), action_space(), {}};
        if (json_.contains("observation_clip"))
            result.observation_clip = number("/observation_clip");
        return result;
    }

private:
    [[nodiscard]] nlohmann::json const& at(char const* place) const {
        nlohmann::json::json_pointer const pointer(place);
        require(json_.contains(pointer), "{}: the description of the policy has no {}", where_, place);
        return json_[pointer];
    }
    [[nodiscard]] std::string text(char const* place) const {
        require(at(place).is_string(), "{}: {} is not a string", where_, place);
        return at(place).get<std::string>();
    }
    [[nodiscard]] double number(char const* place) const {
        require(at(place).is_number(), "{}: {} is not a number", where_, place);
        return at(place).get<double>();
    }

    [[nodiscard]] policy_actor actor() const {
        std::string const kind = text("/actor/kind");
        if (kind == "categorical")
            return actors::categorical{};
        require(kind == "diagonal_gaussian",
                "{}: the actor is {}, but must be \"categorical\" or \"diagonal_gaussian\"", where_,
                safetensors::in_quotes(kind));
        std::string const model = text("/actor/deviations");
        require(model == "state_dependent" || model == "state_independent",
                "{}: the actor's deviations are {}, but must be \"state_dependent\" or \"state_independent\"", where_,
                safetensors::in_quotes(model));
        return actors::diagonal_gaussian{.deviations = model == "state_dependent"
                                                           ? actors::deviation_model::state_dependent
                                                           : actors::deviation_model::state_independent,
                                         .initial_deviation = number("/actor/initial_deviation"),
                                         .floor = number("/actor/floor")};
    }
    [[nodiscard]] gmac::action_space action_space() const {
        bool const real = json_.contains("action_size");
        nlohmann::json const& count = at(real ? "/action_size" : "/actions");
        require(count.is_number_unsigned() && count > 0 && count <= 1u << 24u,
                "{}: the policy has {} {}, but must have 1 to 16777216", where_, count.dump(),
                real ? "action elements" : "actions");
        if (real)
            return box::uniform(count.get<std::size_t>(), 0.0f, 0.0f); // the file has the bounds
        return discrete{count.get<std::size_t>()};
    }

    nlohmann::json json_;
    std::string where_;
};

/// Throws gmac::error for a number that no trained policy has.
template <class Backend, class Trunk>
void require_sound(deployed_policy<Backend, Trunk>& policy, std::string_view where) {
    auto const require_finite = [&](auto numbers, std::string_view what) {
        for (std::size_t i = 0; i < numbers.size(); ++i)
            require(std::isfinite(numbers[i]), "{}: {} {} is {}, but must be finite", where, what, i, numbers[i]);
    };
    require_finite(policy.parameters(), "parameter");
    require_finite(policy.observation_means(), "observation mean");
    require_finite(policy.observation_scales(), "observation scale");
    if (auto const* const bounds = std::get_if<box>(&policy.action_space()))
        for (std::size_t j = 0; j < bounds->size(); ++j)
            require(bounds->low[j] <= bounds->high[j], "{}: the bounds of action element {} are [{}, {}]", where, j,
                    bounds->low[j], bounds->high[j]);
}

[[nodiscard]] inline policy_reader read_description(checkpoint const& file, std::string const& where) {
    auto const found = file.metadata.find("policy");
    require(
        found != file.metadata.end(),
        "{}: this is a checkpoint, not a policy, which gmac::save_policy writes and gmac-train leaves in its folder "
        "as policy.safetensors",
        where);
    return policy_reader(found->second, where);
}

template <class Backend, class Trunk>
[[nodiscard]] deployed_policy<Backend, Trunk> restore_policy(checkpoint const& file, policy_reader const& reader,
                                                             Trunk trunk, std::string const& where) {
    deployed_policy<Backend, Trunk> policy(std::move(trunk), reader.description());
    load_checkpoint(file, where, [&](archive& state) { policy.persist(state); });
    require_sound(policy, where);
    return policy;
}

} // namespace detail

/// Writes a policy to a file, which is afterwards either wholly the new one or what it was before. Throws gmac::error.
///
///     gmac::save_policy("policy.safetensors", gmac::deploy(agent, worlds));
template <class Backend, class Trunk>
void save_policy(std::filesystem::path const& path, deployed_policy<Backend, Trunk> policy) {
    nlohmann::ordered_json json{{"trunk", detail::describe_trunk(policy.trunk())},
                                {"actor", detail::describe_actor(policy.description().actor)}};
    if (auto const* const numbers = std::get_if<discrete>(&policy.action_space()))
        json["actions"] = numbers->count;
    else
        json["action_size"] = policy.action_size();
    if (policy.description().observation_clip)
        json["observation_clip"] = *policy.description().observation_clip;
    save_checkpoint(path, {{"policy", json.dump()}}, [&](archive& state) { policy.persist(state); });
}

/// Reads a policy whose trunk is a multilayer perceptron. Throws gmac::error, which names the file and says what is wrong
/// with it, for every file that is not a whole policy.
template <nn::backend Backend = backends::simd<float>>
[[nodiscard]] deployed_policy<Backend> load_policy(std::filesystem::path const& path) {
    std::string const where = "policy " + path.string();
    checkpoint const file = parse_checkpoint(read_file(path), where);
    auto const reader = detail::read_description(file, where);
    require(!reader.has_atari_trunk(), "{}: it plays Atari games: read it by load_any_policy, or with its trunk",
            where);
    require(reader.has_mlp(), "{}: its trunk is not a multilayer perceptron: give it to load_policy, with its trunk",
            where);
    return detail::restore_policy<Backend>(file, reader, reader.mlp<Backend>(file.state.bytes()), where);
}

/// A policy with one of the library's trunks: observations in real numbers, or the screens of an Atari game.
template <nn::backend Backend = backends::simd<float>>
using any_policy = std::variant<deployed_policy<Backend>, deployed_policy<Backend, nn::atari_trunk<Backend>>>;

/// Reads a policy with either of the library's trunks, as load_policy does.
///
///     std::visit([](auto const& policy) { … }, gmac::load_any_policy("policy.safetensors"));
template <nn::backend Backend = backends::simd<float>>
[[nodiscard]] any_policy<Backend> load_any_policy(std::filesystem::path const& path) {
    std::string const where = "policy " + path.string();
    checkpoint const file = parse_checkpoint(read_file(path), where);
    auto const reader = detail::read_description(file, where);
    if (reader.has_atari_trunk())
        return detail::restore_policy<Backend>(file, reader, reader.atari_trunk<Backend>(file.state.bytes()), where);
    return load_policy<Backend>(path);
}

/// Reads a policy with a trunk of the caller's, which must have the stored tensors.
template <nn::backend Backend, class Trunk>
[[nodiscard]] deployed_policy<Backend, Trunk> load_policy(std::filesystem::path const& path, Trunk trunk) {
    std::string const where = "policy " + path.string();
    checkpoint const file = parse_checkpoint(read_file(path), where);
    return detail::restore_policy<Backend>(file, detail::read_description(file, where), std::move(trunk), where);
}

} // namespace gmac
