// SPDX-License-Identifier: Apache-2.0
// Running statistics and normalised environments against two-pass formulas on recorded data.
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include "worlds.hpp"

#include <gmac/environment/normalized.hpp>
#include <gmac/environment/running_statistics.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using gmac::normalized_environments;
using gmac::running_statistics;
using gmac::vector_environment;
using gmac::testing::buffers;
using gmac::testing::message_of;
using gmac::testing::walk;

/// Mean and population variance in two passes, in long double.
struct two_pass {
    long double mean = 0, variance = 0;
    template <class T>
    explicit two_pass(std::vector<T> const& numbers) {
        auto const count = static_cast<long double>(numbers.size());
        for (T x : numbers)
            mean += static_cast<long double>(x) / count;
        for (T x : numbers)
            variance += (static_cast<long double>(x) - mean) * (static_cast<long double>(x) - mean) / count;
    }
};

template <class T>
void check_statistics(double offset, double tolerance) {
    gmac::random_stream random(4);
    running_statistics whole(2), first(2), second(2);
    std::vector<T> a, b;
    for (std::size_t rows : {1u, 7u, 64u, 2u, 128u, 1u}) {
        std::vector<T> batch(rows * 2);
        for (std::size_t i = 0; i < rows; ++i) {
            batch[2 * i] = static_cast<T>(offset + random.normal<double>());
            batch[2 * i + 1] = static_cast<T>(3.0 * random.uniform<double>());
            a.push_back(batch[2 * i]);
            b.push_back(batch[2 * i + 1]);
        }
        whole.update(gmac::matrix_view<T const>(batch.data(), rows, 2));
        (rows < 10 ? first : second).update(gmac::matrix_view<T>(batch.data(), rows, 2));
    }
    first.merge(second);
    first.merge(running_statistics(2));
    for (running_statistics const* statistics : {&whole, &first}) {
        CHECK(statistics->count() == 203);
        CHECK(statistics->mean(0) == Approx(static_cast<double>(two_pass(a).mean)).epsilon(1e-14));
        CHECK(statistics->variance(0) == Approx(static_cast<double>(two_pass(a).variance)).epsilon(tolerance));
        CHECK(statistics->mean(1) == Approx(static_cast<double>(two_pass(b).mean)).epsilon(1e-14));
        CHECK(statistics->variance(1) == Approx(static_cast<double>(two_pass(b).variance)).epsilon(1e-13));
    }
    CHECK(whole.scale(1, 0.5) == Approx(1.0 / std::sqrt(static_cast<double>(two_pass(b).variance) + 0.5)));
}

TEST_CASE("running statistics are the two-pass mean and variance, far from zero too") {
    check_statistics<float>(1.0, 1e-13);
    check_statistics<double>(-2.0, 1e-13);
    // Means of 1e6 are known to 1e-10 in double, so deviations of 1 to about that much squared and crossed.
    check_statistics<double>(1e6, 1e-9);
}

TEST_CASE("what has not varied is not scaled") {
    running_statistics statistics(1);
    CHECK(statistics.count() == 0);
    CHECK(statistics.mean(0) == 0.0);
    CHECK(statistics.scale(0, 1e-8) == 1.0);
    std::vector<float> const constant(5, 0.1f);
    for (int i = 0; i < 100; ++i)
        statistics.update(gmac::matrix_view<float const>(constant.data(), 5, 1));
    CHECK(statistics.mean(0) == static_cast<double>(0.1f));
    CHECK(statistics.variance(0) == 0.0);
    CHECK(statistics.scale(0, 1e-8) == 1.0);
}

TEST_CASE("running statistics take any strides, refuse what is not finite, and stay as they were") {
    std::vector<double> const numbers{1, 2, 3, 4, 5, 6};
    running_statistics rows(2), columns(2);
    rows.update(gmac::matrix_view<double const>(numbers.data(), 3, 2));
    std::vector<double> const turned{1, 3, 5, 2, 4, 6};
    columns.update(gmac::matrix_view<double const>(turned.data(), 3, 2, 1, 3));
    CHECK(rows.mean(1) == 4.0);
    CHECK(rows.variance(1) == Approx(8.0 / 3.0).epsilon(1e-15));
    CHECK((columns.mean(1) == rows.mean(1) && columns.variance(1) == rows.variance(1)));

    double const nan = std::numeric_limits<double>::quiet_NaN();
    double const infinity = std::numeric_limits<double>::infinity();
    for (auto const& bad : {std::vector<double>{1, 2, 3, nan}, std::vector<double>{1, infinity, 3, -infinity}}) {
        std::string const message = message_of([&] { rows.update(gmac::matrix_view<double const>(bad.data(), 2, 2)); });
        CHECK(message.find("running_statistics::update: row ") == 0);
        CHECK(message.find("element 1 is ") != std::string::npos);
        CHECK((rows.count() == 3 && rows.mean(1) == 4.0));
    }
    CHECK(message_of([&] { rows.update(gmac::matrix_view<double const>(numbers.data(), 2, 3)); }) ==
          "running_statistics::update: batch is 2 x 3, but must be 2 x 2");
    CHECK(message_of([&] { rows.merge(running_statistics(3)); }) ==
          "running_statistics::merge: the other has 3 elements, but must have 2");
}

