// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/watched_episode.hpp"

#include <gmac/train/registry.hpp>

#include <nlohmann/json.hpp>

namespace gmac::inline GMAC_ABI::train {

/// Draws the first environment of a batch, as it is, in a way that page/pictures.js knows.
class picture_source {
public:
    virtual ~picture_source() = default;
    /// What the pictures need besides, into an episode without a step.
    virtual void describe(examples::report::watched_episode& episode) const = 0;
    [[nodiscard]] virtual nlohmann::ordered_json now() const = 0;
};

} // namespace gmac::inline GMAC_ABI::train
