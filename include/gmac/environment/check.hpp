// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// One question that check_environments asked.
struct environment_finding {
    std::string asked;
    bool sound = false;
    std::string found; ///< a sentence: what is wrong, with environment, step and quantity, or what there is
};

struct environment_check_options {
    std::size_t environments = 3; ///< stepped together
    std::size_t steps = 1000;     ///< of each, in each play
    std::uint64_t seed = 1;       ///< of the environments; their actions are random
};

namespace detail {

/// A state in memory, to be stored once and loaded once.
class kept_state final : public archive {
public:
    [[nodiscard]] bool loading() const noexcept override { return loading_; }
    void rewind() noexcept { loading_ = true; }
    void array(std::string const& name, element_type type, std::span<std::size_t const> shape, void* data) override {
        std::size_t const size = size_of(type, shape);
        auto* const first = static_cast<std::byte*>(data);
        std::vector<std::byte>& kept = pieces_[name];
        if (!loading_)
            kept.assign(first, first + size);
        require(kept.size() == size, "the state's {} has {} bytes where it is loaded and {} where it was stored", name,
                size, kept.size());
        if (loading_ && size > 0)
            std::memcpy(first, kept.data(), size);
    }
    void bytes(std::string const& name, std::vector<std::byte>& data) override {
        if (loading_)
            data = pieces_[name];
        else
            pieces_[name] = data;
    }

private:
    bool loading_ = false;
    std::map<std::string, std::vector<std::byte>> pieces_;
};

/// Whether all are equal; a NaN is equal to a NaN.
template <class O>
[[nodiscard]] bool same_numbers(std::vector<O> const& a, std::vector<O> const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](O x, O y) {
        return x == y || (std::isnan(static_cast<double>(x)) && std::isnan(static_cast<double>(y)));
    });
}

/// What actions there are.
[[nodiscard]] inline std::string text_of(action_space const& space) {
    if (auto const* const numbers = std::get_if<discrete>(&space))
        return fmt::format("{} actions", numbers->count);
    std::size_t const size = action_size(space);
    if (std::holds_alternative<box>(space))
        return size == 1 ? "actions of one number" : fmt::format("actions of {} numbers", size);
    std::string text;
    for (std::size_t const count : action_counts(space))
        text += fmt::format("{}{}", text.empty() ? "" : ", ", count);
    return fmt::format("{} discrete actions at once, of {}", size, text);
}

/// Environments that are played by random actions, and all that they write, between guards that nobody may touch.
template <observation_element O>
class checked_play {
public:
    using batch = basic_environment_batch<O>;

    /// What one step of all environments gave. Final observations are kept where an episode ended.
    struct record {
        std::vector<O> observations, finals;
        std::vector<float> rewards;
        std::vector<std::uint8_t> terminated, truncated;
        std::string differs; ///< set where `observe` repeats something else
    };

    /// Memory is filled with `fill` before it is written.
    checked_play(std::unique_ptr<batch> worlds, std::uint64_t seed, O fill)
        : worlds_(std::move(worlds)), random_(seed, 17), fill_(fill) {
        require(worlds_ != nullptr, "there are no environments");
        require(worlds_->size() > 0, "there are 0 environments");
        require(worlds_->observation_size() > 0, "an observation has 0 elements");
        if (auto const* discrete = std::get_if<gmac::discrete>(&worlds_->action_space())) {
            require(discrete->count > 0, "the action space has 0 actions");
        } else if (auto const* several = std::get_if<multi_discrete>(&worlds_->action_space())) {
            require(several->size() > 0, "the action space has 0 components");
            for (std::size_t j = 0; j < several->size(); ++j)
                require(several->counts[j] > 0, "component {} of the action space has 0 values", j);
        } else {
            auto const& bounds = std::get<box>(worlds_->action_space());
            require(bounds.size() > 0 && bounds.low.size() == bounds.high.size(),
                    "the box of actions has {} lower and {} upper bounds", bounds.low.size(), bounds.high.size());
            for (std::size_t j = 0; j < bounds.size(); ++j)
                require(bounds.low[j] <= bounds.high[j], "the box of actions has the bounds {} and {} for element {}",
                        bounds.low[j], bounds.high[j], j);
        }
    }

