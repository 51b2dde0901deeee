// SPDX-License-Identifier: Apache-2.0
// The whole update of each method on an environment that costs nothing: rollout, targets and four epochs. A state is an
// environment step.
#include "harness.hpp"

#include "flops/table.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <memory>
#include <span>

namespace gmac::bench {

namespace {

/// Four numbers that stay as they are; ends every hundred steps.
struct standing {
    std::size_t steps = 0;

    static std::size_t observation_size() { return 4; }
    static discrete action_space() { return {4}; }
    void reset(random_stream&, std::span<float> observation) {
        steps = 0;
        observe(observation);
    }
    transition step(int action, random_stream&, std::span<float> observation) {
        observe(observation);
        return {.reward = action == 0 ? 1.0 : 0.0, .terminated = ++steps == 100, .truncated = false};
    }
    void observe(std::span<float> observation) const {
        for (std::size_t i = 0; i < observation.size(); ++i)
            observation[i] = static_cast<float>(i) * 0.25f;
    }
};

constexpr std::size_t steps = 128, environments = 16, minibatch = 512, epochs = 4, units = 64;

/// Operations of an environment step: its forward pass, three more for each epoch (backward is two), and the losses; and what
/// makes the targets, which is small.
[[nodiscard]] double operations_of(naive::method method) {
    auto const all = [](flops::network_cost const& cost) { return static_cast<double>(cost.products + cost.others); };
    auto const linear = [&](std::size_t inputs, std::size_t outputs, nn::activation function) {
        return all(flops::linear_cost(inputs, outputs, function));
    };
    double network = linear(4, units, nn::activation::tanh) + linear(units, units, nn::activation::tanh) +
                     linear(units, 4, nn::activation::none);
    auto loss = static_cast<double>(flops::policy_loss_cost());
    auto const sample_loss = [](auto const& of) {
        return static_cast<double>(flops::count_sample_loss(of, 64, 64, true).total());
    };
    switch (method) {
    case naive::method::ppo:
        network += linear(units, 1, nn::activation::none);
        loss += static_cast<double>(flops::count_clipped_squared_error(true).total());
        break;
    case naive::method::gmac:
        network += linear(units, 15, nn::activation::none);
        loss += static_cast<double>(flops::count_mixture_energy<5>(128, false, true).total());
        break;
    case naive::method::dirac_energy:
        network += linear(units, 64, nn::activation::none);
        loss += sample_loss(losses::sample_energy{});
        break;
    case naive::method::iqac:
    case naive::method::iqac_e:
        network += all(flops::implicit_quantile_cost(units, {.samples = 64, .embedding = 64, .hidden = 256}));
        loss += method == naive::method::iqac ? sample_loss(losses::huber_quantile{})
                                              : sample_loss(losses::sample_energy{});
        break;
    }
    return (1.0 + 3.0 * epochs) * network + epochs * loss;
}

template <class Agent>
void add_update(std::string const& name, [[maybe_unused]] naive::method same) {
    using T = typename Agent::scalar;
    struct run {
        vector_environment<standing> worlds{environments, 1};
        Agent agent;
        explicit run(agent_options const& options) : agent(worlds, options, {.seed = 1}) {}
    };
    add<T>("update/" + name, [same] {
        agent_options options{.steps = steps, .minibatch = minibatch, .epochs = epochs, .learning_rate = 1e-4};
        options.hidden = {units, units};
        auto const r = std::make_shared<run>(options);
        return std::pair([r] { benchmark::DoNotOptimize(r->agent.update().value_loss); },
                         work{steps * environments, operations_of(same), 0, in_torch<T>([&] {
                                  return naive::update(same, environments, steps, minibatch, epochs, units);
                              }),
                              5.0});
    });
}

template <class T>
void add_all() {
    using actor = actors::categorical;
    using backend = backends::simd<T>;
    add_update<agents::ppo<actor, backend>>("ppo", naive::method::ppo);
    add_update<agents::gmac<actor, backend>>("gmac", naive::method::gmac);
    add_update<agents::iqac<actor, backend>>("iqac", naive::method::iqac);
    add_update<agents::iqac_e<actor, backend>>("iqac_e", naive::method::iqac_e);
    add_update<agents::dirac_energy<actor, 64, backend>>("dirac_64_energy", naive::method::dirac_energy);
}

} // namespace

void register_updates() {
    add_all<float>();
    add_all<double>();
}

} // namespace gmac::bench
