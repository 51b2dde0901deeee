// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "naive_torch.hpp"

#include <gmac/core/counted.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::bench {

/// Operations a second of a loop of independent multiply-adds in registers, on one core; a multiply-add is two.
template <class T>
double peak_operations();
/// Bytes read and written a second by memcpy between two blocks that together have so many bytes.
double memcpy_rate(std::size_t bytes);

void register_machine();
void register_losses();
void register_losses_on_atoms();
void register_heads();
void register_targets();
void register_updates();
void register_convolutions();
void register_networks();

template <class T>
inline constexpr char const* name_of = std::is_same_v<T, float> ? "float" : "double";

/// Processor time of this thread, so that what else runs on the machine counts as little as possible; the time of day where
/// there is no such clock.
[[nodiscard]] inline double seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

/// The shortest of a few runs: what the machine can do when nobody else is on it. At most about `budget` seconds.
template <class Work>
[[nodiscard]] double shortest(Work&& work, int runs, double budget) {
    double best = (std::numeric_limits<double>::max)();
    double spent = 0.0;
    for (int i = 0; i < runs && spent < budget; ++i) {
        double const start = seconds();
        work();
        double const taken = seconds() - start;
        spent += taken;
        best = (std::min)(best, taken);
    }
    return best;
}

/// What one call of a kernel does.
struct work {
    std::size_t states;        ///< of the batch
    double operations = 0.0;   ///< counted, of one state
    std::size_t bytes = 0;     ///< read and written by a call, each byte once
    naive::job torch{};        ///< the same in libtorch, if it is in this binary
    double torch_budget = 1.0; ///< seconds
};

/// Registers a benchmark whose figures come from the shortest call. `make` prepares the data and returns the kernel.
template <class T, class Make>
void add(std::string const& name, Make make) {
    benchmark::RegisterBenchmark((name + "/" + name_of<T>).c_str(),
                                 [make, torch_seconds = 0.0](benchmark::State& state) mutable {
                                     auto [kernel, what] = make();
                                     // Short kernels are called often enough for the clock, which takes half a microsecond.
                                     double const once = shortest(kernel, 7, what.torch ? what.torch_budget : 0.1);
                                     int const calls = 1 + static_cast<int>(200e-6 / (once + 1e-9));
                                     double best = once;
                                     for (auto _ : state) {
                                         double const start = seconds();
                                         for (int i = 0; i < calls; ++i)
                                             kernel();
                                         double const taken = seconds() - start;
                                         state.SetIterationTime(taken);
                                         best = (std::min)(best, taken / calls);
                                     }
                                     auto const states = static_cast<double>(what.states);
                                     auto& out = state.counters;
                                     out["us"] = best * 1e6;
                                     out["ns_per_state"] = best * 1e9 / states;
                                     if (what.operations > 0.0) {
                                         double const rate = what.operations * states / best;
                                         out["Gop_per_s"] = rate * 1e-9;
                                         out["of_peak"] = rate / peak_operations<T>();
                                     }
                                     if (what.bytes > 0) {
                                         double const rate = static_cast<double>(what.bytes) / best;
                                         out["GB_per_s"] = rate * 1e-9;
                                         out["of_memcpy"] = rate / memcpy_rate(what.bytes);
                                     }
                                     if (what.torch) {
                                         if (torch_seconds == 0.0) {
                                             what.torch();
                                             torch_seconds = shortest(what.torch, 7, what.torch_budget);
                                         }
                                         out["torch_us"] = torch_seconds * 1e6;
                                         out["times_torch"] = torch_seconds / best;
                                     }
                                 })
        ->UseManualTime()
        ->MinTime(0.05);
}

/// Row-major numbers; fill(random) gives each.
template <class T>
class table {
public:
    table(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols), data_(rows * cols) {}
    template <class Fill>
    table(std::size_t rows, std::size_t cols, std::uint64_t seed, Fill&& fill) : table(rows, cols) {
        random_stream random(seed);
        for (T& x : data_)
            x = static_cast<T>(fill(random));
    }
    [[nodiscard]] matrix_view<T> view() noexcept { return {data_.data(), rows_, cols_}; }
    [[nodiscard]] matrix_view<T const> view() const noexcept { return {data_.data(), rows_, cols_}; }
    [[nodiscard]] T const* data() const noexcept { return data_.data(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return data_.size() * sizeof(T); }

private:
    std::size_t rows_, cols_;
    std::vector<T> data_;
};

[[nodiscard]] inline double normal(random_stream& random) {
    return random.normal<double>();
}
[[nodiscard]] inline double unit(random_stream& random) {
    return random.uniform<double>();
}

/// Numbers as libtorch takes them; only called where they are floats.
template <class Numbers>
[[nodiscard]] float const* floats(Numbers const& numbers) noexcept {
    return reinterpret_cast<float const*>(numbers.data());
}

/// The libtorch version of a kernel on floats; nothing for double, or if libtorch is not in this binary.
template <class T, class Make>
[[nodiscard]] naive::job in_torch([[maybe_unused]] Make&& make) {
#if defined(GMAC_BENCH_TORCH)
    if constexpr (std::is_same_v<T, float>)
        return make();
#endif
    return {};
}

} // namespace gmac::bench
