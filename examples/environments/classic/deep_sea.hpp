// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace classic {

/// Deep sea of the behaviour suite (Osband et al. 2020, "Behaviour suite for reinforcement learning", appendix A.6): a
/// diver sinks one row a step through a sea of N x N fields, from the upper left corner, and drifts a column to the left or
/// to the right. Which of the two actions is right is drawn for each field, once for all episodes. Going right costs
/// 0.01 / N, and right in the lower right corner lies a treasure of 1: only N times right, one sequence of 2^N, brings it.
///
/// In the stochastic version a step to the right fails with probability 1 / N and the diver keeps his column, and every
/// reward in the lower left and the lower right corner has standard normal noise added to it.
///
/// An observation has a one for the field of the diver, [N * N] row by row; after the last step, which terminates the
/// episode, it is all zero.
class deep_sea {
public:
    /// Which action is right, where: the suite's environments of one size have one map too, but another one, NumPy's.
    static constexpr std::uint64_t map_seed = 42;
    static constexpr double move_cost = 0.01; ///< of a whole way to the right

    /// Throws gmac::error unless the size is in [2, 100].
    explicit deep_sea(std::size_t size, bool stochastic = false) : size_(size), stochastic_(stochastic) {
        gmac::require(size >= 2 && size <= 100, "deep_sea: the size is {}, but must be in [2, 100]", size);
        gmac::random_stream random(map_seed, size);
        for (std::size_t i = 0; i < size * size; ++i)
            right_.push_back(static_cast<std::uint8_t>(random.below(2)));
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool stochastic() const noexcept { return stochastic_; }
    [[nodiscard]] std::size_t observation_size() const noexcept { return size_ * size_; }
    [[nodiscard]] gmac::discrete action_space() const noexcept { return {2}; }

    /// N after the last step.
    [[nodiscard]] std::size_t row() const noexcept { return row_; }
    [[nodiscard]] std::size_t column() const noexcept { return column_; }
    /// The action that goes right in a field.
    [[nodiscard]] int right(std::size_t row, std::size_t column) const noexcept { return right_[row * size_ + column]; }

    void reset(gmac::random_stream&, std::span<float> observation) {
        row_ = column_ = 0;
        observe(observation);
    }

    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        bool const goes_right = action == right(row_, column_);
        bool const last_row = row_ + 1 == size_, last_column = column_ + 1 == size_;
        double reward = goes_right && last_column ? 1.0 : 0.0;
        if (stochastic_ && last_row && (column_ == 0 || last_column))
            reward += random.normal<double>();
        if (goes_right) {
            reward -= move_cost / static_cast<double>(size_);
            bool const moves = !stochastic_ || random.uniform<double>() * static_cast<double>(size_) >= 1.0;
            column_ += moves && !last_column ? 1 : 0;
        } else {
            column_ -= column_ > 0 ? 1 : 0;
        }
        ++row_;
        observe(observation);
        return {.reward = reward, .terminated = last_row};
    }

    /// The sea, the treasure, the way that leads to it and the diver; rows go down.
    [[nodiscard]] gmac::drawing draw() const {
        auto const end = static_cast<float>(size_);
        return {.left = -1.0f,
                .right = end,
                .bottom = -end - 1.0f,
                .top = 1.0f,
                .seconds = 0.25f,
                .lines = {{0,
                           {{-0.5f, 0.5f},
                            {end - 0.5f, 0.5f},
                            {end - 0.5f, 0.5f - end},
                            {-0.5f, 0.5f - end},
                            {-0.5f, 0.5f}}},
                          {0, {{0.0f, 0.0f}, {end - 1.0f, 1.0f - end}}},
                          {3, {{end - 1.0f, 1.0f - end}}},
                          {2, {{static_cast<float>(column_), -static_cast<float>(row_)}}}}};
    }

    void persist(gmac::archive& state) {
        std::array<std::uint64_t, 2> both{row_, column_};
        state("field", both);
        gmac::require(both[0] <= size_ && both[1] < size_,
                      "deep_sea: the stored field is row {}, column {}, but the size is {}", both[0], both[1], size_);
        row_ = both[0];
        column_ = both[1];
    }

private:
    void observe(std::span<float> observation) const noexcept {
        std::ranges::fill(observation, 0.0f);
        if (row_ < size_)
            observation[row_ * size_ + column_] = 1.0f;
    }

    std::size_t size_;
    bool stochastic_;
    std::vector<std::uint8_t> right_; // an action each field, row by row
    std::size_t row_ = 0, column_ = 0;
};

} // namespace classic