    [[nodiscard]] batch& worlds() noexcept { return *worlds_; }
    [[nodiscard]] record reset() {
        return written([&](auto const& to) { worlds_->reset(to.observations); });
    }
    [[nodiscard]] record step() {
        std::size_t const size = action_size(worlds_->action_space());
        std::vector<float> actions;
        for (std::size_t e = 0; e < worlds_->size(); ++e)
            draw(e, actions);
        return written([&](auto const& to) { worlds_->step({actions.data(), worlds_->size(), size}, to); });
    }
    /// The same actions as another play's.
    void act_like(checked_play const& other) noexcept { random_ = other.random_; }
    [[nodiscard]] std::vector<O> observed() {
        return written([&](auto const& to) { worlds_->observe(to.observations); }, false).observations;
    }

private:
    static constexpr std::size_t guard = 64;

    void draw(std::size_t environment, std::vector<float>& to) {
        if (auto const counts = action_counts(worlds_->action_space()); !counts.empty()) {
            auto const masks = worlds_->action_masks();
            std::size_t first = 0; // of the component's part of the mask
            for (std::size_t const count : counts) {
                vector_view<std::uint8_t const> const may = masks.empty()
                                                                ? vector_view<std::uint8_t const>()
                                                                : masks.middle_cols(first, count).row(environment);
                std::size_t action = 0;
                do
                    action = random_.below(static_cast<std::uint32_t>(count));
                while (!may.empty() && may[action] == 0 && any(may));
                to.push_back(static_cast<float>(action));
                first += count;
            }
            return;
        }
        auto const& bounds = std::get<box>(worlds_->action_space());
        for (std::size_t j = 0; j < bounds.size(); ++j) {
            // A bound that is infinite, or as good as that, is not reached.
            float const low = (std::max)(bounds.low[j], (std::min)(bounds.high[j], 1.0f) - 2.0f);
            float const high = (std::min)(bounds.high[j], low + 2.0f);
            to.push_back(low + (high - low) * random_.uniform<float>());
        }
    }
    [[nodiscard]] static bool any(vector_view<std::uint8_t const> const& row) noexcept {
        for (std::size_t j = 0; j < row.size(); ++j)
            if (row[j] != 0)
                return true;
        return false;
    }

    template <class T>
    static constexpr T guard_number = std::same_as<T, float> ? T(-6.5e33f) : T(0x5b);
    /// Memory between two guards.
    template <class T>
    class guarded {
    public:
        guarded(std::size_t size, T fill) : size_(size), all_(new T[size + 2 * guard]) {
            for (std::size_t i = 0; i < size + 2 * guard; ++i)
                all_[i] = i < guard || i - guard >= size ? guard_number<T> : fill;
        }
        [[nodiscard]] T* data() const noexcept { return all_.get() + guard; }
        /// What was written, if the guards are as they were.
        [[nodiscard]] std::vector<T> taken(char const* name) const {
            for (std::size_t i = 0; i < guard; ++i) {
                require(data()[size_ + i] == guard_number<T>,
                        "the environments wrote behind the memory of their {}, {} elements", name, size_);
                require(all_[i] == guard_number<T>, "the environments wrote before the memory of their {}, {} elements",
                        name, size_);
            }
            return {data(), data() + size_};
        }

    private:
        std::size_t size_;
        std::unique_ptr<T[]> all_;
    };

    template <class Write>
    [[nodiscard]] record written(Write&& write, bool then_observe = true) {
        std::size_t const n = worlds_->size(), size = worlds_->observation_size();
        guarded<O> const observations(n * size, fill_), finals(n * size, fill_);
        guarded<float> const rewards(n, 0.0f);
        guarded<std::uint8_t> const terminated(n, 0), truncated(n, 0);
        write(basic_step_result<O>{{observations.data(), n, size},
                                   {finals.data(), n, size},
                                   {rewards.data(), n},
                                   {terminated.data(), n},
                                   {truncated.data(), n}});
        record result{observations.taken("observations"), finals.taken("final observations"), rewards.taken("rewards"),
                      terminated.taken("flags"),          truncated.taken("flags"),           {}};
        for (std::size_t e = 0; e < n; ++e)
            require(result.terminated[e] <= 1 && result.truncated[e] <= 1 &&
                        result.terminated[e] + result.truncated[e] < 2,
                    "environment {}: terminated is {} and truncated {}, but flags are 0 or 1 and never both 1", e,
                    result.terminated[e], result.truncated[e]);
        if (then_observe && !same_numbers(observed(), result.observations))
            result.differs = "`observe` gives other observations than the reset or step before it";
        return result;
    }

    std::unique_ptr<batch> worlds_;
    random_stream random_;
    O fill_;
};

