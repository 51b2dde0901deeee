// SPDX-License-Identifier: Apache-2.0
#include "contacts.hpp"

#include <gmac/core/error.hpp>

namespace gmac::examples::bullet {
namespace {

constexpr double floor_friction = 0.8;
constexpr double floor_restitution = 0.5;
constexpr double floor_margin = 0.001; // m

/// Thousands of worlds live in one process, so none gets Bullet's pools for thousands of contacts. What does not fit
/// comes from the heap.
btDefaultCollisionConstructionInfo pools(robot const& table) {
    bool const meets_itself = (table.collision_group & table.collision_mask) != 0;
    int const shapes = static_cast<int>(table.shapes.size());
    btDefaultCollisionConstructionInfo info;
    info.m_defaultMaxPersistentManifoldPoolSize = shapes + (meets_itself ? 16 : 0);
    info.m_defaultMaxCollisionAlgorithmPoolSize = 2 * shapes + (meets_itself ? 48 : 0);
    return info;
}

struct solver_order {
    bool operator()(btPersistentManifold const* left, btPersistentManifold const* right) const {
        int const left0 = left->getBody0()->getBroadphaseHandle()->m_uniqueId;
        int const right0 = right->getBody0()->getBroadphaseHandle()->m_uniqueId;
        int const left1 = left->getBody1()->getBroadphaseHandle()->m_uniqueId;
        int const right1 = right->getBody1()->getBroadphaseHandle()->m_uniqueId;
        return left0 < right0 || (left0 == right0 && left1 < right1);
    }
};

} // namespace

contacts::contacts(robot const& table, skeleton& bones)
    : configuration_(pools(table)), dispatcher_(&configuration_), floor_shape_(btVector3(0, 0, 1), 0) {
    information_.m_dispatchFunc = btDispatcherInfo::DISPATCH_DISCRETE;
    floor_shape_.setMargin(floor_margin);
    floor_.setCollisionShape(&floor_shape_);
    floor_.setFriction(floor_friction);
    floor_.setRestitution(floor_restitution);
    make_proxy(floor_);
    for (int row = -1; row < static_cast<int>(table.links.size()); ++row) {
        bool has_shape = false;
        for (shape const& s : table.shapes)
            has_shape = has_shape || s.link == row;
        if (has_shape)
            add_collider(table, row, bones.place(row).link, bones.body());
    }
    gmac::require(!colliders_.empty(), "{}: it has no shape, but needs one", table.name);
    add_candidates(table);
}

contacts::~contacts() {
    for (candidate& c : candidates_)
        drop(c);
}

btBroadphaseProxy* contacts::make_proxy(btCollisionObject& object) {
    btVector3 const zero(0, 0, 0);
    proxies_.push_back(std::make_unique<btBroadphaseProxy>(zero, zero, &object, 1, 1));
    proxies_.back()->m_uniqueId = static_cast<int>(proxies_.size());
    object.setBroadphaseHandle(proxies_.back().get());
    return proxies_.back().get();
}

void contacts::add_collider(robot const& table, int row, int link, btMultiBody& body) {
    auto collider = std::make_unique<btMultiBodyLinkCollider>(&body, link);
    collider->setFriction(table.friction);
    collider->setCollisionShape(make_shape(table, row));
    make_proxy(*collider);
    if (link < 0)
        body.setBaseCollider(collider.get());
    else
        body.getLink(link).m_collider = collider.get();
    colliders_.push_back(std::move(collider));
}

/// PyBullet makes a compound of every link's shapes, and takes the shape itself where the compound would add nothing.
btCollisionShape* contacts::make_shape(robot const& table, int row) {
    btVector3 const centre =
        to_bullet(row < 0 ? table.base_centre : table.links[static_cast<std::size_t>(row)].pivot_to_centre);
    btTransform const to_mass_frame = btTransform(btQuaternion::getIdentity(), centre).inverse();
    auto compound = std::make_unique<btCompoundShape>();
    for (shape const& s : table.shapes) {
        if (s.link != row)
            continue;
        std::unique_ptr<btCollisionShape> child;
        btTransform place = btTransform::getIdentity();
        if (s.kind == shape_kind::sphere) {
            child = std::make_unique<btSphereShape>(s.radius);
            place.setOrigin(to_bullet(s.from));
        } else if (s.kind == shape_kind::capsule) {
            child = std::make_unique<btCapsuleShapeZ>(s.radius, 2 * s.half_length);
            place = btTransform(btQuaternion(btVector3(0, 1, 0), s.angle), to_bullet(s.from));
        } else {
            btVector3 const centres[2] = {to_bullet(s.from), to_bullet(s.to)};
            btScalar const radii[2] = {s.radius, s.radius};
            child = std::make_unique<btMultiSphereShape>(centres, radii, 2);
        }
        compound->addChildShape(to_mass_frame * place, child.get());
        shapes_.push_back(std::move(child));
    }
    if (compound->getNumChildShapes() == 1 && compound->getChildTransform(0) == btTransform::getIdentity())
        return compound->getChildShape(0);
    shapes_.push_back(std::move(compound));
    return shapes_.back().get();
}

/// From the last pair to the first, as PyBullet's world sorts them; the floor comes before all colliders.
void contacts::add_candidates(robot const& table) {
    if ((table.collision_group & table.collision_mask) != 0) {
        for (std::size_t i = colliders_.size(); i-- > 0;)
            for (std::size_t k = colliders_.size(); k-- > i + 1;)
                if (dispatcher_.needsCollision(colliders_[i].get(), colliders_[k].get()))
                    candidates_.push_back({btBroadphasePair(*proxies_[i + 1], *proxies_[k + 1]), i, k, false});
        if (!candidates_.empty())
            boxes_.resize(colliders_.size());
    }
    for (std::size_t k = colliders_.size(); k-- > 0;)
        candidates_.push_back({btBroadphasePair(*proxies_[0], *proxies_[k + 1]), 0, k, true});
}

void contacts::find() {
    update_boxes();
    for (candidate& c : candidates_) {
        if (c.with_floor || boxes_overlap(c)) // the floor's box is the whole space
            btCollisionDispatcher::defaultNearCallback(c.pair, dispatcher_, information_);
        else
            drop(c);
    }
}

void contacts::update_boxes() {
    btVector3 const threshold(gContactBreakingThreshold, gContactBreakingThreshold, gContactBreakingThreshold);
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
        btMultiBodyLinkCollider const& collider = *colliders_[i];
        collider.getCollisionShape()->getAabb(collider.getWorldTransform(), boxes_[i].low, boxes_[i].high);
        boxes_[i].low -= threshold;
        boxes_[i].high += threshold;
    }
}

