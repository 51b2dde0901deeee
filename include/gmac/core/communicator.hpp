// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// Processes, the ranks 0 … size − 1, that train one agent together, each with environments of its own. An agent that is
/// given none trains alone, which costs nothing. distributed::mpi is a model (gmac/distributed/mpi.hpp).
///
/// But for `rank` and `size` all members are collective: every rank must call them, in the same order and with arrays of
/// the same size, and those that come first wait for the others.
class communicator {
public:
    virtual ~communicator() = default;
    [[nodiscard]] virtual std::size_t rank() const noexcept = 0;
    [[nodiscard]] virtual std::size_t size() const noexcept = 0;

    /// Writes the sum over all ranks, element by element: on each rank the same, to the bit, and the same in every run on
    /// as many ranks.
    virtual void all_reduce(std::span<float> values) = 0;
    virtual void all_reduce(std::span<double> values) = 0;
    /// Writes what rank 0 has.
    virtual void broadcast(std::span<std::byte> bytes) = 0;
    /// What each rank gives, in the order of ranks; the sizes may differ.
    [[nodiscard]] virtual std::vector<std::vector<std::byte>> all_gather(std::span<std::byte const> mine) = 0;
    /// The same on rank 0, and nothing on the others.
    [[nodiscard]] virtual std::vector<std::vector<std::byte>> gather(std::span<std::byte const> mine) = 0;

protected:
    communicator() = default;
    communicator(communicator const&) = default;
    communicator& operator=(communicator const&) = default;
};

/// Whether it is so on any rank. Collective.
[[nodiscard]] inline bool on_any_rank(communicator& ranks, bool here) {
    double count = here ? 1.0 : 0.0;
    ranks.all_reduce(std::span<double>(&count, 1));
    return count > 0.0;
}

} // namespace gmac::inline GMAC_ABI
