// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "world.hpp"

#include <memory>
#include <vector>

namespace gmac::examples::bullet {

/// Where a row of the table ended up.
struct placed_link {
    int link = -1;             ///< Bullet's number; −1 is the base
    btVector3 offset{0, 0, 0}; ///< from that link's centre of mass to this row's, in the link's axes
};

/// The links and joints of a robot as Bullet's multibody, and the limits of its joints.
class skeleton {
public:
    skeleton(robot const& table, link_layout layout);

    [[nodiscard]] btMultiBody& body() noexcept { return *body_; }
    [[nodiscard]] btMultiBody const& body() const noexcept { return *body_; }
    [[nodiscard]] placed_link const& place(int row) const {
        return row < 0 ? base_ : placed_[static_cast<std::size_t>(row)];
    }
    /// In the order in which Bullet's world would hand them to the solver.
    [[nodiscard]] std::vector<btMultiBodyConstraint*>& limits() noexcept { return ordered_limits_; }

private:
    void place_rows(robot const& table, link_layout layout);
    void make_links(robot const& table);
    void make_limits(robot const& table);

    placed_link base_;
    std::vector<placed_link> placed_; ///< a row each
    std::vector<bool> joined_;        ///< a row each: shares the link of the row before
    int count_ = 0;
    std::unique_ptr<btMultiBody> body_;
    std::vector<std::unique_ptr<btMultiBodyConstraint>> limits_;
    std::vector<btMultiBodyConstraint*> ordered_limits_;
};

} // namespace gmac::examples::bullet
