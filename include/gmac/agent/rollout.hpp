// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/observation_stack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// What T steps in E environments gave. Transition t of environment e is row t E + e; the observations have E rows more,
/// those after the last step. The final observations of truncated episodes are kept apart, in row order.
///
/// Each observation is stored once, as the environments gave it. The states that a network sees, of `history.frames`
/// observations each, are assembled when they are asked for. All memory is set aside at once, but pages that are never
/// written cost nothing.
template <class T, observation_element O = float>
class rollout {
public:
    /// Throws gmac::error for more transitions than 32 bits can count. `masked_actions` is how many actions the
    /// environments' action_masks() are about, 0 if there are none. With `ranks` it is the part of this process of a rollout in
    /// all their environments.
    rollout(std::size_t steps, std::size_t environments, std::size_t observation_size, std::size_t action_size,
            observation_history history = {}, std::size_t masked_actions = 0, communicator* ranks = nullptr)
        : ranks_(ranks && ranks->size() > 1 ? ranks : nullptr),
          steps_(counted(steps, environments)),
          environments_(environments),
          observation_size_(observation_size),
          action_size_(action_size),
          masked_actions_(masked_actions),
          past_(history.frames - 1),
          padding_(history.padding),
          stack_(environments, observation_size, history),
          observations_(new O[(past_ + steps + 1) * environments * observation_size]),
          finals_(new O[steps * environments * observation_size]),
          final_rows_(rows()),
          ages_(state_count()),
          actions_(rows() * action_size),
          masks_(state_count() * masked_actions),
          log_probabilities_(rows()),
          rewards_(rows()),
          terminated_(rows()),
          truncated_(rows()),
          step_finals_(environments * observation_size),
          step_rewards_(environments) {}

    /// Those that have the other parts of this rollout; none: this is all.
    [[nodiscard]] communicator* ranks() const noexcept { return ranks_; }
    [[nodiscard]] std::size_t rank_count() const noexcept { return ranks_ ? ranks_->size() : 1; }
    /// How many environments there are on the ranks before this one.
    [[nodiscard]] std::size_t first_environment() const noexcept { return ranks_ ? ranks_->rank() * environments_ : 0; }

    /// The random stream of update `number` for an environment or another part of it. What belongs to an environment is
    /// drawn as if all environments were in one process.
    [[nodiscard]] random_stream stream(std::uint64_t seed, stream_purpose purpose, std::uint64_t number,
                                       std::size_t index) const noexcept {
        bool const of_environment = purpose == stream_purpose::action || purpose == stream_purpose::target;
        if (of_environment)
            index += first_environment();
        else if (ranks_)
            seed = seed_of_rank(seed, ranks_->rank());
        return stream_for(seed, purpose, (number << 24u) | index);
    }

