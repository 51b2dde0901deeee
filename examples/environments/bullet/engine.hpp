// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bullet's headers and the way from our plain numbers to its own. Only this folder's sources include it.

#include "robot.hpp"

#include <BulletCollision/BroadphaseCollision/btBroadphaseProxy.h>
#include <BulletCollision/BroadphaseCollision/btCollisionAlgorithm.h>
#include <BulletCollision/CollisionDispatch/btCollisionDispatcher.h>
#include <BulletCollision/CollisionDispatch/btDefaultCollisionConfiguration.h>
#include <BulletCollision/CollisionShapes/btCapsuleShape.h>
#include <BulletCollision/CollisionShapes/btCompoundShape.h>
#include <BulletCollision/CollisionShapes/btMultiSphereShape.h>
#include <BulletCollision/CollisionShapes/btSphereShape.h>
#include <BulletCollision/CollisionShapes/btStaticPlaneShape.h>
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>

namespace gmac::examples::bullet {

static_assert(sizeof(btScalar) == 8,
              "the robots need Bullet in double precision: define BT_USE_DOUBLE_PRECISION and "
              "link the libraries whose names end in -float64");

inline btVector3 to_bullet(vector3 v) {
    return {v.x, v.y, v.z};
}
inline btQuaternion to_bullet(quaternion q) {
    return {q.x, q.y, q.z, q.w};
}
inline vector3 from_bullet(btVector3 const& v) {
    return {v.x(), v.y(), v.z()};
}
inline quaternion from_bullet(btQuaternion const& q) {
    return {q.x(), q.y(), q.z(), q.w()};
}

} // namespace gmac::examples::bullet
