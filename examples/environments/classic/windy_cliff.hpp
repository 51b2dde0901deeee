// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/time_limit.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace classic {

/// A walk along a cliff in gusts of wind, after Sutton and Barto 2018, Example 6.6: from the lower left to the lower right
/// corner of a grid, between which the lowest row is the cliff. A step up (0), right (1), down (2) or left (3), which the
/// edges of the grid and of the cliff stop, is followed by the wind: with probability `gust` it blows the walker a row down,
/// and each further row with probability `further`. Every step costs `step_cost`; one that ends over the cliff costs
/// `fall_cost` instead and ends the episode, as the goal does.
///
/// Only the wind makes the walker fall, unlike in the book: to who still walks at random, and minds the worst of what may
/// come, a fall at once, or never to come near the goal, would seem best.
///
/// A gust of one row at most would make the second row as safe as any above it: from the first one a step up is safe. With
/// gusts of any length each row further up costs two steps and divides the chance of a fall by about 1 / `further`.
///
/// With exploring starts (ibid., section 5.3) that share of the episodes begins at a height drawn evenly from all rows, in the
/// first column. Without them a critic hardly sees the rows that its policy does not walk, and thinks them worse than they are.
///
/// An observation has a one for the height of the walker and a one for his column: [rows + columns], all else zero.
class windy_cliff_world {
public:
    static constexpr int rows = 7, columns = 10;
    static constexpr double gust = 0.015;
    static constexpr double further = 0.5;
    static constexpr double step_cost = 0.2;
    static constexpr double fall_cost = 6.0;

    /// `height` is the number of rows above the cliff's.
    struct place {
        int height = 0, column = 0;

        /// Whether the cliff is straight below, or here.
        [[nodiscard]] constexpr bool crossing() const noexcept { return column > 0 && column < columns - 1; }
        [[nodiscard]] constexpr bool fallen() const noexcept { return height == 0 && crossing(); }
        [[nodiscard]] constexpr bool arrived() const noexcept { return height == 0 && column == columns - 1; }
    };

    /// Throws gmac::error unless the share is in [0, 1].
    explicit windy_cliff_world(double exploring_starts = 0.0) : exploring_starts_(exploring_starts) {
        gmac::require(exploring_starts >= 0.0 && exploring_starts <= 1.0,
                      "windy_cliff: exploring_starts is {}, but must be in [0, 1]", exploring_starts);
    }

    [[nodiscard]] std::size_t observation_size() const noexcept { return rows + columns; }
    [[nodiscard]] gmac::discrete action_space() const noexcept { return {4}; }

    [[nodiscard]] place const& current() const noexcept { return now_; }
    void set(place const& start) noexcept { now_ = start; }

    void reset(gmac::random_stream& random, std::span<float> observation) {
        now_ = {};
        if (exploring_starts_ > 0.0 && random.uniform<double>() < exploring_starts_)
            now_.height = static_cast<int>(random.below(rows));
        observe(observation);
    }

    gmac::transition step(int action, gmac::random_stream& random, std::span<float> observation) {
        constexpr std::array up{1, 0, -1, 0}, right{0, 1, 0, -1};
        auto const which = static_cast<std::size_t>(action);
        place const ahead{std::clamp(now_.height + up[which], 0, rows - 1),
                          std::clamp(now_.column + right[which], 0, columns - 1)};
        now_ = ahead.fallen() ? now_ : ahead;
        double const u = random.uniform<double>();
        for (double chance = gust; u < chance && now_.height > 0; chance *= further)
            --now_.height;
        observe(observation);
        return {.reward = now_.fallen() ? -fall_cost : -step_cost, .terminated = now_.fallen() || now_.arrived()};
    }

    /// The cliff, the goal and the walker.
    [[nodiscard]] gmac::drawing draw() const {
        constexpr float end = columns - 0.5f;
        return {.left = -1.0f,
                .right = columns,
                .bottom = -1.0f,
                .top = rows,
                .seconds = 0.25f,
                .lines = {{0,
                           {{-0.5f, -0.5f},
                            {0.5f, -0.5f},
                            {0.5f, 0.5f},
                            {end - 1.0f, 0.5f},
                            {end - 1.0f, -0.5f},
                            {end, -0.5f}}},
                          {3, {{columns - 1.0f, 0.0f}}},
                          {2, {{static_cast<float>(now_.column), static_cast<float>(now_.height)}}}}};
    }

    void persist(gmac::archive& state) {
        std::array<std::int32_t, 2> both{now_.height, now_.column};
        state("place", both);
        gmac::require(both[0] >= 0 && both[0] < rows && both[1] >= 0 && both[1] < columns,
                      "windy_cliff: the stored place is row {}, column {}, but there are {} rows and {} columns",
                      both[0], both[1], rows, columns);
        now_ = {both[0], both[1]};
    }

private:
    void observe(std::span<float> observation) const noexcept {
        std::ranges::fill(observation, 0.0f);
        observation[static_cast<std::size_t>(now_.height)] = 1.0f;
        observation[static_cast<std::size_t>(rows) + static_cast<std::size_t>(now_.column)] = 1.0f;
    }

    place now_;
    double exploring_starts_;
};

/// An episode is truncated after 100 steps.
class windy_cliff : public gmac::time_limit<windy_cliff_world> {
public:
    explicit windy_cliff(double exploring_starts = 0.0) : time_limit(windy_cliff_world(exploring_starts), 100) {}
};

} // namespace classic
