// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine.hpp"
#include "skeleton.hpp"

#include <memory>
#include <span>
#include <vector>

namespace gmac::examples::bullet {

/// The shapes of a robot and the floor, and where they touch.
///
/// This stands for Bullet's collision world: a robot has few shapes, and which of them can ever meet is known from the
/// start, so no tree of bounding boxes is searched. Pairs are visited in the order in which PyBullet's world with
/// deterministic pairs would visit them.
class contacts {
public:
    contacts(robot const& table, skeleton& bones);
    ~contacts();
    contacts(contacts const&) = delete;
    contacts& operator=(contacts const&) = delete;

    /// Updates the contact points for the colliders' present poses.
    void find();
    /// Forgets them all.
    void clear();

    /// What touches, in the solver's order.
    [[nodiscard]] btAlignedObjectArray<btPersistentManifold*>& manifolds();
    /// Whether a contact point between this link of Bullet's and the floor is known.
    [[nodiscard]] bool touches_floor(int link) const;
    /// One that stands for the robot where Bullet asks for the bodies of an island.
    [[nodiscard]] btCollisionObject* any_collider() const { return colliders_.front().get(); }
    [[nodiscard]] btCollisionDispatcher& dispatcher() noexcept { return dispatcher_; }

private:
    /// Two colliders that may meet, and Bullet's algorithm for them while their boxes overlap.
    struct candidate {
        btBroadphasePair pair;
        std::size_t first = 0, second = 0; ///< numbers of the colliders; the floor has none
        bool with_floor = false;
    };
    struct bounding_box {
        btVector3 low{0, 0, 0}, high{0, 0, 0};
    };

    void add_collider(robot const& table, int row, int link, btMultiBody& body);
    btCollisionShape* make_shape(robot const& table, int row);
    btBroadphaseProxy* make_proxy(btCollisionObject& object);
    void add_candidates(robot const& table);
    void update_boxes();
    [[nodiscard]] bool boxes_overlap(candidate const& c) const;
    void drop(candidate& c);

    btDefaultCollisionConfiguration configuration_;
    btCollisionDispatcher dispatcher_;
    btDispatcherInfo information_;
    btStaticPlaneShape floor_shape_;
    btCollisionObject floor_;
    std::vector<std::unique_ptr<btCollisionShape>> shapes_;
    std::vector<std::unique_ptr<btMultiBodyLinkCollider>> colliders_; ///< links with shapes only
    std::vector<std::unique_ptr<btBroadphaseProxy>> proxies_;
    std::vector<candidate> candidates_;
    std::vector<bounding_box> boxes_; ///< a collider each; empty where nothing but the floor can be met
    btAlignedObjectArray<btPersistentManifold*> touching_;
};

} // namespace gmac::examples::bullet
