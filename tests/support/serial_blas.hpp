// SPDX-License-Identifier: Apache-2.0
#pragma once

// OpenBLAS, if that is the BLAS of this program.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

/// Including this header gives the program a BLAS of one thread, whatever the environment says: with more, OpenBLAS
/// allocates. backends::xtensor asks the same of its users.
namespace gmac::testing {
inline bool const blas_is_serial = (openblas_set_num_threads ? openblas_set_num_threads(1) : void(), true);
} // namespace gmac::testing
