// SPDX-License-Identifier: Apache-2.0
#include "policy_layers.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/nn/cosine_embedding.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <utility>

namespace gmac::examples::exporting {

namespace {

/// Takes the layers' numbers one after the other, as they lie in a policy.
class taker {
public:
    explicit taker(std::span<float const> all) : rest_(all) {}

    [[nodiscard]] std::vector<float> take(std::size_t count) {
        std::vector<float> part(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count));
        rest_ = rest_.subspan(count);
        return part;
    }
    [[nodiscard]] numbers take(std::size_t rows, std::size_t outputs) {
        auto weight = take(rows * outputs);
        return {outputs, std::move(weight), take(outputs)};
    }
    [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

private:
    std::span<float const> rest_;
};

template <class Policy>
[[nodiscard]] normalisation normalisation_of(Policy& policy) {
    normalisation result{.mean = {},
                         .rest = {},
                         .scale = {},
                         .clip = static_cast<float>(*policy.description().observation_clip)};
    for (std::size_t i = 0; i < policy.observation_size(); ++i) {
        double const mean = policy.observation_means()[i], scale = policy.observation_scales()[i];
        result.mean.push_back(static_cast<float>(mean));
        result.rest.push_back(static_cast<float>(mean - static_cast<double>(result.mean.back())));
        result.scale.push_back(static_cast<float>(scale));
        require(std::isfinite(result.mean.back()) && std::isfinite(result.scale.back()),
                "observation element {} has the mean {} and the scale {}, but both must fit into a float", i, mean,
                scale);
    }
    return result;
}

void add_trunk(nn::mlp<backends::simd<float>> const& trunk, taker& parameters, std::vector<layer>& layers) {
    for (auto const& one : trunk.layers())
        layers.emplace_back(dense{parameters.take(one.inputs(), one.outputs()), one.options().function});
}

void add_trunk(nn::image_trunk<backends::simd<float>> const& trunk, taker& parameters, std::vector<layer>& layers) {
    nn::image_trunk_options const& options = trunk.options();
    layers.emplace_back(pixels{options.input, options.layout == nn::image_layout::channels_first,
                               static_cast<float>(options.byte_scale)});
    nn::image_shape shape = options.input;
    for (auto const& [filters, kernel, stride] : options.convolutions) {
        nn::convolution_shape const one{shape, filters, kernel, stride};
        layers.emplace_back(convolution{one, parameters.take(one.window(), filters), nn::activation::relu});
        shape = one.output();
    }
    std::size_t inputs = shape.size();
    for (std::size_t const units : options.hidden)
        layers.emplace_back(dense{parameters.take(std::exchange(inputs, units), units), nn::activation::relu});
}

template <class Policy>
[[nodiscard]] policy_layers read(Policy policy) {
    policy_layers result{policy.observation_size(), {}, policy.action_space(), policy.description().actor};
    if (policy.description().observation_clip)
        result.layers.emplace_back(normalisation_of(policy));
    taker parameters(policy.parameters());
    add_trunk(policy.trunk(), parameters, result.layers);
    std::size_t const features = policy.trunk().outputs();
    actor_shape const shape = shape_of(result.actor, policy.action_space(), features);
    result.layers.emplace_back(dense{parameters.take(features, shape.outputs)});
    result.log_deviations = parameters.take(shape.free);
    return result;
}

/// φ of the fractions at the midpoints, [fractions, features], and the layers behind.
void add_quantiles(heads::implicit_quantile const& head, std::size_t features, taker& parameters, value_layers& to) {
    std::size_t const count = head.samples_per_state;
    std::vector<float> fractions, cosines(count * head.embedding);
    for (double const fraction : midpoints(count))
        fractions.push_back(static_cast<float>(fraction));
    nn::cosine_embedding(vector_view<float const>(fractions.data(), count),
                         matrix_view<float>(cosines.data(), count, head.embedding));
    nn::linear<backends::simd<float>> const embedding(head.embedding, features, {.function = nn::activation::relu});
    to.embedded.resize(count * features);
    embedding.apply(parameters.take(embedding.parameter_count()), {cosines.data(), count, head.embedding},
                    {to.embedded.data(), count, features});
    to.hidden = {parameters.take(features, head.hidden), nn::activation::relu};
    to.quantile = {parameters.take(head.hidden, 1)};
}

template <class Value>
[[nodiscard]] value_layers read_value(Value value) {
    value_layers result{.observation_size = value.observation_size(), .layers = {}, .description = value.description()};
    if (value.description().observation_clip)
        result.layers.emplace_back(normalisation_of(value));
    taker parameters(value.parameters());
    add_trunk(value.trunk(), parameters, result.layers);
    std::size_t const features = value.trunk().outputs();
    if (auto const* const quantiles = std::get_if<heads::implicit_quantile>(&result.description.head))
        add_quantiles(*quantiles, features, parameters, result);
    else
        result.layers.emplace_back(dense{parameters.take(features, parameters.left() / (features + 1))});
    return result;
}

/// Calls visit(numbers) for each layer that has some, in the order of the policy's parameters.
template <class Layers, class Visit>
void for_each_numbers(Layers& layers, Visit&& visit) {
    for (auto& one : layers)
        std::visit(
            [&](auto& of_kind) {
                if constexpr (requires { of_kind.of; })
                    visit(of_kind.of);
            },
            one);
}

void round(numbers& of) {
    of.steps.assign(of.outputs, 0.0f);
    for (std::size_t i = 0; i < of.weight.size(); ++i)
        of.steps[i % of.outputs] = std::max(of.steps[i % of.outputs], std::abs(of.weight[i]));
    for (float& step : of.steps)
        step = step / 127.0f > 0.0f ? step / 127.0f : 1.0f;
    for (std::size_t i = 0; i < of.weight.size(); ++i)
        of.weight[i] = std::clamp(std::round(of.weight[i] / of.steps[i % of.outputs]), -127.0f, 127.0f);
}

template <class Policy>
void draw(Policy& policy, random_stream& random, std::span<float> observation) {
    for (std::size_t i = 0; i < observation.size(); ++i) {
        auto number = random.normal<double>();
        if (policy.description().observation_clip && policy.observation_scales()[i] > 0.0)
            number = policy.observation_means()[i] + number / policy.observation_scales()[i];
        if (policy.description().range && i + 1 == observation.size()) // it tells the statistic to act by
            number = 2.0 * random.uniform<double>() - 1.0;
        observation[i] = static_cast<float>(number);
    }
}
/// Bytes as far as their scale makes numbers up to 1 of them.
template <class Policy>
void draw(Policy& policy, random_stream& random, std::span<std::uint8_t> observation) {
    double const most = std::clamp(1.0 / std::abs(policy.trunk().options().byte_scale), 1.0, 255.0);
    for (std::uint8_t& byte : observation)
        byte = static_cast<std::uint8_t>(random.below(static_cast<std::uint32_t>(std::lround(most)) + 1));
}

template <class Policy>
[[nodiscard]] difference compare_with(Policy const& coarse, Policy exact) {
    difference result{.observations = exact.observation_size() < 1000 ? 10'000u : 1'000u};
    bool const real = std::holds_alternative<box>(exact.action_space());
    std::vector<typename Policy::observation_type> observation(exact.observation_size());
    std::vector<float> action(exact.action_size()), wanted(exact.action_size());
    auto coarse_memory = coarse.make_memory(), memory = exact.make_memory();
    random_stream random(/*seed*/ 1);
    for (std::size_t i = 0; i < result.observations; ++i) {
        draw(exact, random, std::span(observation));
        coarse.act(observation, action, coarse_memory);
        exact.act(observation, wanted, memory);
        for (std::size_t j = 0; j < action.size() && real; ++j)
            if (double const off = std::abs(static_cast<double>(action[j]) - static_cast<double>(wanted[j]));
                !(off <= result.largest) && !std::isnan(result.largest))
                result.largest = off; // a NaN stays
        result.other += !real && action != wanted ? 1.0 / static_cast<double>(result.observations) : 0.0;
    }
    return result;
}

} // namespace

policy_layers layers_of(any_policy<> const& policy) {
    return std::visit([](auto const& one) { return read(one); }, policy);
}

value_layers layers_of(any_value<> const& value) {
    return std::visit([](auto const& one) { return read_value(one); }, value);
}

std::vector<double> midpoints(std::size_t count) {
    std::vector<double> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(count));
    return all;
}

void round_weights(policy_layers& policy) {
    for_each_numbers(policy.layers, round);
}

difference compare(any_policy<> const& rounded, any_policy<> const& policy) {
    return std::
        visit([&](auto const&
                      exact) { return compare_with(std::get<std::remove_cvref_t<decltype(exact)>>(rounded), exact); },
              policy);
}

any_policy<> with_weights(policy_layers const& layers, any_policy<> const& policy) {
    return std::visit(
        [&](auto changed) -> any_policy<> {
            std::size_t place = 0;
            for_each_numbers(layers.layers, [&](numbers const& of) {
                for (std::size_t i = 0; i < of.weight.size(); ++i)
                    changed.parameters()[place++] = of.weight[i] * (of.steps.empty() ? 1.0f : of.steps[i % of.outputs]);
                for (float const bias : of.bias)
                    changed.parameters()[place++] = bias;
            });
            return changed;
        },
        policy);
}

} // namespace gmac::examples::exporting
