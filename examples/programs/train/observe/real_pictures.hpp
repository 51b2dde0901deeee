// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "picture_source.hpp"
#include "report/watched_episode.hpp"
#include "train/settings.hpp"

#include <gmac/environment/environment.hpp>

#include <memory>

namespace gmac::examples::train {

/// What a page draws of an environment with real observations, step by step: what its source draws, the environment's own
/// drawing, or the observation.
class real_pictures {
public:
    /// Of a batch of one, as make_environments gives it, which must outlive this; `source` may be null.
    real_pictures(environment_batch& world, std::unique_ptr<picture_source> source);

    /// An episode of these pictures, without a step; the environment has been reset.
    [[nodiscard]] report::watched_episode empty_episode() const;
    /// Of the environment as it is.
    [[nodiscard]] nlohmann::ordered_json now() const;

private:
    environment_batch* world_;
    std::unique_ptr<picture_source> source_;
};

} // namespace gmac::examples::train
