// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmac::testing {

/// An archive in memory. Fresh, it is written to; after `rewind` it is read from, any number of times. Two archives are
/// equal if they hold the same names, types, shapes and bytes.
///
///     memory_archive saved;
///     agent.persist(saved);
///     saved.rewind();
///     other.persist(saved);
class memory_archive final : public archive {
public:
    struct entry {
        element_type type = element_type::u8;
        std::vector<std::size_t> shape;
        std::vector<std::byte> data;
        friend bool operator==(entry const&, entry const&) = default;
    };

    [[nodiscard]] bool loading() const noexcept override { return loading_; }
    void rewind() noexcept { loading_ = true; }

    [[nodiscard]] std::map<std::string, entry> const& entries() const noexcept { return entries_; }
    /// To spoil what was written.
    [[nodiscard]] std::map<std::string, entry>& entries() noexcept { return entries_; }
    friend bool operator==(memory_archive const& a, memory_archive const& b) { return a.entries_ == b.entries_; }

    void array(std::string const& name, element_type type, std::span<std::size_t const> shape, void* data) override {
        std::vector<std::size_t> const wanted(shape.begin(), shape.end());
        std::size_t size = size_of(type);
        for (std::size_t extent : wanted)
            size *= extent;
        if (!loading_) {
            auto const* const first = static_cast<std::byte const*>(data);
            add(name, {type, wanted, size == 0 ? std::vector<std::byte>() : std::vector(first, first + size)});
            return;
        }
        entry const& found = find(name);
        require(found.type == type && found.shape == wanted, "memory_archive: {} has another type or shape", name);
        if (size != 0)
            std::memcpy(data, found.data.data(), size);
    }

    void bytes(std::string const& name, std::vector<std::byte>& data) override {
        if (loading_)
            data = find(name).data;
        else
            add(name, {element_type::u8, {data.size()}, data});
    }

private:
    void add(std::string const& name, entry data) {
        require(entries_.emplace(name, std::move(data)).second, "memory_archive: {} was written twice", name);
    }
    [[nodiscard]] entry const& find(std::string const& name) const {
        auto const found = entries_.find(name);
        require(found != entries_.end(), "memory_archive: {} is missing", name);
        return found->second;
    }

    std::map<std::string, entry> entries_;
    bool loading_ = false;
};

} // namespace gmac::testing
