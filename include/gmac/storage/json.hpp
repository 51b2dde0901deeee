// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

/// JSON from files, of which nothing is known. Opt-in: needs what checkpoints need (CMake: gmac::checkpoint).
namespace gmac::inline GMAC_ABI {

/// Arrays and objects within each other, at most: copying, comparing and printing them goes down by recursion, so that
/// deep ones would overflow the stack.
inline constexpr std::size_t max_json_depth = 64;
/// Bytes of a file of JSON, at most.
inline constexpr std::size_t max_json_size = 64'000'000;

namespace detail {

/// The parser takes a NUL for the end, and would not see what follows.
[[nodiscard]] constexpr bool has_nul(std::string_view text) noexcept {
    return text.find('\0') != std::string_view::npos;
}

[[nodiscard]] constexpr bool is_deep(std::string_view text) noexcept {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const c = text[i];
        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            i += c == '\\' ? 1 : 0;
        else if (c == '[' || c == '{')
            ++depth;
        else if ((c == ']' || c == '}') && depth > 0)
            --depth;
        if (depth > max_json_depth)
            return true;
    }
    return false;
}

} // namespace detail

/// The value of which `text` is the JSON, all of it; `where` names it in messages. Json is nlohmann's json or
/// ordered_json. Throws gmac::error if it is no JSON, or nested deeper than max_json_depth.
template <class Json = nlohmann::json>
[[nodiscard]] Json parse_json(std::string_view text, std::string_view where) {
    require(!detail::is_deep(text), "{} has more than {} arrays and objects within each other", where, max_json_depth);
    Json value = detail::has_nul(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
    require(!value.is_discarded(), "{} is not JSON", where);
    return value;
}

/// The value that a file holds. Throws gmac::error that names the file.
template <class Json = nlohmann::json>
[[nodiscard]] Json read_json(std::filesystem::path const& path) {
    auto const bytes = read_file(path, max_json_size);
    return parse_json<Json>({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path.string());
}

} // namespace gmac::inline GMAC_ABI
