// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/running_statistics.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// The observations' normalisation of a deployed network, fixed: (x − mean) · scale clipped at ± clip, or none without a clip.
class observation_scaling {
public:
    /// Throws gmac::error, which begins with `whose`, if the clip is not positive.
    observation_scaling(std::optional<double> clip, std::size_t size, bool of_floats, std::string_view whose)
        : clip_(clip), means(clip ? size : 0, 0.0), scales(clip ? size : 0, 1.0) {
        require(!clip || of_floats, "{}: observations are not floats, so they cannot be normalised", whose);
        require(!clip || *clip > 0.0, "{}: observation_clip is {}, but must be positive", whose, clip.value_or(0.0));
    }

    /// Observations [n, size], themselves or normalised in `memory`, which has means.size() numbers for each.
    template <class O>
    [[nodiscard]] matrix_view<O const> of(matrix_view<O const> observations, buffer<float>& memory) const {
        if constexpr (std::same_as<O, float>)
            if (clip_) {
                matrix_view<float> const result(memory.data(), observations.rows(), means.size());
                for (std::size_t i = 0; i < result.rows(); ++i)
                    for (std::size_t j = 0; j < result.cols(); ++j)
                        result(i, j) = standardised(observations(i, j), means[j], scales[j], *clip_);
                return result;
            }
        return observations;
    }

    void persist(archive& state) {
        if (!clip_)
            return;
        state("observation.mean", std::span(means));
        state("observation.scale", std::span(scales));
    }

private:
    std::optional<double> clip_;

public:
    std::vector<double> means, scales; ///< [size], empty without a clip
};

} // namespace gmac::inline GMAC_ABI::detail
