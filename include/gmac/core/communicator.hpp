// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gmac::inline GMAC_ABI {

struct timed_episode;

/// A number that is to be the same on all ranks, and what it is called.
struct shared_number {
    char const* name;
    std::uint64_t value;
};

/// Of numbers that lie on several ranks: how many, their mean, and the sum of the squared distances to it.
struct shared_moments {
    double count = 0.0, mean = 0.0, squares = 0.0;
};

/// Processes, the ranks 0 … size − 1, that train one agent together, each with environments of its own. An agent that is
/// given none trains alone, which costs nothing. This is what an agent asks of them; distributed::mpi answers
/// (gmac/distributed/mpi.hpp), and one's own by distributed::basic_communicator, for which five of these members are enough.
///
/// But for `rank` and `size` all members are collective: every rank must call them, in the same order and, if not said
/// otherwise, with arrays of the same size; those that come first wait for the others.
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

    /// What each rank gives, as many numbers as this one, one rank after the other. Throws gmac::error if they are not.
    [[nodiscard]] virtual std::vector<double> all_gather(std::span<double const> mine) = 0;
    /// The moments of some sets of numbers, of which each rank has a part: here counts[0] numbers of the first set, then
    /// counts[1] of the second, and so on; a rank's counts are its own. Summed in two passes, as those of one process are.
    [[nodiscard]] virtual std::vector<shared_moments> moments_of(std::span<std::size_t const> counts,
                                                                 std::span<double const> numbers) = 0;
    /// What ended on each rank, in the order in which it ended, and then of ranks; the numbers of episodes may differ.
    virtual void collect(std::vector<timed_episode>& ended) = 0;
    /// Throws gmac::error, begun with `who`, on every rank unless all have the same numbers.
    virtual void require_same(char const* who, std::span<shared_number const> numbers) = 0;
    /// The end of a message about numbers that are not finite: on which ranks they are not, where `here` is of this one.
    [[nodiscard]] virtual std::string those_at_fault(bool here) = 0;

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