/// Environments without anything between them and the memory that they write.
template <environment E>
class bare_environments final : public basic_environment_batch<gmac::observation_of<E>> {
    using O = gmac::observation_of<E>;

public:
    template <class Factory>
    bare_environments(std::size_t count, std::uint64_t seed, Factory&& make) {
        for (std::size_t e = 0; e < count; ++e)
            worlds_.emplace_back(make, e, seed);
        require(count > 0, "there are 0 environments");
        space_ = worlds_[0].world.action_space();
        if constexpr (masked_environment<E>)
            masks_.assign(count * mask_size(space_), 1);
    }

    [[nodiscard]] std::size_t size() const noexcept override { return worlds_.size(); }
    [[nodiscard]] std::size_t observation_size() const noexcept override { return worlds_[0].world.observation_size(); }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept override { return space_; }
    [[nodiscard]] observation_history history() const noexcept override { return history_of(worlds_[0].world); }
    [[nodiscard]] matrix_view<std::uint8_t const> action_masks() const noexcept override {
        return {masks_.data(), masks_.empty() ? 0 : size(), masks_.size() / size()};
    }

    void reset(matrix_view<O> observations) override {
        for (std::size_t e = 0; e < size(); ++e)
            worlds_[e].world.reset(worlds_[e].random, row(observations, e));
        keep(observations);
    }
    void step(matrix_view<float const> actions, basic_step_result<O> const& to) override {
        for (std::size_t e = 0; e < size(); ++e) {
            auto const observation = row(to.observations, e);
            std::vector<O> const unwritten(observation.begin(), observation.end());
            transition const gave = [&] {
                if constexpr (takes_action<E, int>)
                    if (std::holds_alternative<discrete>(space_))
                        return worlds_[e].world.step(static_cast<int>(actions(e, 0)), worlds_[e].random, observation);
                if constexpr (takes_action<E, std::span<int const>>)
                    if (std::holds_alternative<multi_discrete>(space_)) {
                        auto const given = row(actions, e);
                        std::vector<int> const whole(given.begin(), given.end());
                        return worlds_[e].world.step(std::span<int const>(whole), worlds_[e].random, observation);
                    }
                if constexpr (takes_action<E, std::span<float const>>)
                    return worlds_[e].world.step(row(actions, e), worlds_[e].random, observation);
                else
                    fail("environment {}: its step does not take actions of its space", e);
            }();
            to.rewards[e] = static_cast<float>(gave.reward);
            to.terminated[e] = gave.terminated ? 1 : 0;
            to.truncated[e] = gave.truncated && !gave.terminated ? 1 : 0;
            if (!gave.terminated && !gave.truncated)
                continue;
            std::copy(observation.begin(), observation.end(), row(to.final_observations, e).begin());
            std::copy(unwritten.begin(), unwritten.end(), observation.begin());
            worlds_[e].world.reset(worlds_[e].random, observation);
        }
        keep(to.observations);
    }
    void observe(matrix_view<O> observations) const override {
        std::copy(last_.begin(), last_.end(), observations.data());
    }
    [[nodiscard]] std::uint64_t changes() const noexcept override { return 0; }
    [[nodiscard]] std::span<finished_episode const> finished() const noexcept override { return {}; }
    [[nodiscard]] bool checkpointable() const noexcept override { return checkpointable_environment<E>; }
    void persist(archive& state) override {
        if constexpr (checkpointable_environment<E>)
            for (std::size_t e = 0; e < size(); ++e)
                state.inside(fmt::format("{}", e), [&] {
                    worlds_[e].random.persist(state, "random");
                    worlds_[e].world.persist(state);
                });
        state("observations", std::span<O>(last_));
        look_at_masks();
    }

private:
    struct slot {
        template <class Factory>
        slot(Factory& make, std::size_t number, std::uint64_t seed)
            : world(make(number)), random(stream_for(seed, stream_purpose::environment, number)) {}
        E world;
        random_stream random;
    };
    template <class T>
    [[nodiscard]] static std::span<T> row(matrix_view<T> const& of, std::size_t e) noexcept {
        return {of.data() + e * of.cols(), of.cols()};
    }
    void keep(matrix_view<O> const& observations) {
        last_.assign(observations.data(), observations.data() + observations.rows() * observations.cols());
        look_at_masks();
    }
    void look_at_masks() {
        std::fill(masks_.begin(), masks_.end(), std::uint8_t(1));
        if constexpr (masked_environment<E>)
            for (std::size_t e = 0; e < size(); ++e)
                worlds_[e].world.action_mask(
                    std::span<std::uint8_t>(masks_).subspan(e * masks_.size() / size(), masks_.size() / size()));
    }

    std::deque<slot> worlds_; // as in vector_environment, so that an environment need not be movable
    gmac::action_space space_;
    std::vector<std::uint8_t> masks_;
    std::vector<O> last_;
};

} // namespace detail

