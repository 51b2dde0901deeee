// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/watched_episode.hpp"

#include <gmac/environment/environment.hpp>

#include <memory>

namespace gmac::examples::train {

/// What a page draws of an environment with real observations, step by step: a robot's shapes, the environment's own drawing,
/// or the observation.
class real_pictures {
public:
    /// Of a batch of one, as make_environments gives it, which must outlive this.
    explicit real_pictures(environment_batch& world);
    ~real_pictures();
    real_pictures(real_pictures&&) noexcept;

    /// An episode of these pictures, without a step; the environment has been reset.
    [[nodiscard]] report::watched_episode empty_episode() const;
    /// Of the environment as it is.
    [[nodiscard]] nlohmann::ordered_json now() const;

private:
    struct robot;
    environment_batch* world_;
    std::unique_ptr<robot> robot_;
};

} // namespace gmac::examples::train
