// SPDX-License-Identifier: Apache-2.0
// What the files here include, to be read once for all of them; without a guard, which g++ refuses in what it precompiles.
// This one first: clang's messages name each header on the way to the one with the error.
#include <gmac/losses/categorical_cross_entropy.hpp>

#include <gmac/environment/plugin/export.hpp>
#include <gmac/gmac.hpp>

#include <fmt/core.h>
#include <Eigen/Core>
