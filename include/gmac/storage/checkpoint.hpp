// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/safetensors.hpp>
#include <gmac/storage/snapshot.hpp>
#include <gmac/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Checkpoints: one file with everything a run needs to go on, which the Python package `safetensors` can read too.
/// Opt-in: needs nlohmann-json, Boost.CRC and POSIX.
namespace gmac::inline GMAC_ABI {

/// Strings that go with the tensors, such as the configuration of the run. The keys `crc32c`, `format`,
/// `format_version` and `library_version` belong to this library.
using checkpoint_metadata = std::map<std::string, std::string>;

/// Grows by one when an older library could misread a newer file.
inline constexpr std::uint64_t checkpoint_format_version = 1;

/// A checkpoint in memory.
struct checkpoint {
    checkpoint_metadata metadata;
    snapshot state;
    std::string library_version{}; ///< of the gmac that wrote it; ignored when writing
};

namespace detail {

// The checksum is the first thing in the header, so its eight digits have a fixed place. It is taken over the whole
// file with zeros in their place.
inline constexpr std::string_view checksum_key = R"({"__metadata__":{"crc32c":")";
inline constexpr std::string_view no_checksum = "00000000";
inline constexpr std::size_t checksum_place = 8 + checksum_key.size();

[[nodiscard]] inline std::span<std::byte const> bytes_of(std::string_view text) noexcept {
    return std::as_bytes(std::span(text));
}

[[nodiscard]] inline std::string checksum_of(std::span<std::byte const> header,
                                             std::span<std::span<std::byte const> const> data) {
    crc32c checksum;
    checksum.add(header.first(checksum_place)).add(bytes_of(no_checksum));
    checksum.add(header.subspan(checksum_place + no_checksum.size()));
    for (auto const part : data)
        checksum.add(part);
    return fmt::format("{:08x}", checksum.value());
}

/// Says what a file is that is not a gmac checkpoint, or is one of a newer version.
inline void require_own_format(checkpoint_metadata const& metadata, std::string_view where) {
    auto const format = metadata.find("format");
    require(
        format != metadata.end() && format->second == "gmac",
        "{}: this safetensors file is not a gmac checkpoint: \"format\" in its metadata is {}, but must be \"gmac\"",
        where, format == metadata.end() ? "missing" : safetensors::in_quotes(format->second));
    auto const stored = metadata.find("format_version");
    std::uint64_t version = 0;
    if (stored != metadata.end()) {
        auto const& text = stored->second;
        auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), version);
        if (problem != std::errc() || end != text.data() + text.size())
            version = 0;
    }
    auto const library = metadata.find("library_version");
    require(version <= checkpoint_format_version,
            "{}: the checkpoint has format version {} (written by gmac {}), but this gmac {}.{}.{} reads up to version "
            "{}: a newer gmac is needed",
            where, version, library == metadata.end() ? "of unknown version" : library->second, GMAC_VERSION_MAJOR,
            GMAC_VERSION_MINOR, GMAC_VERSION_PATCH, checkpoint_format_version);
    require(version >= 1, "{}: \"format_version\" of the checkpoint is {}, but must be a number from 1 to {}", where,
            stored == metadata.end() ? "missing" : safetensors::in_quotes(stored->second), checkpoint_format_version);
}

