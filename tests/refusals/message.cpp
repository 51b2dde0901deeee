// SPDX-License-Identifier: Apache-2.0
#include <gmac/core/error.hpp>

#include <cstddef>

void check(std::size_t rows, std::size_t cols) {
#ifdef GMAC_CONTROL
    gmac::require(rows == cols, "{{rows}} must be columns, not {} and {}", rows, cols);
#else
    gmac::require(rows == cols, "{{rows}} must be columns, not {}", rows, cols);
#endif
}
