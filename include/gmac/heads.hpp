// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a network's raw outputs mean: value heads.
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/scalar.hpp>
