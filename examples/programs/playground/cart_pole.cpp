// SPDX-License-Identifier: Apache-2.0
#include "playground.hpp"

#include "classic/cart_pole.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/environment.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace {

using component = gmac::normal_component<double>;
using gmac::actors::categorical;

constexpr std::size_t places = playground_places;
constexpr double highest_value = 55.0; // where the picture ends; with the discount 0.98 none is above 50
constexpr double frames_of_schedule = 100'000;

/// As gmac-train has them for cart-pole.
[[nodiscard]] gmac::agent_options options() {
    gmac::agent_options o;
    o.steps = 32;
    o.minibatch = 256;
    o.epochs = 20;
    o.learning_rate = 1e-3;
    o.schedule = gmac::rate_schedule::linear;
    o.discount = 0.98;
    o.lambda = 0.8;
    o.entropy_coefficient = 0.0;
    o.max_gradient_norm = 0.5;
    o.hidden = {64, 64};
    o.shared_trunk = false;
    return o;
}

template <class Head>
[[nodiscard]] Head make_head() {
    if constexpr (std::same_as<Head, gmac::heads::implicit_quantile>)
        return {.samples_per_state = 16, .embedding = 16, .hidden = 32, .shared = true}; // small, for the sake of speed
    else
        return {};
}

class learner {
public:
    virtual ~learner() = default;
    virtual gmac::update_report update() = 0;
    [[nodiscard]] virtual int act(std::span<float const> state) = 0;
    /// In units of the rewards; a deviation of 0 is a point.
    [[nodiscard]] virtual std::vector<component> expect(std::span<float const> state) = 0;
};

template <class Agent>
class learner_of final : public learner {
    using head_type = typename Agent::head_type;
    static constexpr bool learns_a_number = std::same_as<head_type, gmac::heads::scalar>;

public:
    explicit learner_of(std::uint64_t seed)
        : worlds_(8, seed),
          // A distribution's width is in units of the return, so its head wants returns of order one.
          normalized_(worlds_, {.observations = false, .rewards = !learns_a_number}),
          agent_(normalized_, options(), {.head = make_head<head_type>(), .seed = seed}),
          policy_(agent_.policy()) {}

    gmac::update_report update() override {
        // A page has no last frame, so the learning rate does not fall to 0.
        double const progress = static_cast<double>(agent_.frames()) / frames_of_schedule;
        return agent_.update((std::min)(progress, 0.9));
    }

    int act(std::span<float const> state) override {
        float action = 0.0f;
        policy_.act(state, std::span(&action, 1));
        return static_cast<int>(action);
    }

    std::vector<component> expect(std::span<float const> state) override {
        // The same fractions each time, so that a picture moves with the state only.
        gmac::random_stream random = gmac::stream_for(0, gmac::stream_purpose::evaluation);
        auto const outputs = policy_.value_outputs({state.data(), 1, state.size()}, random);
        double const unit =
            learns_a_number ? 1.0 : 1.0 / normalized_.return_statistics().scale(0, normalized_.options().epsilon);
        std::vector<component> found;
        if constexpr (requires { head_type::components; }) {
            std::array<float, head_type::components> weights{}, means{}, deviations{};
            auto const row = [](auto& values) { return gmac::matrix_view(values.data(), 1, values.size()); };
            agent_.head().distribution(outputs, row(weights), row(means), row(deviations));
            for (std::size_t k = 0; k < weights.size(); ++k)
                found.push_back(
                    {weights[k], unit * static_cast<double>(means[k]), unit * static_cast<double>(deviations[k])});
        } else {
            for (std::size_t k = 0; k < outputs.cols(); ++k)
                found.push_back(
                    {1.0 / static_cast<double>(outputs.cols()), unit * static_cast<double>(outputs(0, k)), 0.0});
        }
        return found;
    }

private:
    gmac::vector_environment<classic::cart_pole> worlds_;
    gmac::normalized_environments normalized_;
    Agent agent_;
    gmac::policy<Agent> policy_;
};

[[nodiscard]] std::unique_ptr<learner> make_learner(int method, std::uint64_t seed) {
    namespace agents = gmac::agents;
    switch (method) {
    case 0:
        return std::make_unique<learner_of<agents::ppo<categorical>>>(seed);
    case 1:
        return std::make_unique<learner_of<agents::iqac<categorical>>>(seed);
    case 2:
        return std::make_unique<learner_of<agents::iqac_e<categorical>>>(seed);
    case 3:
        return std::make_unique<learner_of<agents::gmac<categorical>>>(seed);
    }
    gmac::fail("playground_create: the method is {}, but must be in [0, 3]", method);
}

