// SPDX-License-Identifier: Apache-2.0
#include "environments.hpp"

#include <gmac/core/error.hpp>

namespace gmac::examples::train {

std::unique_ptr<environment_batch> make_environments(registry const& known, settings const& settings, std::size_t count,
                                                     std::uint64_t seed, executor& tasks) {
    auto const& entry = find_environment(known, settings.environment);
    require(entry.make != nullptr,
            "{} shows images, and this program looks at environments with real observations only",
            settings.environment);
    return entry.make(settings, count, seed, tasks);
}

} // namespace gmac::examples::train
