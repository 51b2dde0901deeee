// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <gmac/train/trainer.hpp>

#include <memory>

namespace gmac::examples::train {

/// The agent of settings.algorithm for these environments, and the critics of settings.critics. Throws gmac::error if a
/// name is not known. With ranks they all make theirs at the same time.
[[nodiscard]] std::unique_ptr<trainer> make_trainer(registry const& known, settings const& settings,
                                                    environment_batch& worlds, executor& tasks,
                                                    communicator* ranks = nullptr);
/// The same for environments of images. Throws gmac::error for a method that is for real observations only, and for a trunk
/// that does not fit the images.
[[nodiscard]] std::unique_ptr<image_trainer> make_image_trainer(registry const& known, settings const& settings,
                                                                image_trainer::batch& worlds, executor& tasks,
                                                                communicator* ranks = nullptr);

} // namespace gmac::examples::train
