// SPDX-License-Identifier: Apache-2.0
// Value and gradient of the losses on atoms for a batch of 512 states.
#include "harness.hpp"

#include "flops/count_losses.hpp"

#include <gmac/heads/categorical.hpp>
#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>

#include <memory>
#include <string>
#include <utility>

namespace gmac::bench {

namespace {

constexpr std::size_t states = 512;

template <class T>
struct problem {
    table<T> logits, targets, gradient;

    problem(std::size_t atoms, std::size_t m)
        : logits(states, atoms, 1, normal), targets(states, m, 2, normal), gradient(states, atoms) {}
};

/// `torch` makes the libtorch version of a problem.
template <class T, std::size_t N, class Loss, class Torch>
void add_loss(std::string const& name, Loss const& loss, heads::categorical<N> const& head, std::size_t m,
              Torch torch) {
    add<T>(name + "/N" + std::to_string(N) + "_m" + std::to_string(m), [=] {
        auto const all = std::make_shared<problem<T>>(N, m);
        auto const kernel = [=] {
            targets::dirac_particles<T const> const targets{std::as_const(all->targets).view(), {}};
            benchmark::DoNotOptimize(
                loss.value_and_gradient(head, std::as_const(all->logits).view(), targets, all->gradient.view()));
        };
        auto const& p = *all;
        return std::pair(kernel, work{states, static_cast<double>(flops::count_loss_on_atoms<N>(loss, m, true).total()),
                                      p.logits.bytes() + p.targets.bytes() + p.gradient.bytes(),
                                      in_torch<T>([&] { return torch(floats(p.logits), floats(p.targets)); }), 2.0});
    });
}

template <class T, std::size_t N>
void add_losses(std::size_t m) {
    heads::categorical<N> const even;
    heads::categorical<N> const symlog{.symlog = true};
    auto const nothing = [](float const*, float const*) { return naive::job(); };
    for (auto const& [how, name] :
         {std::pair(naive::projection::pairs, ""), std::pair(naive::projection::scatter, "_scattered")}) {
        add_loss<T>(std::string("categorical_cross_entropy") + name, losses::categorical_cross_entropy{}, even, m,
                    [m, how = how](float const* l, float const* t) {
                        return naive::categorical_cross_entropy(l, t, states, N, m, how);
                    });
        add_loss<T>(std::string("categorical_energy") + name, losses::categorical_energy{}, even, m,
                    [m, how = how](float const* l, float const* t) {
                        return naive::categorical_energy(l, t, states, N, m, how);
                    });
    }
    add_loss<T>("hl_gauss", losses::hl_gauss{}, even, m,
                [m](float const* l, float const* t) { return naive::hl_gauss(l, t, states, N, m); });
    add_loss<T>("categorical_cross_entropy_symlog", losses::categorical_cross_entropy{}, symlog, m, nothing);
    add_loss<T>("categorical_energy_symlog", losses::categorical_energy{}, symlog, m, nothing);
    add_loss<T>("hl_gauss_symlog", losses::hl_gauss{}, symlog, m, nothing);
}

} // namespace

void register_losses_on_atoms() {
    add_losses<float, 101>(128);
    add_losses<double, 101>(128);
    add_losses<float, 51>(128);
}

} // namespace gmac::bench
