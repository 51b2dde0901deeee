// SPDX-License-Identifier: Apache-2.0
#pragma once

// The whole library that needs only xsimd and fmt. What needs more is included by name: threads, checkpoints, imputation
// and the other backends.
#include <gmac/actors.hpp>
#include <gmac/agent.hpp>
#include <gmac/agents.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core.hpp>
#include <gmac/deploy.hpp>
#include <gmac/distributions.hpp>
#include <gmac/environment.hpp>
#include <gmac/heads.hpp>
#include <gmac/losses.hpp>
#include <gmac/nn.hpp>
#include <gmac/statistics.hpp>
#include <gmac/storage.hpp>
#include <gmac/targets.hpp>
#include <gmac/version.hpp>