float expected(double deviation, double variance, double bound) {
    return static_cast<float>(std::clamp(deviation / std::sqrt(variance + 1e-8), -bound, bound));
}

TEST_CASE("observations and rewards are normalised by what was seen, the new included") {
    constexpr std::size_t count = 3;
    vector_environment<walk> plain(count, 8), inner(count, 8);
    normalized_environments batch(inner, {.observation_clip = 1.5, .reward_clip = 0.6});
    batch.set_discount(0.9);
    buffers p(plain), n(batch);
    std::vector<std::vector<float>> seen(3);
    std::vector<double> returns(count, 0.0), all_returns;
    std::size_t clipped = 0, ends = 0;
    auto const record = [&] {
        for (std::size_t i = 0; i < count; ++i)
            for (std::size_t j = 0; j < 3; ++j)
                seen[j].push_back(p.observations[3 * i + j]);
    };
    auto const check_row = [&](float const* raw, float const* normal) {
        for (std::size_t j = 0; j < 3; ++j) {
            two_pass const moments(seen[j]);
            float const wanted =
                expected(static_cast<double>(raw[j] - moments.mean), static_cast<double>(moments.variance), 1.5);
            CHECK(normal[j] == Approx(wanted).epsilon(1e-6).margin(1e-7));
            clipped += std::abs(wanted) == 1.5f ? 1u : 0u;
        }
    };
    plain.reset(p.observation_view());
    batch.reset(n.observation_view());
    record();
    for (std::size_t i = 0; i < count; ++i)
        check_row(&p.observations[3 * i], &n.observations[3 * i]);
    for (int step = 0; step < 60; ++step) {
        p.step(plain);
        n.step(batch);
        record();
        for (std::size_t i = 0; i < count; ++i) {
            returns[i] = 0.9 * returns[i] + static_cast<double>(p.rewards[i]);
            all_returns.push_back(returns[i]);
        }
        CHECK(p.terminated == n.terminated);
        CHECK(p.truncated == n.truncated);
        double const variance = static_cast<double>(two_pass(all_returns).variance);
        for (std::size_t i = 0; i < count; ++i) {
            float const wanted = expected(static_cast<double>(p.rewards[i]), variance, 0.6);
            CHECK(n.rewards[i] == Approx(wanted).epsilon(1e-6));
            clipped += std::abs(wanted) == 0.6f ? 1u : 0u;
            check_row(&p.observations[3 * i], &n.observations[3 * i]);
            if (p.terminated[i] || p.truncated[i]) {
                returns[i] = 0.0;
                check_row(&p.finals[3 * i], &n.finals[3 * i]);
                ++ends;
            }
        }
        REQUIRE(plain.finished().size() == batch.finished().size());
        for (std::size_t k = 0; k < plain.finished().size(); ++k)
            CHECK(plain.finished()[k].reward_sum == batch.finished()[k].reward_sum); // as the environment gave them
        buffers again(batch);
        batch.observe(again.observation_view());
        CHECK(again.observations == n.observations);
    }
    CHECK(clipped > 20);
    CHECK(ends > 20);
    CHECK(batch.observation_statistics().count() == count * 61);
    CHECK(batch.return_statistics().count() == count * 60);
}

TEST_CASE("rows of environments that did not end keep their final observations untouched") {
    vector_environment inner(2, 1, [](std::size_t i) { return gmac::testing::counting{.first_episode = i}; });
    normalized_environments batch(inner);
    buffers b(batch);
    batch.reset(b.observation_view());
    for (int i = 0; i < 3; ++i)
        b.step(batch);
    CHECK(b.truncated == std::vector<std::uint8_t>{1, 0});
    CHECK((b.finals[2] == -7.0f && b.finals[3] == -7.0f));
    CHECK((b.finals[0] != -7.0f && b.finals[1] != 3.0f));
}

