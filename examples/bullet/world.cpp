// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <gmac/core/error.hpp>

#include <BulletCollision/CollisionShapes/btCapsuleShape.h>
#include <BulletCollision/CollisionShapes/btCompoundShape.h>
#include <BulletCollision/CollisionShapes/btMultiSphereShape.h>
#include <BulletCollision/CollisionShapes/btSphereShape.h>
#include <BulletCollision/CollisionShapes/btStaticPlaneShape.h>
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointMotor.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <btBulletCollisionCommon.h>

#include <mutex>
#include <vector>

// Bullet's only process-wide option that matters here: how far the boxes of its broad phase are fattened.
extern btScalar gDbvtMargin;

namespace gmac::examples::bullet {
namespace {

static_assert(sizeof(btScalar) == 8, "the robots need Bullet in double precision: define BT_USE_DOUBLE_PRECISION and "
                                     "link the libraries whose names end in -float64");

constexpr int floor_group = btBroadphaseProxy::StaticFilter;
constexpr int floor_mask = btBroadphaseProxy::AllFilter ^ btBroadphaseProxy::StaticFilter;
constexpr double gravity = 9.8;
constexpr double floor_friction = 0.8;
constexpr double floor_restitution = 0.5;
constexpr double floor_margin = 0.001;

btVector3 to_bullet(vector3 v) { return {v.x, v.y, v.z}; }
btQuaternion to_bullet(quaternion q) { return {q.x, q.y, q.z, q.w}; }
vector3 from_bullet(btVector3 const& v) { return {v.x(), v.y(), v.z()}; }
quaternion from_bullet(btQuaternion const& q) { return {q.x(), q.y(), q.z(), q.w()}; }

/// PyBullet lets two bodies collide when either of them asks for it; Bullet's own filter wants both.
struct either_side_filter final : btOverlapFilterCallback {
    bool needBroadphaseCollision(btBroadphaseProxy* a, btBroadphaseProxy* b) const override {
        return (a->m_collisionFilterGroup & b->m_collisionFilterMask) != 0 ||
               (b->m_collisionFilterGroup & a->m_collisionFilterMask) != 0;
    }
};

/// Thousands of worlds live in one process: no pools of thousands of contacts in each.
btDefaultCollisionConstructionInfo small_pools() {
    btDefaultCollisionConstructionInfo info;
    info.m_defaultMaxPersistentManifoldPoolSize = 64;
    info.m_defaultMaxCollisionAlgorithmPoolSize = 64;
    return info;
}

struct dynamics_world final : btMultiBodyDynamicsWorld {
    using btMultiBodyDynamicsWorld::btMultiBodyDynamicsWorld;

    /// What stepSimulation does for a whole number of substeps, without its profiler, whose counters are shared by the
    /// whole process.
    void advance(int substeps, btScalar seconds) {
        applyGravity();
        for (int i = 0; i < substeps; ++i)
            internalSingleStepSimulation(seconds);
        clearForces();
    }
};

} // namespace

/// Where a row of the table ended up.
struct placed_link {
    int link = -1;               ///< Bullet's number
    btVector3 offset{0, 0, 0};   ///< from that link's centre of mass to this row's, in the link's axes
};

struct world::parts {
    explicit parts(robot const& robot_table) : table(&robot_table), configuration(small_pools()) {}

    robot const* table;
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btHashedOverlappingPairCache pairs;
    either_side_filter filter;
    btDbvtBroadphase broadphase{&pairs};
    btMultiBodyConstraintSolver solver;
    dynamics_world world{&dispatcher, &broadphase, &solver, &configuration};

    btStaticPlaneShape floor_shape{btVector3(0, 0, 1), 0};
    btCollisionObject floor;
    std::vector<std::unique_ptr<btCollisionShape>> shapes;
    std::unique_ptr<btMultiBody> body;
    std::vector<std::unique_ptr<btMultiBodyLinkCollider>> colliders;
    std::vector<std::unique_ptr<btMultiBodyConstraint>> constraints;

    std::vector<placed_link> placed; ///< a row each
    std::vector<int> joints;         ///< Bullet's links of the motors
    btAlignedObjectArray<btQuaternion> rotations; ///< scratch of forward kinematics, and of velocities
    btAlignedObjectArray<btVector3> origins;
    mutable btAlignedObjectArray<btVector3> angular, linear;

    parts(parts const&) = delete;
    ~parts();

