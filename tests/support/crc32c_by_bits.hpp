// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace gmac::testing {

/// CRC-32C bit by bit, as its definition says.
inline std::uint32_t crc32c_by_bits(std::string_view bytes) {
    std::uint32_t crc = 0xffffffffu;
    for (char const byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0u);
    }
    return ~crc;
}

} // namespace gmac::testing