TEST_CASE("each of the two normalisations can be switched off") {
    vector_environment<walk> plain(2, 8), only_rewards(2, 8), only_observations(2, 8);
    normalized_environments r(only_rewards, {.observations = false});
    normalized_environments o(only_observations, {.rewards = false});
    buffers p(plain), b(r), c(o);
    plain.reset(p.observation_view());
    r.reset(b.observation_view());
    o.reset(c.observation_view());
    for (int i = 0; i < 10; ++i) {
        p.step(plain);
        b.step(r);
        c.step(o);
        CHECK(b.observations == p.observations);
        CHECK(b.finals == p.finals);
        CHECK(b.rewards != p.rewards);
        CHECK(c.observations != p.observations);
        CHECK(c.rewards == p.rewards);
    }
    CHECK(r.observation_statistics().count() == 0);
    CHECK(o.return_statistics().count() == 0);
}

TEST_CASE("an evaluation uses the statistics of the training and adds nothing to them") {
    vector_environment<walk> training(4, 8), raw(2, 9), evaluated(2, 9);
    normalized_environments train(training);
    buffers t(train), p(raw);
    train.reset(t.observation_view());
    for (int i = 0; i < 50; ++i)
        t.step(train);
    auto evaluation = train.evaluation(evaluated);
    CHECK(evaluation.frozen());
    buffers e(evaluation);
    raw.reset(p.observation_view());
    evaluation.reset(e.observation_view());
    auto const check = [&] {
        for (std::size_t i = 0; i < 2; ++i) {
            for (std::size_t j = 0; j < 3; ++j) {
                auto const& moments = train.observation_statistics();
                double const deviation = static_cast<double>(p.observations[3 * i + j]) - moments.mean(j);
                CHECK(e.observations[3 * i + j] ==
                      Approx(expected(deviation, moments.variance(j), 10.0)).epsilon(1e-6).margin(1e-7));
            }
        }
    };
    check();
    for (int i = 0; i < 20; ++i) {
        p.step(raw);
        e.step(evaluation);
        check();
    }
    CHECK(train.observation_statistics().count() == 4 * 51);
    CHECK(train.return_statistics().count() == 4 * 50);
    for (int i = 0; i < 50; ++i) // what the training sees later holds for the evaluation too
        t.step(train);
    p.step(raw);
    e.step(evaluation);
    check();

    train.freeze(true);
    t.step(train);
    CHECK(train.observation_statistics().count() == 4 * 101);
    train.freeze(false);
    t.step(train);
    CHECK(train.observation_statistics().count() == 4 * 102);

    vector_environment<gmac::testing::counting> other(1, 1);
    CHECK(message_of([&] { (void)train.evaluation(other); }) ==
          "normalized_environments::evaluation: the environments' observation size is 2, but must be 3");
}

TEST_CASE("normalised environments are restored bit for bit in the middle of their episodes") {
    auto const make = [](std::uint64_t seed) {
        return normalized_environments(std::make_unique<vector_environment<walk>>(3, seed));
    };
    auto first = make(1), second = make(2);
    buffers b(first), c(second);
    first.set_discount(0.95);
    second.set_discount(0.95);
    first.reset(b.observation_view());
    for (int i = 0; i < 23; ++i)
        b.step(first);
    CHECK(first.checkpointable());
    gmac::testing::memory_archive saved;
    first.persist(saved);
    saved.rewind();
    second.persist(saved);
    second.observe(c.observation_view());
    CHECK(b.observations == c.observations);
    for (int i = 0; i < 100; ++i) {
        b.step(first);
        c.step(second);
        REQUIRE(b.observations == c.observations);
        REQUIRE(b.rewards == c.rewards);
        REQUIRE(first.finished().size() == second.finished().size());
    }
    gmac::testing::memory_archive a, d;
    first.persist(a);
    second.persist(d);
    CHECK(a == d);
}

/// A batch of two that does not check what it gives.
class careless final : public gmac::environment_batch {
public:
    float reward = 1.0f, observation = 1.0f, final_observation = 1.0f;

