// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace gmac::testing {

/// A convolution with ReLU: its output, and the gradients of Σ output ∘ output_gradient.
struct convolution_results {
    std::vector<float> output, weight_gradient, bias_gradient, input_gradient;
};

/// By libtorch: input [images, channels, height, width], weight [filters, channels, kernel, kernel], bias [filters],
/// output_gradient [images, filters, rows, columns], all row-major.
convolution_results torch_convolution(std::vector<float> const& input, std::size_t images, std::size_t channels,
                                      std::size_t height, std::size_t width, std::vector<float> const& weight,
                                      std::vector<float> const& bias, std::size_t kernel, std::size_t stride,
                                      std::vector<float> const& output_gradient);

} // namespace gmac::testing
