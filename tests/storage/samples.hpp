// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/crc32c_by_bits.hpp"

#include <gmac/core/random.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace gmac::testing {

/// A state with every element type, a matrix, an empty array, bytes of any number and a random stream.
struct sample_state {
    std::array<float, 6> weights{0.5f, -1.0f, 2.0f, 1e-30f, -0.0f, 3.25f};
    std::array<double, 2> moments{0.1, -1e300};
    std::array<double, 0> nothing{};
    std::int32_t small = -7;
    std::int64_t large = -(std::int64_t(1) << 40);
    std::uint64_t updates = 12;
    std::uint8_t flag = 1;
    std::vector<std::byte> note = std::vector<std::byte>(3, std::byte{255});
    gmac::random_stream random{5, 6};

    void persist(gmac::archive& state) {
        state("flag", flag);
        state.inside("network", [&] { state("weights", std::span<float>(weights), 2, 3); });
        state("moments", std::span<double>(moments));
        state("nothing", std::span<double>(nothing));
        state("small", small);
        state("large", large);
        state("updates", updates);
        state("note", note);
        random.persist(state, "random");
    }
    [[nodiscard]] auto visit() {
        return [this](gmac::archive& state) { persist(state); };
    }
    [[nodiscard]] gmac::snapshot snapshot() { return gmac::snapshot::of(visit()); }
};

inline sample_state other_state() {
    sample_state state;
    state.weights.fill(9.0f);
    state.moments.fill(9.0);
    state.small = 9;
    state.large = 9;
    state.updates = 9;
    state.flag = 0;
    state.note.clear();
    state.random = gmac::random_stream(9, 9);
    return state;
}

/// A safetensors file of this header and data.
inline std::string file_of(std::string const& header, std::string const& data) {
    std::string length(8, '\0');
    auto const size = static_cast<std::uint64_t>(header.size());
    std::memcpy(length.data(), &size, 8);
    return length + header + data;
}

inline constexpr std::size_t checksum_place = 8 + std::string_view(R"({"__metadata__":{"crc32c":")").size();

/// The file with the checksum that fits its other bytes, so that what is wrong with it is not found by the checksum.
inline std::string with_checksum(std::string file) {
    file.replace(checksum_place, 8, "00000000");
    file.replace(checksum_place, 8, fmt::format("{:08x}", crc32c_by_bits(file)));
    return file;
}

/// A sound header of gmac's with these tensors.
inline std::string gmac_header(std::string const& tensors, std::string const& version = "1") {
    return R"({"__metadata__":{"crc32c":"00000000","format":"gmac","format_version":")" + version +
           R"(","library_version":"0.1.0"})" + (tensors.empty() ? "" : "," + tensors) + "}";
}

inline gmac::checkpoint parse(std::string_view file) {
    return gmac::parse_checkpoint(std::as_bytes(std::span(file)), "checkpoint test");
}

} // namespace gmac::testing
