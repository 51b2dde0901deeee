// SPDX-License-Identifier: Apache-2.0
#include "playground.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>

/// Prints, for each method, the learned frames per second and after how many the mean return reached 475.
int main() {
    constexpr double last = 60'000;
    for (int method = 0; method < 4; ++method) {
        playground_create(method, 1);
        auto const start = std::chrono::steady_clock::now();
        double frames = 0.0, solved = 0.0;
        while (frames < last) {
            playground_report const* const report = playground_train();
            frames = report->frames;
            if (solved == 0.0 && report->mean_return >= 475.0)
                solved = frames;
        }
        double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        fmt::print("method {}: {:.0f} frames per second, {}\n", method, frames / seconds,
                   solved > 0.0 ? fmt::format("475 after {:.0f} frames", solved) : "475 not reached");
    }
}
