// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <filesystem>
#include <system_error>

namespace gmac::examples {

/// Whether there is a file, or a folder. Throws gmac::error if that cannot be told, as without permission.
[[nodiscard]] inline bool is_there(std::filesystem::path const& path) {
    std::error_code problem;
    auto const found = std::filesystem::status(path, problem);
    require(found.type() != std::filesystem::file_type::none, "cannot look at {}: {}", path.string(),
            problem.message());
    return std::filesystem::exists(found);
}
[[nodiscard]] inline bool is_folder(std::filesystem::path const& path) {
    return is_there(path) && std::filesystem::is_directory(path);
}

} // namespace gmac::examples
