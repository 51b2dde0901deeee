// SPDX-License-Identifier: Apache-2.0
// What the files here include, to be read once for all of them; without a guard, which g++ refuses in what it precompiles.
#include <gmac/environment/plugin/export.hpp>
#include <gmac/gmac.hpp>

#include <Eigen/Core>
#include <fmt/core.h>
