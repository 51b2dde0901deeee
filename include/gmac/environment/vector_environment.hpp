// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/requirements.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// E environments of one type, stepped together on an executor; an episode that ended is followed by a new one at once.
///
/// Each environment has a random stream of its own, made of the seed and its index, so what it does depends on neither
/// the number of threads nor the other environments. Errors that a step finds name the environment with the lowest
/// index. After an error inside a step the batch refuses to go on until `reset`; actions are checked before any
/// environment moves, so a refused action changes nothing. Steps do not allocate unless the environments do.
template <class E>
class vector_environment final : public basic_environment_batch<observation_of<E>> {
    using O = observation_of<E>;

public:
    /// `count` default-constructed environments. `threads` must outlive the batch; without it they run one by one.
    /// Throws gmac::error if count is zero or the environment's sizes or bounds make no sense.
    explicit vector_environment(std::size_t count, std::uint64_t seed, executor* threads = nullptr)
        requires std::default_initializable<E>
        : vector_environment(
              count, seed, [](std::size_t) { return E(); }, threads) {}

    /// Environment i is factory(i); all must have the same observation size and action space.
    template <class Factory>
        requires std::invocable<Factory&, std::size_t> && std::same_as<std::invoke_result_t<Factory&, std::size_t>, E>
    vector_environment(std::size_t count, std::uint64_t seed, Factory&& factory, executor* threads = nullptr)
        : executor_(threads) {
        require(count > 0, "vector_environment: 0 environments were asked for, but at least 1 is needed");
        for (std::size_t i = 0; i < count; ++i)
            slots_.emplace_back(factory, i, stream_for(seed, stream_purpose::environment, i));
        check_spaces();
        observations_.resize(count * observation_size_);
        actions_.resize(count * action_size(space_));
        if constexpr (takes_whole)
            whole_.resize(actions_.size());
        if constexpr (masked_environment<E>)
            masks_.resize(count * mask_size_, 1);
        finished_.reserve(count);
    }

    [[nodiscard]] std::size_t size() const noexcept override { return slots_.size(); }
    [[nodiscard]] std::size_t observation_size() const noexcept override { return observation_size_; }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept override { return space_; }
    [[nodiscard]] observation_history history() const noexcept override { return history_; }

    [[nodiscard]] matrix_view<std::uint8_t const> action_masks() const noexcept override {
        return masks_.empty() ? matrix_view<std::uint8_t const>()
                              : matrix_view<std::uint8_t const>(masks_.data(), size(), mask_size_);
    }

    [[nodiscard]] std::optional<drawing> draw(std::size_t environment) const override {
        if constexpr (drawn_environment<E>)
            return slots_.at(environment).world.draw();
        else
            return std::nullopt;
    }

    /// One of the environments, to look at.
    [[nodiscard]] E& operator[](std::size_t i) noexcept { return slots_[i].world; }
    [[nodiscard]] E const& operator[](std::size_t i) const noexcept { return slots_[i].world; }

    void reset(matrix_view<O> observations) override {
        require_shape(observations, size(), observation_size_, "observations", "vector_environment::reset");
        begin_change();
        run([&](std::size_t i) {
            slots_[i].fault = {};
            if constexpr (scored_environment<E>) {
                slots_[i].world.abandon();
                take_games(i); // of before: they are dropped
            }
            slots_[i].finished.clear();
            begin_episode(i);
            if constexpr (scored_environment<E>)
                take_games(i);
            write(i, observations);
        });
        end_change();
    }

    void step(matrix_view<float const> actions, basic_step_result<O> const& result) override {
        require(!needs_reset_, "vector_environment::step: reset has to be called first{}",
                started_ ? ", since the last step failed or the episodes could not be restored" : "");
        detail::check_step_shapes(actions, result, size(), observation_size_, action_size(space_),
                                  "vector_environment::step");
        take_actions(actions);
        begin_change();
        run([&](std::size_t i) { advance(i, result); });
        end_change();
    }

