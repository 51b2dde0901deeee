// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// The element types that a state may be made of, by the names of the safetensors format.
enum class element_type { u8, i32, i64, u64, f32, f64 };

template <class T>
[[nodiscard]] constexpr element_type element_type_of() noexcept {
    if constexpr (std::same_as<T, float>)
        return element_type::f32;
    else if constexpr (std::same_as<T, double>)
        return element_type::f64;
    else if constexpr (sizeof(T) == 1)
        return element_type::u8;
    else if constexpr (std::signed_integral<T> && sizeof(T) == 4)
        return element_type::i32;
    else if constexpr (std::signed_integral<T> && sizeof(T) == 8)
        return element_type::i64;
    else {
        static_assert(std::unsigned_integral<T> && sizeof(T) == 8,
                      "gmac::archive stores bytes, int32, int64, uint64, float and double");
        return element_type::u64;
    }
}

/// How many bytes one element takes.
[[nodiscard]] constexpr std::size_t size_of(element_type type) noexcept {
    switch (type) {
    case element_type::u8:
        return 1;
    case element_type::i32:
    case element_type::f32:
        return 4;
    case element_type::i64:
    case element_type::u64:
    case element_type::f64:
        return 8;
    }
    return 0;
}

/// How many bytes an array takes.
[[nodiscard]] constexpr std::size_t size_of(element_type type, std::span<std::size_t const> shape) noexcept {
    std::size_t size = size_of(type);
    for (std::size_t const extent : shape)
        size *= extent;
    return size;
}

/// Visits every piece of a state by name, once to write it and once to read it back: a class that can be checkpointed
/// has one member `void persist(archive&)`, which serves both directions, so the two cannot drift apart.
///
/// When loading, an array must have the stored element type and shape, or the visit throws gmac::error and names both.
class archive {
public:
    virtual ~archive() = default;

    [[nodiscard]] virtual bool loading() const noexcept = 0;

    /// An array of fixed size: `shape` is row-major, `data` the memory that is written to the file or read from it.
    virtual void array(std::string const& name, element_type type, std::span<std::size_t const> shape, void* data) = 0;
    /// Bytes whose number may differ between writing and reading; the vector is resized when loading.
    virtual void bytes(std::string const& name, std::vector<std::byte>& data) = 0;

    template <class T>
        requires std::is_arithmetic_v<T>
    void operator()(std::string_view name, std::span<T> values) {
        std::array<std::size_t, 1> const shape{values.size()};
        array(full_name(name), element_type_of<T>(), shape, values.data());
    }
    template <class T>
        requires std::is_arithmetic_v<T>
    void operator()(std::string_view name, std::span<T> values, std::size_t rows, std::size_t cols) {
        std::array<std::size_t, 2> const shape{rows, cols};
        array(full_name(name), element_type_of<T>(), shape, values.data());
    }
    template <class T>
        requires std::is_arithmetic_v<T>
    void operator()(std::string_view name, T& value) {
        (*this)(name, std::span<T>(&value, 1));
    }
    void operator()(std::string_view name, std::vector<std::byte>& data) { bytes(full_name(name), data); }
    /// Arrays, std::vector and other contiguous ranges of numbers, which must have the stored size when loading.
    template <class Numbers>
    void operator()(std::string_view name, Numbers&& values) {
        constexpr bool fits = requires {
            requires std::is_arithmetic_v<std::remove_reference_t<decltype(*std::data(values))>>;
            *std::data(values) = *std::data(values);
            std::size(values);
        };
        static_assert(fits,
                      "gmac::archive stores numbers that can be written to, contiguous ranges of them and "
                      "std::vector<std::byte>; store the parts of anything else, each by a name");
        if constexpr (fits)
            (*this)(name, std::span(std::data(values), std::size(values)));
    }

    /// Puts `name` and a dot before every name visited inside `visit`.
    template <std::invocable Visit>
    void inside(std::string_view name, Visit&& visit) {
        std::string const outer = prefix_;
        prefix_ += std::string(name) + '.';
        std::forward<Visit>(visit)();
        prefix_ = outer;
    }

private:
    // Not prefix_ + std::string(name): GCC 12 warns of an overlap in it that cannot be (bug 105651).
    [[nodiscard]] std::string full_name(std::string_view name) const {
        std::string full = prefix_;
        full += name;
        return full;
    }

    std::string prefix_;
};

} // namespace gmac::inline GMAC_ABI
