// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gmac::examples::train {

/// `count` environments of the given name, unnormalised. Throws gmac::error if the name is not known, or if this program
/// was built without the library that the environment needs.
[[nodiscard]] std::unique_ptr<environment_batch> make_environments(std::string const& name, std::size_t count,
                                                                   std::uint64_t seed, executor& tasks);

} // namespace gmac::examples::train
