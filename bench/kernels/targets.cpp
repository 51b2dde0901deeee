// SPDX-License-Identifier: Apache-2.0
// SR(λ) in each form, GAE, the λ-return, and sampling; a state is a transition of the rollout.
#include "harness.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/core/random.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/targets/exact_sr_lambda.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace gmac::bench {

namespace {

constexpr std::size_t steps = 128;
constexpr std::size_t environments = 64;
constexpr std::size_t rows = steps * environments;
constexpr std::size_t state_rows = rows + environments;
constexpr std::size_t components = 5;

/// A rollout without endings, and a mixture, samples and a value for each state.
template <class T>
struct problem {
    table<T> rewards{steps, environments, 1, normal};
    table<T> weights{state_rows, components}, means{state_rows, components, 2, normal},
        deviations{state_rows, components, 3, unit};
    table<T> samples{state_rows, 64, 4, normal};
    std::vector<T> values = std::vector<T>(state_rows, T(0.5));
    table<T> first, second, third; ///< outputs
    std::vector<random_stream> streams;

    explicit problem(std::size_t columns) : first(rows, columns), second(rows, columns), third(rows, columns) {
        random_stream random(5);
        auto const w = weights.view();
        for (std::size_t i = 0; i < state_rows; ++i) {
            T sum = 0;
            for (std::size_t k = 0; k < components; ++k)
                sum += w(i, k) = static_cast<T>(0.1 + unit(random));
            for (std::size_t k = 0; k < components; ++k)
                w(i, k) /= sum;
        }
        for (std::size_t e = 0; e < environments; ++e)
            streams.emplace_back(7, e);
    }
    [[nodiscard]] targets::rollout_view<T> rollout() const { return {rewards.view(), {}, {}}; }
    [[nodiscard]] targets::gaussian_source<T> mixtures() const {
        return {weights.view(), means.view(), deviations.view()};
    }
};

template <class T>
[[nodiscard]] naive::job loop_in_torch(problem<T> const& p, std::size_t particles) {
    return in_torch<T>([&] {
        return naive::sr_lambda(floats(p.weights), floats(p.means), floats(p.deviations), floats(p.rewards), steps,
                                environments, components, particles);
    });
}

/// Particles that are moved in a step, those that replace others among them.
[[nodiscard]] double moved(targets::sr_lambda const& returns) {
    return (2.0 - returns.lambda) * static_cast<double>(returns.particles);
}

template <class T>
void add_sr_lambda(std::size_t m) {
    std::string const size = "/T128_E64_m" + std::to_string(m);
    for (auto const form : {targets::resampling::independent, targets::resampling::stratified})
        add<T>((form == targets::resampling::independent ? "sr_lambda/gaussian" : "sr_lambda/gaussian_stratified") +
                   size,
               [m, form] {
                   auto const p = std::make_shared<problem<T>>(m);
                   targets::sr_lambda const returns{.discount = 0.99,
                                                    .lambda = 0.95,
                                                    .particles = m,
                                                    .replacement = form};
                   return std::pair(
                       [p, returns] {
                           targets::gaussian_particles<T> const out{p->first.view(), p->second.view(), {}};
                           returns(p->rollout(), p->mixtures(), std::span<random_stream>(p->streams), out);
                           benchmark::ClobberMemory();
                       },
                       // r + γ μ and γ σ, also of those replaced. A memcpy that writes the output reads as much.
                       work{rows, 3.0 * moved(returns), 2 * (p->first.bytes() + p->second.bytes()),
                            loop_in_torch<T>(*p, m), 3.0});
               });
    auto const dirac = [m](auto source_of, bool drawn) {
        return [m, source_of, drawn] {
            auto const p = std::make_shared<problem<T>>(m);
            targets::sr_lambda const returns{.discount = 0.99, .lambda = 0.95, .particles = m};
            return std::pair(
                [p, returns, source_of] {
                    targets::dirac_particles<T> const out{p->first.view(), {}};
                    returns(p->rollout(), source_of(*p), std::span<random_stream>(p->streams), out);
                    benchmark::ClobberMemory();
                },
                work{rows, 2.0 * moved(returns), 2 * p->first.bytes(), in_torch<T>([&] {
                         return naive::sr_lambda_of_points(floats(p->samples), floats(p->rewards), steps, environments,
                                                           64, m, drawn);
                     }),
                     3.0});
        };
    };
    add<T>("sr_lambda/dirac" + size, dirac(
                                         [](problem<T> const& p) {
                                             return targets::dirac_source<T>{p.samples.view(), {}};
                                         },
                                         false));
    add<T>("sr_lambda/samples" + size,
           dirac([](problem<T> const& p) { return targets::sample_source<T>{p.samples.view()}; }, true));
}

/// The sizes of thousands of simulated robots, each with a few steps: 200 quantiles, 24 steps of 4,096 environments, as in
/// Schneider et al. 2024, "Learning risk-aware quadrupedal locomotion using distributional reinforcement learning".
void add_many_environments() {
    constexpr std::size_t few_steps = 24, many = 4096, quantiles = 200;
    struct robots {
        table<float> rewards{few_steps, many, 1, normal}, samples{(few_steps + 1) * many, quantiles, 2, normal},
            particles{few_steps * many, quantiles};
        std::vector<random_stream> streams;
    };
    add<float>("sr_lambda/samples/T24_E4096_m200", [] {
        auto const p = std::make_shared<robots>();
        for (std::size_t e = 0; e < many; ++e)
            p->streams.emplace_back(7, e);
        targets::sr_lambda const returns{.discount = 0.99, .lambda = 0.95, .particles = quantiles};
        return std::pair(
            [p, returns] {
                returns(targets::rollout_view<float>{p->rewards.view(), {}, {}},
                        targets::sample_source<float>{p->samples.view()}, std::span<random_stream>(p->streams),
                        targets::dirac_particles<float>{p->particles.view(), {}});
                benchmark::ClobberMemory();
            },
            work{few_steps * many, 2.0 * moved(returns), 2 * p->particles.bytes(), in_torch<float>([&] {
                     return naive::sr_lambda_of_points(floats(p->samples), floats(p->rewards), few_steps, many,
                                                       quantiles, quantiles, true);
                 }),
                 3.0});
    });
}

/// Operations of a transition of the exact mixture, on average. Every component takes four: a weight, γ σ and r + γ μ. One more than
/// are kept is merged with the rest: a weight, a mean and a second moment, seven a component. What reducing a
/// mixture to few components compares depends on the numbers and is not counted.
[[nodiscard]] double exact_operations(targets::exact_sr_lambda const& returns) {
    std::size_t const most = returns.capacity(steps, components);
    double all = 0.0;
    for (std::size_t t = 0; t < steps; ++t) {
        std::size_t const unlimited = (t + 1) * components; // columns of the t-th row from the end
        all += 4.0 * static_cast<double>((std::min)(unlimited, most));
        if (returns.components == 0 && unlimited > most)
            all += 7.0 * static_cast<double>(components + 1);
    }
    return all / static_cast<double>(steps);
}

template <class T>
void add_exact(std::string const& name, targets::exact_sr_lambda const& returns) {
    add<T>("exact_sr_lambda/" + name, [returns] {
        std::size_t const columns = returns.capacity(steps, components);
        auto const p = std::make_shared<problem<T>>(columns);
        work what{rows, exact_operations(returns), 6 * p->first.bytes()};
        if (returns.components == 0) // nobody writes the reduction in tensors
            what.torch = in_torch<T>([&] {
                return naive::exact_sr_lambda(floats(p->weights), floats(p->means), floats(p->deviations),
                                              floats(p->rewards), steps, environments, components, columns);
            });
        return std::pair(
            [p, returns] {
                targets::gaussian_particles<T> const out{p->first.view(), p->second.view(), p->third.view()};
                returns(p->rollout(), p->mixtures(), out);
                benchmark::ClobberMemory();
            },
            what);
    });
}

template <class T>
void add_returns() {
    add<T>("gae/T128_E64", [] {
        auto const p = std::make_shared<problem<T>>(1);
        return std::pair(
            [p] {
                targets::gae{}(p->rollout(), vector_view<T const>(std::as_const(p->values)), {},
                               p->first.view().col(0));
                benchmark::ClobberMemory();
            },
            // δ and A: three additions and three products.
            work{rows, 6.0, 3 * p->rewards.bytes(),
                 in_torch<T>([&] { return naive::gae(floats(p->values), floats(p->rewards), steps, environments); })});
    });
    add<T>("lambda_return/T128_E64", [] {
        auto const p = std::make_shared<problem<T>>(1);
        return std::pair(
            [p] {
                targets::lambda_return{}(p->rollout(), vector_view<T const>(std::as_const(p->values)), {},
                                         p->first.view().col(0));
                benchmark::ClobberMemory();
            },
            work{rows, 5.0, 3 * p->rewards.bytes(), in_torch<T>([&] {
                     return naive::lambda_return(floats(p->values), floats(p->rewards), steps, environments);
                 })});
    });
}

template <class T>
void add_sampling() {
    add<T>("sampling/gaussian_mixture_5", [] {
        auto const values = std::make_shared<std::vector<T>>(4096);
        auto const random = std::make_shared<random_stream>(3);
        return std::pair(
            [values, random] {
                gaussian_mixture<T> const mixture{{T(0.2), T(-1), T(0.5)},
                                                  {T(0.2), T(0), T(1)},
                                                  {T(0.2), T(1), T(0.2)},
                                                  {T(0.2), T(2), T(1)},
                                                  {T(0.2), T(3), T(2)}};
                mixture.sample(*random, vector_view<T>(*values));
                benchmark::ClobberMemory();
            },
            // A normal quantile, a product and a sum, of a component that is one of five sums away.
            work{4096, 7.0, 4096 * sizeof(T), in_torch<T>([] {
                     static constexpr std::array<float, 5> weights{0.2F, 0.2F, 0.2F, 0.2F, 0.2F}, means{-1, 0, 1, 2, 3},
                         deviations{0.5F, 1, 0.2F, 1, 2};
                     return naive::mixture_samples(weights.data(), means.data(), deviations.data(), 5, 4096);
                 })});
    });
    add<T>("sampling/categorical_4", [] {
        struct state {
            table<T> logits{512, 4, 1, normal}, actions{512, 1};
            std::vector<random_stream> streams = std::vector<random_stream>(512);
        };
        auto const s = std::make_shared<state>();
        return std::pair(
            [s] {
                actors::categorical{}.sample(std::as_const(s->logits).view(), {}, std::span<random_stream>(s->streams),
                                             s->actions.view());
                benchmark::ClobberMemory();
            },
            // Softmax of four, and its sums.
            work{512, 4.0 * 5.0, s->logits.bytes() + s->actions.bytes(),
                 in_torch<T>([&] { return naive::categorical_samples(floats(s->logits), 512, 4); })});
    });
}

template <class T>
void add_all() {
    for (std::size_t const m : {std::size_t{5}, std::size_t{64}, std::size_t{128}})
        add_sr_lambda<T>(m);
    add_exact<T>("components_16", {.components = 16});
    add_exact<T>("cutoff_0.05", {.cutoff = 0.05});
    add_returns<T>();
    add_sampling<T>();
}

} // namespace

void register_targets() {
    add_all<float>();
    add_all<double>();
    add_many_environments();
    add<float>("sampling/words", [] {
        auto const words = std::make_shared<std::vector<std::uint32_t>>(4096);
        auto const random = std::make_shared<random_stream>(3);
        return std::pair(
            [words, random] {
                random->fill(*words);
                benchmark::ClobberMemory();
            },
            work{4096, 0.0, 4096 * 4});
    });
}

} // namespace gmac::bench
