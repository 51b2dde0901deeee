// SPDX-License-Identifier: Apache-2.0
// Running statistics and what is normalised by them: numbers that do not vary, that hardly do, and that are large.
#include "support/extremes.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/environment/normalized.hpp>
#include <gmac/environment/running_statistics.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T>
void add(running_statistics& statistics, std::vector<T> const& column) {
    statistics.update(matrix_view<T const>(column.data(), column.size(), 1));
}

/// Shows one number after the other, as the observation and as the reward.
struct script {
    std::span<float const> numbers;
    std::size_t next = 0;

    [[nodiscard]] std::size_t observation_size() const { return 1; }
    [[nodiscard]] discrete action_space() const { return {2}; }
    void reset(random_stream&, std::span<float> observation) { observation[0] = numbers[0]; }
    transition step(int, random_stream&, std::span<float> observation) {
        ++next;
        observation[0] = numbers[next];
        return {.reward = static_cast<double>(numbers[next])};
    }
};

/// 1 / √(variance + ε) in two passes; 1 for what does not vary.
long double scale_of(std::vector<long double> const& numbers, long double& mean, long double epsilon) {
    auto const count = static_cast<long double>(numbers.size());
    mean = 0;
    for (long double const x : numbers)
        mean += x / count;
    long double variance = 0;
    for (long double const x : numbers)
        variance += (x - mean) * (x - mean) / count;
    return variance == 0 ? 1 : 1 / std::sqrt(variance + epsilon);
}

} // namespace

TEMPLATE_TEST_CASE("what does not vary has the variance 0 and the scale 1", "[extremes]", float, double) {
    using T = TestType;
    for (T const size : {static_cast<T>(14.62), static_cast<T>(0.1), static_cast<T>(-1e30),
                         (std::numeric_limits<T>::max)(), std::numeric_limits<T>::denorm_min(), T(0)})
        for (std::size_t const batch : {1u, 7u, 1000u}) {
            running_statistics all(1), half(1);
            for (std::size_t rows = 0; rows < 1000; rows += batch)
                add(rows % 2 == 0 ? all : half, std::vector<T>(batch, size));
            all.merge(half);
            CAPTURE(size, batch);
            CHECK(all.mean(0) == static_cast<double>(size));
            CHECK(all.variance(0) == 0.0);
            CHECK(all.scale(0, 1e-8) == 1.0);
        }
    running_statistics rounded(1);
    add(rounded, std::vector<double>{14.62, std::nextafter(14.62, 15.0), 14.62});
    CHECK(rounded.scale(0, 1e-8) == 1.0);
    add(rounded, std::vector<double>{14.63});
    CHECK(rounded.scale(0, 0.0) == Approx(1.0 / std::sqrt(3.0 / 16.0 * 1e-4)).epsilon(1e-9));
}

TEMPLATE_TEST_CASE("running mean and variance of numbers of any size", "[extremes]", float, double) {
    using T = TestType;
    for (T const size : extremes<T>()) {
        auto const x = static_cast<long double>(size);
        if (std::isinf(4 * size) || std::abs(x) > 1e150L || (x != 0 && std::abs(x) < 1e-150L))
            continue; // numbers that T does not have, or a variance that double does not have
        running_statistics statistics(1);
        add(statistics, std::vector<T>{0, 4 * size});
        add(statistics, std::vector<T>{0, 0});
        CAPTURE(size);
        CHECK(agrees(statistics.mean(0), x));
        CHECK(agrees(statistics.variance(0), 3 * x * x));
        if (x != 0)
            CHECK(agrees(statistics.scale(0, 1e-8), 1 / std::sqrt(3 * x * x + 1e-8L)));
    }
}

TEST_CASE("numbers that are not finite, and squares that overflow, are refused and change nothing", "[extremes]") {
    running_statistics statistics(1);
    add(statistics, std::vector{1.0, 3.0});
    auto const refused = [&](std::vector<double> const& column, std::string const& message) {
        CHECK_THROWS_WITH(add(statistics, column), says(message));
        CHECK(statistics.count() == 2);
        CHECK(statistics.mean(0) == 2.0);
        CHECK(statistics.variance(0) == 1.0);
    };
    refused({1.0, quiet_nan<double>}, "row 1, element 0 is nan, but must be finite");
    refused({-infinity<double>}, "row 0, element 0 is -inf, but must be finite");
    refused({1e200, -1e200}, "element 0 has the mean 0 in a batch and 2 before; squares of their deviations overflow");
    refused({1e200}, "element 0 has the mean 1e+200 in a batch and 2 before; squares of their deviations overflow");
    refused({1.7e308, -1.7e308}, "squares of their deviations overflow");
    running_statistics far(1);
    add(far, std::vector{1e200, 1e200}); // the first numbers may be anywhere
    CHECK(far.mean(0) == 1e200);
    CHECK(far.variance(0) == 0.0);
    CHECK_THROWS_WITH(statistics.merge(far), says("overflow"));
    CHECK(statistics.count() == 2);
}

TEST_CASE("normalised observations and rewards are those of long double, whatever their size", "[extremes]") {
    for (float const size : extremes<float>()) {
        CAPTURE(size);
        std::vector<float> const numbers{0, size, -size, size / 2, size, 0, 1};
        // An offset of rewards by their mean is no part of the method: returns are only scaled.
        normalization const options{.observation_clip = 1.5f, .reward_clip = 0.9f};
        vector_environment worlds(1, 1, [&](std::size_t) { return script{numbers}; });
        normalized_environments seen(worlds, options);
        seen.set_discount(0.5);
        float observation = 0, final_observation = 0, reward = 0;
        float const action = 0;
        std::uint8_t terminated = 0, truncated = 0;
        std::vector<long double> observations{0}, returns;
        seen.reset(matrix_view<float>(&observation, 1, 1));
        CHECK(observation == 0);
        for (std::size_t t = 1; t < numbers.size(); ++t) {
            seen.step(matrix_view<float const>(&action, 1, 1),
                      {matrix_view<float>(&observation, 1, 1), matrix_view<float>(&final_observation, 1, 1),
                       std::span(&reward, 1), std::span(&terminated, 1), std::span(&truncated, 1)});
            auto const x = static_cast<long double>(numbers[t]);
            observations.push_back(x);
            returns.push_back(x + (returns.empty() ? 0 : returns.back() / 2));
            long double mean = 0, unused = 0;
            auto const clipped = [](long double y, long double bound) { return std::clamp(y, -bound, bound); };
            long double const scale = scale_of(observations, mean, options.epsilon);
            CHECK(agrees(observation, clipped((x - mean) * scale, 1.5L)));
            CHECK(agrees(reward, clipped(x * scale_of(returns, unused, options.epsilon), 0.9f)));
        }
    }
}
