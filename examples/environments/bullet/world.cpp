// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include "contacts.hpp"
#include "skeleton.hpp"

#include <gmac/core/error.hpp>

#include <cmath>
#include <vector>

namespace gmac::examples::bullet {
namespace {

constexpr double gravity = 9.8; // m/s²

btContactSolverInfo solver_options() {
    btContactSolverInfo info;
    info.m_solverMode |= SOLVER_USE_2_FRICTION_DIRECTIONS;
    info.m_numIterations = 5;
    info.m_erp2 = 0.9; // of contacts
    info.m_frictionERP = 0.2;
    info.m_linearSlop = 0.00001;
    info.m_minimumSolverBatchSize = 0;
    info.m_warmstartingFactor = 0.1;
    info.m_leastSquaresResidualThreshold = 1e-7;
    return info;
}

/// Of the centre of mass, in the link's own axes: along the chain from the base.
void find_velocity(btMultiBody const& body, int link, btVector3& angular, btVector3& linear) {
    if (link < 0) {
        angular = quatRotate(body.getWorldToBaseRot(), body.getBaseOmega());
        linear = quatRotate(body.getWorldToBaseRot(), body.getBaseVel());
        return;
    }
    btVector3 parent_angular, parent_linear;
    find_velocity(body, body.getParent(link), parent_angular, parent_linear);
    btMatrix3x3 const turn(body.getParentToLocalRot(link));
    angular = turn * parent_angular;
    linear = turn * parent_linear - body.getRVector(link).cross(angular);
    btMultibodyLink const& joint = body.getLink(link);
    for (int dof = 0; dof < joint.m_dofCount; ++dof) {
        btScalar const speed = body.getJointVelMultiDof(link)[dof];
        angular += speed * joint.getAxisTop(dof);
        linear += speed * joint.getAxisBottom(dof);
    }
}

} // namespace

struct world::parts {
    parts(robot const& robot_table, link_layout layout)
        : table(&robot_table), bones(robot_table, layout), touch(robot_table, bones) {}

    void substep(btScalar seconds);
    void push(btVector3 const& force);
    void refresh();

    robot const* table;
    skeleton bones;
    contacts touch;
    btMultiBodyConstraintSolver solver;
    btContactSolverInfo options = solver_options();
    std::vector<int> joints; ///< Bullet's links of the motors

