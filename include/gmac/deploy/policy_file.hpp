// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/deploy/policy.hpp>
#include <gmac/nn/atari_trunk.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/storage/checkpoint.hpp>
#include <gmac/storage/json.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <limits>
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

/// JSON has no infinity: a string stands for it.
inline constexpr char const* infinity = "infinity";

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
    policy_reader(checkpoint const& file, std::filesystem::path const& path) : where_("policy " + path.string()) {
        auto const found = file.metadata.find("policy");
        require(
            found != file.metadata.end(),
            "{}: this is a checkpoint, not a policy, which gmac::save_policy writes and gmac-train leaves in its folder "
            "as policy.safetensors",
            where_);
        json_ = parse_json(found->second, where_ + ": the description of the policy");
        require(json_.is_object(), "{}: the description of the policy is not a JSON object", where_);
    }

    [[nodiscard]] std::string const& where() const noexcept { return where_; }

    [[nodiscard]] bool has_atari_trunk() const { return text("/trunk/kind") == "atari"; }

    /// Here and below: memory is taken for no more numbers than the file's `bytes` can hold.
    template <class Backend>
    [[nodiscard]] nn::mlp<Backend> mlp(std::size_t bytes) const {
        require(!has_atari_trunk(), "{}: it plays Atari games: read it by load_any_policy, or with its trunk", where_);
        require(text("/trunk/kind") == "mlp",
                "{}: its trunk is not a multilayer perceptron: give it to load_policy, with its trunk", where_);
        nlohmann::json const& list = at("/trunk/widths");
        bool fits = list.is_array() && list.size() >= 2;
        std::vector<std::size_t> widths;
        double size = 0.0;
        for (std::size_t i = 0; fits && i < list.size(); ++i) {
            fits = list[i].is_number_unsigned() && list[i] > 0u;
            widths.push_back(fits ? list[i].get<std::size_t>() : 0);
            if (i > 0)
                size += static_cast<double>(widths[i - 1]) * static_cast<double>(widths[i]);
        }
        require(fits, "{}: the widths of the trunk are {}, but must be at least two positive numbers", where_,
                list.dump());
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
        bool const fits = frames.is_number_unsigned() && frames > 0u && units.is_number_unsigned() && units > 0u;
        // The weights of the first and the last layer.
        double const size = fits ? 64.0 * 32.0 * frames.get<double>() + 7.0 * 7.0 * 32.0 * units.get<double>() : 0.0;
        require(
            fits && size * sizeof(typename Backend::scalar) <= static_cast<double>(bytes),
            "{}: the trunk has {} frames and {} units, but must have at least one of each, and no more weights than "
            "the file has numbers",
            where_, frames.dump(), units.dump());
        return nn::atari_trunk<Backend>({.frames = frames.get<std::size_t>(), .units = units.get<std::size_t>()});
    }

    /// For a trunk that gives so many features.
    [[nodiscard]] policy_description description(std::size_t features, std::size_t bytes) const {
        policy_description result{actor(), action_space(features, bytes), {}};
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
        if (at(place) == infinity)
            return std::numeric_limits<double>::infinity();
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
    [[nodiscard]] gmac::action_space action_space(std::size_t features, std::size_t bytes) const {
        bool const real = json_.contains("action_size");
        nlohmann::json const& count = at(real ? "/action_size" : "/actions");
        std::string_view const what = real ? "action elements" : "actions";
        require(count.is_number_unsigned() && count > 0u, "{}: the policy has {} {}, but must have at least 1", where_,
                count.dump(), what);
        // The actor's layer has at least a row of weights and a bias for each.
        require(count.get<double>() * static_cast<double>(features + 1) * sizeof(float) <= static_cast<double>(bytes),
                "{}: a policy with {} {} has more numbers than the file", where_, count.dump(), what);
        if (real)
            return box::uniform(count.get<std::size_t>(), 0.0f, 0.0f); // the file has the bounds
        return discrete{count.get<std::size_t>()};
    }

    nlohmann::json json_;
    std::string where_;
};

/// Throws gmac::error for a number that no trained policy has; asked of what is written and of what was read.
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

template <class Backend, class Trunk>
[[nodiscard]] deployed_policy<Backend, Trunk> restore_policy(checkpoint const& file, policy_reader const& reader,
                                                             Trunk trunk) {
    policy_description const description = reader.description(trunk.outputs(), file.state.bytes());
    deployed_policy<Backend, Trunk> policy(std::move(trunk), description);
    load_checkpoint(file, reader.where(), [&](archive& state) { policy.persist(state); });
    require_sound(policy, reader.where());
    return policy;
}

} // namespace detail

/// Writes a policy to a file, which is afterwards either wholly the new one or what it was before. Throws gmac::error,
/// also for a number that is not finite.
///
///     gmac::save_policy("policy.safetensors", gmac::deploy(agent, worlds));
template <class Backend, class Trunk>
void save_policy(std::filesystem::path const& path, deployed_policy<Backend, Trunk> policy) {
    detail::require_sound(policy, "policy " + path.string());
    nlohmann::ordered_json json{{"trunk", detail::describe_trunk(policy.trunk())},
                                {"actor", detail::describe_actor(policy.description().actor)}};
    if (auto const* const numbers = std::get_if<discrete>(&policy.action_space()))
        json["actions"] = numbers->count;
    else
        json["action_size"] = policy.action_size();
    if (auto const clip = policy.description().observation_clip)
        json["observation_clip"] =
            std::isinf(*clip) ? nlohmann::ordered_json(detail::infinity) : nlohmann::ordered_json(*clip);
    save_checkpoint(path, {{"policy", json.dump()}}, [&](archive& state) { policy.persist(state); });
}

/// A policy with one of the library's trunks: observations in real numbers, or the screens of an Atari game.
template <nn::backend Backend = backends::simd<float>>
using any_policy = std::variant<deployed_policy<Backend>, deployed_policy<Backend, nn::atari_trunk<Backend>>>;

/// Reads a policy with either of the library's trunks. Throws gmac::error, which names the file and says what is wrong
/// with it, for every file that is not a whole policy.
///
///     std::visit([](auto const& policy) { … }, gmac::load_any_policy("policy.safetensors"));
template <nn::backend Backend = backends::simd<float>>
[[nodiscard]] any_policy<Backend> load_any_policy(std::filesystem::path const& path) {
    checkpoint const file = read_checkpoint(path, "policy");
    detail::policy_reader const reader(file, path);
    std::size_t const bytes = file.state.bytes();
    if (reader.has_atari_trunk())
        return detail::restore_policy<Backend>(file, reader, reader.atari_trunk<Backend>(bytes));
    return detail::restore_policy<Backend>(file, reader, reader.mlp<Backend>(bytes));
}

/// Reads a policy whose trunk is a multilayer perceptron, as load_any_policy does.
template <nn::backend Backend = backends::simd<float>>
[[nodiscard]] deployed_policy<Backend> load_policy(std::filesystem::path const& path) {
    checkpoint const file = read_checkpoint(path, "policy");
    detail::policy_reader const reader(file, path);
    return detail::restore_policy<Backend>(file, reader, reader.mlp<Backend>(file.state.bytes()));
}

/// Reads a policy with a trunk of the caller's, which must have the stored tensors.
template <nn::backend Backend, class Trunk>
[[nodiscard]] deployed_policy<Backend, Trunk> load_policy(std::filesystem::path const& path, Trunk trunk) {
    checkpoint const file = read_checkpoint(path, "policy");
    return detail::restore_policy<Backend>(file, detail::policy_reader(file, path), std::move(trunk));
}

} // namespace gmac
