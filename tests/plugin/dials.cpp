// SPDX-License-Identifier: Apache-2.0
// An environment with several discrete actions at once, and masks.
#include "support/dials.hpp"

#include <gmac/environment/plugin/export.hpp>

GMAC_EXPORT_ENVIRONMENT(gmac::testing::masked_dials)
