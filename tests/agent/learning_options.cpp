// SPDX-License-Identifier: Apache-2.0
// Options of how an agent learns, each against what it says, done by hand.
#include <gmac/actors/categorical.hpp>
#include <gmac/agent/kl_schedule.hpp>
#include <gmac/agents.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "agent/worlds.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace {

using gmac::rate_schedule;
using gmac::testing::parameters_of;
using gmac::testing::small_options;
using agent_type = gmac::agents::gmac<gmac::actors::categorical>;
using plain_agent = gmac::agents::ppo<gmac::actors::categorical>;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// An agent with environments of its own, always the same ones.
template <class Agent>
struct setup {
    gmac::vector_environment<gmac::testing::line> worlds;
    Agent agent;
    explicit setup(gmac::agent_options const& options, gmac::executor* tasks = nullptr)
        : worlds(5, 3, tasks), agent(worlds, options, {.seed = 11, .tasks = tasks}) {}
};

template <class Agent = agent_type>
std::string refusal(auto change) {
    auto options = small_options();
    change(options);
    try {
        setup<Agent> const made(options);
    } catch (gmac::error const& problem) {
        return problem.what();
    }
    return "no error";
}

double norm(std::span<double const> values) {
    double squares = 0.0;
    for (double const value : values)
        squares += value * value;
    return std::sqrt(squares);
}

/// Says whether the targets of an agent are what SR(λ) with its own options makes of the same rollout and streams.
struct checked_particles : gmac::targets::gaussian_particles<float const> {
    static inline gmac::targets::sr_lambda wanted{};
    static inline int same = 0, different = 0;

    template <class Head>
    class maker : public gmac::targets::gaussian_particles<float const>::maker<Head> {
        using base = gmac::targets::gaussian_particles<float const>::maker<Head>;

    public:
        maker(Head const& head, gmac::targets::sr_lambda const& rule, std::size_t rows, std::size_t states)
            : base(head, rule, rows, states), rows_(rows) {}

        void make(Head const& head, gmac::targets::rollout_source<float> const& source) {
            std::vector<gmac::random_stream> streams(source.streams.begin(), source.streams.end());
            base::make(head, source);
            std::size_t const states = source.outputs.rows();
            std::vector<float> weights(states * Head::components), means(weights), deviations(weights);
            auto const view = [](auto& all, std::size_t rows) {
                return gmac::matrix_view<float>(all.data(), rows, all.size() / rows);
            };
            head.distribution(source.outputs, view(weights, states), view(means, states), view(deviations, states));
            std::vector<float> right(rows_ * wanted.particles), right_deviations(right);
            gmac::targets::gaussian_particles<float> const targets{view(right, rows_), view(right_deviations, rows_)};
            gmac::targets::gaussian_source<float> const values{view(weights, states), view(means, states),
                                                               view(deviations, states)};
            wanted(source.steps, values, std::span(streams), targets);
            std::vector<std::uint32_t> all(rows_);
            std::iota(all.begin(), all.end(), 0u);
            auto memory = base::make_batch(rows_);
            auto const made = base::take(all, memory);
            for (std::size_t row = 0; row < rows_; ++row)
                for (std::size_t i = 0; i < wanted.particles; ++i)
                    ++(made.means(row, i) == targets.means(row, i) ? same : different);
        }

    private:
        std::size_t rows_;
    };
};

struct checked_energy : gmac::losses::gaussian_mixture_energy {
    template <class>
    using targets_type = checked_particles;
};

/// The sum over a minibatch of all states of their divergences, after 0, 1, … epochs of one minibatch each: told by runs
/// that end after so many epochs.
template <class Agent>
std::vector<double> divergences(gmac::agent_options options, std::size_t epochs) {
    std::vector<double> each;
    double sum = 0.0;
    for (options.epochs = 1; options.epochs <= epochs; ++options.epochs) {
        setup<Agent> made(options);
        double const now = made.agent.update().approximate_kl * static_cast<double>(options.epochs);
        each.push_back(now - sum);
        sum = now;
    }
    return each;
}

struct backwards : gmac::losses::clipped_squared_error {
    static constexpr double max_gradient_norm = -1.0;
};

} // namespace