/// Calls use(parts) with all parts of the file of a checkpoint, one after the other. `where` names it in messages.
template <class Use>
void with_parts(checkpoint const& contents, std::string_view where, Use&& use) {
    std::vector<std::pair<std::string, std::string>> strings;
    strings.emplace_back("crc32c", no_checksum);
    strings.emplace_back("format", "gmac");
    strings.emplace_back("format_version", std::to_string(checkpoint_format_version));
    strings.emplace_back("library_version",
                         fmt::format("{}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH));
    for (auto const& [key, value] : strings)
        require(!contents.metadata.contains(key), "{}: the metadata key {} belongs to the format", where, key);
    strings.insert(strings.end(), contents.metadata.begin(), contents.metadata.end());

    std::string header = safetensors::format_header(strings, contents.state);
    std::vector<std::span<std::byte const>> parts{bytes_of(header)};
    for (std::size_t const i : safetensors::file_order(contents.state))
        parts.emplace_back(contents.state.tensors()[i].data);
    header.replace(checksum_place, no_checksum.size(), checksum_of(parts[0], std::span(parts).subspan(1)));
    use(std::span<std::span<std::byte const> const>(parts));
}

} // namespace detail

/// Writes a checkpoint. Whatever happens, `path` is afterwards either wholly the new file or what it was before.
/// Throws gmac::error that names the path and what the system said.
inline void write_checkpoint(std::filesystem::path const& path, checkpoint const& contents) {
    detail::with_parts(contents, "checkpoint " + path.string(), [&](auto parts) { replace_file(path, parts); });
}

/// The bytes of such a file, for parse_checkpoint.
[[nodiscard]] inline std::vector<std::byte> format_checkpoint(checkpoint const& contents) {
    std::vector<std::byte> bytes;
    detail::with_parts(contents, "checkpoint", [&](auto parts) {
        for (auto const part : parts)
            bytes.insert(bytes.end(), part.begin(), part.end());
    });
    return bytes;
}

namespace detail {

/// The bytes before the tensors, of a file of `size` bytes that begins with `start`.
[[nodiscard]] inline std::size_t head_size(std::span<std::byte const> start, std::size_t size, std::string_view where) {
    require(size >= 8,
            "{}: it has {} bytes, but a safetensors file has at least 8: it is truncated or no "
            "checkpoint",
            where, size);
    std::uint64_t length = 0;
    std::memcpy(&length, start.data(), sizeof length);
    require(length <= safetensors::max_header_size,
            "{}: the header would have {} bytes, but at most {} are allowed: this is no safetensors file", where,
            length, safetensors::max_header_size);
    require(length <= size - 8,
            "{}: the header would end at byte {}, but the file has {} bytes: it is truncated "
            "or no checkpoint",
            where, 8 + length, size);
    return 8 + static_cast<std::size_t>(length);
}

/// What the bytes before the tensors say, which are `size` bytes.
[[nodiscard]] inline safetensors::header parse_head(std::span<std::byte const> head, std::size_t size,
                                                    std::string_view where) {
    std::string_view const text(reinterpret_cast<char const*>(head.data()) + 8, head.size() - 8);
    safetensors::header header = safetensors::parse_header(text, where);
    require_own_format(header.strings, where);
    require(text.starts_with(checksum_key) && header.strings["crc32c"].size() == no_checksum.size(),
            "{}: the header must begin with the checksum, {}xxxxxxxx\": the checkpoint was changed", where,
            checksum_key);
    std::uint64_t described = 0;
    for (auto const& tensor : header.tensors)
        described = tensor.end > described ? tensor.end : described;
    require(described == size,
            "{}: there are {} bytes of tensors, but the header describes {}: the checkpoint is "
            "{}",
            where, size, described, size < described ? "truncated" : "corrupted");
    return header;
}

[[nodiscard]] inline checkpoint assemble(safetensors::header header, std::span<std::byte const> head,
                                         std::span<std::byte const> data, std::string_view where) {
    auto const checksum = checksum_of(head, std::span(&data, 1));
    require(header.strings["crc32c"] == checksum, "{}: the checksum is {}, but must be {}: the checkpoint is corrupted",
            where, checksum, safetensors::in_quotes(header.strings["crc32c"]));
    safetensors::check_layout(header, data.size(), where);

    std::vector<snapshot::tensor> tensors;
    tensors.reserve(header.tensors.size());
    for (auto& one : header.tensors) {
        auto const bytes =
            data.subspan(static_cast<std::size_t>(one.begin), static_cast<std::size_t>(one.end - one.begin));
        tensors.push_back({std::move(one.name),
                           *safetensors::element_type_named(one.dtype),
                           {one.shape.begin(), one.shape.end()},
                           {bytes.begin(), bytes.end()}});
    }
    std::string version = header.strings["library_version"];
    for (auto const* const key : {"crc32c", "format", "format_version", "library_version"})
        header.strings.erase(key);
    return {std::move(header.strings), snapshot(std::move(tensors)), std::move(version)};
}

} // namespace detail

/// Takes a checkpoint apart; `where` names it in messages. All is checked before anything is handed out: that it is a
/// safetensors file and one of gmac, that its version is known, its checksum, its length, and that the tensors fill it
/// without overlap or hole. Throws gmac::error that says what is wrong and what would be right.
[[nodiscard]] inline checkpoint parse_checkpoint(std::span<std::byte const> file, std::string_view where) {
    auto const head = file.first(detail::head_size(file, file.size(), where));
    auto const data = file.subspan(head.size());
    return detail::assemble(detail::parse_head(head, data.size(), where), head, data, where);
}

/// Reads and checks a whole checkpoint file, which messages call `kind` and its path. The tensors are read only if the
/// header fits the size of the file. Throws gmac::error that names the file, which is left as it was.
[[nodiscard]] inline checkpoint read_checkpoint(std::filesystem::path const& path,
                                                std::string_view kind = "checkpoint") {
    std::string const where = fmt::format("{} {}", kind, path.string());
    detail::open_file const file(path);
    auto const start = file.read(0, (std::min)(file.size(), std::size_t(8)));
    auto const head = file.read(0, detail::head_size(start, file.size(), where));
    std::size_t const size = file.size() - head.size();
    auto header = detail::parse_head(head, size, where);
    return detail::assemble(std::move(header), head, file.read(head.size(), size), where);
}

/// The strings that were given to save_checkpoint; the whole file is checked all the same.
[[nodiscard]] inline checkpoint_metadata read_metadata(std::filesystem::path const& path) {
    return read_checkpoint(path).metadata;
}

/// Visits a state and writes it as a checkpoint:
///
///     gmac::save_checkpoint("run/checkpoint.safetensors", {{"config", text}},
///                           [&](gmac::archive& state) { agent.persist(state); });
///
/// Whatever happens, `path` is afterwards either wholly the new file or what it was before. Throws gmac::error.
template <std::invocable<archive&> Visit>
void save_checkpoint(std::filesystem::path const& path, checkpoint_metadata const& metadata, Visit&& visit) {
    write_checkpoint(path, {metadata, snapshot::of(visit)});
}

/// Puts a checkpoint that was read into a state. Names, types and shapes are compared before anything is touched:
/// `visit` is called once with a storing archive, then once with a loading one. If the state itself throws while it is
/// loaded, it is put back to what it was. With `unasked::ignore` the file may hold more than the state asks for.
template <std::invocable<archive&> Visit>
void load_checkpoint(checkpoint const& contents, std::string_view where, Visit&& visit,
                     unasked rest = unasked::refuse) {
    snapshot const before = snapshot::of(visit);
    contents.state.require_fits(before, rest, where);
#if defined(__cpp_exceptions)
    try {
        contents.state.restore(visit, rest, where);
    } catch (...) {
        before.restore(visit);
        throw;
    }
#else
    contents.state.restore(visit, rest, where);
#endif
}

/// Reads, checks and loads a checkpoint file, and returns its strings. Throws gmac::error; state and file are then what
/// they were.
template <std::invocable<archive&> Visit>
checkpoint_metadata load_checkpoint(std::filesystem::path const& path, Visit&& visit, unasked rest = unasked::refuse) {
    checkpoint contents = read_checkpoint(path);
    std::string where = "checkpoint " + path.string();
    for (std::string const other : {"policy", "value"}) // the key of its description
        if (contents.metadata.contains(other))
            where += fmt::format(": this is a {}, not a checkpoint, and gmac::load_{} reads it", other, other);
    load_checkpoint(contents, where, visit, rest);
    return std::move(contents.metadata);
}

} // namespace gmac::inline GMAC_ABI
