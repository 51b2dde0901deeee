// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

namespace gmac::examples::train {

namespace detail {

[[nodiscard]] inline gmac::detail::descriptor open_folder(std::filesystem::path const& path) {
    return gmac::detail::descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}
[[nodiscard]] inline bool take_lock(gmac::detail::descriptor const& folder) {
    // A file system that knows no locks is used without one.
    return ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

} // namespace detail

/// A folder that is to be written to, locked against other processes until it is closed. Throws gmac::error if it cannot be
/// opened or written to, and if another process has it: `other` says what that one does.
[[nodiscard]] inline gmac::detail::descriptor lock_folder(std::filesystem::path const& path, std::string_view other) {
    gmac::detail::descriptor folder = detail::open_folder(path);
    require(folder.open(), "cannot open the folder {}: {}", path.string(), gmac::detail::system_message(errno));
    if (::access(path.c_str(), W_OK | X_OK) != 0)
        fail("cannot write to the folder {}: {}", path.string(), gmac::detail::system_message(errno));
    require(detail::take_lock(folder), "the folder {} is in use: {}", path.string(), other);
    return folder;
}

/// Whether another process has locked the folder.
[[nodiscard]] inline bool is_locked(std::filesystem::path const& path) {
    gmac::detail::descriptor const folder = detail::open_folder(path);
    return folder.open() && !detail::take_lock(folder);
}

} // namespace gmac::examples::train
