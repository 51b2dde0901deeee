// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

/// The same convolutions by oneDNN with its own choice of layouts.
namespace gmac::bench::onednn {

/// Convolution and ReLU on images [images, channels, size, size] that are already in the layout that oneDNN likes best.
/// Forward only: oneDNN 2.6 has no AVX2 kernel for the gradient of the first layer's weights.
std::function<void()> convolution(std::size_t images, std::size_t channels, std::size_t size, std::size_t filters,
                                  std::size_t kernel, std::size_t stride);

} // namespace gmac::bench::onednn
