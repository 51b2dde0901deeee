// SPDX-License-Identifier: Apache-2.0
#pragma once

// Views, random streams, lanes, errors: what everything else stands on.
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/counted.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
