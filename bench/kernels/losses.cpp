// SPDX-License-Identifier: Apache-2.0
// Value and gradient of each loss for a batch of 512 states, the paper's minibatch.
#include "harness.hpp"

#include "flops/closed_forms.hpp"
#include "flops/count_losses.hpp"

#include <concepts>
#include <initializer_list>
#include <memory>

namespace gmac::bench {

namespace {

constexpr std::size_t states = 512;
/// Pairs of a batch beyond which libtorch would need gigabytes.
constexpr std::size_t most_pairs_in_torch = std::size_t{3} << 23u;

template <class T>
struct mixture_problem {
    table<T> outputs, means, deviations, gradient;

    explicit mixture_problem(std::size_t m)
        : outputs(states, 15, 1, normal),
          means(states, m, 2, normal),
          deviations(states, m, 3, [](random_stream& r) { return 0.05 + 0.1 * unit(r); }),
          gradient(states, 15) {}
};

template <class T>
void add_mixture_energy(std::size_t m, bool target_term) {
    std::string const name = "mixture_energy/K5_m" + std::to_string(m) + (target_term ? "_target_term" : "");
    add<T>(name, [m, target_term] {
        auto const problem = std::make_shared<mixture_problem<T>>(m);
        auto const kernel = [problem, target_term] {
            losses::gaussian_mixture_energy loss;
            loss.target_term = target_term;
            targets::gaussian_particles<T const> const targets{problem->means.view(), problem->deviations.view(), {}};
            benchmark::DoNotOptimize(loss.value_and_gradient(heads::gaussian_mixture<5>{},
                                                             std::as_const(problem->outputs).view(), targets,
                                                             problem->gradient.view()));
        };
        auto const counts = flops::count_mixture_energy<5>(m, target_term, true);
        auto const& p = *problem;
        return std::pair(kernel, work{states, static_cast<double>(counts.total()),
                                      p.outputs.bytes() + p.means.bytes() + p.deviations.bytes() + p.gradient.bytes(),
                                      in_torch<T>([&] {
                                          return naive::mixture_energy(floats(p.outputs), floats(p.means),
                                                                       floats(p.deviations), states, m, target_term);
                                      }),
                                      5.0});
    });
}

template <class T>
struct sample_problem {
    table<T> values, fractions, targets, gradient;

