// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/deploy/policy.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/storage/checkpoint.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
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
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

/// A policy in one safetensors file, in the format of a checkpoint: the tensors of deployed_policy::persist, and the string
/// "policy", a JSON object of the rest. Opt-in: needs what checkpoints need (CMake: gmac::checkpoint).
namespace gmac::inline GMAC_ABI {

namespace detail {

inline constexpr std::array activation_names{std::pair(nn::activation::none, std::string_view("none")),
                                             std::pair(nn::activation::tanh, std::string_view("tanh")),
                                             std::pair(nn::activation::relu, std::string_view("relu"))};

/// JSON has no infinity: a string stands for it.
inline constexpr char const* infinity_text = "infinity";

template <class Trunk>
inline constexpr bool is_mlp = false;
template <class Backend>
inline constexpr bool is_mlp<nn::mlp<Backend>> = true;

template <class Trunk>
inline constexpr bool is_image_trunk = false;
template <class Backend>
inline constexpr bool is_image_trunk<nn::image_trunk<Backend>> = true;

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
    } else if constexpr (is_image_trunk<Trunk>) {
        auto const& [input, layout, byte_scale, convolutions, hidden, gain] = trunk.options();
        auto list = nlohmann::ordered_json::array();
        for (auto const& [filters, kernel, stride] : convolutions)
            list.push_back({filters, kernel, stride});
        return {{"kind", "images"},
                {"input", {input.height, input.width, input.channels}},
                {"channels_first", layout == nn::image_layout::channels_first},
                {"byte_scale", byte_scale},
                {"convolutions", list},
                {"hidden", hidden}};
    }
    return {{"kind", "custom"}, {"inputs", trunk.inputs()}, {"outputs", trunk.outputs()}};
}

/// What a network sees.
template <class Description>
void describe_observations(Description const& description, nlohmann::ordered_json& json) {
    if (auto const clip = description.observation_clip)
        json["observation_clip"] =
            std::isinf(*clip) ? nlohmann::ordered_json(infinity_text) : nlohmann::ordered_json(*clip);
    if (auto const& range = description.range)
        json["statistic"] = {{"kind", name_of(range->kind)}, {"low", range->low}, {"high", range->high}};
}

[[nodiscard]] inline nlohmann::ordered_json describe_actor(policy_actor const& actor) {
    if (auto const* const exploring = std::get_if<actors::state_dependent_exploration>(&actor))
        return {{"kind", "state_dependent_exploration"},
                {"initial_deviation", exploring->initial_deviation},
                {"floor", exploring->floor},
                {"noise_steps", exploring->noise_steps},
                {"learn_features", exploring->learn_features}};
    auto const* const gaussian = std::get_if<actors::diagonal_gaussian>(&actor);
    if (!gaussian) // a list of actions says the rest
        return {{"kind", std::holds_alternative<actors::categorical>(actor) ? "categorical" : "multi_categorical"}};
    bool const dependent = gaussian->deviations == actors::deviation_model::state_dependent;
    return {{"kind", "diagonal_gaussian"},
            {"deviations", dependent ? "state_dependent" : "state_independent"},
            {"initial_deviation", gaussian->initial_deviation},
            {"floor", gaussian->floor}};
}

/// Reads the description of a policy or a value, and says what is missing or of another type.
class description_reader {
public:
    /// `what` is the one or the other.
    description_reader(checkpoint const& file, std::filesystem::path const& path, std::string_view what)
        : what_(what), where_(fmt::format("{} {}", what, path.string())) {
        auto const found = file.metadata.find(what_);
        if (found == file.metadata.end()) {
            std::string_view const other = what == "policy" ? "value" : "policy";
            fail(
                "{}: this is a {}, not a {}, which gmac::save_{} writes and gmac-train leaves in its folder as "
                "{}.safetensors",
                where_, file.metadata.contains(std::string(other)) ? other : "checkpoint", what, what, what);
        }
        json_ = parse_json(found->second, fmt::format("{}: the description of the {}", where_, what_));
        require(json_.is_object(), "{}: the description of the {} is not a JSON object", where_, what_);
    }

    [[nodiscard]] std::string const& where() const noexcept { return where_; }

