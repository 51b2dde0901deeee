// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/nn/conv2d.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/sequential.hpp>

#include <cstddef>
#include <cstdint>
#include <numbers>

namespace gmac::nn {

struct atari_trunk_options {
    std::size_t frames = 4;            ///< of the stack
    std::size_t units = 512;           ///< of the fully connected layer; the paper's cost table counts with 256
    double gain = std::numbers::sqrt2; ///< of the orthogonal initialisation
};

/// The paper's network for the Arcade Learning Environment (its architecture table): 84 × 84 grey screens as bytes, a stack
/// of them [frames, 84, 84] a row; convolutions of 8 × 8 / 4 → 32, 4 × 4 / 2 → 64 and 3 × 3 / 1 → 32 filters, and a fully
/// connected layer, each with a ReLU. Models gmac::nn::module.
template <backend Backend>
class atari_trunk
    : public sequential<conv2d<Backend, std::uint8_t>, conv2d<Backend>, conv2d<Backend>, linear<Backend>> {
    using base = sequential<conv2d<Backend, std::uint8_t>, conv2d<Backend>, conv2d<Backend>, linear<Backend>>;

public:
    static constexpr std::size_t screen = 84; ///< height and width

    /// Throws gmac::error if a size is zero.
    explicit atari_trunk(atari_trunk_options options = {})
        : base(conv2d<Backend, std::uint8_t>({screen, screen, options.frames}, {.filters = 32,
                                                                                .kernel = 8,
                                                                                .stride = 4,
                                                                                .layout = image_layout::channels_first,
                                                                                .gain = options.gain}),
               conv2d<Backend>({20, 20, 32}, {.filters = 64, .kernel = 4, .stride = 2, .gain = options.gain}),
               conv2d<Backend>({9, 9, 64}, {.filters = 32, .kernel = 3, .stride = 1, .gain = options.gain}),
               linear<Backend>(7 * 7 * 32, options.units, {.function = activation::relu, .gain = options.gain})) {}
};

} // namespace gmac::nn