TEST_CASE("an agent's particles are replaced as its options say") {
    using gmac::targets::resampling;
    for (auto const replacement : {resampling::independent, resampling::stratified})
        for (auto const other : {resampling::independent, resampling::stratified}) {
            auto options = small_options();
            options.replacement = replacement;
            checked_particles::wanted = {.discount = options.discount,
                                         .lambda = options.lambda,
                                         .particles = options.particles,
                                         .replacement = other};
            checked_particles::same = checked_particles::different = 0;
            setup<gmac::actor_critic<gmac::actors::categorical, gmac::heads::gaussian_mixture<5>, checked_energy>> made(
                options);
            for (int i = 0; i < 2; ++i)
                static_cast<void>(made.agent.update());
            CHECK(checked_particles::same + checked_particles::different == 2 * 16 * 5 * 16);
            CHECK((checked_particles::different == 0) == (replacement == other));
        }
    CHECK(small_options().replacement == resampling::independent);
}

TEST_CASE("the rate goes by a factor away from a divergence that is not near the target, up to its bounds") {
    constexpr gmac::kl_schedule rate{.target = 0.01, .minimum = 1e-5, .maximum = 1e-2};
    CHECK(rate.next(1e-3, 0.0201) == Approx(1e-3 / 1.5).epsilon(1e-15));
    CHECK(rate.next(1e-3, 0.0049) == Approx(1.5e-3).epsilon(1e-15));
    for (double const near : {0.005, 0.01, 0.02})
        CHECK(rate.next(1e-3, near) == 1e-3);
    CHECK(rate.next(1e-3, 0.0) == 1e-3); // nothing was learned before
    CHECK(rate.next(1.2e-5, 1.0) == 1e-5);
    CHECK(rate.next(0.9e-2, 1e-4) == 1e-2);
    CHECK(rate.next(1e-3, infinity) == Approx(1e-3 / 1.5));
}

TEST_CASE("the schedule by divergence is asked after each epoch") {
    auto options = small_options();
    options.schedule = rate_schedule::kl;
    options.epochs = 3;
    SECTION("below any target it grows by the factor, up to the bound") {
        options.target_kl = 1e6;
        setup<agent_type> made(options);
        for (double const of_last_epoch : {2.25e-3, 1e-3 * std::pow(1.5, 5), 1e-2, 1e-2})
            CHECK(made.agent.update().learning_rate == Approx(of_last_epoch));
    }
    SECTION("above any target it falls, down to the bound") {
        options.target_kl = 1e-12;
        options.learning_rate_minimum = 1e-4;
        setup<agent_type> made(options);
        for (double const of_last_epoch : {1e-3 / 2.25, 1e-3 / std::pow(1.5, 5), 1e-4, 1e-4})
            CHECK(made.agent.update().learning_rate == Approx(of_last_epoch));
    }
    SECTION("with one epoch an update, all of it can be followed by the reports") {
        options.epochs = 1;
        options.learning_rate = 1e-2;
        options.target_kl = 2e-4;
        setup<plain_agent> made(options);
        double rate = 1e-2;
        int ups = 0, downs = 0;
        for (int i = 0; i < 60; ++i) {
            auto const report = made.agent.update();
            CHECK(report.learning_rate == Approx(rate).epsilon(1e-12));
            if (report.approximate_kl > 2.0 * options.target_kl) {
                rate = std::max(1e-5, rate / 1.5);
                ++downs;
            } else if (report.approximate_kl < 0.5 * options.target_kl) {
                rate = std::min(1e-2, rate * 1.5);
                ++ups;
            }
        }
        CHECK(ups > 3);
        CHECK(downs > 3);
    }
    SECTION("the rate is the one that is learned with") {
        options.learning_rate_minimum = options.learning_rate_maximum = options.learning_rate;
        auto constant = options;
        constant.schedule = rate_schedule::constant;
        setup<agent_type> bound(options), fixed(constant);
        for (int i = 0; i < 3; ++i)
            CHECK(bound.agent.update().value_loss == fixed.agent.update().value_loss);
        CHECK(parameters_of(bound.agent) == parameters_of(fixed.agent));
        options.learning_rate_maximum = 1e-2;
        options.target_kl = 1e6;
        setup<agent_type> growing(options);
        static_cast<void>(growing.agent.update());
        static_cast<void>(fixed.agent.update());
        CHECK(parameters_of(growing.agent) != parameters_of(setup<agent_type>(constant).agent));
    }
}

