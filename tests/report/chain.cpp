// SPDX-License-Identifier: Apache-2.0
// calibrate() on environments whose returns have a known distribution, with agents that know it, or do not.
#include "train/observe/calibrate.hpp"

#include <gmac/core/error.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <numbers>
#include <optional>

namespace train = gmac::examples::train;

namespace {

/// Each step gives a reward of N(0, 1), and ends with a probability.
struct noise {
    double ends = 0.0;

    [[nodiscard]] std::size_t observation_size() const noexcept { return 1; }
    [[nodiscard]] gmac::discrete action_space() const noexcept { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) { observation[0] = 0.0f; }
    gmac::transition step(int, gmac::random_stream& random, std::span<float> observation) {
        observation[0] = 0.0f;
        double const radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform<double>()));
        double const reward = radius * std::cos(2.0 * std::numbers::pi * random.uniform<double>());
        return {.reward = reward, .terminated = random.uniform<double>() < ends};
    }
};
/// An episode of four steps, of which the last one gives 1 or −1.
struct coin {
    int step_ = 0;

    [[nodiscard]] std::size_t observation_size() const noexcept { return 1; }
    [[nodiscard]] gmac::discrete action_space() const noexcept { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        step_ = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(int, gmac::random_stream& random, std::span<float> observation) {
        observation[0] = static_cast<float>(++step_);
        return {.reward = step_ < 4 ? 0.0 : random.uniform<double>() < 0.5 ? -1.0 : 1.0, .terminated = step_ == 4};
    }
};

/// An agent that does nothing but expect: value(observation).
template <class Value>
class oracle final : public train::trainer {
public:
    explicit oracle(Value value) : value_(std::move(value)) {}

    void sample(gmac::matrix_view<float const>, std::span<gmac::random_stream>, gmac::matrix_view<float> actions,
                gmac::matrix_view<std::uint8_t const>) override {
        for (std::size_t e = 0; e < actions.rows(); ++e)
            actions(e, 0) = 0.0f;
    }
    [[nodiscard]] std::vector<train::value_component> value_distribution(std::span<float const> state) override {
        return value_(state[0]);
    }

    [[nodiscard]] std::vector<std::vector<train::value_component>> latest_values(std::size_t) override { unused(); }
    void train(gmac::train_options const&) override { unused(); }
    void persist(gmac::archive&) override { unused(); }
    void persist_shared(gmac::archive&) override { unused(); }
    void persist_parameters(gmac::archive&) override { unused(); }
    [[nodiscard]] gmac::deployed_policy<gmac::backends::simd<float>, train::trunk_for<float>> policy(
        gmac::normalized_environments const*) const override {
        unused();
    }
    [[nodiscard]] gmac::deployed_value<gmac::backends::simd<float>, train::trunk_for<float>> value(
        gmac::normalized_environments const*) const override {
        unused();
    }
    [[nodiscard]] std::uint64_t frames() const override { return 0; }
    [[nodiscard]] std::size_t parameter_count() const override { return 0; }
    [[nodiscard]] std::vector<gmac::finished_episode> evaluate(batch&) const override { unused(); }
    void act(std::span<float const>, std::span<float>, gmac::matrix_view<std::uint8_t const>) override { unused(); }
    train::watching_critic<float>& watch(critic_factory&, std::uint64_t) override { unused(); }

private:
    [[noreturn]] static void unused() { gmac::fail("not asked for"); }
    Value value_;
};

constexpr double discount = 0.9;

/// Of the endless sum of discounted noise.
double const deviation = std::sqrt(1.0 / (1.0 - discount * discount));

template <class Worlds, class Value>
nlohmann::ordered_json calibrated(Worlds&& worlds, Value value, train::calibration_options options) {
    oracle agent(std::move(value));
    return train::calibrate<float>(agent, worlds, options);
}

} // namespace

TEST_CASE("the horizon is where a reward counts a twentieth", "[report]") {
    CHECK(train::horizon_of(0.9) == 29); // 0.9^28 = 0.0523, 0.9^29 = 0.0471
    CHECK(train::horizon_of(0.0) == 1);
    CHECK(train::horizon_of(0.05) == 1);
    CHECK(train::horizon_of(1.0) == std::numeric_limits<std::size_t>::max());
}