    [[nodiscard]] bool sees_images() const { return text("/trunk/kind") == "images"; }

    /// Here and below: memory is taken for no more numbers than the file's `bytes` can hold.
    template <class Backend>
    [[nodiscard]] nn::mlp<Backend> mlp(std::size_t bytes) const {
        require(!sees_images(), "{}: it sees images: read it by load_any_policy, or with its trunk", where_);
        require(text("/trunk/kind") == "mlp",
                "{}: its trunk is not a multilayer perceptron: give it to load_policy, with its trunk", where_);
        std::vector<std::size_t> const widths = sizes("/trunk/widths", 2);
        double size = 0.0;
        for (std::size_t i = 1; i < widths.size(); ++i)
            size += static_cast<double>(widths[i - 1]) * static_cast<double>(widths[i]);
        require_held(size * sizeof(typename Backend::scalar), bytes);
        std::string const name = text("/trunk/activation");
        std::optional<nn::activation> function;
        for (auto const& [known, known_name] : activation_names)
            if (name == known_name)
                function = known;
        require(function.has_value(), "{}: the activation of the trunk is {}, but must be none, tanh or relu", where_,
                safetensors::in_quotes(name));
        return nn::mlp<Backend>(widths, {.function = *function, .activate_last = boolean("/trunk/activate_last")});
    }

    template <class Backend>
    [[nodiscard]] nn::image_trunk<Backend> image_trunk(std::size_t bytes) const {
        auto const input = sizes("/trunk/input", 3, 3);
        nn::image_trunk_options options{.input = {input[0], input[1], input[2]},
                                        .layout = boolean("/trunk/channels_first") ? nn::image_layout::channels_first
                                                                                   : nn::image_layout::channels_last,
                                        .byte_scale = number("/trunk/byte_scale"),
                                        .convolutions = {},
                                        .hidden = sizes("/trunk/hidden", 1)};
        nlohmann::json const& list = at("/trunk/convolutions");
        require(list.is_array() && !list.empty(), "{}: /trunk/convolutions is {}, but must be a list", where_,
                list.dump());
        double height = static_cast<double>(input[0]), width = static_cast<double>(input[1]);
        double channels = static_cast<double>(input[2]), size = 0.0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            auto const one = sizes(fmt::format("/trunk/convolutions/{}", i), 3, 3);
            auto const [filters, kernel, stride] =
                std::tuple(static_cast<double>(one[0]), static_cast<double>(one[1]), static_cast<double>(one[2]));
            size += kernel * kernel * channels * filters;
            height = std::floor((height - kernel) / stride) + 1.0;
            width = std::floor((width - kernel) / stride) + 1.0;
            channels = filters;
            options.convolutions.push_back({one[0], one[1], one[2]});
        }
        for (double inputs = height * width * channels; std::size_t const units : options.hidden) {
            size += inputs * static_cast<double>(units);
            inputs = static_cast<double>(units);
        }
        require_held(size * sizeof(typename Backend::scalar), bytes);
        try {
            return nn::image_trunk<Backend>(std::move(options));
        } catch (error const& problem) {
            fail("{}: the trunk cannot be made: {}", where_, problem.what());
        }
    }

