// SPDX-License-Identifier: Apache-2.0
#pragma once

// Samples of a distribution from its quantiles or expectiles. Not part of gmac/gmac.hpp: no agent needs it.
#include <gmac/imputation/expectiles.hpp>
#include <gmac/imputation/huber_quantiles.hpp>
#include <gmac/imputation/quantiles.hpp>
