// SPDX-License-Identifier: Apache-2.0
#pragma once

// The environment concept, environments stepped together, wrappers.
#include <gmac/environment/check.hpp>
#include <gmac/environment/clipped_rewards.hpp>
#include <gmac/environment/conditioned.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/normalized.hpp>
#include <gmac/environment/observation_stack.hpp>
#include <gmac/environment/requirements.hpp>
#include <gmac/environment/running_statistics.hpp>
#include <gmac/environment/time_limit.hpp>
#include <gmac/environment/vector_environment.hpp>