    void observe(matrix_view<O> observations) const override {
        require_shape(observations, size(), observation_size_, "observations", "vector_environment::observe");
        for (std::size_t i = 0; i < size(); ++i)
            write(i, observations);
    }
    [[nodiscard]] std::uint64_t changes() const noexcept override { return changes_; }

    [[nodiscard]] std::span<finished_episode const> finished() const noexcept override { return finished_; }
    [[nodiscard]] bool checkpointable() const noexcept override { return checkpointable_environment<E>; }

    /// Streams and, if the environments can be stored, episodes so far, their states and observations. If they cannot, or
    /// wait for a reset, a mark says so; the batch that loads it asks for `reset` and starts new episodes with the streams where
    /// they were.
    void persist(archive& state) override {
        if (state.loading()) {
            begin_change();
            started_ = true;
        }
        std::uint8_t restorable = checkpointable() && !needs_reset_ ? 1 : 0;
        state("restorable", restorable);
        persist_streams(state);
        if constexpr (checkpointable_environment<E>) {
            persist_episodes(state);
            state("observations", std::span<O>(observations_), size(), observation_size_);
            for (std::size_t i = 0; i < size(); ++i)
                state.inside(std::to_string(i), [&] { slots_[i].world.persist(state); });
            if (state.loading() && restorable != 0)
                go_on();
        } else {
            require(restorable == 0,
                    "vector_environment: the checkpoint holds states of the environments, but they cannot be restored");
        }
    }

private:
    static constexpr bool takes_int = takes_action<E, int>;
    static constexpr bool takes_span = takes_action<E, std::span<float const>>;
    static constexpr bool takes_whole = takes_action<E, std::span<int const>>;

    /// An environment and what belongs to it alone, on cache lines that no other thread writes.
    struct alignas(64) slot {
        template <class Factory>
        slot(Factory& factory, std::size_t index, random_stream stream)
            : world(std::invoke(factory, index)), random(stream) {
            finished.reserve(1);
        }

        E world;
        random_stream random;
        double reward_sum = 0.0;
        std::uint64_t length = 0;
        std::vector<finished_episode> finished; // in the last step or reset
        detail::environment_fault fault;
    };

    void check_spaces() {
        space_ = slots_.front().world.action_space();
        observation_size_ = slots_.front().world.observation_size();
        history_ = history_of(slots_.front().world);
        detail::check_space("vector_environment", space_, observation_size_);
        require(history_.frames > 0,
                "vector_environment: the environment's history has 0 frames, but must have at least 1");
        mask_size_ = mask_size(space_);
        bool const is_box = std::holds_alternative<box>(space_), is_discrete = std::holds_alternative<discrete>(space_);
        require(is_box        ? takes_span
                : is_discrete ? takes_int
                              : takes_whole,
                "vector_environment: the environment's action space is {}, but its step takes no {}",
                name_of_kind(space_),
                is_box        ? "std::span<float const>"
                : is_discrete ? "int"
                              : "std::span<int const>");
        require(!is_box || !masked_environment<E>,
                "vector_environment: the environment has an action_mask, but its action space is a box; a mask is for "
                "discrete actions");
        for (std::size_t i = 1; i < size(); ++i) {
            E const& world = slots_[i].world;
            require(world.observation_size() == observation_size_ && history_of(world) == history_ &&
                        detail::same_space(gmac::action_space(world.action_space()), space_),
                    "vector_environment: environment {} has another observation size, history or action space than "
                    "environment 0",
                    i);
        }
    }

