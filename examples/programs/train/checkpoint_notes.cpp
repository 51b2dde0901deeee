// SPDX-License-Identifier: Apache-2.0
#include "checkpoint_notes.hpp"

#include "stored_run.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <system_error>

namespace gmac::examples::train {

namespace {

/// Of a number that may be missing.
template <class Number>
void read(checkpoint const& stored, std::string const& name, Number& value, std::filesystem::path const& file) {
    auto const found = stored.metadata.find(name);
    if (found == stored.metadata.end())
        return;
    std::string const& text = found->second;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    require(problem == std::errc() && end == text.data() + text.size() && value >= Number(0) &&
                value < std::numeric_limits<Number>::max(),
            "{}: its {} are {}, but must be a number that is not negative", file.string(), name,
            safetensors::in_quotes(text));
}

[[nodiscard]] std::string text_of(checkpoint const& stored, std::string const& name) {
    auto const found = stored.metadata.find(name);
    return found == stored.metadata.end() ? std::string() : found->second;
}

} // namespace

checkpoint_metadata checkpoint_notes::metadata() const {
    return {{"settings", to_json(settings).dump()},
            {"seconds", fmt::format("{}", seconds)},
            {"keep_checkpoints", fmt::format("{}", keep_checkpoints)},
            {"metrics", metrics},
            {"episodes", episodes},
            {"evaluations", evaluations}};
}

checkpoint_notes checkpoint_notes::of(registry const& known, checkpoint const& stored,
                                      std::filesystem::path const& file) {
    checkpoint_notes notes{.settings = settings_of(known, stored, file),
                           .metrics = text_of(stored, "metrics"),
                           .episodes = text_of(stored, "episodes"),
                           .evaluations = text_of(stored, "evaluations")};
    read(stored, "seconds", notes.seconds, file);
    read(stored, "keep_checkpoints", notes.keep_checkpoints, file);
    return notes;
}

} // namespace gmac::examples::train
