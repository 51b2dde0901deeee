// SPDX-License-Identifier: Apache-2.0
#include <gmac/version.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("the version of the headers is the version of the package") {
    std::string const version = std::to_string(GMAC_VERSION_MAJOR) + '.' + std::to_string(GMAC_VERSION_MINOR) + '.' +
                                std::to_string(GMAC_VERSION_PATCH);
    CHECK(version == GMAC_PACKAGE_VERSION);
    CHECK(GMAC_VERSION == GMAC_VERSION_MAJOR * 10000 + GMAC_VERSION_MINOR * 100 + GMAC_VERSION_PATCH);
}