    [[nodiscard]] placed_link find(int row) const { return row < 0 ? placed_link{} : placed[static_cast<std::size_t>(row)]; }
    void set_options();
    void add_floor();
    void add_links(link_layout layout);
    void add_collider(int link, int row);
    void add_constraints();
    btCollisionShape* make_shape(int row);
    void refresh();
};

world::parts::~parts() {
    for (auto const& constraint : constraints)
        world.removeMultiBodyConstraint(constraint.get());
    for (auto const& collider : colliders)
        world.removeCollisionObject(collider.get());
    world.removeCollisionObject(&floor);
    if (body)
        world.removeMultiBody(body.get());
}

void world::parts::set_options() {
    static std::once_flag once;
    std::call_once(once, [] { gDbvtMargin = 0; });

    pairs.setOverlapFilterCallback(&filter);
    broadphase.setVelocityPrediction(0);
    world.setForceUpdateAllAabbs(false);
    world.setGravity(btVector3(0, 0, -gravity));
    world.getDispatchInfo().m_deterministicOverlappingPairs = true;
    btContactSolverInfo& info = world.getSolverInfo();
    info.m_numIterations = 5;
    info.m_erp2 = 0.9;
    info.m_frictionERP = 0.2;
    info.m_linearSlop = 0.00001;
    info.m_minimumSolverBatchSize = 0;
    info.m_warmstartingFactor = 0.1;
    info.m_leastSquaresResidualThreshold = 1e-7;
}

void world::parts::add_floor() {
    floor_shape.setMargin(floor_margin);
    floor.setCollisionShape(&floor_shape);
    floor.setFriction(floor_friction);
    floor.setRestitution(floor_restitution);
    world.addCollisionObject(&floor, floor_group, floor_mask);
}

/// A joint's link without a body, and the body that is fixed to it and has no other: two rows that may be one link.
static bool mergeable(robot const& table, std::size_t row) {
    link const& body = table.links[row];
    if (body.kind != joint_kind::fixed || body.parent < 0)
        return false;
    link const& joint = table.links[static_cast<std::size_t>(body.parent)];
    quaternion const turn = body.parent_to_this;
    bool const turned = turn.x != 0 || turn.y != 0 || turn.z != 0 || turn.w != 1;
    bool has_shape = false;
    for (shape const& s : table.shapes)
        has_shape = has_shape || s.link == body.parent;
    int children = 0;
    for (link const& other : table.links)
        children += other.parent == body.parent ? 1 : 0;
    return joint.kind != joint_kind::fixed && joint.mass == 0.0 && !has_shape && children == 1 && !turned;
}

void world::parts::add_links(link_layout layout) {
    std::size_t const rows = table->links.size();
    std::vector<bool> joined(rows, false); // with its parent
    if (layout == link_layout::merged)
        for (std::size_t row = 0; row < rows; ++row)
            joined[row] = mergeable(*table, row);

    placed.resize(rows);
    int count = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        link const& l = table->links[row];
        if (joined[row]) {
            placed[row].link = placed[static_cast<std::size_t>(l.parent)].link;
            placed[static_cast<std::size_t>(l.parent)].offset = -(to_bullet(l.parent_to_pivot) + to_bullet(l.pivot_to_centre));
        } else {
            placed[row].link = count++;
        }
    }

    body = std::make_unique<btMultiBody>(count, table->base_mass, to_bullet(table->base_inertia), !table->free_base, false);
    body->setBaseWorldTransform(btTransform(btQuaternion::getIdentity(), to_bullet(table->base_position)));
    for (std::size_t row = 0; row < rows; ++row) {
        if (joined[row])
            continue;
        link const& joint = table->links[row];
        bool const with_next = row + 1 < rows && joined[row + 1];
        link const& holder = with_next ? table->links[row + 1] : joint; // of mass and inertia
        btVector3 const centre = to_bullet(joint.pivot_to_centre) - placed[row].offset;
        int const index = placed[row].link;
        int const parent = find(joint.parent).link;
        btVector3 const pivot = to_bullet(joint.parent_to_pivot);
        btQuaternion const turn = to_bullet(joint.parent_to_this);
        btVector3 const inertia = to_bullet(holder.inertia);
        switch (joint.kind) {
        case joint_kind::fixed:
            body->setupFixed(index, holder.mass, inertia, parent, turn, pivot, centre);
            break;
        case joint_kind::slide:
            body->setupPrismatic(index, holder.mass, inertia, parent, turn, to_bullet(joint.axis), pivot, centre, true);
            break;
        case joint_kind::hinge:
            body->setupRevolute(index, holder.mass, inertia, parent, turn, to_bullet(joint.axis), pivot, centre, true);
            break;
        }
        body->getLink(index).m_flags |= BT_MULTIBODYLINKFLAGS_DISABLE_ALL_PARENT_COLLISION;
    }
}

