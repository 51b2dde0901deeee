// SPDX-License-Identifier: Apache-2.0
#include "trunk_text.hpp"

#include "support/read_value.hpp"
#include "support/split.hpp"

#include <gmac/core/error.hpp>
#include <gmac/train/trainer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace gmac::examples::train {

namespace {

[[nodiscard]] std::size_t read_size(std::string_view text, std::string_view whole) {
    std::size_t size = 0;
    read_value(fmt::format("--trunk {}", whole), text, size);
    require(size > 0, "--trunk {}: sizes must be at least 1", whole);
    return size;
}

} // namespace

trunk_text read_trunk(std::string_view text) {
    trunk_text read;
    constexpr std::string_view mark = "conv:";
    for (std::string_view const piece : split(text, ',')) {
        if (!piece.starts_with(mark)) {
            read.hidden.push_back(read_size(piece, text));
            continue;
        }
        require(read.hidden.empty(), "--trunk {}: convolutions come before the widths of the fully connected layers",
                text);
        auto const sizes = split(piece.substr(mark.size()), 'x');
        require(sizes.size() == 3, "--trunk {}: \"{}\" must be conv:FILTERSxKERNELxSTRIDE, like conv:16x3x1", text,
                piece);
        read.convolutions.push_back({read_size(sizes[0], text), read_size(sizes[1], text), read_size(sizes[2], text)});
    }
    require(!read.convolutions.empty(), "--trunk {}: there must be a convolution, like conv:16x3x1", text);
    return read;
}

std::size_t features_of_convolutions(nn::image_trunk_options const& trunk) {
    nn::image_shape shape = trunk.input;
    for (auto const& [filters, kernel, stride] : trunk.convolutions) {
        require(kernel <= shape.height && kernel <= shape.width,
                "--trunk: a window of {} x {} does not fit into an image of {} x {}", kernel, kernel, shape.height,
                shape.width);
        shape = nn::convolution_shape{shape, filters, kernel, stride}.output();
    }
    return shape.size();
}

} // namespace gmac::examples::train

namespace gmac::inline GMAC_ABI::train {

nn::image_trunk_options trunk_of(settings const& settings) {
    require(settings.images.has_value(), "{} shows no images", settings.environment);
    auto const& images = *settings.images;
    nn::image_trunk_options trunk;
    trunk.input = {images.height, images.width, images.channels};
    if (images.channels_last)
        trunk.layout = nn::image_layout::channels_last;
    trunk.byte_scale = images.byte_scale;
    trunk.hidden = settings.agent.hidden;
    trunk.gain = settings.agent.trunk_gain;
    for (std::string const& text : {images.trunk, settings.trunk})
        if (!text.empty()) {
            auto const read = examples::train::read_trunk(text);
            trunk.convolutions = read.convolutions;
            if (!read.hidden.empty())
                trunk.hidden = read.hidden;
        }
    return trunk;
}

} // namespace gmac::inline GMAC_ABI::train
