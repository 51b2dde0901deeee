// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run.hpp"

#include "train/output/stop_signal.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gmac::examples::sweep {

/// A run that is to be trained up to so many frames, or to its end.
struct task {
    run const* what = nullptr;
    std::optional<std::uint64_t> frames;
};

/// Does the tasks, so many at a time, each in a process of its own, and prints a line as each one ends. Those that were done
/// before are left out, and one into whose folder another process trains is waited for. A run is stopped by SIGINT when it has
/// its frames: so it goes on bit for bit as if it had not been stopped. After a signal none is begun, and those
/// that train are told SIGINT and waited for. Returns the runs that failed, of
/// which the end of what they said was printed.
[[nodiscard]] std::vector<run const*> do_tasks(std::vector<task> const& tasks, std::size_t at_once, trainer const& by,
                                               train::stop_signal const& stop);

} // namespace gmac::examples::sweep
