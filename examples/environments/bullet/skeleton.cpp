// SPDX-License-Identifier: Apache-2.0
#include "skeleton.hpp"

#include <gmac/core/error.hpp>

namespace gmac::examples::bullet {
namespace {

bool has_shape(robot const& table, int row) {
    for (shape const& s : table.shapes)
        if (s.link == row)
            return true;
    return false;
}

/// A body that is fixed, without a turn, to the massless link of the joint in the row before, which holds nothing else:
/// the two may be one link.
bool joins_the_row_before(robot const& table, std::size_t row) {
    if (row == 0 || table.links[row].kind != joint_kind::fixed || table.links[row].parent != static_cast<int>(row) - 1)
        return false;
    link const& joint = table.links[row - 1];
    quaternion const turn = table.links[row].parent_to_this;
    int children = 0;
    for (link const& other : table.links)
        children += other.parent == static_cast<int>(row) - 1 ? 1 : 0;
    return joint.kind != joint_kind::fixed && joint.mass == 0.0 && children == 1 && turn.w == 1.0 &&
           !has_shape(table, static_cast<int>(row) - 1);
}

/// What Bullet's world does to the order of constraints of one island before it solves them: it sorts them by island,
/// with a sort that is not stable. Their number alone decides where each ends up.
std::vector<std::size_t> order_after_sorting(std::size_t count) {
    btAlignedObjectArray<std::size_t> numbers;
    for (std::size_t i = 0; i < count; ++i)
        numbers.push_back(i);
    numbers.quickSort([](std::size_t, std::size_t) { return false; });
    std::vector<std::size_t> order;
    for (int i = 0; i < numbers.size(); ++i)
        order.push_back(numbers[i]);
    return order;
}

void check(robot const& table) {
    for (std::size_t row = 0; row < table.links.size(); ++row)
        gmac::require(table.links[row].parent >= -1 && table.links[row].parent < static_cast<int>(row),
                      "{}: the parent of link {} is {}, but must be an earlier link or -1", table.name, row,
                      table.links[row].parent);
    auto const last = static_cast<int>(table.links.size()) - 1;
    for (shape const& s : table.shapes)
        gmac::require(s.link >= -1 && s.link <= last, "{}: a shape is of link {}, but links are -1 to {}", table.name,
                      s.link, last);
    for (motor const& m : table.motors)
        gmac::require(m.link >= 0 && m.link <= last &&
                          table.links[static_cast<std::size_t>(m.link)].kind == joint_kind::hinge,
                      "{}: a motor is at link {}, which has no hinge", table.name, m.link);
    for (int const part : table.parts)
        gmac::require(part >= -1 && part <= last, "{}: a part is link {}, but links are -1 to {}", table.name, part,
                      last);
    for (int const foot : table.feet)
        gmac::require(foot >= -1 && foot <= last, "{}: a foot is link {}, but links are -1 to {}", table.name, foot,
                      last);
    gmac::require(table.torso >= -1 && table.torso <= last, "{}: the torso is link {}, but links are -1 to {}",
                  table.name, table.torso, last);
}

} // namespace

skeleton::skeleton(robot const& table, link_layout layout) {
    check(table);
    place_rows(table, layout);
    make_links(table);
    make_limits(table);
    body_->setHasSelfCollision(true);
    body_->finalizeMultiDof();
}

void skeleton::place_rows(robot const& table, link_layout layout) {
    std::size_t const rows = table.links.size();
    placed_.resize(rows);
    joined_.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        joined_[row] = layout == link_layout::merged && joins_the_row_before(table, row);
        if (!joined_[row]) {
            placed_[row].link = count_++;
            continue;
        }
        link const& l = table.links[row];
        placed_[row].link = placed_[row - 1].link;
        placed_[row - 1].offset = -(to_bullet(l.parent_to_pivot) + to_bullet(l.pivot_to_centre));
    }
}

void skeleton::make_links(robot const& table) {
    body_ =
        std::make_unique<btMultiBody>(count_, table.base_mass, to_bullet(table.base_inertia), !table.free_base, false);
    std::size_t const rows = table.links.size();
    for (std::size_t row = 0; row < rows; ++row) {
        if (joined_[row])
            continue;
        link const& joint = table.links[row];
        link const& holder = row + 1 < rows && joined_[row + 1] ? table.links[row + 1] : joint; // of mass and inertia
        int const index = placed_[row].link;
        int const parent = place(joint.parent).link;
        btVector3 const inertia = to_bullet(holder.inertia);
        btVector3 const axis = to_bullet(joint.axis);
        btQuaternion const turn = to_bullet(joint.parent_to_this);
        // From the parent's centre of mass: where two rows share a link, it is that of the later one.
        btVector3 const pivot = to_bullet(joint.parent_to_pivot) + place(joint.parent).offset;
        btVector3 const centre = to_bullet(joint.pivot_to_centre) - placed_[row].offset;
        switch (joint.kind) {
        case joint_kind::fixed:
            body_->setupFixed(index, holder.mass, inertia, parent, turn, pivot, centre);
            break;
        case joint_kind::slide:
            body_->setupPrismatic(index, holder.mass, inertia, parent, turn, axis, pivot, centre, true);
            break;
        case joint_kind::hinge:
            body_->setupRevolute(index, holder.mass, inertia, parent, turn, axis, pivot, centre, true);
            break;
        }
        body_->getLink(index).m_flags |= BT_MULTIBODYLINKFLAGS_DISABLE_ALL_PARENT_COLLISION;
    }
}

void skeleton::make_limits(robot const& table) {
    std::size_t movable = 0;
    for (std::size_t row = 0; row < table.links.size(); ++row) {
        link const& l = table.links[row];
        movable += l.kind != joint_kind::fixed ? 1 : 0;
        if (l.kind == joint_kind::hinge && l.limited()) {
            limits_.push_back(
                std::make_unique<btMultiBodyJointLimitConstraint>(body_.get(), placed_[row].link, l.lower, l.upper));
            limits_.back()->finalizeMultiDof();
        }
    }
    // PyBullet has a motor without force at every movable joint. It adds nothing but its place in the order.
    for (std::size_t const number : order_after_sorting(limits_.size() + movable))
        if (number < limits_.size())
            ordered_limits_.push_back(limits_[number].get());
}

} // namespace gmac::examples::bullet