protected:
    [[nodiscard]] nlohmann::json const& at(std::string const& place) const {
        nlohmann::json::json_pointer const pointer(place);
        require(json_.contains(pointer), "{}: the description of the {} has no {}", where_, what_, place);
        return json_[pointer];
    }
    [[nodiscard]] std::string text(char const* place) const {
        require(at(place).is_string(), "{}: {} is not a string", where_, place);
        return at(place).get<std::string>();
    }
    [[nodiscard]] bool boolean(char const* place) const {
        require(at(place).is_boolean(), "{}: {} is not a boolean", where_, place);
        return at(place).get<bool>();
    }
    /// A list of positive whole numbers.
    [[nodiscard]] std::vector<std::size_t> sizes(std::string const& place, std::size_t least,
                                                 std::size_t most = (std::numeric_limits<std::size_t>::max)()) const {
        nlohmann::json const& list = at(place);
        bool fits = list.is_array() && list.size() >= least && list.size() <= most;
        std::vector<std::size_t> found;
        for (std::size_t i = 0; fits && i < list.size(); ++i) {
            fits = list[i].is_number_unsigned() && list[i] > 0u;
            found.push_back(fits ? list[i].get<std::size_t>() : 0);
        }
        require(fits, "{}: {} is {}, but must be {}{} positive whole numbers", where_, place, list.dump(),
                most == least ? "" : "at least ", least);
        return found;
    }
    void require_held(double size, std::size_t bytes) const {
        require(size <= static_cast<double>(bytes), "{}: the trunk has more numbers than the file", where_);
    }
    [[nodiscard]] double number(std::string const& place) const {
        if (at(place) == infinity_text)
            return std::numeric_limits<double>::infinity();
        require(at(place).is_number(), "{}: {} is not a number", where_, place);
        return at(place).get<double>();
    }
    [[nodiscard]] std::size_t count(std::string const& place) const {
        require(at(place).is_number_unsigned(), "{}: {} is not a whole number", where_, place);
        return at(place).get<std::size_t>();
    }
    [[nodiscard]] std::optional<statistic_range> range() const {
        if (!json_.contains("statistic"))
            return {};
        std::string const name = text("/statistic/kind");
        auto const kind = statistic_kind_of(name);
        require(kind.has_value(), "{}: /statistic/kind is {}, which is no statistic", where_,
                safetensors::in_quotes(name));
        statistic_range const found{*kind, number("/statistic/low"), number("/statistic/high")};
        try {
            validate(found);
        } catch (error const& problem) {
            fail("{}: {}", where_, problem.what());
        }
        return found;
    }
    [[nodiscard]] std::optional<double> observation_clip() const {
        return json_.contains("observation_clip") ? std::optional(number("/observation_clip")) : std::nullopt;
    }

    std::string what_, where_;
    nlohmann::json json_;
};

class policy_reader : public description_reader {
public:
    policy_reader(checkpoint const& file, std::filesystem::path const& path)
        : description_reader(file, path, "policy") {}

    /// For a trunk that gives so many features.
    [[nodiscard]] policy_description description(std::size_t features, std::size_t bytes) const {
        auto space = action_space(features, bytes);
        auto acting = actor(space);
        return {std::move(acting), std::move(space), observation_clip(), range()};
    }

private:
    [[nodiscard]] policy_actor actor(gmac::action_space const& space) const {
        std::string const kind = text("/actor/kind");
        if (kind == "categorical")
            return actors::categorical{};
        if (kind == "multi_categorical") {
            auto const* const several = std::get_if<multi_discrete>(&space);
            return several ? actors::multi_categorical{*several} : actors::multi_categorical{};
        }
        if (kind == "state_dependent_exploration")
            return actors::state_dependent_exploration{.initial_deviation = number("/actor/initial_deviation"),
                                                       .floor = number("/actor/floor"),
                                                       .noise_steps = count("/actor/noise_steps"),
                                                       .learn_features = boolean("/actor/learn_features")};
        require(kind == "diagonal_gaussian",
                "{}: the actor is {}, but must be \"categorical\", \"multi_categorical\", \"diagonal_gaussian\" or "
                "\"state_dependent_exploration\"",
                where_, safetensors::in_quotes(kind));
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
        if (!real && at("/actions").is_array()) {
            multi_discrete space{sizes("/actions", 1)};
            double sum = 0.0;
            for (std::size_t const count : space.counts)
                sum += static_cast<double>(count);
            require_actor_held(at("/actions").dump(), sum, "actions", features, bytes);
            return space;
        }
        nlohmann::json const& count = at(real ? "/action_size" : "/actions");
        std::string_view const what = real ? "action elements" : "actions";
        require(count.is_number_unsigned() && count > 0u, "{}: the policy has {} {}, but must have at least 1", where_,
                count.dump(), what);
        require_actor_held(count.dump(), count.get<double>(), what, features, bytes);
        if (real)
            return box::uniform(count.get<std::size_t>(), 0.0f, 0.0f); // the file has the bounds
        return discrete{count.get<std::size_t>()};
    }
    /// The actor's layer has at least a row of weights and a bias for each.
    void require_actor_held(std::string const& text, double count, std::string_view what, std::size_t features,
                            std::size_t bytes) const {
        require(count * static_cast<double>(features + 1) * sizeof(float) <= static_cast<double>(bytes),
                "{}: a policy with {} {} has more numbers than the file", where_, text, what);
    }
};

