// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"
#include "support/crc32c_by_bits.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// TensorBoard's event files by their definition, with no code of the writer's, and the two ways in which TensorBoard
/// reads them.
namespace gmac::testing {

template <class T>
T number_at(std::string_view text, std::size_t place) {
    T value;
    REQUIRE(place + sizeof(T) <= text.size());
    std::memcpy(&value, text.data() + place, sizeof(T));
    return value;
}

inline std::uint32_t masked(std::string_view text) {
    std::uint32_t const crc = crc32c_by_bits(text);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// The whole records of a file; a last one that was cut off is left out.
inline std::vector<std::string> records_of(std::string_view file) {
    std::vector<std::string> records;
    while (file.size() >= 12) {
        auto const size = static_cast<std::size_t>(number_at<std::uint64_t>(file, 0));
        CHECK(number_at<std::uint32_t>(file, 8) == masked(file.substr(0, 8)));
        if (file.size() < 16 + size)
            break;
        records.emplace_back(file.substr(12, size));
        CHECK(number_at<std::uint32_t>(file, 12 + size) == masked(records.back()));
        file.remove_prefix(16 + size);
    }
    return records;
}

/// The fields of a protobuf message as (field number, raw value), by the wire format.
inline std::multimap<int, std::string> fields_of(std::string_view message) {
    std::multimap<int, std::string> fields;
    auto const varint = [&] {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto const byte = static_cast<unsigned char>(message.at(0));
            message.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 127u) << shift;
            if (byte < 128)
                return value;
        }
    };
    while (!message.empty()) {
        auto const key = varint();
        std::size_t size = 0;
        if ((key & 7u) == 0) {
            auto const value = varint();
            fields.emplace(static_cast<int>(key >> 3), std::to_string(static_cast<std::int64_t>(value)));
            continue;
        }
        size = (key & 7u) == 1 ? 8 : (key & 7u) == 5 ? 4 : static_cast<std::size_t>(varint());
        REQUIRE(size <= message.size());
        fields.emplace(static_cast<int>(key >> 3), std::string(message.substr(0, size)));
        message.remove_prefix(size);
    }
    return fields;
}

inline std::string only(std::multimap<int, std::string> const& fields, int number) {
    REQUIRE(fields.count(number) == 1);
    return fields.find(number)->second;
}

/// An event: its step, the tags of its scalars and histograms, those that are histograms with their bytes, and whether it is
/// the mark of a session's start.
struct event {
    std::int64_t step = 0;
    std::vector<std::string> tags;
    std::map<std::string, std::string> histograms;
    bool starts = false;
};

/// A HistogramProto by its definition: bucket i lies above limits[i - 1] (or min) and up to limits[i].
struct histogram {
    explicit histogram(std::string_view message) {
        auto const fields = fields_of(message);
        auto const number = [&](int field) { return number_at<double>(only(fields, field), 0); };
        auto const numbers = [&](int field) {
            std::vector<double> values;
            std::string const packed = only(fields, field);
            for (std::size_t at = 0; at < packed.size(); at += sizeof(double))
                values.push_back(number_at<double>(packed, at));
            return values;
        };
        CHECK(fields.size() == 7);
        min = number(1), max = number(2), count = number(3), sum = number(4), sum_of_squares = number(5);
        limits = numbers(6), buckets = numbers(7);
        REQUIRE(limits.size() == buckets.size());
    }
    double min, max, count, sum, sum_of_squares;
    std::vector<double> limits, buckets;
};

/// Of all event files in a folder, as TensorBoard comes by them: in the order of the files' names.
inline std::vector<event> events_of(std::filesystem::path const& folder) {
    std::vector<std::filesystem::path> files;
    for (auto const& file : std::filesystem::directory_iterator(folder))
        if (contains(file.path().filename().string(), "tfevents"))
            files.push_back(file.path());
    std::sort(files.begin(), files.end());
    std::vector<event> events;
    for (auto const& file : files)
        for (std::string const& record : records_of(slurp(file))) {
            auto const fields = fields_of(record);
            event one;
            if (auto const step = fields.find(2); step != fields.end())
                one.step = std::stoll(step->second);
            if (auto const log = fields.find(7); log != fields.end())
                one.starts = only(fields_of(log->second), 1) == "1"; // SessionLog.status is START
            if (auto const summary = fields.find(5); summary != fields.end())
                for (auto const& [number, value] : fields_of(summary->second)) {
                    auto const parts = fields_of(value);
                    one.tags.push_back(only(parts, 1));
                    if (auto const found = parts.find(5); found != parts.end())
                        one.histograms.emplace(one.tags.back(), found->second);
                }
            events.push_back(one);
        }
    return events;
}

/// The steps that are shown of each tag.
using shown_steps = std::map<std::string, std::vector<std::int64_t>>;

/// The reader in Python, event_accumulator: the first START of a run is its beginning, every other one takes away
/// what was said of its step and later ones.
inline shown_steps by_session_starts(std::vector<event> const& events) {
    shown_steps shown;
    bool seen = false;
    for (event const& one : events) {
        if (one.starts && seen)
            for (auto& [tag, steps] : shown)
                std::erase_if(steps, [&](std::int64_t step) { return step >= one.step; });
        seen = seen || one.starts;
        for (std::string const& tag : one.tags)
            shown[tag].push_back(one.step);
    }
    return shown;
}

/// The histograms that the reader in Python shows: their bytes by tag and step.
inline std::map<std::pair<std::string, std::int64_t>, std::string> shown_histograms(std::vector<event> const& events) {
    std::map<std::pair<std::string, std::int64_t>, std::string> shown;
    bool seen = false;
    for (event const& one : events) {
        if (one.starts && seen)
            std::erase_if(shown, [&](auto const& entry) { return entry.first.second >= one.step; });
        seen = seen || one.starts;
        for (auto const& [tag, bytes] : one.histograms)
            shown[{tag, one.step}] = bytes;
    }
    return shown;
}

/// The reader in Rust, tensorboard-data-server: a value takes the place of those of its tag whose steps are not below
/// its own.
inline shown_steps by_preemption(std::vector<event> const& events) {
    shown_steps shown;
    for (event const& one : events)
        for (std::string const& tag : one.tags) {
            auto& steps = shown[tag];
            while (!steps.empty() && steps.back() >= one.step)
                steps.pop_back();
            steps.push_back(one.step);
        }
    return shown;
}

} // namespace gmac::testing
