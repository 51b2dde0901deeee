// SPDX-License-Identifier: Apache-2.0
#include "export/policies.hpp"

#include "support/extremes.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/actors/multi_categorical.hpp>
#include <gmac/environment/running_statistics.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace gmac::testing {

namespace {

using backend = backends::simd<float>;
using perceptron = nn::mlp<backend>;
using image_trunk = nn::image_trunk<backend>;

template <class Trunk>
[[nodiscard]] deployed_policy<backend, Trunk> random_policy(Trunk const& trunk, policy_description const& description) {
    deployed_policy<backend, Trunk> policy(trunk, description);
    random_stream random(1, policy.parameters().size());
    auto const parameters = policy.parameters();
    trunk.initialize(parameters.first(trunk.parameter_count()), random);
    auto const head = parameters.subspan(trunk.parameter_count());
    for (float& weight : head)
        weight = random.normal<float>() / std::sqrt(static_cast<float>(trunk.outputs()));
    for (std::size_t i = 0; i < parameters.size(); i += 3) // biases too
        parameters[i] += 0.05f * random.normal<float>();
    for (std::size_t i = 0; i < policy.observation_means().size(); ++i) {
        policy.observation_means()[i] = i % 3 == 0 ? 12345.678 : random.normal<double>();
        policy.observation_scales()[i] = i % 3 == 0 ? 10.0 : std::exp(random.normal<double>());
    }
    return policy;
}

/// Random observations, and the ends of the number line, or of a byte. A network whose input is not clipped gets no number
/// that overflows it.
template <class Policy>
[[nodiscard]] std::vector<typename Policy::observation_type> observations(Policy policy, std::size_t count) {
    using element = typename Policy::observation_type;
    random_stream random(5);
    auto const extreme = extremes<float>();
    auto const clip = policy.description().observation_clip;
    std::vector<element> all;
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < policy.observation_size(); ++j) {
            if constexpr (std::same_as<element, std::uint8_t>) {
                all.push_back(static_cast<std::uint8_t>(i == 0   ? 0
                                                        : i == 1 ? 255
                                                                 : random.below(i % 2 == 0 ? 2 : 256)));
            } else {
                double x = random.normal<double>();
                if (clip)
                    x = policy.observation_means()[j] + x / policy.observation_scales()[j];
                if (i % 4 == 0 && random.below(3) == 0)
                    x = clip && std::isfinite(*clip)
                            ? static_cast<double>(extreme[random.below(static_cast<std::uint32_t>(extreme.size()))])
                            : 100.0 * x;
                all.push_back(static_cast<float>(x));
            }
        }
    return all;
}

template <class Policy>
[[nodiscard]] answers library_answers(Policy policy, std::vector<typename Policy::observation_type> const& all) {
    using trunk_type = std::remove_cvref_t<decltype(policy.trunk())>;
    std::size_t const size = policy.observation_size(), count = all.size() / size;
    actor_shape const shape = shape_of(policy.description().actor, policy.action_space(), policy.trunk().outputs());
    policy_network<backend, trunk_type> const network(policy.trunk(), shape);
    auto workspace = network.make_workspace(count);
    auto seen = all;
    if constexpr (std::same_as<typename Policy::observation_type, float>)
        if (auto const clip = policy.description().observation_clip)
            for (std::size_t i = 0; i < seen.size(); ++i)
                seen[i] = gmac::detail::standardised(seen[i], policy.observation_means()[i % size],
                                                     policy.observation_scales()[i % size], *clip);
    auto const output = network.forward(policy.parameters(), {seen.data(), count, size}, workspace);
    auto const counts = action_counts(policy.action_space());
    answers result{shape.outputs,
                   policy.action_size(),
                   {},
                   std::vector<float>(count * policy.action_size()),
                   {counts.begin(), counts.end()}};
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < network.outputs(); ++j)
            (j < shape.outputs ? result.output : result.features).push_back(output(i, j));
    auto memory = policy.make_memory(count);
    policy.act({all.data(), count, size}, {result.action.data(), count, policy.action_size()}, memory);
    return result;
}

/// The policy with weights rounded to 1/127 of the largest of their column, as --int8 does.
template <class Policy>
[[nodiscard]] Policy rounded(Policy policy) {
    auto const parameters = policy.parameters();
    std::size_t offset = 0;
    auto const round = [&](std::size_t rows, std::size_t columns) {
        auto const weight = parameters.subspan(offset, rows * columns);
        for (std::size_t j = 0; j < columns; ++j) {
            float largest = 0.0f;
            for (std::size_t i = 0; i < rows; ++i)
                largest = std::max(largest, std::abs(weight[i * columns + j]));
            float const step = largest / 127.0f;
            for (std::size_t i = 0; i < rows && largest > 0.0f; ++i)
                weight[i * columns + j] = std::round(weight[i * columns + j] / step) * step;
        }
        offset += (rows + 1) * columns;
    };
    policy.trunk().describe([&](std::string_view name, std::size_t, std::size_t rows, std::size_t columns) {
        if (name.ends_with("weight"))
            round(rows, columns);
    });
    std::size_t const features = policy.trunk().outputs();
    round(features,
          std::visit([&](auto const& a) { return a.output_size(policy.action_space()); }, policy.description().actor));
    return policy;
}

template <class T>
void write_bytes(std::filesystem::path const& file, std::vector<T> const& all) {
    spit(file, {reinterpret_cast<char const*>(all.data()), all.size() * sizeof(T)});
}

} // namespace

