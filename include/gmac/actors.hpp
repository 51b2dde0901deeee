// SPDX-License-Identifier: Apache-2.0
#pragma once

// Distributions over actions.
#include <gmac/actors/actor.hpp>
#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/actors/multi_categorical.hpp>
#include <gmac/actors/state_dependent_exploration.hpp>
#include <gmac/actors/to_environment.hpp>
