// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/distributed/communicator.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <span>
#include <thread>
#include <utility>
#include <vector>

/// Training on several processes and machines, by MPI. Opt-in: the target gmac::mpi.
namespace gmac::inline GMAC_ABI::distributed {

namespace detail {

/// Throws gmac::error with MPI's own words unless the call went well.
inline void check(int code, char const* call) {
    if (code == MPI_SUCCESS) [[likely]]
        return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    fail("{} failed: {}", call, text.data());
}

/// Calls piece(first, count) for pieces of an array that MPI can count.
template <class Piece>
void in_pieces(std::size_t size, Piece piece) {
    constexpr std::size_t most = std::size_t{1} << 30u;
    for (std::size_t first = 0; first < size; first += most)
        piece(first, static_cast<int>((std::min)(most, size - first)));
}

[[nodiscard]] inline std::vector<std::uint64_t> sizes_of_all(MPI_Comm on, std::size_t ranks, std::size_t here) {
    std::vector<std::uint64_t> sizes(ranks);
    std::uint64_t const mine = here;
    check(MPI_Allgather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, on), "MPI_Allgather");
    return sizes;
}

} // namespace detail

/// The processes of an MPI communicator. MPI must be initialised before and finalised after it, as `run` does. All calls are
/// of the thread that initialised MPI. Throws gmac::error where MPI fails.
class mpi final : public basic_communicator {
public:
    explicit mpi(MPI_Comm of = MPI_COMM_WORLD) {
        int rank = 0, size = 0;
        detail::check(MPI_Comm_dup(of, &on_), "MPI_Comm_dup");
        detail::check(MPI_Comm_set_errhandler(on_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        detail::check(MPI_Comm_rank(on_, &rank), "MPI_Comm_rank");
        detail::check(MPI_Comm_size(on_, &size), "MPI_Comm_size");
        rank_ = static_cast<std::size_t>(rank);
        size_ = static_cast<std::size_t>(size);
    }
    mpi(mpi const&) = delete;
    mpi& operator=(mpi const&) = delete;
    ~mpi() override { MPI_Comm_free(&on_); }

    [[nodiscard]] std::size_t rank() const noexcept override { return rank_; }
    [[nodiscard]] std::size_t size() const noexcept override { return size_; }
    [[nodiscard]] MPI_Comm native() const noexcept { return on_; }

    void all_reduce(std::span<float> values) override { add(values, MPI_FLOAT); }
    void all_reduce(std::span<double> values) override { add(values, MPI_DOUBLE); }

    void broadcast(std::span<std::byte> bytes) override {
        detail::in_pieces(bytes.size(), [&](std::size_t first, int count) {
            detail::check(MPI_Bcast(bytes.data() + first, count, MPI_BYTE, 0, on_), "MPI_Bcast");
        });
    }

    using basic_communicator::all_gather;
    [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<std::byte const> mine) override {
        auto const sizes = detail::sizes_of_all(on_, size_, mine.size());
        std::vector<int> counts, places;
        std::uint64_t total = 0;
        for (std::uint64_t const size : sizes) {
            places.push_back(static_cast<int>(total));
            counts.push_back(static_cast<int>(size));
            total += size;
            require(total <= static_cast<std::uint64_t>((std::numeric_limits<int>::max)()),
                    "mpi::all_gather: the ranks have more than {} bytes together, which MPI cannot count",
                    (std::numeric_limits<int>::max)());
        }
        std::vector<std::byte> all(total);
        detail::check(MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_BYTE, all.data(), counts.data(),
                                     places.data(), MPI_BYTE, on_),
                      "MPI_Allgatherv");
        std::vector<std::vector<std::byte>> parts;
        for (std::size_t r = 0; r < size_; ++r)
            parts.emplace_back(all.begin() + places[r], all.begin() + places[r] + counts[r]);
        return parts;
    }

    [[nodiscard]] std::vector<std::vector<std::byte>> gather(std::span<std::byte const> mine) override {
        auto const sizes = detail::sizes_of_all(on_, size_, mine.size());
        if (rank_ > 0) {
            detail::in_pieces(mine.size(), [&](std::size_t first, int count) {
                detail::check(MPI_Send(mine.data() + first, count, MPI_BYTE, 0, 0, on_), "MPI_Send");
            });
            return {};
        }
        std::vector<std::vector<std::byte>> parts{{mine.begin(), mine.end()}};
        for (std::size_t r = 1; r < size_; ++r) {
            parts.emplace_back(sizes[r]);
            detail::in_pieces(parts[r].size(), [&](std::size_t first, int count) {
                detail::check(MPI_Recv(parts[r].data() + first, count, MPI_BYTE, static_cast<int>(r), 0, on_,
                                       MPI_STATUS_IGNORE),
                              "MPI_Recv");
            });
        }
        return parts;
    }

private:
    template <class T>
    void add(std::span<T> values, MPI_Datatype type) {
        detail::in_pieces(values.size(), [&](std::size_t first, int count) {
            detail::check(MPI_Allreduce(MPI_IN_PLACE, values.data() + first, count, type, MPI_SUM, on_),
                          "MPI_Allreduce");
        });
    }

    MPI_Comm on_ = MPI_COMM_NULL;
    std::size_t rank_ = 0, size_ = 1;
};

/// The main of a program that mpirun starts: initialises MPI, calls body(ranks) with all of them and finalises MPI; returns what
/// the body returns, as the exit code of this rank.
///
///     int main(int argc, char** argv) {
///         return gmac::distributed::run(argc, argv, [](gmac::communicator& ranks) { …; return 0; });
///     }
///
/// Where the body throws on one rank, what it throws is printed with the number of the rank, and all ranks are ended, since
/// the others would wait for it without end. So they are where it returns EXIT_FAILURE; what else it returns must come when all
/// ranks come to their end.
template <std::invocable<mpi&> Body>
[[nodiscard]] int run(int& argc, char**& argv, Body&& body) {
    int provided = MPI_THREAD_SINGLE;
    detail::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    int result = EXIT_FAILURE;
    {
        mpi ranks;
#if defined(__cpp_exceptions)
        try {
            result = std::forward<Body>(body)(ranks);
        } catch (std::exception const& problem) {
            // What all ranks have found is told by the first of them.
            if (ranks.rank() > 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
            std::fprintf(stderr, "rank %zu: %s\n", ranks.rank(), problem.what());
            std::fflush(stderr);
        }
#else
        result = std::forward<Body>(body)(ranks);
#endif
        if (result == EXIT_FAILURE)
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    detail::check(MPI_Finalize(), "MPI_Finalize");
    return result;
}

/// Whether this process was started by mpirun or something like it.
[[nodiscard]] inline bool started_by_mpi() noexcept {
    for (char const* const name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"})
        if (std::getenv(name) != nullptr)
            return true;
    return false;
}

/// The main of a program that may be started by mpirun, or by itself: then body(nullptr) is called, and MPI left alone.
template <std::invocable<communicator*> Body>
[[nodiscard]] int run_with_or_without(int& argc, char**& argv, Body&& body) {
    if (!started_by_mpi())
        return std::forward<Body>(body)(nullptr);
    return run(argc, argv, [&](communicator& ranks) { return std::forward<Body>(body)(&ranks); });
}

} // namespace gmac::inline GMAC_ABI::distributed
