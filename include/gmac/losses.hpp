// SPDX-License-Identifier: Apache-2.0
#pragma once

// What value heads and policies are trained with. Needs no Eigen.
#include <gmac/heads.hpp>
#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/losses/squared_error.hpp>