/// A cart-pole that is looked at, and may be pushed.
class watched_pole {
public:
    explicit watched_pole(std::uint64_t seed) : random_(gmac::stream_for(seed, gmac::stream_purpose::user)) {
        world_.reset(random_, state_);
    }

    playground_pole step(learner& actor) {
        gmac::transition const made = world_.step(actor.act(state_), random_, state_);
        steps_ += 1.0;
        falls_ += made.terminated ? 1.0 : 0.0;
        auto const& now = world_.world().current();
        playground_pole const shown{now.position, now.velocity, now.angle, now.angular_velocity, steps_, falls_};
        if (made.terminated || made.truncated) {
            world_.reset(random_, state_);
            steps_ = 0.0;
        }
        return shown;
    }

    void push(double angular_velocity) {
        auto pushed = world_.world().current();
        pushed.angular_velocity += angular_velocity;
        world_.world().set(pushed);
        state_[3] = static_cast<float>(pushed.angular_velocity);
    }

    [[nodiscard]] std::span<float const> state() const noexcept { return state_; }

private:
    classic::cart_pole world_;
    gmac::random_stream random_;
    std::array<float, 4> state_{};
    double steps_ = 0.0, falls_ = 0.0;
};

struct session {
    session(int method, std::uint64_t seed) : agent(make_learner(method, seed)), pole(seed) {}

    std::unique_ptr<learner> agent;
    watched_pole pole;
    playground_report report{};
    std::vector<double> ends;
    std::array<playground_pole, 64> poles{};
    playground_value value{};
    std::vector<double> locations;
    std::array<double, places> densities{};
};
std::unique_ptr<session> current;

[[nodiscard]] session& running() {
    gmac::require(current != nullptr, "playground: there is no agent yet, playground_create makes one");
    return *current;
}

/// Points become a density by a normal kernel, whose deviation Silverman's rule gives.
void smooth(std::vector<component>& points, double mean) {
    double variance = 0.0;
    for (component const& one : points)
        variance += one.weight * (one.mean - mean) * (one.mean - mean);
    double const deviation = 1.06 * std::sqrt(variance) * std::pow(static_cast<double>(points.size()), -0.2);
    for (component& one : points)
        one.deviation = (std::max)(deviation, 0.05);
}

void draw_density(gmac::gaussian_mixture<double> const& value, std::span<double> densities) {
    for (std::size_t i = 0; i < places; ++i)
        densities[i] = value.pdf(highest_value * static_cast<double>(i) / static_cast<double>(places - 1));
}

} // namespace

// JavaScript is the only caller, which the linker does not see.

[[gnu::used]] void playground_create(int method, std::uint32_t seed) {
    current = std::make_unique<session>(method, seed);
}

[[gnu::used]] playground_report const* playground_train() {
    session& now = running();
    gmac::update_report const done = now.agent->update();
    now.ends.clear();
    for (gmac::timed_episode const& one : done.finished) {
        now.ends.push_back(static_cast<double>(one.frames));
        now.ends.push_back(one.episode.reward_sum);
    }
    now.report = {static_cast<double>(done.frames), done.mean_return, static_cast<double>(done.finished.size()),
                  now.ends.data()};
    return &now.report;
}

[[gnu::used]] playground_pole const* playground_watch(int steps) {
    session& now = running();
    auto const most = static_cast<int>(now.poles.size());
    gmac::require(steps >= 0 && steps <= most, "playground_watch: steps is {}, but must be in [0, {}]", steps, most);
    for (int i = 0; i < steps; ++i)
        now.poles[static_cast<std::size_t>(i)] = now.pole.step(*now.agent);
    return now.poles.data();
}

[[gnu::used]] void playground_push(double angular_velocity) {
    running().pole.push(angular_velocity);
}

[[gnu::used]] playground_value const* playground_expect() {
    session& now = running();
    std::vector<component> parts = now.agent->expect(now.pole.state());
    double mean = 0.0;
    for (component const& one : parts)
        mean += one.weight * one.mean;
    now.locations.clear();
    if (parts.front().deviation == 0.0) {
        for (component const& one : parts)
            now.locations.push_back(one.mean);
        smooth(parts, mean);
    }
    now.densities.fill(0.0);
    if (now.locations.size() != 1)
        draw_density(gmac::gaussian_mixture<double>(std::move(parts)), now.densities);
    now.value = {mean, static_cast<double>(now.locations.size()), now.locations.data(), now.densities.data()};
    return &now.value;
}
