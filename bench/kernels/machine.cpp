// SPDX-License-Identifier: Apache-2.0
// What the other figures are shares of.
#include "harness.hpp"

#include <gmac/core/buffer.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>

namespace gmac::bench {

namespace {

/// Chains of multiply-adds: more than any core has in flight, and no more than fit its registers with the two constants.
/// Returns operations.
template <class T>
double multiply_adds(std::size_t rounds) {
    using V = lanes::widest<T>;
    constexpr std::size_t chains = sizeof(V) == 64 ? 16 : 12;
    std::array<V, chains> x;
    for (std::size_t i = 0; i < chains; ++i)
        x[i] = V(static_cast<T>(i) * T(0.01));
    V const factor(T(0.999)), offset(T(0.001));
    for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
        for (std::size_t i = 0; i < chains; ++i)
            x[i] = lanes::mul_add(x[i], factor, offset);
    }
    for (V const& chain : x)
        benchmark::DoNotOptimize(chain);
    return 2.0 * static_cast<double>(V::size * chains * rounds);
}

} // namespace

template <class T>
double peak_operations() {
    static double const peak = [] {
        double operations = 0.0;
        double const seconds = shortest([&] { operations = multiply_adds<T>(200'000); }, 20, 1.0);
        return operations / seconds;
    }();
    return peak;
}
template double peak_operations<float>();
template double peak_operations<double>();

double memcpy_rate(std::size_t bytes) {
    static std::map<std::size_t, double> known;
    double& rate = known[bytes];
    if (rate == 0.0) {
        buffer<unsigned char> from((bytes + 1) / 2), to(from.size()); // aligned
        from.fill(1);
        to.fill(0);
        std::size_t const copies = std::size_t{1} + 4'000'000 / from.size();
        double const seconds = shortest(
            [&] {
                for (std::size_t i = 0; i < copies; ++i) {
                    std::memcpy(to.data(), from.data(), from.size());
                    benchmark::ClobberMemory();
                }
            },
            20, 0.3);
        rate = 2.0 * static_cast<double>(from.size() * copies) / seconds;
    }
    return rate;
}

void register_machine() {
    auto const peak = [](auto zero) {
        using T = decltype(zero);
        benchmark::RegisterBenchmark((std::string("machine/multiply_adds/") + name_of<T>).c_str(),
                                     [](benchmark::State& state) {
                                         for (auto _ : state)
                                             multiply_adds<T>(10'000);
                                         state.counters["Gop_per_s"] = peak_operations<T>() * 1e-9;
                                     })
            ->MinTime(0.02);
    };
    peak(float{});
    peak(double{});
    for (std::size_t const bytes :
         {std::size_t{1} << 15u, std::size_t{1} << 20u, std::size_t{1} << 23u, std::size_t{1} << 27u})
        benchmark::RegisterBenchmark(("machine/memcpy/" + std::to_string(bytes)).c_str(), [bytes](
                                                                                              benchmark::State& state) {
            for (auto _ : state)
                benchmark::DoNotOptimize(bytes);
            state.counters["GB_per_s"] = memcpy_rate(bytes) * 1e-9;
        })->MinTime(0.001);
}

} // namespace gmac::bench
