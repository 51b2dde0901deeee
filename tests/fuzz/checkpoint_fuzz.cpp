// SPDX-License-Identifier: Apache-2.0
// The checkpoint reader on arbitrary bytes: it throws gmac::error or hands out a checkpoint that can be written again.
// Each input is also read with the length and the checksum put right, else nearly all would stop there.
#include <gmac/storage/checkpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

void read(std::span<std::byte const> file) {
    try {
        gmac::checkpoint const contents = gmac::parse_checkpoint(file, "fuzz");
        std::size_t bytes = 0;
        for (auto const& tensor : contents.state.tensors()) {
            std::size_t size = gmac::size_of(tensor.type);
            for (std::size_t const extent : tensor.shape)
                size *= extent; // modulo 2^64, where a zero among the extents makes it zero as well
            if (size != tensor.data.size())
                std::abort();
            bytes += tensor.data.size();
        }
        if (bytes > file.size())
            std::abort();
        // A state of the same layout takes it, and is then the same.
        contents.state.require_fits(contents.state, gmac::unasked::refuse, "fuzz");
        std::vector<std::vector<std::byte>> copies;
        for (auto const& tensor : contents.state.tensors())
            copies.emplace_back(tensor.data.size());
        auto const visit = [&](gmac::archive& state) {
            for (std::size_t i = 0; i < copies.size(); ++i) {
                auto const& tensor = contents.state.tensors()[i];
                state.array(tensor.name, tensor.type, tensor.shape, copies[i].data());
            }
        };
        contents.state.restore(visit);
        if (!(gmac::snapshot::of(visit) == contents.state))
            std::abort();
    } catch (gmac::error const& problem) {
        if (!std::string_view(problem.what()).starts_with("fuzz: "))
            std::abort();
    }
}

void put_right(std::vector<std::byte>& file) {
    std::size_t constexpr digits = 8;
    std::size_t constexpr place = gmac::detail::checksum_place;
    if (file.size() < place + digits)
        return;
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    length %= file.size() - 7; // anything from 0 to all that is there
    std::memcpy(file.data(), &length, sizeof length);
    if (length + 8 < place + digits)
        return;
    std::span<std::byte const> const all = file;
    auto const head = all.first(8 + static_cast<std::size_t>(length));
    auto const data = all.subspan(head.size());
    auto const checksum = gmac::detail::checksum_of(head, std::span(&data, 1));
    std::memcpy(file.data() + place, checksum.data(), digits);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
    auto const given = std::as_bytes(std::span(bytes, size));
    read(given);
    std::vector<std::byte> file(given.begin(), given.end());
    put_right(file);
    read(file);
    return 0;
}
