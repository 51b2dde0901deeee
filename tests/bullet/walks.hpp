// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"

#include <gmac/core/random.hpp>

#include <bit>
#include <cstdint>
#include <vector>

namespace gmac::testing {

namespace bullet = gmac::examples::bullet;

/// A robot that takes random actions and remembers the bits of all that it returned.
class walker {
public:
    walker(bullet::robot const& robot, std::uint64_t seed, bullet::link_layout layout = bullet::link_layout::separate,
           bullet::random_pushes pushes = {})
        : robot_(robot, layout, pushes),
          random_(seed),
          observation_(robot_.observation_size()),
          action_(robot_.action_size()) {}

    void reset() {
        robot_.reset(random_, observation_);
        remember(0.0);
    }
    void reset(std::vector<double> const& angles) {
        robot_.reset(angles, observation_);
        remember(0.0);
    }
    gmac::transition step() {
        for (float& number : action_)
            number = 2.0f * random_.uniform<float>() - 1.0f;
        gmac::transition const result = robot_.step(action_, random_, observation_);
        remember(result.reward);
        return result;
    }
    void walk(int steps) {
        for (int i = 0; i < steps; ++i)
            step();
    }
    /// New episodes follow those that end.
    void walk_on(int steps) {
        for (int i = 0; i < steps; ++i)
            if (gmac::transition const result = step(); result.terminated || result.truncated)
                reset();
    }

    [[nodiscard]] bullet::locomotion& robot() noexcept { return robot_; }
    [[nodiscard]] gmac::random_stream& random() noexcept { return random_; }
    [[nodiscard]] std::vector<float> const& observation() const noexcept { return observation_; }
    [[nodiscard]] std::vector<std::uint64_t> const& history() const noexcept { return history_; }
    void forget() { history_.clear(); }

private:
    void remember(double reward) {
        history_.push_back(std::bit_cast<std::uint64_t>(reward));
        history_.push_back(std::bit_cast<std::uint64_t>(robot_.potential()));
        for (float const number : observation_)
            history_.push_back(std::bit_cast<std::uint32_t>(number));
        for (std::size_t row = 0; row < robot_.table().links.size(); ++row)
            if (robot_.table().links[row].kind != bullet::joint_kind::fixed) {
                history_.push_back(std::bit_cast<std::uint64_t>(robot_.world().angle(static_cast<int>(row))));
                history_.push_back(std::bit_cast<std::uint64_t>(robot_.world().speed(static_cast<int>(row))));
            }
    }

    bullet::locomotion robot_;
    gmac::random_stream random_;
    std::vector<float> observation_, action_;
    std::vector<std::uint64_t> history_;
};

} // namespace gmac::testing
