// SPDX-License-Identifier: Apache-2.0
// Each main kernel once, in a function of its own by whose name callgrind counts its instructions; see instructions.cmake.
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t states = 64;
constexpr std::size_t steps = 32;
constexpr std::size_t environments = 8;

/// Numbers that are in no order and the same on every machine.
std::vector<float> numbers(std::size_t count, float first, float last) {
    std::vector<float> result(count);
    unsigned state = 12345u;
    for (float& x : result) {
        state = state * 1664525u + 1013904223u;
        x = first + (last - first) * static_cast<float>(state >> 8u) * 0x1p-24f;
    }
    return result;
}
gmac::matrix_view<float const> matrix(std::vector<float> const& data, std::size_t rows) {
    return {data.data(), rows, data.size() / rows};
}

struct everything {
    std::vector<float> outputs = numbers(states * 15, -1, 1), means = numbers(states * 128, -2, 1),
                       deviations = numbers(states * 128, 0.1f, 1), values = numbers(states * 64, -1, 1),
                       fractions = numbers(states * 64, 0, 1), targets = numbers(states * 64, -2, 1),
                       many = numbers(4 * 1024, -1, 1), many_targets = numbers(4 * 1024, -2, 1);
    std::vector<float> gradient = std::vector<float>(states * 64);
    std::vector<float> rewards = numbers(steps * environments, -1, 1),
                       weights = std::vector<float>((steps + 1) * environments * 4, 0.25f),
                       mixture_means = numbers((steps + 1) * environments * 4, -1, 1),
                       mixture_deviations = numbers((steps + 1) * environments * 4, 0.1f, 1),
                       state_values = numbers((steps + 1) * environments, -1, 1);
    std::vector<float> particle_means = std::vector<float>(steps * environments * 128),
                       particle_deviations = particle_means;
    std::vector<gmac::random_stream> streams = std::vector<gmac::random_stream>(environments);

    gmac::targets::gaussian_particles<float const> gaussians() const {
        return {matrix(means, states), matrix(deviations, states), {}};
    }
    gmac::targets::rollout_view<float> rollout() const { return {matrix(rewards, steps), {}, {}}; }
};

float mixture_energy_of(everything& e, bool target_term) {
    gmac::losses::gaussian_mixture_energy loss;
    loss.target_term = target_term;
    return loss.value_and_gradient(gmac::heads::gaussian_mixture<5>{}, matrix(e.outputs, states), e.gaussians(),
                                   gmac::matrix_view<float>(e.gradient.data(), states, 15));
}
template <class Loss>
float sample_loss_of(everything& e, Loss const& loss) {
    return loss.value_and_gradient(gmac::heads::implicit_quantile{},
                                   gmac::quantile_outputs<float const>{matrix(e.values, states),
                                                                       matrix(e.fractions, states)},
                                   gmac::targets::dirac_particles<float const>{matrix(e.targets, states), {}},
                                   gmac::matrix_view<float>(e.gradient.data(), states, 64));
}
template <class Loss>
float large_sample_loss_of(everything& e, Loss const& loss) {
    return loss.value_and_gradient(gmac::heads::dirac<1024>{}, matrix(e.many, 4),
                                   gmac::targets::dirac_particles<float const>{matrix(e.many_targets, 4), {}},
                                   gmac::matrix_view<float>(e.gradient.data(), 4, 1024));
}

} // namespace

// Their names are what callgrind is told, so they are plain, and they are never inlined.
extern "C" {

[[gnu::noinline]] float kernel_mixture_energy(everything& e) {
    return mixture_energy_of(e, false);
}
[[gnu::noinline]] float kernel_mixture_energy_target_term(everything& e) {
    return mixture_energy_of(e, true);
}
[[gnu::noinline]] float kernel_huber_quantile(everything& e) {
    return sample_loss_of(e, gmac::losses::huber_quantile{});
}
[[gnu::noinline]] float kernel_expectile(everything& e) {
    return sample_loss_of(e, gmac::losses::expectile{});
}
[[gnu::noinline]] float kernel_sample_energy(everything& e) {
    return sample_loss_of(e, gmac::losses::sample_energy{});
}
[[gnu::noinline]] float kernel_huber_quantile_1024(everything& e) {
    return large_sample_loss_of(e, gmac::losses::huber_quantile{});
}
[[gnu::noinline]] float kernel_sample_energy_1024(everything& e) {
    return large_sample_loss_of(e, gmac::losses::sample_energy{});
}
[[gnu::noinline]] float kernel_sr_lambda(everything& e) {
    gmac::targets::sr_lambda const returns;
    gmac::targets::gaussian_source<float> const source{matrix(e.weights, e.weights.size() / 4),
                                                       matrix(e.mixture_means, e.weights.size() / 4),
                                                       matrix(e.mixture_deviations, e.weights.size() / 4)};
    gmac::targets::gaussian_particles<float> const out{{e.particle_means.data(), steps * environments, 128},
                                                       {e.particle_deviations.data(), steps * environments, 128},
                                                       {}};
    returns(e.rollout(), source, std::span<gmac::random_stream>(e.streams), out);
    return e.particle_means[0];
}
[[gnu::noinline]] float kernel_gae(everything& e) {
    gmac::targets::gae{}(e.rollout(), gmac::vector_view<float const>(e.state_values), {},
                         gmac::vector_view<float>(e.gradient.data(), steps * environments));
    return e.gradient[0];
}
}

int main(int argument_count, char** arguments) {
    struct entry {
        std::string_view name;
        float (*kernel)(everything&);
    };
    static constexpr entry kernels[] = {{"mixture_energy", kernel_mixture_energy},
                                        {"mixture_energy_target_term", kernel_mixture_energy_target_term},
                                        {"huber_quantile", kernel_huber_quantile},
                                        {"expectile", kernel_expectile},
                                        {"sample_energy", kernel_sample_energy},
                                        {"huber_quantile_1024", kernel_huber_quantile_1024},
                                        {"sample_energy_1024", kernel_sample_energy_1024},
                                        {"sr_lambda", kernel_sr_lambda},
                                        {"gae", kernel_gae}};
    everything all;
    for (entry const& e : kernels)
        if (argument_count == 2 && e.name == arguments[1]) {
            std::printf("%s %.9g\n", arguments[1], static_cast<double>(e.kernel(all)));
            return 0;
        }
    std::fprintf(stderr, "one of these names is wanted:");
    for (entry const& e : kernels)
        std::fprintf(stderr, " %.*s", static_cast<int>(e.name.size()), e.name.data());
    std::fprintf(stderr, "\n");
    return 1;
}
