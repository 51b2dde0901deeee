// SPDX-License-Identifier: Apache-2.0
#include <gmac/core/view.hpp>

// Constant memory does not become writable through a view.
void write(gmac::matrix_view<double> const& matrix);

void misuse(gmac::matrix_view<double const> const& matrix) {
#ifdef GMAC_CONTROL
    static_cast<void>(matrix);
#else
    write(matrix);
#endif
}