TEST_CASE("the epochs end before the minibatch whose divergence is above 1.5 times the target") {
    auto options = small_options();
    options.minibatch = 16 * 5; // the whole rollout
    options.learning_rate = 1e-2;
    std::vector<double> const kl = divergences<plain_agent>(options, 9);
    // The first one that is larger than all before it by far enough, after a few epochs.
    std::size_t stop = 3;
    while (stop < kl.size() && kl[stop] < 1.2 * *std::max_element(kl.begin(), kl.begin() + std::ptrdiff_t(stop)))
        ++stop;
    REQUIRE(stop < kl.size());
    auto stopped = options, counted = options;
    stopped.early_stop = true;
    stopped.epochs = 9;
    stopped.target_kl = kl[stop] / 1.5 / 1.1;
    counted.epochs = stop;
    setup<plain_agent> by_divergence(stopped), by_number(counted);
    auto const report = by_divergence.agent.update();
    CHECK(report.epochs == static_cast<double>(stop));
    CHECK(by_number.agent.update().epochs == static_cast<double>(stop));
    CHECK(parameters_of(by_divergence.agent) == parameters_of(by_number.agent));
    // The minibatch that was too far away is in the means.
    double sum = 0.0;
    for (std::size_t i = 0; i <= stop; ++i)
        sum += kl[i];
    CHECK(report.approximate_kl == Approx(sum / static_cast<double>(stop + 1)));

    stopped.target_kl = 1e6;
    counted.epochs = 9;
    setup<plain_agent> never(stopped), all(counted);
    CHECK(never.agent.update().epochs == 9.0);
    static_cast<void>(all.agent.update());
    CHECK(parameters_of(never.agent) == parameters_of(all.agent));
}

TEST_CASE("a part of an epoch counts as a part") {
    auto options = small_options(); // four minibatches of 80 states: 24, 24, 24 and 8
    options.early_stop = true;
    options.learning_rate = 1e-2;
    options.target_kl = 1e-12; // only the first one is not above it, before which nothing was learned
    setup<plain_agent> made(options);
    double const epochs = made.agent.update().epochs;
    CHECK(epochs <= 0.25);
    CHECK(epochs == std::floor(4.0 * epochs) / 4.0);
}

TEST_CASE("a rate by divergence and stopped epochs are the same for any number of threads and across stop and resume") {
    auto options = small_options();
    options.schedule = rate_schedule::kl;
    options.early_stop = true;
    options.epochs = 5;
    options.target_kl = 1e-3;
    options.learning_rate = 2e-3;
    options.shared_trunk = false;
    options.clip_networks_separately = true;
    options.replacement = gmac::targets::resampling::stratified;
    gmac::tbb_executor three(3);
    setup<agent_type> whole(options), threaded(options, &three), cut(options);
    std::vector<double> rates;
    double fewest = 5.0, most = 0.0;
    for (int i = 0; i < 6; ++i) {
        auto const a = whole.agent.update();
        auto const b = threaded.agent.update();
        CHECK(a.learning_rate == b.learning_rate);
        CHECK(a.approximate_kl == b.approximate_kl);
        CHECK(a.epochs == b.epochs);
        rates.push_back(a.learning_rate);
        fewest = std::min(fewest, a.epochs);
        most = std::max(most, a.epochs);
    }
    CHECK(fewest < most); // else nothing was tried here
    CHECK(std::ranges::min(rates) < std::ranges::max(rates));
    CHECK(parameters_of(whole.agent) == parameters_of(threaded.agent));
    for (int i = 0; i < 3; ++i)
        static_cast<void>(cut.agent.update());
    gmac::testing::memory_archive file;
    cut.agent.persist(file);
    file.rewind();
    setup<agent_type> resumed(options);
    resumed.agent.persist(file);
    for (int i = 3; i < 6; ++i)
        CHECK(resumed.agent.update().learning_rate == rates[static_cast<std::size_t>(i)]);
    CHECK(parameters_of(whole.agent) == parameters_of(resumed.agent));

    double const wrong = 0.5;
    std::memcpy(file.entries().at("optimiser.adaptive_learning_rate").data.data(), &wrong, sizeof wrong);
    CHECK_THROWS_WITH(resumed.agent.persist(file),
                      gmac::testing::says("the stored learning rate is 0.5, but must be in [1e-05, 0.01]"));
}

