// SPDX-License-Identifier: Apache-2.0
#pragma once

// The build reads the version from these lines.
#define GMAC_VERSION_MAJOR 0
#define GMAC_VERSION_MINOR 1
#define GMAC_VERSION_PATCH 0

/// One number that grows with every version: 10000 major + 100 minor + patch.
#define GMAC_VERSION (GMAC_VERSION_MAJOR * 10000 + GMAC_VERSION_MINOR * 100 + GMAC_VERSION_PATCH)
