// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/read_value.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <concepts>
#include <filesystem>
#include <string>

namespace gmac::examples::train {

/// A text or a number of the JSON that was read from `path`, at a place such as "/evaluation/mean". Throws gmac::error
/// that names file and place if it is not there, or is no value of this type.
template <class T>
[[nodiscard]] T json_value(nlohmann::json const& json, char const* place, std::filesystem::path const& path) {
    nlohmann::json::json_pointer const pointer(place);
    bool constexpr text = std::same_as<T, std::string>;
    gmac::require(json.contains(pointer) && (text ? json[pointer].is_string() : json[pointer].is_number()),
                  "{} has no {} {}", path.string(), text ? "text" : "number", place);
    if constexpr (text) {
        return json[pointer].get<T>();
    } else {
        T value{};
        examples::read_value(fmt::format("{} in {}", place, path.string()), json[pointer].dump(), value);
        return value;
    }
}

} // namespace gmac::examples::train
