// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/storage/checkpoint.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/snapshot.hpp>

#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// One checkpoint of several ranks: what is the same on all of them once, and what each has of its own, as where its
/// environments are. The tensors of rank 0 have their own names, those of rank 3 the prefix `rank3.`. Opt-in, as
/// gmac/storage/checkpoint.hpp is; without MPI.
namespace gmac::inline GMAC_ABI::distributed {

namespace detail {

inline constexpr char const* ranks_key = "ranks";

[[nodiscard]] inline std::string prefix_of(std::size_t rank) {
    return fmt::format("rank{}.", rank);
}

/// Whether a tensor is a later rank's own.
[[nodiscard]] inline bool has_prefix(std::string_view name) noexcept {
    constexpr std::string_view begin = "rank";
    if (!name.starts_with(begin))
        return false;
    std::size_t const end = name.find_first_not_of("0123456789", begin.size());
    return end != begin.size() && end != name.npos && name[end] == '.';
}

/// Of each tensor, by its name.
[[nodiscard]] inline checkpoint_metadata fingerprints_of(snapshot const& state) {
    checkpoint_metadata prints;
    for (auto const& one : state.tensors())
        prints[one.name] = fmt::format("{:08x}", crc32c().add(one.data).value());
    return prints;
}

[[nodiscard]] inline std::vector<snapshot::tensor> without(std::vector<snapshot::tensor> tensors,
                                                           snapshot const& others) {
    std::set<std::string_view> names;
    for (auto const& one : others.tensors())
        names.insert(one.name);
    std::erase_if(tensors, [&](auto const& one) { return names.contains(one.name); });
    return tensors;
}

} // namespace detail

/// On how many ranks a checkpoint was written. Throws gmac::error, begun with `where`, if that is not told in numbers.
[[nodiscard]] inline std::size_t ranks_of(checkpoint const& stored, std::string_view where) {
    auto const found = stored.metadata.find(detail::ranks_key);
    if (found == stored.metadata.end())
        return 1;
    std::string const& text = found->second;
    std::size_t ranks = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), ranks);
    require(problem == std::errc() && end == text.data() + text.size() && ranks > 0,
            "{}: its number of ranks is {}, but must be a positive number", where, safetensors::in_quotes(text));
    return ranks;
}

/// Writes a checkpoint of all ranks on rank 0. `all` visits the state of a rank, `shared` the part of it that must be the same
/// on all ranks: `persist` and `persist_shared` of an agent. Collective. Throws gmac::error on rank 0 if a rank has another
/// shared part, which is found by its checksums, and if the file cannot be written.
template <std::invocable<archive&> All, std::invocable<archive&> Shared>
void save_checkpoint(std::filesystem::path const& path, checkpoint_metadata metadata, communicator& ranks, All&& all,
                     Shared&& shared) {
    snapshot const same = snapshot::of(shared);
    checkpoint_metadata const prints = detail::fingerprints_of(same);
    std::vector<snapshot::tensor> tensors = snapshot::of(all).tensors();
    if (ranks.rank() > 0) {
        snapshot own(detail::without(std::move(tensors), same));
        static_cast<void>(ranks.gather(format_checkpoint({prints, std::move(own)})));
        return;
    }
    auto const parts = ranks.gather({});
    for (std::size_t rank = 1; rank < parts.size(); ++rank) {
        auto const where = fmt::format("what rank {} gave to the checkpoint {}", rank, path.string());
        checkpoint part = parse_checkpoint(parts[rank], where);
        for (auto const& [name, print] : prints)
            require(
                part.metadata[name] == print,
                "checkpoint {}: {} is another on rank {} than on rank 0, but must be the same on all ranks: nothing "
                "was written",
                path.string(), name, rank);
        for (auto tensor : std::move(part.state).tensors()) {
            tensor.name = detail::prefix_of(rank) + tensor.name;
            tensors.push_back(std::move(tensor));
        }
    }
    metadata.erase(detail::ranks_key); // of a checkpoint that was loaded
    if (ranks.size() > 1)
        metadata[detail::ranks_key] = std::to_string(ranks.size());
    write_checkpoint(path, {std::move(metadata), snapshot(std::move(tensors))});
}

/// What rank 0 has read. Collective.
[[nodiscard]] inline checkpoint broadcast_checkpoint(communicator& ranks, checkpoint contents) {
    std::vector<std::byte> bytes;
    if (ranks.rank() == 0)
        bytes = format_checkpoint(contents);
    std::uint64_t size = bytes.size();
    ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)));
    bytes.resize(size);
    ranks.broadcast(bytes);
    return ranks.rank() == 0 ? std::move(contents) : parse_checkpoint(bytes, "the checkpoint that rank 0 has sent");
}

/// Loads the part of this rank, where the checkpoint was written on as many ranks, and else what all ranks share: then
/// environments are where they were. Without ranks this is the only one. Every rank must have the checkpoint. Returns whether
/// there were as many. Throws gmac::error as gmac::load_checkpoint does; the state is then what it was.
template <std::invocable<archive&> All, std::invocable<archive&> Shared>
bool load_checkpoint(checkpoint const& stored, std::string_view where, communicator const* ranks, All&& all,
                     Shared&& shared) {
    std::size_t const rank = ranks ? ranks->rank() : 0, count = ranks_of(stored, where);
    if (count != (ranks ? ranks->size() : 1)) {
        gmac::load_checkpoint(stored, where, shared, unasked::ignore);
        return false;
    }
    if (count == 1) {
        gmac::load_checkpoint(stored, where, all);
        return true;
    }
    snapshot const same = snapshot::of(shared);
    std::vector<snapshot::tensor> tensors, own;
    std::string const prefix = detail::prefix_of(rank);
    for (auto const& one : stored.state.tensors()) {
        if (!detail::has_prefix(one.name)) {
            tensors.push_back(one);
        } else if (one.name.starts_with(prefix)) {
            own.push_back(one);
            own.back().name.erase(0, prefix.size());
        }
    }
    if (rank > 0) {
        snapshot const of_rank_0(detail::without(tensors, same));
        tensors = detail::without(std::move(tensors), of_rank_0);
        tensors.insert(tensors.end(), own.begin(), own.end());
    }
    gmac::load_checkpoint({stored.metadata, snapshot(std::move(tensors))}, where, all);
    return true;
}

} // namespace gmac::inline GMAC_ABI::distributed
