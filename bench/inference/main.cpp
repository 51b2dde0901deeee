// SPDX-License-Identifier: Apache-2.0
// Acting with a network 4-64-64-2: one observation at a time, and a batch beside its bare matrix products.
#include "support/run_main.hpp"

#include <gmac/backends/eigen.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/deploy/policy.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace {

/// Two works take turns, so that what else the machine does hits both; the shortest time of a call of each, in µs.
template <class First, class Second>
std::array<double, 2> shortest(int calls, First&& first, Second&& second) {
    std::array best{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    auto const time = [&](double& shortest_so_far, auto& work) {
        auto const start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; ++i)
            work();
        std::chrono::duration<double, std::micro> const taken = std::chrono::steady_clock::now() - start;
        shortest_so_far = std::min(shortest_so_far, taken.count() / calls);
    };
    for (int turn = 0; turn < 300; ++turn) {
        time(best[0], first);
        time(best[1], second);
    }
    return best;
}

template <class Backend>
void measure(std::string_view name, gmac::nn::activation function) {
    using view = gmac::matrix_view<float const>;
    constexpr std::size_t batch = 1024, width = 64;
    gmac::deployed_policy<Backend> policy(gmac::nn::mlp<Backend>({4, width, width}, {.function = function}),
                                          {gmac::actors::categorical{}, gmac::discrete{2}});
    gmac::random_stream random(1);
    for (float& parameter : policy.parameters())
        parameter = 0.2f * random.normal<float>();
    std::vector<float> observations(4 * batch), actions(batch), hidden(width * batch), more(width * batch),
        outputs(2 * batch);
    for (float& x : observations)
        x = random.normal<float>();

    auto one = policy.make_memory(), all = policy.make_memory(batch);
    view const seen(observations.data(), batch, 4), activations(hidden.data(), batch, width);
    float const* const weights = policy.parameters().data();
    view const first(weights, 4, width), second(weights + 5 * width, width, width),
        last(weights + 5 * width + (width + 1) * width, width, 2);
    auto const times = shortest(
        10,
        [&] {
            policy.act(seen, {actions.data(), batch, 1}, all);
        },
        [&] {
            Backend::product(seen, first, {hidden.data(), batch, width});
            Backend::product(activations, second, {more.data(), batch, width});
            Backend::product(activations, last, {outputs.data(), batch, 2});
        });
    auto const single = shortest(
        2000, [&] { policy.act(std::span(observations).first(4), std::span(actions).first(1), one); }, [] {});
    fmt::print("{:<12} one observation {:.3f} us; {} observations {:.1f} us, their products {:.1f} us, ratio {:.2f}\n",
               name, single[0], batch, times[0], times[1], times[0] / times[1]);
}

} // namespace

int main() {
    return gmac::examples::run_main("gmac-bench-inference", [] {
        using gmac::nn::activation;
        measure<gmac::backends::simd<float>>("simd, tanh", activation::tanh);
        measure<gmac::backends::simd<float>>("simd, relu", activation::relu);
        measure<gmac::backends::eigen<float>>("eigen, tanh", activation::tanh);
        measure<gmac::backends::eigen<float>>("eigen, relu", activation::relu);
    });
}
