// SPDX-License-Identifier: Apache-2.0
#pragma once

// Mixtures: mean, variance, density, distribution function, quantile, expectile, sampling, energy distance, modes, entropy.
#include <gmac/distributions/batch.hpp>
#include <gmac/distributions/batch_entropy.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/energy.hpp>
#include <gmac/distributions/entropy.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/distributions/modes.hpp>