TEST_CASE("a loss with a limit of the norm that is none is refused") {
    auto options = small_options();
    options.max_gradient_norm.reset();
    gmac::vector_environment<gmac::testing::line> worlds(5, 3);
    using agent = gmac::actor_critic<gmac::actors::categorical, gmac::heads::scalar, backwards>;
    CHECK_THROWS_WITH(agent(worlds, options, {.seed = 11}),
                      "actor_critic: max_gradient_norm is -1, but must be positive");
}

TEST_CASE("with separate limits each network's gradient has a norm of its own") {
    // With an ε this large Adam's first step is the gradient in a scale that is known: −rate g / (|g| + ε).
    auto options = small_options();
    options.shared_trunk = false;
    options.minibatch = 16 * 5;
    options.epochs = 1;
    options.optimiser_epsilon = 10.0;
    options.learning_rate = 1.0;
    options.max_gradient_norm = infinity;
    auto const gradient = [](gmac::agent_options const& with, double& told) {
        setup<agent_type> made(with);
        auto const before = parameters_of(made.agent);
        told = made.agent.update().gradient_norm;
        auto const after = parameters_of(made.agent);
        std::vector<double> result(before.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
            double const step = static_cast<double>(before[i]) - static_cast<double>(after[i]);
            result[i] = step * with.optimiser_epsilon / (1.0 - std::abs(step));
        }
        return result;
    };
    std::size_t const of_policy = setup<agent_type>(options).agent.networks().policy().parameter_count();
    double told = 0.0;
    auto const whole = gradient(options, told);
    std::span<double const> const all(whole);
    double const actor = norm(all.first(of_policy)), critic = norm(all.subspan(of_policy));
    REQUIRE(actor > 0.0);
    REQUIRE(critic > 1.5 * actor); // one limit over both shrinks the actor's
    CHECK(told == Approx(std::hypot(actor, critic)).epsilon(1e-3));

    for (double const limit : {0.5 * actor, 0.5 * (actor + critic), 2.0 * critic}) {
        options.max_gradient_norm = limit;
        for (bool const separately : {false, true}) {
            options.clip_networks_separately = separately;
            double const actor_scale = std::min(1.0, limit / (separately ? actor : std::hypot(actor, critic)));
            double const critic_scale = std::min(1.0, limit / (separately ? critic : std::hypot(actor, critic)));
            auto const clipped = gradient(options, told);
            CHECK(told == Approx(std::hypot(actor, critic)).epsilon(1e-3)); // before clipping
            for (std::size_t i = 0; i < whole.size(); ++i)
                if (std::abs(whole[i]) > 1e-3 * critic)
                    CHECK(clipped[i] == Approx((i < of_policy ? actor_scale : critic_scale) * whole[i]).epsilon(2e-3));
        }
    }
}

TEST_CASE("what does not go together, or is out of range, is refused by name") {
    CHECK(refusal([](auto& o) { o.target_kl = 0.0; }) ==
          "agent_options: target_kl is 0, but must be finite and positive");
    CHECK(refusal([](auto& o) { o.learning_rate_minimum = -1.0; }) ==
          "agent_options: learning_rate_minimum is -1, but must be finite and positive");
    CHECK(refusal([](auto& o) { o.learning_rate_maximum = infinity; }) ==
          "agent_options: learning_rate_maximum is inf, but must be finite and positive");
    CHECK(
        refusal([](auto& o) { o.learning_rate_minimum = 0.5; }) ==
        "agent_options: learning_rate_minimum is 0.5 and learning_rate_maximum 0.01, but the minimum must not be above "
        "the maximum");
    CHECK(refusal([](auto& o) {
              o.schedule = rate_schedule::kl;
              o.learning_rate = 0.1;
          }) ==
          "agent_options: learning_rate is 0.1, but with the schedule kl it must be in [1e-05, 0.01], from "
          "learning_rate_minimum to learning_rate_maximum");
    CHECK(refusal([](auto& o) { o.learning_rate = 0.1; }) == "no error");
    // What is a number of another kind as float.
    CHECK(refusal([](auto& o) { o.learning_rate = 1e300; }) ==
          "agent_options: learning_rate is 1e+300, but must be finite and positive as float");
    CHECK(refusal([](auto& o) { o.optimiser_epsilon = 1e-50; }) ==
          "agent_options: optimiser_epsilon is 1e-50, but must be finite and positive as float");
    CHECK(refusal([](auto& o) { o.optimiser_epsilon = 1e300; }) ==
          "agent_options: optimiser_epsilon is 1e+300, but must be finite and positive as float");
    CHECK(refusal([](auto& o) { o.entropy_coefficient = 1e300; }) ==
          "agent_options: entropy_coefficient is 1e+300, but must be finite and not negative as float");
    CHECK(refusal([](auto& o) { o.entropy_coefficient = 1e-50; }) == "no error");
    CHECK(refusal([](auto& o) { o.max_gradient_norm = 1e-50; }) ==
          "agent_options: max_gradient_norm is 1e-50, but must be positive as float (infinity: no clipping)");
    CHECK(refusal([](auto& o) { o.max_gradient_norm = infinity; }) == "no error");
    CHECK(
        refusal([](auto& o) { o.clip_networks_separately = true; }) ==
        "agent_options: clip_networks_separately is true, but must be false with a shared trunk, whose gradient is of "
        "both networks");
}

