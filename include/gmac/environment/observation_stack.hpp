// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::inline GMAC_ABI {

/// The states of E environments as they go on: the latest observations of each, oldest first, with the padding that the
/// history asks for before the first one of an episode.
///
///     gmac::observation_stack<std::uint8_t> stack(worlds);
///     worlds.reset(observations);
///     stack.restart(observations);
///     worlds.step(policy.act(stack.states()) …, result);
///     stack.advance(result);
template <observation_element O>
class observation_stack {
public:
    /// Throws gmac::error if the history has no frame.
    observation_stack(std::size_t environments, std::size_t observation_size, observation_history history)
        : environments_(environments),
          observation_size_(observation_size),
          history_(history),
          states_(environments * history.frames * observation_size) {
        require(history.frames > 0, "observation_stack: the history has 0 frames, but must have at least 1");
    }
    explicit observation_stack(basic_environment_batch<O> const& worlds)
        : observation_stack(worlds.size(), worlds.observation_size(), worlds.history()) {}

    /// [E, frames × observation size]
    [[nodiscard]] matrix_view<O const> states() const noexcept {
        return {states_.data(), environments_, history_.frames * observation_size_};
    }

    /// A new episode in each environment, which begins with these observations, [E, observation size].
    void restart(matrix_view<O const> observations) {
        require_shape(observations, environments_, observation_size_, "observations", "observation_stack::restart");
        for (std::size_t e = 0; e < environments_; ++e)
            restart(e, observations.row(e));
    }

    /// What a step of the environments gave: new observations, and which of them begin an episode.
    void advance(basic_step_result<O> const& result) {
        require_shape(result.observations, environments_, observation_size_, "observations",
                      "observation_stack::advance");
        for (std::size_t e = 0; e < environments_; ++e) {
            if (result.terminated[e] != 0 || result.truncated[e] != 0)
                restart(e, result.observations.row(e));
            else
                push(e, result.observations.row(e));
        }
    }

    void persist(archive& state) {
        state("states", states_.span(), environments_, history_.frames * observation_size_);
    }

private:
    [[nodiscard]] std::span<O> state(std::size_t e) noexcept {
        std::size_t const size = history_.frames * observation_size_;
        return states_.span().subspan(e * size, size);
    }

    void restart(std::size_t e, vector_view<O const> const& observation) noexcept {
        for (std::size_t k = 0; k < history_.frames; ++k) {
            auto const frame = state(e).subspan(k * observation_size_, observation_size_);
            if (k + 1 == history_.frames || history_.padding == history_padding::first)
                write(observation, frame);
            else
                std::fill(frame.begin(), frame.end(), O(0));
        }
    }

    void push(std::size_t e, vector_view<O const> const& observation) noexcept {
        auto const all = state(e);
        std::copy(all.begin() + static_cast<std::ptrdiff_t>(observation_size_), all.end(), all.begin());
        write(observation, all.last(observation_size_));
    }

    static void write(vector_view<O const> const& observation, std::span<O> frame) noexcept {
        for (std::size_t j = 0; j < frame.size(); ++j)
            frame[j] = observation[j];
    }

    std::size_t environments_, observation_size_;
    observation_history history_;
    buffer<O> states_;
};

} // namespace gmac::inline GMAC_ABI
