// SPDX-License-Identifier: Apache-2.0
#include <gmac/train/trainer.hpp>

namespace gmac {
template struct backends::maps<float>;
template struct backends::simd<float>;
template void nn::initialize_orthogonal<float>(matrix_view<float>, float, random_stream&);
} // namespace gmac