bool contacts::boxes_overlap(candidate const& c) const {
    bounding_box const& a = boxes_[c.first];
    bounding_box const& b = boxes_[c.second];
    return a.low.x() <= b.high.x() && a.high.x() >= b.low.x() && a.low.y() <= b.high.y() && a.high.y() >= b.low.y() &&
           a.low.z() <= b.high.z() && a.high.z() >= b.low.z();
}

void contacts::drop(candidate& c) {
    if (!c.pair.m_algorithm)
        return;
    c.pair.m_algorithm->~btCollisionAlgorithm();
    dispatcher_.freeCollisionAlgorithm(c.pair.m_algorithm);
    c.pair.m_algorithm = nullptr;
}

/// Where only the floor can be met the algorithms may stay: they would come back in the same order. Otherwise the order
/// in which Bullet lists contacts depends on when pairs met, so a new episode must begin with none.
void contacts::clear() {
    if (boxes_.empty()) {
        for (int i = 0; i < dispatcher_.getNumManifolds(); ++i)
            dispatcher_.clearManifold(dispatcher_.getManifoldByIndexInternal(i));
        return;
    }
    for (candidate& c : candidates_)
        drop(c);
}

btAlignedObjectArray<btPersistentManifold*>& contacts::manifolds() {
    touching_.resize(0);
    for (int i = 0; i < dispatcher_.getNumManifolds(); ++i)
        if (btPersistentManifold* const manifold = dispatcher_.getManifoldByIndexInternal(i);
            manifold->getNumContacts() > 0)
            touching_.push_back(manifold);
    touching_.quickSort(solver_order{}); // Bullet's sort, which is not stable: a link may have several with the floor
    return touching_;
}

bool contacts::touches_floor(int link) const {
    for (int i = 0; i < dispatcher_.getNumManifolds(); ++i) {
        btPersistentManifold const* const manifold = dispatcher_.getManifoldByIndexInternal(i);
        if (manifold->getNumContacts() == 0 || (manifold->getBody0() != &floor_ && manifold->getBody1() != &floor_))
            continue;
        auto const* const other = manifold->getBody0() == &floor_ ? manifold->getBody1() : manifold->getBody0();
        if (static_cast<btMultiBodyLinkCollider const*>(other)->m_link == link)
            return true;
    }
    return false;
}

} // namespace gmac::examples::bullet
