// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a value head is trained towards: GAE, the λ-return, SR(λ). Needs no Eigen.
#include <gmac/targets/particles.hpp>