TEST_CASE("who knows the distribution of the return is calibrated, in reward units too", "[report]") {
    double const scale = 5.0;
    auto const know = [](float) { return std::vector<train::value_component>{{1.0, 0.0, deviation}}; };
    gmac::vector_environment<noise> worlds(64, 3);
    auto const all =
        calibrated(worlds, know, {.discount = discount, .scale = scale, .seed = 1, .steps = 600, .states = 6'000});
    CHECK(all["episodes"] == 64);
    CHECK(all["horizon"] == 29);
    CHECK(all["limit"].is_null());
    CHECK(all["cut"] == 0);
    // Every seventh of 64 · 600 states, a few more than 6,000 do not fit; those of the last 29 steps are left out.
    CHECK(all["states"].get<double>() == Approx(64.0 * 571.0 / 7.0).epsilon(0.01));
    CHECK(all["left_out"].get<double>() == Approx(64.0 * 29.0 / 7.0).epsilon(0.1));
    for (std::size_t i = 0; i < 19; ++i)
        CHECK(all["below"][i].get<double>() == Approx(0.05 * static_cast<double>(i + 1)).margin(0.035));
    CHECK(all["crps"].get<double>() == Approx(scale * deviation / std::sqrt(std::numbers::pi)).epsilon(0.05));

    auto const narrow = [](float) { return std::vector<train::value_component>{{1.0, 0.0, 0.5 * deviation}}; };
    gmac::vector_environment<noise> same(64, 3);
    auto const wrong = calibrated(same, narrow, {.discount = discount, .seed = 1, .steps = 600, .states = 6'000});
    CHECK(wrong["below"][0].get<double>() == Approx(0.2055).margin(0.04)); // Φ(Φ⁻¹(0.05) / 2)
    CHECK(wrong["below"][18].get<double>() == Approx(0.7945).margin(0.04));
}

TEST_CASE("episodes that end are followed to their end and no further", "[report]") {
    // After k steps the return of a coin is ± 0.9^(3 − k).
    auto const know = [](float step) {
        double const size = std::pow(discount, 3.0 - static_cast<double>(step));
        return std::vector<train::value_component>{{0.5, -size, 0.0}, {0.5, size, 0.0}};
    };
    gmac::vector_environment<coin> worlds(16, 5);
    auto const all = calibrated(worlds, know, {.discount = discount, .seed = 1, .steps = 400, .states = 10'000});
    CHECK(all["cut"] == 0);
    double expected = 0.0; // of half ± a and ± a outcomes the score is a / 2
    for (int step = 0; step < 4; ++step)
        expected += std::pow(discount, 3.0 - step) / 8.0;
    CHECK(all["crps"].get<double>() == Approx(expected).epsilon(1e-3));
    CHECK(all["episodes"].get<std::size_t>() ==
          16 * 93); // of the 371 steps that count, 92 whole episodes and three steps
}

TEST_CASE("states near a time limit are left out, whatever became of their episodes", "[report]") {
    // A fifth of the episodes reaches the limit: of those that do not, the return of the last steps is another one.
    auto const know = [](float) { return std::vector<train::value_component>{{1.0, 0.0, deviation}}; };
    auto const limited = [](std::size_t) { return gmac::time_limit(noise{.ends = 0.016}, 100); };
    gmac::vector_environment<gmac::time_limit<noise>> worlds(32, 9, limited);
    auto const all = calibrated(worlds, know, {.discount = discount, .seed = 1, .steps = 500, .states = 100'000});
    CHECK(all["limit"] == 100);
    CHECK(all["cut"] == 0);
    CHECK(all["states"].get<std::size_t>() + all["left_out"].get<std::size_t>() == 32 * 500);

    // A limit within the horizon leaves no such rule: what was cut is counted, so that a reader is warned.
    auto const short_one = [](std::size_t) { return gmac::time_limit(noise{.ends = 0.05}, 20); };
    gmac::vector_environment<gmac::time_limit<noise>> cut(32, 9, short_one);
    auto const biased = calibrated(cut, know, {.discount = discount, .seed = 1, .steps = 500, .states = 100'000});
    CHECK(biased["limit"].is_null());
    CHECK(biased["cut"].get<std::size_t>() > biased["states"].get<std::size_t>() / 4);
}

TEST_CASE("with a discount of 1 only what ended is known", "[report]") {
    auto const know = [](float) { return std::vector<train::value_component>{{0.5, -1.0, 0.0}, {0.5, 1.0, 0.0}}; };
    gmac::vector_environment<coin> worlds(4, 5);
    auto const all = calibrated(worlds, know, {.discount = 1.0, .seed = 1, .steps = 200, .states = 10'000});
    CHECK(all["horizon"].is_null());
    CHECK(all["states"] == 4 * 100); // of the first half, all of whose episodes have ended
    CHECK(all["crps"].get<double>() == Approx(0.5));

    gmac::vector_environment<noise> endless(4, 5);
    CHECK(calibrated(endless, know, {.discount = 1.0, .seed = 1, .steps = 200, .states = 10'000})["states"] == 0);
}

TEST_CASE("the same seed gives the same numbers, and a value that is not finite is refused", "[report]") {
    auto const know = [](float) { return std::vector<train::value_component>{{1.0, 0.0, 1.0}}; };
    auto const once = [&](std::uint64_t seed) {
        gmac::vector_environment<noise> worlds(4, seed);
        return calibrated(worlds, know, {.discount = discount, .seed = 1, .steps = 100, .states = 100}).dump();
    };
    CHECK(once(1) == once(1));
    CHECK(once(1) != once(2));
    auto const lost = [](float) { return std::vector<train::value_component>{{1.0, std::nan(""), 1.0}}; };
    gmac::vector_environment<noise> worlds(4, 1);
    CHECK_THROWS_AS(calibrated(worlds, lost, {.discount = discount, .steps = 100, .states = 100}), gmac::error);
}