    [[nodiscard]] std::span<std::uint8_t> mask(std::size_t i) noexcept {
        return std::span(masks_).subspan(i * mask_size_, mask_size_);
    }
    void look_at_mask([[maybe_unused]] std::size_t i) {
        if constexpr (masked_environment<E>) {
            slot& own = slots_[i];
            auto const allowed = mask(i);
            std::fill(allowed.begin(), allowed.end(), std::uint8_t(1));
            std::as_const(own.world).action_mask(allowed);
            own.fault.check_mask(action_counts(space_), allowed, own.length);
        }
    }

    template <class Task>
    void run(Task&& task) {
        if (executor_) {
            executor_->run(size(), task);
        } else {
            for (std::size_t i = 0; i < size(); ++i)
                task(i);
        }
    }

    [[nodiscard]] std::span<O> observation(std::size_t i) noexcept {
        return std::span(observations_).subspan(i * observation_size_, observation_size_);
    }

    void write(std::size_t i, matrix_view<O> const& to) const noexcept {
        detail::copy_row(std::span<O const>(observations_).subspan(i * observation_size_, observation_size_),
                         to.row(i));
    }

    /// Checks all actions and copies them, so that the caller's memory may be anything, even the observations'.
    void take_actions(matrix_view<float const> const& actions) {
        for (std::size_t i = 0; i < size(); ++i) {
            for (std::size_t j = 0; j < actions.cols(); ++j) {
                float const action = actions(i, j);
                if (!detail::contains(space_, j, action)) [[unlikely]]
                    detail::raise_action("vector_environment", space_, i, slots_[i].length + 1, j, action);
                actions_[i * actions.cols() + j] = action;
            }
            if constexpr (masked_environment<E>)
                detail::check_allowed("vector_environment", action_counts(space_), mask(i), i, slots_[i].length + 1,
                                      actions.row(i));
        }
    }

    transition act(std::size_t i) {
        slot& own = slots_[i];
        if constexpr (takes_int) {
            if (std::holds_alternative<discrete>(space_))
                return own.world.step(static_cast<int>(actions_[i]), own.random, observation(i));
        }
        std::size_t const width = actions_.size() / size();
        auto const given = std::span<float const>(actions_).subspan(i * width, width);
        if constexpr (takes_whole) {
            if (std::holds_alternative<multi_discrete>(space_)) {
                auto const action = std::span(whole_).subspan(i * width, width);
                std::transform(given.begin(), given.end(), action.begin(),
                               [](float number) { return static_cast<int>(number); });
                return own.world.step(std::span<int const>(action), own.random, observation(i));
            }
        }
        if constexpr (takes_span)
            return own.world.step(given, own.random, observation(i));
        return {};
    }

    /// Until a reset, a step or a load has succeeded, the batch asks for a reset.
    void begin_change() noexcept {
        ++changes_;
        needs_reset_ = true;
        finished_.clear();
    }
    void end_change() {
        raise_first_fault();
        needs_reset_ = false;
        for (slot const& own : slots_)
            finished_.insert(finished_.end(), own.finished.begin(), own.finished.end());
    }

    void begin_episode(std::size_t i) {
        slot& own = slots_[i];
        own.reward_sum = 0.0;
        own.length = 0;
        own.world.reset(own.random, observation(i));
        own.fault.check_observation(observation(i), 0);
        look_at_mask(i);
    }

    void advance(std::size_t i, basic_step_result<O> const& result) {
        slot& own = slots_[i];
        own.finished.clear();
        transition const given = act(i);
        own.length += 1;
        own.reward_sum += given.reward;
        own.fault.check_reward(given.reward, own.length);
        own.fault.check_observation(observation(i), own.length);
        result.rewards[i] = static_cast<float>(given.reward);
        result.terminated[i] = given.terminated ? 1 : 0;
        result.truncated[i] = given.truncated && !given.terminated ? 1 : 0;
        if (given.terminated || given.truncated) {
            if (!result.final_observations.empty())
                write(i, result.final_observations);
            if constexpr (!scored_environment<E>)
                own.finished.push_back({own.reward_sum, static_cast<std::size_t>(own.length), i});
            begin_episode(i);
        } else {
            look_at_mask(i);
        }
        if constexpr (scored_environment<E>)
            take_games(i);
        write(i, result.observations);
    }

