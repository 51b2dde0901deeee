// SPDX-License-Identifier: Apache-2.0
#pragma once

// What a value head is trained towards: GAE, the λ-return, SR(λ). Needs no Eigen.
#include <gmac/targets/exact_sr_lambda.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/lambda_return.hpp>
#include <gmac/targets/makers.hpp>
#include <gmac/targets/normalize.hpp>
#include <gmac/targets/one_step_distance.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/returns.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/sr_lambda.hpp>
