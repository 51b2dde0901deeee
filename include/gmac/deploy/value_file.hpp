// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/storage/checkpoint.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// A value in one safetensors file, as a policy is: the tensors of deployed_value::persist, and the string "value", a JSON
/// object of the rest. Opt-in: needs what checkpoints need (CMake: gmac::checkpoint).
namespace gmac::inline GMAC_ABI {

namespace detail {

[[nodiscard]] inline nlohmann::ordered_json describe_head(value_outputs const& head) {
    if (auto const* const mixture = std::get_if<mixture_outputs>(&head))
        return {{"kind", "gaussian_mixture"},
                {"components", mixture->components},
                {"scale", mixture->scale},
                {"floor", mixture->floor}};
    if (auto const* const points = std::get_if<point_outputs>(&head))
        return {{"kind", "dirac"}, {"points", points->points}};
    if (auto const* const grid = std::get_if<atom_outputs>(&head))
        return {{"kind", "categorical"}, {"atoms", grid->atoms}};
    if (auto const* const quantiles = std::get_if<heads::implicit_quantile>(&head))
        return {{"kind", "implicit_quantile"},
                {"fractions", quantiles->samples_per_state},
                {"embedding", quantiles->embedding},
                {"hidden", quantiles->hidden}};
    return {{"kind", "scalar"}};
}

class value_reader : public description_reader {
public:
    value_reader(checkpoint const& file, std::filesystem::path const& path) : description_reader(file, path, "value") {
        require(text("/trunk/kind") != "custom", "{}: its trunk is one of the program's that wrote it", where_);
    }

    /// For a trunk that gives so many features.
    [[nodiscard]] value_description description(std::size_t features, std::size_t bytes) const {
        return {head(features, bytes), observation_clip(), number("/reward_scale"), number("/discount"), range()};
    }

private:
    /// The file has as many times rows × columns numbers at least, so no more memory is taken than a few times its bytes.
    [[nodiscard]] std::size_t size(char const* place, std::size_t rows, std::size_t columns, std::size_t bytes) const {
        nlohmann::json const& count = at(place);
        require(count.is_number_unsigned() && count > 0u &&
                    count.get<double>() * static_cast<double>(rows) * static_cast<double>(columns) <=
                        static_cast<double>(bytes),
                "{}: {} is {}, but must be a positive whole number, and the file must have as many numbers", where_,
                place, count.dump());
        return count.get<std::size_t>();
    }

    [[nodiscard]] value_outputs head(std::size_t features, std::size_t bytes) const {
        std::string const kind = text("/head/kind");
        if (kind == "scalar")
            return heads::scalar{};
        if (kind == "gaussian_mixture")
            return mixture_outputs{size("/head/components", features + 1, 3, bytes), number("/head/scale"),
                                   number("/head/floor")};
        if (kind == "dirac")
            return point_outputs{size("/head/points", features + 1, 1, bytes)};
        if (kind == "implicit_quantile") {
            nlohmann::json const& fractions = at("/head/fractions"); // the file has none of them
            require(fractions.is_number_unsigned() && fractions > 0u && fractions <= 65536u,
                    "{}: /head/fractions is {}, but must be a whole number from 1 to 65536", where_, fractions.dump());
            return heads::implicit_quantile{.samples_per_state = fractions.get<std::size_t>(),
                                            .embedding = size("/head/embedding", features, 1, bytes),
                                            .hidden = size("/head/hidden", features + 1, 1, bytes)};
        }
        require(kind == "categorical",
                "{}: the head is {}, but must be \"scalar\", \"gaussian_mixture\", \"dirac\", \"categorical\" or "
                "\"implicit_quantile\"",
                where_, safetensors::in_quotes(kind));
        nlohmann::json const& list = at("/head/atoms");
        atom_outputs grid;
        require(list.is_array() && !list.empty(), "{}: /head/atoms is not a list of numbers", where_);
        require(static_cast<double>(list.size()) * static_cast<double>(features + 1) <= static_cast<double>(bytes),
                "{}: a value of {} atoms has more numbers than the file", where_, list.size());
        for (std::size_t i = 0; i < list.size(); ++i)
            grid.atoms.push_back(number(fmt::format("/head/atoms/{}", i)));
        return grid;
    }
};

template <class Backend, class Trunk>
[[nodiscard]] deployed_value<Backend, Trunk> restore_value(checkpoint const& file, value_reader const& reader,
                                                           Trunk trunk) {
    value_description const description = reader.description(trunk.outputs(), file.state.bytes());
    auto value = [&] {
        try {
            return deployed_value<Backend, Trunk>(std::move(trunk), description);
        } catch (error const& problem) {
            fail("{}: {}", reader.where(), problem.what());
        }
    }();
    load_checkpoint(file, reader.where(), [&](archive& state) { value.persist(state); });
    require_finite(value, reader.where());
    return value;
}

} // namespace detail

/// Writes a value to a file, as save_policy does a policy.
///
///     gmac::save_value("value.safetensors", gmac::deploy_value(agent, normalized));
template <class Backend, class Trunk>
void save_value(std::filesystem::path const& path, deployed_value<Backend, Trunk> value) {
    detail::require_finite(value, "value " + path.string());
    nlohmann::ordered_json json{{"trunk", detail::describe_trunk(value.trunk())},
                                {"head", detail::describe_head(value.description().head)},
                                {"reward_scale", value.description().reward_scale},
                                {"discount", value.description().discount}};
    detail::describe_observations(value.description(), json);
    save_checkpoint(path, {{"value", json.dump()}}, [&](archive& state) { value.persist(state); });
}

/// A value with one of the library's trunks: observations in real numbers, or images of bytes.
template <nn::backend Backend = backends::simd<float>>
using any_value = std::variant<deployed_value<Backend>, deployed_value<Backend, nn::image_trunk<Backend>>>;

/// Reads a value. Throws gmac::error, which names the file and says what is wrong with it, for every file that is not a whole one.
template <nn::backend Backend = backends::simd<float>>
[[nodiscard]] any_value<Backend> load_value(std::filesystem::path const& path) {
    checkpoint const file = read_checkpoint(path, "value");
    detail::value_reader const reader(file, path);
    std::size_t const bytes = file.state.bytes();
    if (reader.sees_images())
        return detail::restore_value<Backend>(file, reader, reader.image_trunk<Backend>(bytes));
    return detail::restore_value<Backend>(file, reader, reader.mlp<Backend>(bytes));
}

} // namespace gmac::inline GMAC_ABI
