// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

/// From a fuzzer's bytes to shapes, layouts and numbers.
namespace gmac::testing {

/// A property that does not hold ends the run; libFuzzer stores the input.
inline void check(bool holds, char const* what) {
    if (!holds) {
        std::fprintf(stderr, "does not hold: %s\n", what);
        std::abort();
    }
}

/// Reads bytes, and zeros where there are no more.
class byte_reader {
public:
    explicit byte_reader(std::span<std::uint8_t const> bytes) : left_(bytes) {}

    std::uint8_t byte() {
        if (left_.empty())
            return 0;
        std::uint8_t const first = left_[0];
        left_ = left_.subspan(1);
        return first;
    }
    bool flag() { return (byte() & 1u) != 0; }
    /// 0 … limit − 1
    std::size_t below(std::size_t limit) { return (byte() | static_cast<std::size_t>(byte()) << 8u) % limit; }

    /// In [−2^20, 2^20], of any magnitude down to 2^−20, and often an integer.
    template <class T>
    T tame() {
        auto const mantissa = static_cast<std::int8_t>(byte());
        int const exponent = byte() % 48 - 31;
        return std::ldexp(static_cast<T>(mantissa), exponent < -27 ? 0 : exponent > 13 ? 13 : exponent);
    }
    /// Anything that a T can be.
    template <class T>
    T wild() {
        using limits = std::numeric_limits<T>;
        static constexpr std::array<T, 12> special{T(0),
                                                   -T(0),
                                                   limits::quiet_NaN(),
                                                   limits::infinity(),
                                                   -limits::infinity(),
                                                   limits::max(),
                                                   limits::lowest(),
                                                   limits::min(),
                                                   limits::denorm_min(),
                                                   T(1),
                                                   limits::epsilon(),
                                                   -limits::min()};
        std::size_t const choice = byte() % 32u;
        if (choice < special.size())
            return special[choice];
        if (choice < 20)
            return tame<T>();
        std::array<std::uint8_t, sizeof(T)> bits;
        for (auto& part : bits)
            part = byte();
        T result;
        std::memcpy(&result, bits.data(), sizeof result);
        return result;
    }

private:
    std::span<std::uint8_t const> left_;
};

/// A matrix in memory of its own that ends where its last element ends: row-major or column-major, with or without gaps,
/// forwards or backwards.
template <class T>
class any_matrix {
public:
    any_matrix() = default;
    any_matrix(byte_reader& bytes, std::size_t rows, std::size_t cols) {
        std::size_t const kind = bytes.byte();
        bool const by_column = (kind & 1u) != 0;
        std::size_t const inner = (kind >> 1u) % 8 == 7 ? 2 : 1; // most are without gaps
        std::size_t const gap = (kind >> 4u) % 4 == 3 ? 3 : 0;
        std::size_t const length = by_column ? rows : cols;
        std::size_t const lines = by_column ? cols : rows;
        std::size_t const outer = length * inner + gap;
        size_ = rows == 0 || cols == 0 ? 0 : (lines - 1) * outer + (length - 1) * inner + 1;
        data_ = std::make_unique<T[]>(size_);
        std::memset(data_.get(), sentinel, size_ * sizeof(T));
        auto const signed_outer = static_cast<std::ptrdiff_t>(outer);
        auto const signed_inner = static_cast<std::ptrdiff_t>(inner);
        view_ = by_column ? matrix_view<T>(data_.get(), rows, cols, signed_inner, signed_outer)
                          : matrix_view<T>(data_.get(), rows, cols, signed_outer, signed_inner);
        bool const backwards = (kind >> 6u) == 3 && size_ > 0;
        if (backwards)
            view_ = {data_.get() + size_ - 1, rows, cols, -view_.row_stride(), -view_.col_stride()};
    }

    [[nodiscard]] matrix_view<T> const& view() const noexcept { return view_; }
    [[nodiscard]] matrix_view<T const> read() const noexcept { return view_; }

    template <class Number>
    void fill(Number&& number) const {
        for (std::size_t i = 0; i < view_.rows(); ++i)
            for (std::size_t j = 0; j < view_.cols(); ++j)
                view_(i, j) = number();
    }
    template <class Predicate>
    [[nodiscard]] bool all(Predicate&& holds) const {
        for (std::size_t i = 0; i < view_.rows(); ++i)
            for (std::size_t j = 0; j < view_.cols(); ++j)
                if (!holds(view_(i, j)))
                    return false;
        return true;
    }
    [[nodiscard]] bool all_finite() const {
        return all([](T x) { return std::isfinite(x); });
    }

    /// The largest absolute value.
    [[nodiscard]] T largest() const {
        T result = 0;
        for (std::size_t i = 0; i < view_.rows(); ++i)
            for (std::size_t j = 0; j < view_.cols(); ++j)
                result = std::max(result, std::abs(view_(i, j)));
        return result;
    }

    /// Whether what lies between the elements is as it was. Only while no element looks like it.
    [[nodiscard]] bool gaps_are_untouched() const {
        auto const is_sentinel = [](T const& element) {
            std::array<unsigned char, sizeof(T)> bits;
            std::memcpy(bits.data(), &element, sizeof(T));
            for (auto const part : bits)
                if (part != sentinel)
                    return false;
            return true;
        };
        std::size_t untouched = 0;
        for (std::size_t i = 0; i < size_; ++i)
            untouched += is_sentinel(data_[i]) ? 1u : 0u;
        return untouched >= size_ - view_.rows() * view_.cols();
    }

private:
    static constexpr unsigned char sentinel = 0xa5;
    std::unique_ptr<T[]> data_;
    std::size_t size_ = 0;
    matrix_view<T> view_;
};

} // namespace gmac::testing