std::vector<subject> policies() {
    float const none = std::numeric_limits<float>::infinity();
    actors::diagonal_gaussian const from_network{.deviations = actors::deviation_model::state_dependent};
    std::vector<subject> all;
    all.push_back({"robot", random_policy(perceptron({11, 64, 32}),
                                          {actors::diagonal_gaussian{}, box::uniform(3, -1.0f, 1.0f), 10.0})});
    all.push_back({"deviations", random_policy(perceptron({5, 33, 20}, {.function = nn::activation::relu}),
                                               {from_network, box{{-0.5f, -none, 0.0f}, {0.25f, none, none}},
                                                std::numeric_limits<double>::infinity()})});
    all.push_back({"discrete", random_policy(perceptron({4, 16, 9}, {.activate_last = false}),
                                             {actors::categorical{}, discrete{5}})});
    all.push_back({"linear", random_policy(perceptron({2, 7}, {.function = nn::activation::none}),
                                           {actors::categorical{}, discrete{3}, 0.8})});
    all.push_back({"frames", random_policy(image_trunk({.input = {20, 18, 3},
                                                        .convolutions = {{8, 5, 2}, {5, 3, 1}, {6, 2, 2}},
                                                        .hidden = {16}}),
                                           {actors::categorical{}, discrete{4}})});
    all.push_back({"grid", random_policy(image_trunk({.input = {10, 10, 4},
                                                      .layout = nn::image_layout::channels_last,
                                                      .byte_scale = 1.0,
                                                      .convolutions = {{16, 3, 1}},
                                                      .hidden = {32, 8}}),
                                         {from_network, box::uniform(2, -1.0f, 2.0f)})});
    all.push_back({"several", random_policy(perceptron({6, 12, 10}), {actors::multi_categorical{{{3, 1, 5, 2}}},
                                                                      multi_discrete{{3, 1, 5, 2}}, 5.0})});
    all.push_back({"exploring",
                   random_policy(perceptron({5, 17, 12}),
                                 {actors::state_dependent_exploration{.floor = 0.2}, box::uniform(2, -2.0f, 1.0f)})});
    return all;
}

void save(subject const& one, std::filesystem::path const& file) {
    std::visit([&](auto const& policy) { save_policy(file, policy); }, one.policy);
}

any_value<> value_for(subject const& one, value_outputs const& head, bool shared) {
    return std::visit(
        [&](auto policy) -> any_value<> {
            using trunk_type = std::remove_cvref_t<decltype(policy.trunk())>;
            deployed_value<backend, trunk_type> value(policy.trunk(),
                                                      {head, policy.description().observation_clip, 2.5, 0.99});
            std::ranges::copy(policy.observation_means(), value.observation_means().begin());
            std::ranges::copy(policy.observation_scales(), value.observation_scales().begin());
            random_stream random(2, value.parameters().size());
            std::size_t const trunk = policy.trunk().parameter_count();
            policy.trunk().initialize(value.parameters().first(trunk), random);
            if (shared)
                std::copy_n(policy.parameters().data(), trunk, value.parameters().data());
            for (float& weight : value.parameters().subspan(trunk))
                weight = random.normal<float>() / std::sqrt(static_cast<float>(policy.trunk().outputs()));
            return value;
        },
        one.policy);
}

std::vector<normal_component<double>> expect(any_value<> const& value, std::filesystem::path const& observations) {
    return std::visit(
        [&](auto const& one) {
            using element = typename std::remove_cvref_t<decltype(one)>::observation_type;
            std::string const bytes = slurp(observations);
            std::vector<element> all(bytes.size() / sizeof(element));
            std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(all.data()));
            std::vector<normal_component<double>> result;
            auto memory = one.make_memory();
            for (std::size_t i = 0; i < all.size(); i += one.observation_size()) {
                auto const parts = one.predict(std::span(all).subspan(i, one.observation_size()), memory);
                result.insert(result.end(), parts.begin(), parts.end());
            }
            return result;
        },
        value);
}

answers observe(subject const& one, std::size_t count, std::filesystem::path const& file, bool int8) {
    return std::visit(
        [&](auto const& policy) {
            auto const all = observations(policy, count);
            write_bytes(file, all);
            return library_answers(int8 ? rounded(policy) : policy, all);
        },
        one.policy);
}

float deviation_of(subject const& one, answers const& given, std::size_t i) {
    return std::visit(
        [&](auto const& policy) {
            std::size_t const j = i % given.actions, row = i / given.actions;
            if (auto const* const exploring =
                    std::get_if<actors::state_dependent_exploration>(&policy.description().actor)) {
                std::size_t const features = policy.trunk().outputs();
                auto const free = policy.parameters().last(given.actions * features);
                double sum = exploring->floor * exploring->floor;
                for (std::size_t f = 0; f < features; ++f) {
                    double const feature = given.features[row * features + f];
                    sum += std::pow(feature * std::exp(static_cast<double>(free[j * features + f])), 2);
                }
                return static_cast<float>(std::sqrt(sum));
            }
            auto const& actor = std::get<actors::diagonal_gaussian>(policy.description().actor);
            if (actor.deviations == actors::deviation_model::state_independent)
                return std::exp(policy.parameters().last(given.actions)[j]);
            double const raw = given.output[row * given.outputs + given.actions + j];
            double const softplus = std::max(raw, 0.0) + std::log1p(std::exp(-std::abs(raw)));
            return static_cast<float>(std::sqrt(softplus + actor.floor * actor.floor));
        },
        one.policy);
}

} // namespace gmac::testing