TEST_CASE("evaluations come when their frames are done, tell of their episodes, and change nothing") {
    auto const options = small_options(); // 80 frames an update
    setup<agent_type> alone(options), watched(options);
    alone.agent.train({.frames = 800});
    gmac::vector_environment<gmac::testing::line> others(7, 99);
    auto policy = watched.agent.policy(7);
    std::vector<std::uint64_t> at, updates, order;
    gmac::train_options with{.frames = 800};
    with.on_update = [&](gmac::update_report const& report) { order.push_back(report.update); };
    with.evaluate_every = 200;
    with.evaluate = [&] { return gmac::evaluate(policy, others); };
    with.on_evaluation = [&](gmac::evaluation_report const& report) {
        at.push_back(report.frames);
        updates.push_back(report.update);
        order.push_back(100 + report.update);
        REQUIRE(report.episodes.size() == 7);
        double sum = 0.0, length = 0.0;
        std::vector<double> returns;
        for (auto const& episode : report.episodes) {
            sum += episode.reward_sum;
            length += static_cast<double>(episode.length);
            returns.push_back(episode.reward_sum);
        }
        std::ranges::sort(returns);
        CHECK(report.mean_return == Approx(sum / 7.0));
        CHECK(report.mean_length == Approx(length / 7.0));
        CHECK(report.median_return == returns[3]);
        CHECK(report.lowest_return == returns[0]);
        CHECK(report.highest_return == returns[6]);
        CHECK(report.seconds >= 0.0);
    };
    watched.agent.train(with);
    CHECK(at == std::vector<std::uint64_t>{240, 400, 640, 800}); // the updates that complete 200, 400, 600, 800
    CHECK(updates == std::vector<std::uint64_t>{3, 5, 8, 10});
    CHECK(order == std::vector<std::uint64_t>{1, 2, 3, 103, 4, 5, 105, 6, 7, 8, 108, 9, 10, 110});
    CHECK(parameters_of(alone.agent) == parameters_of(watched.agent));
    CHECK(alone.agent.update().mean_return == watched.agent.update().mean_return);

    // Who stops at an evaluation stops there.
    setup<agent_type> stopped(options);
    auto stopped_policy = stopped.agent.policy(7);
    gmac::vector_environment<gmac::testing::line> again(7, 99);
    bool reached = false;
    with.evaluate = [&] { return gmac::evaluate(stopped_policy, again); };
    with.on_evaluation = [&](gmac::evaluation_report const& report) { reached = report.frames >= 400; };
    with.stop = [&] { return reached; };
    stopped.agent.train(with);
    CHECK(stopped.agent.frames() == 400);

    CHECK_THROWS_WITH(stopped.agent.train({.frames = 800, .evaluate_every = 5}),
                      gmac::testing::says("evaluate_every is 5, but there is no `evaluate` that plays the episodes"));
    CHECK(std::isnan(gmac::evaluation_report::of({}).mean_return));
    std::vector<gmac::finished_episode> const two{{1.0, 10, 0}, {4.0, 20, 1}};
    CHECK(gmac::evaluation_report::of(two).median_return == 2.5);
}