    [[nodiscard]] std::size_t size() const noexcept override { return 2; }
    [[nodiscard]] std::size_t observation_size() const noexcept override { return 1; }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept override { return space_; }
    void reset(gmac::matrix_view<float> observations) override {
        ++changes_;
        observe(observations);
    }
    [[nodiscard]] std::uint64_t changes() const noexcept override { return changes_; }
    void observe(gmac::matrix_view<float> observations) const override {
        observations(0, 0) = 0.5f;
        observations(1, 0) = observation;
    }
    void step(gmac::matrix_view<float const>, gmac::step_result const& result) override {
        ++changes_;
        observe(result.observations);
        for (std::size_t i = 0; i < 2; ++i) {
            result.final_observations(i, 0) = i == 1 ? final_observation : 0.0f;
            result.rewards[i] = i == 1 ? reward : 0.0f;
            result.terminated[i] = 0;
            result.truncated[i] = 1;
        }
    }
    [[nodiscard]] std::span<gmac::finished_episode const> finished() const noexcept override { return {}; }
    [[nodiscard]] bool checkpointable() const noexcept override { return false; }
    void persist(gmac::archive&) override {}

private:
    gmac::action_space space_ = gmac::discrete{2};
    std::uint64_t changes_ = 0;
};

TEST_CASE("a number that is not finite becomes an error before it is counted") {
    float const nan = std::numeric_limits<float>::quiet_NaN();
    careless inner;
    normalized_environments batch(inner);
    CHECK_FALSE(batch.checkpointable());
    buffers b(batch);
    batch.reset(b.observation_view());
    for (bool frozen : {false, true}) {
        batch.freeze(frozen);
        inner.reward = nan;
        CHECK(message_of([&] { b.step(batch); }) ==
              "normalized_environments: environment 1: the reward is nan, but must be finite");
        inner.reward = 1.0f;
        inner.observation = nan;
        CHECK(message_of([&] { b.step(batch); }) ==
              "normalized_environments: environment 1: observation element 0 is nan, but must be finite");
        CHECK_THROWS_AS(batch.reset(b.observation_view()), gmac::error);
        inner.observation = 1.0f;
        inner.final_observation = -std::numeric_limits<float>::infinity();
        CHECK(message_of([&] { b.step(batch); }) ==
              "normalized_environments: environment 1: observation element 0 is -inf, but must be finite");
        inner.final_observation = 1.0f;
    }
    CHECK(batch.observation_statistics().count() == 2);
    CHECK(batch.return_statistics().count() == 0);
}

TEST_CASE("what changes the normalisation changes what is shown") {
    vector_environment<walk> inner(2, 5), others(2, 6);
    normalized_environments batch(inner);
    buffers b(batch);
    auto last = batch.changes();
    auto const changed = [&] { return std::exchange(last, batch.changes()) != batch.changes(); };
    batch.reset(b.observation_view());
    CHECK(changed());
    b.step(batch);
    CHECK(changed());
    batch.observe(b.observation_view());
    CHECK_FALSE(changed());
    gmac::testing::memory_archive saved;
    batch.persist_statistics(saved);
    CHECK_FALSE(changed());
    saved.rewind();
    batch.persist_statistics(saved);
    CHECK(changed());
    auto evaluation = batch.evaluation(others);
    evaluation.reset(b.observation_view());
    CHECK_FALSE(changed());
}

TEST_CASE("options out of range are refused") {
    vector_environment<walk> inner(1, 1);
    auto const with = [&](gmac::normalization options) {
        return message_of([&] { normalized_environments(inner, options); });
    };
    double const nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(with({}).empty());
    auto const discounted = [&](double discount) {
        return message_of([&] { normalized_environments(inner).set_discount(discount); });
    };
    CHECK(discounted(1.0).empty());
    CHECK(discounted(1.2) == "normalized_environments: discount is 1.2, but must be in [0, 1]");
    CHECK(discounted(nan) == "normalized_environments: discount is nan, but must be in [0, 1]");
    CHECK(with({.observation_clip = 0.0}) == "normalized_environments: observation_clip is 0, but must be positive");
    CHECK(with({.reward_clip = -1.0}) == "normalized_environments: reward_clip is -1, but must be positive");
    CHECK(with({.epsilon = -1e-8}) ==
          "normalized_environments: epsilon is -1e-08, but must be finite and not negative");
    CHECK(message_of([] { normalized_environments(std::unique_ptr<gmac::environment_batch>()); }) ==
          "environment_batch_decorator: there is no batch to decorate");
}

TEST_CASE("normalisation allocates nothing after construction") {
    vector_environment<walk> inner(8, 8);
    normalized_environments batch(inner);
    buffers b(batch);
    CHECK(gmac::testing::allocations_during([&] {
              batch.reset(b.observation_view());
              for (int i = 0; i < 50; ++i)
                  b.step(batch);
              batch.observe(b.observation_view());
          }) == 0);
}

} // namespace
