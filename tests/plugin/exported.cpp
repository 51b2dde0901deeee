// SPDX-License-Identifier: Apache-2.0
// An environment with options, masks and an exception.
#include "exported.hpp"

#include <gmac/environment/plugin/export.hpp>

GMAC_EXPORT_ENVIRONMENT(gmac::testing::optional_walk)