/// Plays environments by random actions and looks for what an agent could not learn with, or a resumed run not repeat:
/// spaces that are none, observations that are not written, or written past their end, numbers that are not finite, episodes
/// that never end, another course from the same seed, a stored state that goes on in another way. `make(count, seed)` makes a
/// batch. What the environments throw is told in the finding; where there are no exceptions it ends the program.
template <observation_element O>
[[nodiscard]] std::vector<environment_finding> check_environments(
    std::type_identity_t<
        std::function<std::unique_ptr<basic_environment_batch<O>>(std::size_t count, std::uint64_t seed)>> const& make,
    environment_check_options const& options = {}) {
    using play = detail::checked_play<O>;
    using record = typename play::record;
    require(options.environments > 0 && options.steps > 0, "check_environments: there must be environments and steps");
    constexpr O fill = std::same_as<O, float> ? O(-12345.678f) : O(0xa5);
    constexpr O other_fill = std::same_as<O, float> ? O(8765.4321f) : O(0x3c);
    std::vector<environment_finding> findings;
    /// `look` returns what it found, or throws what is wrong.
    auto const ask = [&](char const* asked, auto&& look) {
        environment_finding finding{asked, false, {}};
#if defined(__cpp_exceptions)
        try {
            finding.found = look();
            finding.sound = true;
        } catch (std::exception const& problem) {
            finding.found = problem.what();
        }
#else
        finding.found = look();
        finding.sound = true;
#endif
        findings.push_back(std::move(finding));
        return findings.back().sound;
    };
    auto const run = [&](play& on, std::size_t steps) {
        std::vector<record> all;
        for (std::size_t t = 0; t < steps; ++t)
            all.push_back(on.step());
        return all;
    };
    auto const start = [&](std::size_t count, O with, std::uint64_t more = 0) {
        return play(make(count, options.seed + more), options.seed, with);
    };
    auto const same = [](auto const& a, auto const& b) {
        return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
    };
    /// The first step of which two plays gave something else; steps if there is none.
    auto const first_difference = [&](std::vector<record> const& a, std::vector<record> const& b) {
        std::size_t t = 0;
        while (t < a.size() && same(a[t].observations, b[t].observations) && same(a[t].rewards, b[t].rewards) &&
               same(a[t].finals, b[t].finals) && a[t].terminated == b[t].terminated && a[t].truncated == b[t].truncated)
            ++t;
        return t;
    };

    std::vector<record> first;
    record first_reset;
    if (!ask("they can be played", [&] {
            play one = start(options.environments, fill);
            first_reset = one.reset();
            first = run(one, options.steps);
            auto const& space = one.worlds().action_space();
            std::size_t const frames = one.worlds().history().frames;
            return fmt::format("observations of {} elements{}, {}", one.worlds().observation_size(),
                               frames > 1 ? fmt::format(", states of {}", frames) : "", detail::text_of(space));
        }))
        return findings;
    ask("one alone can be played", [&] {
        play one = start(1, fill);
        static_cast<void>(one.reset());
        static_cast<void>(run(one, options.steps));
        return std::string("nothing is written outside of its memory");
    });
    std::size_t const size = first_reset.observations.size() / options.environments;
    auto const ended = [&](std::size_t e, std::size_t t) { return first[t].terminated[e] + first[t].truncated[e] > 0; };
    /// Which environment gave something in `first`, and when, counted as vector_environment does.
    auto const at_step = [&](std::size_t e, std::size_t t) {
        std::size_t step = 1;
        while (step <= t && !ended(e, t - step))
            ++step;
        return fmt::format("environment {}, step {} of its episode", e, step);
    };
    auto const after_reset = [](std::size_t e) { return fmt::format("environment {}, after the reset", e); };
    auto const at_observation = [&](std::size_t e, std::size_t t) {
        return ended(e, t) ? after_reset(e) : at_step(e, t);
    };
    ask("observations are written", [&] {
        play one = start(options.environments, other_fill);
        record const second_reset = one.reset();
        auto const second = run(one, options.steps);
        auto const look = [&](record const& a, record const& b, auto const& when) {
            for (std::size_t i = 0; i < a.observations.size(); ++i)
                if (a.observations[i] == fill && b.observations[i] == other_fill)
                    fail("{}: element {} of the observation is not written", when(i / size), i % size);
        };
        look(first_reset, second_reset, after_reset);
        auto low = static_cast<double>(first_reset.observations[0]), high = low;
        for (std::size_t t = 0; t < options.steps; ++t) {
            look(first[t], second[t], [&](std::size_t e) { return at_observation(e, t); });
            for (std::size_t i = 0; i < first[t].finals.size(); ++i)
                if (ended(i / size, t) && first[t].finals[i] == fill && second[t].finals[i] == other_fill)
                    fail("{}: element {} of the final observation is not written", at_step(i / size, t), i % size);
            for (O const x : first[t].observations) {
                low = (std::min)(low, static_cast<double>(x));
                high = (std::max)(high, static_cast<double>(x));
            }
        }
        return fmt::format("their elements are from {:.4g} to {:.4g}", low, high);
    });
    ask("numbers are finite", [&] {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (std::size_t t = 0; t < options.steps; ++t) {
            for (std::size_t i = 0; i < first[t].observations.size(); ++i)
                if (!std::isfinite(static_cast<double>(first[t].observations[i])))
                    fail("{}: element {} of the observation is {}", at_observation(i / size, t), i % size,
                         first[t].observations[i]);
            for (std::size_t i = 0; i < first[t].finals.size(); ++i)
                if (ended(i / size, t) && !std::isfinite(static_cast<double>(first[t].finals[i])))
                    fail("{}: element {} of the final observation is {}", at_step(i / size, t), i % size,
                         first[t].finals[i]);
            for (std::size_t e = 0; e < options.environments; ++e) {
                auto const reward = static_cast<double>(first[t].rewards[e]);
                if (!std::isfinite(reward))
                    fail("{}: the reward is {}", at_step(e, t), reward);
                low = (std::min)(low, reward);
                high = (std::max)(high, reward);
            }
        }
        return fmt::format("rewards are from {:.4g} to {:.4g}", low, high);
    });
    ask("episodes end", [&] {
        std::size_t terminated = 0, truncated = 0;
        for (record const& step : first)
            for (std::size_t e = 0; e < options.environments; ++e) {
                terminated += step.terminated[e];
                truncated += step.truncated[e];
            }
        require(terminated + truncated > 0,
                "none ended in {} steps of {} environments; gmac::time_limit cuts those that go on", options.steps,
                options.environments);
        return fmt::format("{} terminated and {} truncated in {} steps", terminated, truncated,
                           options.steps * options.environments);
    });
    ask("`observe` repeats the last observations", [&] {
        require(first_reset.differs.empty(), "after the reset: {}", first_reset.differs);
        for (std::size_t t = 0; t < options.steps; ++t)
            require(first[t].differs.empty(), "step {}: {}", t + 1, first[t].differs);
        return std::string("after each step");
    });
    ask("the same seed and actions give the same", [&] {
        play one = start(options.environments, fill);
        require(same(first_reset.observations, one.reset().observations), "the reset gives other observations");
        std::size_t const t = first_difference(first, run(one, options.steps));
        require(t == options.steps, "step {} gives other observations, rewards or ends", t + 1);
        return fmt::format("over {} steps", t);
    });
    ask("a stored state goes on as it was", [&] {
        play one = start(options.environments, fill), other = start(options.environments, fill, 1000);
        if (!one.worlds().checkpointable())
            return std::string("states cannot be stored: a resumed run begins its episodes anew");
        static_cast<void>(one.reset());
        static_cast<void>(other.reset());
        std::size_t const half = (options.steps + 1) / 2;
        static_cast<void>(run(one, half));
        static_cast<void>(run(other, 3));
        detail::kept_state state;
        one.worlds().persist(state);
        state.rewind();
        other.worlds().persist(state);
        require(detail::same_numbers(other.observed(), one.observed()),
                "`observe` gives other observations where the state is loaded");
        other.act_like(one);
        auto const wanted = run(one, half), got = run(other, half);
        std::size_t const t = first_difference(wanted, got);
        require(t == half, "step {} after loading gives other observations, rewards or ends", t + 1);
        return fmt::format("over {} steps", half);
    });
    return findings;
}

/// The same of environments of one type, `make(number)` or default-constructed, each of which writes straight into guarded
/// memory: what is not written and what is written past the end is found.
template <environment E, class Factory>
[[nodiscard]] std::vector<environment_finding> check_environment(Factory&& make,
                                                                 environment_check_options const& options = {}) {
    using O = observation_of<E>;
    return check_environments<O>(
        [&](std::size_t count, std::uint64_t seed) -> std::unique_ptr<basic_environment_batch<O>> {
            return std::make_unique<detail::bare_environments<E>>(count, seed, make);
        },
        options);
}
template <environment E>
[[nodiscard]] std::vector<environment_finding> check_environment(environment_check_options const& options = {}) {
    return check_environment<E>([](std::size_t) { return E(); }, options);
}

} // namespace gmac::inline GMAC_ABI