/// Throws gmac::error for a number that no trained network has; asked of what is written and of what was read.
template <class Deployed>
void require_finite(Deployed& network, std::string_view where) {
    auto const ask = [&](auto numbers, std::string_view what) {
        for (std::size_t i = 0; i < numbers.size(); ++i)
            require(std::isfinite(numbers[i]), "{}: {} {} is {}, but must be finite", where, what, i, numbers[i]);
    };
    ask(network.parameters(), "parameter");
    ask(network.observation_means(), "observation mean");
    ask(network.observation_scales(), "observation scale");
}

template <class Backend, class Trunk>
void require_sound(deployed_policy<Backend, Trunk>& policy, std::string_view where) {
    require_finite(policy, where);
    if (auto const* const bounds = std::get_if<box>(&policy.action_space()))
        for (std::size_t j = 0; j < bounds->size(); ++j)
            require(bounds->low[j] <= bounds->high[j], "{}: the bounds of action element {} are [{}, {}]", where, j,
                    bounds->low[j], bounds->high[j]);
}

template <class Backend, class Trunk>
[[nodiscard]] deployed_policy<Backend, Trunk> restore_policy(checkpoint const& file, policy_reader const& reader,
                                                             Trunk trunk) {
    policy_description const description = reader.description(trunk.outputs(), file.state.bytes());
    auto policy = [&] {
        try {
            return deployed_policy<Backend, Trunk>(std::move(trunk), description);
        } catch (error const& problem) {
            fail("{}: {}", reader.where(), problem.what());
        }
    }();
    load_checkpoint(file, reader.where(), [&](archive& state) { policy.persist(state); });
    require_sound(policy, reader.where());
    return policy;
}

} // namespace detail

/// Writes a policy to a file, which is afterwards either wholly the new one or what it was before. Throws gmac::error,
/// also for a number that is not finite. The notes are kept beside it, in the file's metadata, for whoever reads them by
/// read_checkpoint.
///
///     gmac::save_policy("policy.safetensors", gmac::deploy(agent, normalized));
template <class Backend, class Trunk>
void save_policy(std::filesystem::path const& path, deployed_policy<Backend, Trunk> policy,
                 checkpoint_metadata notes = {}) {
    require(!notes.contains("policy"), "policy {}: a note is named \"policy\", but that is the policy's description",
            path.string());
    detail::require_sound(policy, "policy " + path.string());
    nlohmann::ordered_json json{{"trunk", detail::describe_trunk(policy.trunk())},
                                {"actor", detail::describe_actor(policy.description().actor)}};
    if (auto const* const numbers = std::get_if<discrete>(&policy.action_space()))
        json["actions"] = numbers->count;
    else if (auto const* const several = std::get_if<multi_discrete>(&policy.action_space()))
        json["actions"] = several->counts;
    else
        json["action_size"] = policy.action_size();
    detail::describe_observations(policy.description(), json);
    notes["policy"] = json.dump();
    save_checkpoint(path, notes, [&](archive& state) { policy.persist(state); });
}

/// A policy with one of the library's trunks: observations in real numbers, or images of bytes.
template <nn::backend Backend = backends::simd<float>>
using any_policy = std::variant<deployed_policy<Backend>, deployed_policy<Backend, nn::image_trunk<Backend>>>;

/// Reads a policy with either of the library's trunks. Throws gmac::error, which names the file and says what is wrong
/// with it, for every file that is not a whole policy.
///
///     std::visit([](auto const& policy) { … }, gmac::load_any_policy("policy.safetensors"));
template <nn::backend Backend = backends::simd<float>>
[[nodiscard]] any_policy<Backend> load_any_policy(std::filesystem::path const& path) {
    checkpoint const file = read_checkpoint(path, "policy");
    detail::policy_reader const reader(file, path);
    std::size_t const bytes = file.state.bytes();
    if (reader.sees_images())
        return detail::restore_policy<Backend>(file, reader, reader.image_trunk<Backend>(bytes));
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

} // namespace gmac::inline GMAC_ABI
