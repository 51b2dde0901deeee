// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a network's raw outputs mean: value heads.
#include <gmac/heads/categorical.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/heads/scalar.hpp>