    sample_problem(std::size_t n, std::size_t m)
        : values(states, n, 1, normal),
          fractions(states, n, 2, unit),
          targets(states, m, 3, normal),
          gradient(states, n) {}
};

/// What one state costs, or 0 where its rows are sorted, which is not counted.
template <class T, class Loss>
[[nodiscard]] double operations_of(Loss loss, std::size_t n, std::size_t m) {
    using V = lanes::widest<T>;
    if constexpr (std::same_as<Loss, losses::expectile>)
        return static_cast<double>(flops::closed::expectile(n, m, true).total());
    else if constexpr (std::same_as<Loss, losses::huber_quantile>)
        return losses::detail::rows_suit_quantiles<V>(n, m)
                   ? 0.0
                   : static_cast<double>(flops::closed::huber_quantile(n, m, true).total());
    else if (losses::detail::lanes_suit_energy(n, m))
        return static_cast<double>(flops::count_sample_loss(loss, n, m, true).total());
    else
        return losses::detail::rows_suit_energy<V>(n, m)
                   ? 0.0
                   : static_cast<double>(flops::closed::sample_energy_pairs(n, m, loss.target_term, true).total());
}

/// `torch` makes the libtorch version of a problem.
template <class T, class Loss, class Torch>
void add_sample_loss(std::string const& name, Loss loss, std::size_t n, std::size_t m, Torch torch) {
    add<T>(name + "/N" + std::to_string(n) + "_m" + std::to_string(m), [=] {
        auto const problem = std::make_shared<sample_problem<T>>(n, m);
        auto const kernel = [=] {
            heads::implicit_quantile head;
            head.samples_per_state = n;
            sample_problem<T>& p = *problem;
            quantile_outputs<T const> const outputs{std::as_const(p.values).view(), std::as_const(p.fractions).view()};
            targets::dirac_particles<T const> const targets{std::as_const(p.targets).view(), {}};
            benchmark::DoNotOptimize(loss.value_and_gradient(head, outputs, targets, p.gradient.view()));
        };
        auto const& p = *problem;
        work what{states, operations_of<T>(loss, n, m),
                  p.values.bytes() + p.fractions.bytes() + p.targets.bytes() + p.gradient.bytes()};
        if (states * n * m <= most_pairs_in_torch)
            what.torch = in_torch<T>([&] { return torch(floats(p.values), floats(p.fractions), floats(p.targets)); });
        return std::pair(kernel, what);
    });
}

template <class T>
void add_sample_losses() {
    for (std::size_t const n : {8u, 16u, 64u, 200u, 256u, 1024u, 4096u}) {
        std::size_t const m = n;
        add_sample_loss<T>("huber_quantile", losses::huber_quantile{}, n, m,
                           [n, m](float const* v, float const* f, float const* t) {
                               return naive::huber_quantile(v, f, t, states, n, m);
                           });
        add_sample_loss<T>("sample_energy", losses::sample_energy{}, n, m,
                           [n, m](float const* v, float const*, float const* t) {
                               return naive::sample_energy(v, t, states, n, m, false);
                           });
        add_sample_loss<T>("expectile", losses::expectile{}, n, m,
                           [n, m](float const* v, float const* f, float const* t) {
                               return naive::expectile(v, f, t, states, n, m);
                           });
    }
    losses::sample_energy with_target;
    with_target.target_term = true;
    add_sample_loss<T>("sample_energy_target_term", with_target, 64, 64,
                       [](float const* v, float const*, float const* t) {
                           return naive::sample_energy(v, t, states, 64, 64, true);
                       });
}

template <class T>
void add_squared_errors() {
    struct problem {
        table<T> values{states, 1, 1, normal}, returns{states, 1, 2, normal}, old{states, 1, 3, normal},
            gradient{states, 1};
    };
    struct clipped_targets {
        vector_view<T const> returns, old_values;
    };
    add<T>("squared_error/B512", [] {
        auto const p = std::make_shared<problem>();
        return std::pair(
            [p] {
                benchmark::DoNotOptimize(
                    losses::squared_error{}.value_and_gradient(heads::scalar{}, std::as_const(p->values).view(),
                                                               std::as_const(p->returns).view().col(0),
                                                               p->gradient.view()));
            },
            work{states, static_cast<double>(flops::count_squared_error(true).total()), 3 * p->values.bytes(),
                 in_torch<T>([&] { return naive::squared_error(floats(p->values), floats(p->returns), states); })});
    });
    add<T>("clipped_squared_error/B512", [] {
        auto const p = std::make_shared<problem>();
        return std::pair(
            [p] {
                benchmark::DoNotOptimize(
                    losses::clipped_squared_error{}
                        .value_and_gradient(heads::scalar{}, std::as_const(p->values).view(),
                                            clipped_targets{std::as_const(p->returns).view().col(0),
                                                            std::as_const(p->old).view().col(0)},
                                            p->gradient.view()));
            },
            work{states, static_cast<double>(flops::count_clipped_squared_error(true).total()), 4 * p->values.bytes(),
                 in_torch<T>([&] {
                     return naive::clipped_squared_error(floats(p->values), floats(p->returns), floats(p->old), states);
                 })});
    });
}

template <class T>
void add_all() {
    add_squared_errors<T>();
    for (std::size_t const m : {std::size_t{5}, std::size_t{64}, std::size_t{128}})
        for (bool const target_term : {false, true})
            add_mixture_energy<T>(m, target_term);
    add_sample_losses<T>();
}

} // namespace

void register_losses() {
    add_all<float>();
    add_all<double>();
}

} // namespace gmac::bench
