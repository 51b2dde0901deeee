// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// A flat owning array of numbers, aligned to 64 bytes (a cache line, an AVX-512 register) and zero at the start.
///
/// All parameters of an agent live in one such buffer and all gradients in another. It converts to std::span and to
/// vector_view, copies deeply, and never changes its size except by assignment: memory is taken when it is made.
template <class T>
    requires std::is_trivially_copyable_v<T>
class buffer {
public:
    using value_type = T;
    static constexpr std::size_t alignment = 64;

    buffer() noexcept = default;
    explicit buffer(std::size_t size) : buffer(size, T{}) {}
    buffer(std::size_t size, T const& value) : data_(allocate(size)), size_(size) { std::fill_n(data_, size_, value); }
    explicit buffer(std::span<T const> values) : data_(allocate(values.size())), size_(values.size()) {
        std::copy_n(values.data(), size_, data_);
    }
    buffer(buffer const& other) : buffer(std::span<T const>(other)) {}
    buffer(buffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, std::size_t{0})) {}
    /// Copies into the memory that is there when the sizes agree: no allocation, views stay valid.
    buffer& operator=(buffer const& other) {
        if (size_ == other.size_) {
            if (this != &other)
                std::copy_n(other.data_, size_, data_);
        } else {
            buffer copy(other);
            swap(copy);
        }
        return *this;
    }
    buffer& operator=(buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~buffer() { release(); }

    void swap(buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }
    void fill(T const& value) noexcept { std::fill_n(data_, size_, value); }

    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] T const* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* begin() noexcept { return data_; }
    [[nodiscard]] T* end() noexcept { return data_ + size_; }
    [[nodiscard]] T const* begin() const noexcept { return data_; }
    [[nodiscard]] T const* end() const noexcept { return data_ + size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return data_[i]; }

    [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
    [[nodiscard]] std::span<T const> span() const noexcept { return {data_, size_}; }

private:
    static T* allocate(std::size_t size) {
        if (size == 0)
            return nullptr;
        require(size <= (std::numeric_limits<std::size_t>::max)() / (2 * sizeof(T)),
                "buffer: {} elements of {} bytes do not fit in memory", size, sizeof(T));
        return static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{alignment}));
    }
    void release() noexcept {
        if (data_ != nullptr)
            ::operator delete(data_, std::align_val_t{alignment});
    }

    T* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace gmac::inline GMAC_ABI