    [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
    [[nodiscard]] std::size_t environments() const noexcept { return environments_; }
    [[nodiscard]] std::size_t rows() const noexcept { return steps_ * environments_; }
    /// States that were acted on, and those after the last step.
    [[nodiscard]] std::size_t state_count() const noexcept { return (steps_ + 1) * environments_; }
    /// Elements of a state: frames × observation size.
    [[nodiscard]] std::size_t state_size() const noexcept { return (past_ + 1) * observation_size_; }
    /// How many elements it takes to assemble states of several observations; states of one are read in place.
    [[nodiscard]] std::size_t assembled(std::size_t states) const noexcept {
        return past_ > 0 ? states * state_size() : 0;
    }
    /// How many transitions were truncated.
    [[nodiscard]] std::size_t final_count() const noexcept { return final_count_; }

    /// [E, observation size], of step t = 0 … T
    [[nodiscard]] matrix_view<O> observations(std::size_t step) noexcept {
        return {frame(step * environments_), environments_, observation_size_};
    }
    /// [E, state size], what to act on at step t, the last one that was recorded; valid until the next is recorded.
    [[nodiscard]] matrix_view<O const> states(std::size_t step) const noexcept {
        if (past_ == 0)
            return {frame(step * environments_), environments_, observation_size_};
        return stack_.states();
    }
    /// [count, state size], the states of rows first … first + count − 1 of the (T + 1) E: in place if a state is one
    /// observation, or else written to `memory`, count × state size elements.
    [[nodiscard]] matrix_view<O const> states(std::size_t first, std::size_t count,
                                              std::span<O> memory) const noexcept {
        if (past_ == 0)
            return {frame(first), count, observation_size_};
        for (std::size_t i = 0; i < count; ++i)
            write_state(first + i, memory.data() + i * state_size());
        return {memory.data(), count, state_size()};
    }
    /// The same of the states in which truncated episodes ended, first … first + count − 1 of final_count().
    [[nodiscard]] matrix_view<O const> final_states(std::size_t first, std::size_t count,
                                                    std::span<O> memory) const noexcept {
        O const* const finals = finals_.get() + first * observation_size_;
        if (past_ == 0)
            return {finals, count, observation_size_};
        for (std::size_t i = 0; i < count; ++i) {
            O* const to = write_frames(final_rows_[first + i], past_, memory.data() + i * state_size());
            std::copy_n(finals + i * observation_size_, observation_size_, to);
        }
        return {memory.data(), count, state_size()};
    }
    /// The states of some transitions, one after the other, to rows.size() × state size elements.
    void gather_states(std::span<std::uint32_t const> rows, O* to) const noexcept {
        for (std::size_t i = 0; i < rows.size(); ++i)
            write_state(rows[i], to + i * state_size());
    }

    /// [E, action size], of step t, as sampled
    [[nodiscard]] matrix_view<T> actions(std::size_t step) noexcept {
        return {actions_.data() + step * environments_ * action_size_, environments_, action_size_};
    }
    /// [T E, action size]
    [[nodiscard]] matrix_view<T const> actions() const noexcept { return {actions_.data(), rows(), action_size_}; }
    /// [(T + 1) E, actions], which actions could be done in a state: 0 for the others. No columns if all could, always.
    [[nodiscard]] matrix_view<std::uint8_t const> masks() const noexcept {
        return {masks_.data(), state_count(), masked_actions_};
    }
    /// [E, actions], of step t = 0 … T
    [[nodiscard]] matrix_view<std::uint8_t const> masks(std::size_t step) const noexcept {
        return masks().middle_rows(step * environments_, environments_);
    }
    /// [T E], of the actions as sampled
    [[nodiscard]] std::span<T> log_probabilities() noexcept { return log_probabilities_; }
    [[nodiscard]] std::span<T const> log_probabilities() const noexcept { return log_probabilities_; }
    /// [T, E] each
    [[nodiscard]] matrix_view<T const> rewards() const noexcept { return {rewards_.data(), steps_, environments_}; }
    [[nodiscard]] matrix_view<std::uint8_t const> terminated() const noexcept {
        return {terminated_.data(), steps_, environments_};
    }
    [[nodiscard]] matrix_view<std::uint8_t const> truncated() const noexcept {
        return {truncated_.data(), steps_, environments_};
    }

    /// Before the first step: observations(0) and masks(0) are what the environments show now. The frames before them are
    /// those that were recorded last; where somebody else has moved the environments since, nothing came before. Throws
    /// gmac::error for masks of another number of actions.
    void begin(basic_environment_batch<O> const& worlds) {
        look(worlds, observations(0));
        copy_masks(0, worlds);
        final_count_ = 0;
        // The states to act on have their padding already, so here an episode that began earlier needs none.
        std::fill_n(ages_.begin(), environments_, static_cast<std::uint32_t>(past_));
        for (std::size_t k = 0; k < past_; ++k)
            for (std::size_t e = 0; e < environments_; ++e)
                std::copy_n(stack_.states().row(e).data() + k * observation_size_, observation_size_,
                            observations_.get() + (k * environments_ + e) * observation_size_);
    }

    /// Steps the environments with `actions` and records what they gave as transition `step`.
    void record(std::size_t step, basic_environment_batch<O>& worlds, matrix_view<float const> actions) {
        std::size_t const first = step * environments_;
        matrix_view<O> const ends = step_finals();
        basic_step_result<O> const result{observations(step + 1), ends, step_rewards_,
                                          std::span(terminated_).subspan(first, environments_),
                                          std::span(truncated_).subspan(first, environments_)};
        worlds.step(actions, result);
        copy_masks(step + 1, worlds);
        if (past_ > 0)
            stack_.advance(result);
        seen_ = worlds.changes();
        for (std::size_t e = 0; e < environments_; ++e) {
            std::size_t const row = first + e;
            rewards_[row] = static_cast<T>(step_rewards_[e]);
            bool const ended = terminated_[row] != 0 || truncated_[row] != 0;
            ages_[row + environments_] = ended ? 0 : (std::min)(ages_[row] + 1, static_cast<std::uint32_t>(past_));
            if (truncated_[row]) {
                std::copy_n(ends.row(e).data(), observation_size_, finals_.get() + final_count_ * observation_size_);
                final_rows_[final_count_] = static_cast<std::uint32_t>(row);
                ++final_count_;
            }
        }
    }

    /// Of several ranks: combines what their environments have learned, which moves none of them.
    void combine(basic_environment_batch<O>& worlds) {
        if (!ranks_)
            return;
        bool const up_to_date = seen_ == worlds.changes();
        worlds.combine(*ranks_);
        if (up_to_date)
            seen_ = worlds.changes();
    }

    /// What acting goes on from besides the environments, which are stored or restored before: nothing, if a state is one
    /// observation. Storing leaves what was recorded as it is.
    void persist(archive& state, basic_environment_batch<O> const& worlds) {
        if (!state.loading())
            look(worlds, step_finals());
        if (past_ > 0)
            stack_.persist(state);
        seen_ = worlds.changes();
    }

private:
    /// Rows are kept as numbers of 32 bits.
    [[nodiscard]] static std::size_t counted(std::size_t steps, std::size_t environments) {
        constexpr std::size_t most = (std::numeric_limits<std::uint32_t>::max)();
        require(environments == 0 || steps < most / environments,
                "rollout: there would be {} steps in {} environments, but transitions are counted up to {}", steps,
                environments, most);
        return steps;
    }

    void look(basic_environment_batch<O> const& worlds, matrix_view<O> const& shown) {
        worlds.observe(shown);
        if (seen_ != worlds.changes())
            stack_.restart(shown);
        seen_ = worlds.changes();
    }

    /// Memory that no recorded step needs.
    [[nodiscard]] matrix_view<O> step_finals() noexcept {
        return {step_finals_.data(), environments_, observation_size_};
    }

    void copy_masks(std::size_t step, basic_environment_batch<O> const& worlds) {
        auto const masks = worlds.action_masks();
        require(masks.cols() == masked_actions_ && (masked_actions_ == 0 || masks.rows() == environments_),
                "rollout: the environments' action masks are {} x {}, but were to be {} x {}", masks.rows(),
                masks.cols(), environments_, masked_actions_);
        for (std::size_t e = 0; e < environments_; ++e)
            for (std::size_t j = 0; j < masked_actions_; ++j)
                masks_[(step * environments_ + e) * masked_actions_ + j] = masks(e, j);
    }

    /// The observation of a row of the (T + 1) E; `back` steps before it.
    [[nodiscard]] O* frame(std::size_t row, std::size_t back = 0) const noexcept {
        return observations_.get() + (row + (past_ - back) * environments_) * observation_size_;
    }

    /// Writes the last `count` ≤ frames observations up to that of a row, oldest first, and returns where they end.
    O* write_frames(std::size_t row, std::size_t count, O* to) const noexcept {
        for (std::size_t back = count; back-- > 0; to += observation_size_) {
            if (back > ages_[row] && padding_ == history_padding::zeros)
                std::fill_n(to, observation_size_, O(0));
            else
                std::copy_n(frame(row, (std::min<std::size_t>)(back, ages_[row])), observation_size_, to);
        }
        return to;
    }
    void write_state(std::size_t row, O* to) const noexcept { write_frames(row, past_ + 1, to); }

    communicator* ranks_;
    std::size_t steps_, environments_, observation_size_, action_size_, masked_actions_;
    std::size_t past_; // observations of a state besides the newest
    history_padding padding_;
    std::size_t final_count_ = 0;
    observation_stack<O> stack_;
    std::optional<std::uint64_t> seen_; // worlds.changes() when the stack was brought up to date
    std::unique_ptr<O[]> observations_; // [(past + T + 1) E, observation size]
    std::unique_ptr<O[]> finals_;
    std::vector<std::uint32_t> final_rows_; // the transition of each final observation
    std::vector<std::uint32_t> ages_;       // [(T + 1) E] steps since the episode began, at most `past`
    std::vector<T> actions_;
    std::vector<std::uint8_t> masks_; // [(T + 1) E, actions]
    std::vector<T> log_probabilities_, rewards_;
    std::vector<std::uint8_t> terminated_, truncated_;
    std::vector<O> step_finals_;
    std::vector<float> step_rewards_;
};

} // namespace gmac::inline GMAC_ABI
