// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a value head is trained with. Needs no Eigen.
#include <gmac/losses/detail/mixture_sums.hpp>
#include <gmac/losses/detail/target_block.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/squared_error.hpp>