btCollisionShape* world::parts::make_shape(int row) {
    bool const of_base = row < 0;
    btVector3 const centre = to_bullet(of_base ? table->base_centre : table->links[static_cast<std::size_t>(row)].pivot_to_centre);
    auto compound = std::make_unique<btCompoundShape>();
    auto const to_mass_frame = btTransform(btQuaternion::getIdentity(), centre).inverse();
    for (shape const& s : table->shapes) {
        if (s.link != row)
            continue;
        std::unique_ptr<btCollisionShape> child;
        btTransform place = btTransform::getIdentity();
        switch (s.kind) {
        case shape_kind::sphere:
            child = std::make_unique<btSphereShape>(s.radius);
            place.setOrigin(to_bullet(s.from));
            break;
        case shape_kind::sweep: {
            btVector3 const centres[2] = {to_bullet(s.from), to_bullet(s.to)};
            btScalar const radii[2] = {s.radius, s.radius};
            child = std::make_unique<btMultiSphereShape>(centres, radii, 2);
            break;
        }
        case shape_kind::capsule:
            child = std::make_unique<btCapsuleShapeZ>(s.radius, 2 * s.half_length);
            place = btTransform(btQuaternion(btVector3(0, 1, 0), s.angle), to_bullet(s.from));
            break;
        }
        compound->addChildShape(to_mass_frame * place, child.get());
        shapes.push_back(std::move(child));
    }
    bool const bare = compound->getNumChildShapes() == 1 && compound->getChildTransform(0) == btTransform::getIdentity();
    btCollisionShape* const result = bare ? compound->getChildShape(0) : compound.get();
    if (!bare)
        shapes.push_back(std::move(compound));
    return result;
}

/// Every link gets a collider, the massless ones an empty one: Bullet finds the island of a constraint through them.
void world::parts::add_collider(int link, int row) {
    auto collider = std::make_unique<btMultiBodyLinkCollider>(body.get(), link);
    bool has_shape = false;
    for (shape const& s : table->shapes)
        has_shape = has_shape || s.link == row;
    bool const fixed_base = link < 0 && !table->free_base;
    int group = fixed_base ? floor_group : static_cast<int>(btBroadphaseProxy::DefaultFilter);
    int mask = fixed_base ? floor_mask : static_cast<int>(btBroadphaseProxy::AllFilter);
    if (has_shape) {
        group = table->collision_group;
        mask = table->collision_mask;
        collider->setFriction(table->friction);
    }
    collider->setCollisionShape(make_shape(row));
    if (fixed_base)
        collider->setCollisionFlags(collider->getCollisionFlags() | btCollisionObject::CF_STATIC_OBJECT);
    world.addCollisionObject(collider.get(), group, mask);
    if (link < 0)
        body->setBaseCollider(collider.get());
    else
        body->getLink(link).m_collider = collider.get();
    colliders.push_back(std::move(collider));
}

/// Limits first, then a motor without force for every joint: it makes no row, but the world sorts its constraints with
/// a sort that is not stable, so their mere number decides about the order of the limits.
void world::parts::add_constraints() {
    auto const add = [this](std::unique_ptr<btMultiBodyConstraint> constraint) {
        world.addMultiBodyConstraint(constraint.get());
        constraints.push_back(std::move(constraint));
    };
    for (std::size_t row = 0; row < table->links.size(); ++row) {
        link const& l = table->links[row];
        if (l.kind == joint_kind::hinge && l.limited())
            add(std::make_unique<btMultiBodyJointLimitConstraint>(body.get(), placed[row].link, l.lower, l.upper));
    }
    body->setHasSelfCollision(true);
    body->finalizeMultiDof();
    refresh();
    world.addMultiBody(body.get());
    for (std::size_t row = 0; row < table->links.size(); ++row) {
        if (table->links[row].kind == joint_kind::fixed)
            continue;
        auto motor = std::make_unique<btMultiBodyJointMotor>(body.get(), placed[row].link, 0, 0.0, 0.0);
        motor->finalizeMultiDof();
        add(std::move(motor));
    }
}

void world::parts::refresh() {
    body->forwardKinematics(rotations, origins);
    body->updateCollisionObjectWorldTransforms(rotations, origins);
}