    void take_games(std::size_t i) {
        while (auto const game = slots_[i].world.take_finished())
            slots_[i].finished.push_back({game->reward_sum, game->length, i});
    }

    void raise_first_fault() {
        started_ = true;
        for (std::size_t i = 0; i < size(); ++i) {
            if (slots_[i].fault.found()) [[unlikely]]
                slots_[i].fault.raise(i);
        }
    }

    /// From the episodes that were loaded.
    void go_on() {
        for (std::size_t i = 0; i < size(); ++i) {
            slots_[i].fault = {};
            look_at_mask(i);
        }
        raise_first_fault();
        needs_reset_ = false;
    }

    void persist_streams(archive& state) {
        std::vector<std::uint64_t> words;
        for (slot const& own : slots_)
            words.insert(words.end(), {own.random.seed(), own.random.stream(), own.random.position()});
        state("streams", std::span(words), size(), 3);
        if (!state.loading())
            return;
        for (std::size_t i = 0; i < size(); ++i) {
            slots_[i].random = random_stream(words[3 * i], words[3 * i + 1]);
            slots_[i].random.seek(words[3 * i + 2]);
        }
    }

    void persist_episodes(archive& state) {
        std::vector<double> sums;
        std::vector<std::uint64_t> lengths;
        for (slot const& own : slots_) {
            sums.push_back(own.reward_sum);
            lengths.push_back(own.length);
        }
        state("reward_sums", std::span(sums));
        state("lengths", std::span(lengths));
        if (!state.loading())
            return;
        for (std::size_t i = 0; i < size(); ++i) {
            slots_[i].reward_sum = sums[i];
            slots_[i].length = lengths[i];
        }
    }

    std::deque<slot> slots_; // a deque, so that an environment need not be movable
    gmac::action_space space_;
    std::size_t observation_size_ = 0, mask_size_ = 0;
    executor* executor_ = nullptr;
    observation_history history_;
    std::vector<O> observations_;     // [E, observation size]
    std::vector<float> actions_;      // [E, action size]
    std::vector<int> whole_;          // the same of several discrete actions at once
    std::vector<std::uint8_t> masks_; // [E, mask size], if the environments have masks
    std::vector<finished_episode> finished_;
    bool needs_reset_ = true;
    bool started_ = false;
    std::uint64_t changes_ = 0;
};

/// What is no environment: this says so, in one sentence, and takes every use without another error.
template <class E>
    requires(!environment<E>)
class vector_environment<E> final
    : public basic_environment_batch_decorator<
          std::conditional_t<std::same_as<observation_of<E>, std::uint8_t>, std::uint8_t, float>> {
    using base = basic_environment_batch_decorator<
        std::conditional_t<std::same_as<observation_of<E>, std::uint8_t>, std::uint8_t, float>>;

public:
    static_assert(require_environment<E>());

    explicit vector_environment(std::size_t, std::uint64_t, executor* = nullptr) : base(nullptr) {}
    template <class Factory>
        requires std::invocable<Factory&, std::size_t>
    vector_environment(std::size_t, std::uint64_t, Factory&&, executor* = nullptr) : base(nullptr) {}
    [[nodiscard]] E& operator[](std::size_t) const;
};

template <class Factory>
    requires std::invocable<Factory&, std::size_t>
vector_environment(std::size_t, std::uint64_t, Factory&&)
    -> vector_environment<std::invoke_result_t<Factory&, std::size_t>>;
template <class Factory>
    requires std::invocable<Factory&, std::size_t>
vector_environment(std::size_t, std::uint64_t, Factory&&, executor*)
    -> vector_environment<std::invoke_result_t<Factory&, std::size_t>>;

} // namespace gmac::inline GMAC_ABI