    // What Bullet's algorithms ask for as scratch.
    btAlignedObjectArray<btScalar> numbers;
    btAlignedObjectArray<btVector3> vectors;
    btAlignedObjectArray<btMatrix3x3> matrices;
    btAlignedObjectArray<btQuaternion> rotations;
    btAlignedObjectArray<btVector3> origins;
};

/// The parts of btMultiBodyDynamicsWorld's step that concern a single robot that never sleeps, in the same order.
void world::parts::substep(btScalar seconds) {
    btMultiBody& body = bones.body();
    touch.find();

    body.forwardKinematics(rotations, origins);
    body.clearConstraintForces();
    body.computeAccelerationsArticulatedBodyAlgorithmMultiDof(seconds, numbers, vectors, matrices, false, false, false);

    btAlignedObjectArray<btPersistentManifold*>& manifolds = touch.manifolds();
    std::vector<btMultiBodyConstraint*>& limits = bones.limits();
    btCollisionObject* bodies[] = {touch.any_collider()};
    options.m_timeStep = seconds;
    solver.solveMultiBodyGroup(bodies, 1, manifolds.size() > 0 ? &manifolds[0] : nullptr, manifolds.size(), nullptr, 0,
                               limits.data(), static_cast<int>(limits.size()), options, nullptr, &touch.dispatcher());
    body.processDeltaVeeMultiDof2();

    body.addSplitV();
    body.stepPositionsMultiDof(seconds);
    body.updateCollisionObjectWorldTransforms(rotations, origins);
    body.substractSplitV();
}

void world::parts::refresh() {
    bones.body().forwardKinematics(rotations, origins);
    bones.body().updateCollisionObjectWorldTransforms(rotations, origins);
}

world::world(robot const& table, link_layout layout) : parts_(std::make_unique<parts>(table, layout)) {
    for (motor const& m : table.motors)
        parts_->joints.push_back(parts_->bones.place(m.link).link);
    reset(std::vector<double>(table.motors.size(), 0.0));
}

world::~world() = default;
world::world(world&&) noexcept = default;
world& world::operator=(world&&) noexcept = default;

void world::reset(std::span<double const> angles) {
    gmac::require(angles.size() == parts_->joints.size(),
                  "{}: {} initial joint angles were given, but it has {} actuated joints", parts_->table->name,
                  angles.size(), parts_->joints.size());
    for (std::size_t i = 0; i < angles.size(); ++i)
        gmac::require(std::isfinite(angles[i]), "{}: initial joint angle {} is {}, but must be finite",
                      parts_->table->name, i, angles[i]);
    parts& p = *parts_;
    btMultiBody& body = p.bones.body();
    body.setBaseWorldTransform(btTransform(btQuaternion::getIdentity(), to_bullet(p.table->base_position)));
    body.clearVelocities();
    body.clearForcesAndTorques();
    body.clearConstraintForces();
    for (int i = 0; i < body.getNumLinks(); ++i)
        if (body.getLink(i).m_dofCount == 1)
            body.setJointPos(i, 0.0);
    for (std::size_t i = 0; i < angles.size(); ++i)
        body.setJointPos(p.joints[i], angles[i]);
    p.refresh();
    p.touch.clear();
}

void world::parts::push(btVector3 const& force) {
    placed_link const& torso = bones.place(table->torso);
    btMultiBody& body = bones.body();
    if (torso.link < 0) {
        body.addBaseForce(force);
        return;
    }
    btMatrix3x3 const& axes = body.getLink(torso.link).m_cachedWorldTransform.getBasis();
    body.addLinkForce(torso.link, force);
    body.addLinkTorque(torso.link, (axes * torso.offset).cross(force));
}

void world::advance(std::span<double const> torques, int substeps, double seconds, vector3 const& force) {
    parts& p = *parts_;
    btMultiBody& body = p.bones.body();
    for (std::size_t i = 0; i < torques.size(); ++i)
        body.addJointTorque(p.joints[i], torques[i]);
    btVector3 const down(0, 0, -gravity);
    body.addBaseForce(down * body.getBaseMass());
    for (int i = 0; i < body.getNumLinks(); ++i)
        body.addLinkForce(i, down * body.getLinkMass(i));
    if (force.x != 0.0 || force.y != 0.0 || force.z != 0.0)
        p.push(to_bullet(force));
    for (int i = 0; i < substeps; ++i)
        p.substep(seconds);
    body.clearForcesAndTorques();
}

double world::angle(int link) const {
    return parts_->bones.body().getJointPos(parts_->bones.place(link).link);
}
double world::speed(int link) const {
    return parts_->bones.body().getJointVel(parts_->bones.place(link).link);
}
vector3 world::base_spin() const {
    return from_bullet(parts_->bones.body().getBaseOmega());
}

vector3 world::position(int link) const {
    placed_link const& place = parts_->bones.place(link);
    if (place.link < 0)
        return from_bullet(parts_->bones.body().getBasePos());
    btTransform const& pose = parts_->bones.body().getLink(place.link).m_cachedWorldTransform;
    return from_bullet(place.offset.isZero() ? pose.getOrigin() : pose * place.offset);
}

quaternion world::orientation(int link) const {
    placed_link const& place = parts_->bones.place(link);
    btMultiBody const& body = parts_->bones.body();
    if (place.link >= 0)
        return from_bullet(body.getLink(place.link).m_cachedWorldTransform.getRotation());
    // By way of a matrix, like PyBullet.
    return from_bullet(btTransform(body.getWorldToBaseRot().inverse()).getRotation());
}

vector3 world::velocity(int link) const {
    placed_link const& place = parts_->bones.place(link);
    btMultiBody const& body = parts_->bones.body();
    if (place.link < 0)
        return from_bullet(body.getBaseVel());
    btVector3 angular, linear;
    find_velocity(body, place.link, angular, linear);
    linear += angular.cross(place.offset);
    return from_bullet(body.getLink(place.link).m_cachedWorldTransform.getBasis() * linear);
}

bool world::touches_floor(int link) const {
    return parts_->touch.touches_floor(parts_->bones.place(link).link);
}

world::link_record world::record(int link) const {
    placed_link const& place = parts_->bones.place(link);
    btMultiBody const& body = parts_->bones.body();
    if (place.link < 0)
        return {body.getBaseMass(), from_bullet(body.getBaseInertia())};
    return {body.getLinkMass(place.link), from_bullet(body.getLinkInertia(place.link))};
}

} // namespace gmac::examples::bullet
