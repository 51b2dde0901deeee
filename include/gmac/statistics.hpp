// SPDX-License-Identifier: Apache-2.0
#pragma once

// Statistics of value distributions: conditional value at risk and others in place of the mean.
#include <gmac/statistics/evaluate.hpp>
#include <gmac/statistics/statistic.hpp>
#include <gmac/statistics/statistic_range.hpp>
