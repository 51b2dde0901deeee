// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace gmac::examples {

/// How many processes mpirun has started on this machine, by its own word; 1 without it.
[[nodiscard]] inline std::size_t local_ranks() {
    for (char const* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) // of Open MPI and MPICH
        if (char const* const ranks = std::getenv(name))
            return (std::max)(1ul, std::strtoul(ranks, nullptr, 10));
    return 1;
}

} // namespace gmac::examples
