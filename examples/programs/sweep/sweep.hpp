// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>

namespace gmac::examples::sweep {

/// What the command line asks for.
struct request {
    std::filesystem::path file, out, program;
    std::size_t jobs = 0, threads = 1;
    bool dry_run = false;
};

/// Does the sweep, or goes on with it, and prints and writes what it came to. Returns the exit status: 0, 1 if a run has failed,
/// or 128 and the signal's number. Throws gmac::error for a file or a folder that cannot be used.
[[nodiscard]] int do_sweep(request const& asked);

} // namespace gmac::examples::sweep