world::world(robot const& table, link_layout layout) : parts_(std::make_unique<parts>(table)) {
    parts& p = *parts_;
    p.set_options();
    p.add_floor();
    p.add_links(layout);
    p.add_collider(-1, -1);
    for (std::size_t row = 0; row < table.links.size(); ++row) {
        // Of two rows that share a link the body, which is the later one, has the shape.
        bool const last = row + 1 == table.links.size() || p.placed[row + 1].link != p.placed[row].link;
        if (last)
            p.add_collider(p.placed[row].link, static_cast<int>(row));
    }
    p.add_constraints();
    for (motor const& m : table.motors)
        p.joints.push_back(p.placed[static_cast<std::size_t>(m.link)].link);
    p.angular.resize(p.body->getNumLinks() + 1);
    p.linear.resize(p.body->getNumLinks() + 1);
}

world::~world() = default;
world::world(world&&) noexcept = default;
world& world::operator=(world&&) noexcept = default;

void world::reset(std::span<double const> angles) {
    parts& p = *parts_;
    gmac::require(angles.size() == p.joints.size(), "{}: {} initial joint angles were given, but it has {} actuated joints",
                  p.table->name, angles.size(), p.joints.size());
    p.body->setBaseWorldTransform(btTransform(btQuaternion::getIdentity(), to_bullet(p.table->base_position)));
    p.body->clearVelocities();
    p.body->clearForcesAndTorques();
    p.body->clearConstraintForces();
    for (int i = 0; i < p.body->getNumLinks(); ++i)
        if (p.body->getLink(i).m_dofCount == 1)
            p.body->setJointPos(i, 0.0);
    for (std::size_t i = 0; i < angles.size(); ++i)
        p.body->setJointPos(p.joints[i], angles[i]);
    p.refresh();
    for (int i = 0; i < p.dispatcher.getNumManifolds(); ++i)
        p.dispatcher.clearManifold(p.dispatcher.getManifoldByIndexInternal(i));
    for (auto const& collider : p.colliders)
        p.world.updateSingleAabb(collider.get());
}

void world::advance(std::span<double const> torques, int substeps, double seconds) {
    parts& p = *parts_;
    for (std::size_t i = 0; i < torques.size(); ++i)
        p.body->addJointTorque(p.joints[i], torques[i]);
    p.world.advance(substeps, seconds);
}

double world::angle(std::size_t motor) const { return parts_->body->getJointPos(parts_->joints[motor]); }
double world::speed(std::size_t motor) const { return parts_->body->getJointVel(parts_->joints[motor]); }

vector3 world::position(int link) const {
    placed_link const place = parts_->find(link);
    if (place.link < 0)
        return from_bullet(parts_->body->getBasePos());
    btTransform const& pose = parts_->body->getLink(place.link).m_cachedWorldTransform;
    return from_bullet(place.offset.isZero() ? pose.getOrigin() : pose * place.offset);
}

quaternion world::orientation(int link) const {
    placed_link const place = parts_->find(link);
    if (place.link >= 0)
        return from_bullet(parts_->body->getLink(place.link).m_cachedWorldTransform.getRotation());
    return from_bullet(btTransform(parts_->body->getWorldToBaseRot().inverse()).getRotation());
}

vector3 world::velocity(int link) const {
    placed_link const place = parts_->find(link);
    btMultiBody const& body = *parts_->body;
    if (place.link < 0)
        return from_bullet(body.getBaseVel());
    body.compTreeLinkVelocities(&parts_->angular[0], &parts_->linear[0]);
    return from_bullet(body.getLink(place.link).m_cachedWorldTransform.getBasis() * parts_->linear[place.link + 1]);
}

bool world::touches_floor(int link) const {
    int const wanted = parts_->find(link).link;
    btCollisionDispatcher const& dispatcher = parts_->dispatcher;
    for (int i = 0; i < dispatcher.getNumManifolds(); ++i) {
        btPersistentManifold const* const manifold = dispatcher.getManifoldByIndexInternal(i);
        btCollisionObject const* const a = manifold->getBody0();
        btCollisionObject const* const b = manifold->getBody1();
        if (manifold->getNumContacts() == 0 || (a != &parts_->floor && b != &parts_->floor))
            continue;
        auto const* const collider = btMultiBodyLinkCollider::upcast(a == &parts_->floor ? b : a);
        if (collider && collider->m_link == wanted)
            return true;
    }
    return false;
}

world::link_record world::record(int link) const {
    placed_link const place = parts_->find(link);
    btMultiBody const& body = *parts_->body;
    if (place.link < 0)
        return {body.getBaseMass(), from_bullet(body.getBaseInertia())};
    return {body.getLinkMass(place.link), from_bullet(body.getLinkInertia(place.link))};
}

} // namespace gmac::examples::bullet
