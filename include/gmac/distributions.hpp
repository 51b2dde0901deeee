// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mixtures: mean, variance, density, distribution function, quantile, sampling, energy distance.
#include <gmac/distributions/folded_normal.hpp>
