// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "local_ranks.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <span>
#include <string>

/// What options ask for in memory, before any of it is taken. Sizes are doubles, which do not overflow.
namespace gmac::examples {

/// What takes memory, in words of the command line, and at least how much of it.
struct memory_use {
    std::string what;
    double bytes = 0.0;
};

/// What this process may have: the machine's memory, or what a limit (ulimit, a container) leaves of it. The ranks that mpirun
/// has started on it share it.
[[nodiscard]] inline double available_memory() {
    double bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
    for (auto const kind : {RLIMIT_AS, RLIMIT_DATA})
        if (rlimit limit{}; ::getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
            bytes = (std::min)(bytes, static_cast<double>(limit.rlim_cur));
    if (double group = 0.0; std::ifstream("/sys/fs/cgroup/memory.max") >> group) // it says max if there is none
        bytes = (std::min)(bytes, group);
    return bytes / static_cast<double>(local_ranks());
}

[[nodiscard]] inline std::string in_bytes(double bytes) {
    return bytes < 1e15 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{:.2e} bytes", bytes);
}

/// The one that takes most.
[[nodiscard]] inline memory_use const& largest(std::span<memory_use const> uses) {
    return *std::ranges::max_element(uses, {}, &memory_use::bytes);
}

/// Throws gmac::error that names what takes most, if all together take more than there is.
inline void require_memory(std::span<memory_use const> uses) {
    double const available = available_memory();
    double together = 0.0;
    for (memory_use const& use : uses)
        together += use.bytes;
    if (together > available)
        fail("{} would take at least {} of memory, but there are {}", largest(uses).what, in_bytes(largest(uses).bytes),
             in_bytes(available));
}

} // namespace gmac::examples
