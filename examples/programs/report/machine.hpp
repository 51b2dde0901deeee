// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace gmac::examples::report {

/// What a process trains on and since when: processor, cores, threads, memory, system, compiler, vector extensions that were
/// compiled in, gmac's version, and the frames that the run had before.
[[nodiscard]] nlohmann::ordered_json this_machine(std::size_t threads, std::uint64_t frames);

/// Adds this machine to the list in `file`, {"format": "gmac-machine-1", "processes": […]}, one for each process that has
/// trained the run. A file that is no such list is moved aside, to FILE.damaged. Throws gmac::error if it cannot be written.
void append_machine(std::filesystem::path const& file, std::size_t threads, std::uint64_t frames);

} // namespace gmac::examples::report
