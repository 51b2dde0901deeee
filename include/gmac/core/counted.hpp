// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace gmac::inline GMAC_ABI {

/// How many operations of each kind were done. A multiply-add is a multiplication and an addition.
struct operation_counts {
    std::uint64_t additions = 0; ///< and subtractions
    std::uint64_t multiplications = 0;
    std::uint64_t divisions = 0;
    std::uint64_t comparisons = 0; ///< absolute values, minima and maxima among them
    std::uint64_t square_roots = 0;
    std::uint64_t exponentials = 0;
    std::uint64_t logarithms = 0;
    std::uint64_t error_functions = 0;
    std::uint64_t other_functions = 0; ///< tanh, sine, cosine

    /// Calls visit(name, count) for each kind.
    template <class Visit>
    constexpr void for_each(Visit&& visit) const {
        visit("additions", additions);
        visit("multiplications", multiplications);
        visit("divisions", divisions);
        visit("comparisons", comparisons);
        visit("square_roots", square_roots);
        visit("exponentials", exponentials);
        visit("logarithms", logarithms);
        visit("error_functions", error_functions);
        visit("other_functions", other_functions);
    }
    /// All kinds, each counting one.
    [[nodiscard]] constexpr std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for_each([&](auto, std::uint64_t count) { sum += count; });
        return sum;
    }

    friend constexpr bool operator==(operation_counts const&, operation_counts const&) = default;
    friend constexpr operation_counts operator+(operation_counts const& a, operation_counts const& b) noexcept {
        return {a.additions + b.additions,
                a.multiplications + b.multiplications,
                a.divisions + b.divisions,
                a.comparisons + b.comparisons,
                a.square_roots + b.square_roots,
                a.exponentials + b.exponentials,
                a.logarithms + b.logarithms,
                a.error_functions + b.error_functions,
                a.other_functions + b.other_functions};
    }
    friend constexpr operation_counts operator-(operation_counts const& a, operation_counts const& b) noexcept {
        return {a.additions - b.additions,
                a.multiplications - b.multiplications,
                a.divisions - b.divisions,
                a.comparisons - b.comparisons,
                a.square_roots - b.square_roots,
                a.exponentials - b.exponentials,
                a.logarithms - b.logarithms,
                a.error_functions - b.error_functions,
                a.other_functions - b.other_functions};
    }
};

/// What a comparison of counted numbers gives: a bool that remembers the counter, so that numbers selected by it go on
/// counting even if they were constants.
class counted_mask {
public:
    constexpr counted_mask(bool holds = false, operation_counts* counter = nullptr) noexcept
        : holds_(holds), counter_(counter) {}
    constexpr operator bool() const noexcept { return holds_; }
    [[nodiscard]] constexpr operation_counts* counter() const noexcept { return counter_; }

    friend constexpr bool any(counted_mask const& mask) noexcept { return mask.holds_; }

private:
    bool holds_;
    operation_counts* counter_;
};

/// A number that counts what is done with it, in the counter that it was made with: a lane type of every kernel, and the
/// element type of views and layers, so that the code which users run is the code that is counted.
///
/// The counter travels with the numbers and there is no global one: a result counts where its first counting operand
/// does. A number made without a counter is a constant; constants among themselves are not counted, nor is a change of
/// sign. Numbers with one counter must stay on one thread.
template <std::floating_point T>
class counted {
public:
    constexpr counted() noexcept = default;
    template <class U>
        requires std::is_arithmetic_v<U>
    constexpr counted(U number) noexcept : value_(static_cast<T>(number)) {}
    constexpr counted(T number, operation_counts& counter) noexcept : value_(number), counter_(&counter) {}

    [[nodiscard]] T value() const noexcept { return value_; }
    template <std::floating_point U>
    explicit operator U() const noexcept {
        return static_cast<U>(value_);
    }

    friend counted operator+(counted const& a) noexcept { return a; }
    friend counted operator-(counted const& a) noexcept { return {-a.value_, a.counter_}; }
    friend counted operator+(counted const& a, counted const& b) noexcept {
        return {a.value_ + b.value_, count(a, b, &operation_counts::additions)};
    }
    friend counted operator-(counted const& a, counted const& b) noexcept {
        return {a.value_ - b.value_, count(a, b, &operation_counts::additions)};
    }
    friend counted operator*(counted const& a, counted const& b) noexcept {
        return {a.value_ * b.value_, count(a, b, &operation_counts::multiplications)};
    }
    friend counted operator/(counted const& a, counted const& b) noexcept {
        return {a.value_ / b.value_, count(a, b, &operation_counts::divisions)};
    }
    counted& operator+=(counted const& b) noexcept { return *this = *this + b; }
    counted& operator-=(counted const& b) noexcept { return *this = *this - b; }
    counted& operator*=(counted const& b) noexcept { return *this = *this * b; }
    counted& operator/=(counted const& b) noexcept { return *this = *this / b; }

    friend counted_mask operator==(counted const& a, counted const& b) noexcept {
        return {a.value_ == b.value_, count(a, b, &operation_counts::comparisons)};
    }
    friend counted_mask operator!=(counted const& a, counted const& b) noexcept {
        return {a.value_ != b.value_, count(a, b, &operation_counts::comparisons)};
    }
    friend counted_mask operator<(counted const& a, counted const& b) noexcept {
        return {a.value_ < b.value_, count(a, b, &operation_counts::comparisons)};
    }
    friend counted_mask operator>(counted const& a, counted const& b) noexcept {
        return {a.value_ > b.value_, count(a, b, &operation_counts::comparisons)};
    }
    friend counted_mask operator<=(counted const& a, counted const& b) noexcept {
        return {a.value_ <= b.value_, count(a, b, &operation_counts::comparisons)};
    }
    friend counted_mask operator>=(counted const& a, counted const& b) noexcept {
        return {a.value_ >= b.value_, count(a, b, &operation_counts::comparisons)};
    }

    /// a where the mask holds, else b; a choice is not counted, the comparison was.
    friend counted select(counted_mask const& mask, counted const& a, counted const& b) noexcept {
        counted result = mask ? a : b;
        if (result.counter_ == nullptr)
            result.counter_ = mask.counter();
        return result;
    }

    friend counted abs(counted const& a) noexcept {
        return {std::abs(a.value_), count(a, a, &operation_counts::comparisons)};
    }
    friend counted sqrt(counted const& a) noexcept {
        return {std::sqrt(a.value_), count(a, a, &operation_counts::square_roots)};
    }
    friend counted exp(counted const& a) noexcept {
        return {std::exp(a.value_), count(a, a, &operation_counts::exponentials)};
    }
    friend counted log(counted const& a) noexcept {
        return {std::log(a.value_), count(a, a, &operation_counts::logarithms)};
    }
    friend counted log1p(counted const& a) noexcept {
        return {std::log1p(a.value_), count(a, a, &operation_counts::logarithms)};
    }
    friend counted erf(counted const& a) noexcept {
        return {std::erf(a.value_), count(a, a, &operation_counts::error_functions)};
    }
    friend counted tanh(counted const& a) noexcept {
        return {std::tanh(a.value_), count(a, a, &operation_counts::other_functions)};
    }
    friend counted sin(counted const& a) noexcept {
        return {std::sin(a.value_), count(a, a, &operation_counts::other_functions)};
    }
    friend counted cos(counted const& a) noexcept {
        return {std::cos(a.value_), count(a, a, &operation_counts::other_functions)};
    }
    friend bool isfinite(counted const& a) noexcept { return std::isfinite(a.value_); }
    friend bool isnan(counted const& a) noexcept { return std::isnan(a.value_); }

private:
    counted(T number, operation_counts* counter) noexcept : value_(number), counter_(counter) {}

    static operation_counts* count(counted const& a, counted const& b, std::uint64_t operation_counts::*kind) noexcept {
        operation_counts* const counter = a.counter_ != nullptr ? a.counter_ : b.counter_;
        if (counter != nullptr)
            ++(counter->*kind);
        return counter;
    }

    T value_ = 0;
    operation_counts* counter_ = nullptr;
};

/// Anything else that a comparison of counted numbers decides.
template <class T>
[[nodiscard]] constexpr T select(counted_mask const& mask, T const& a, T const& b) noexcept {
    return mask ? a : b;
}

} // namespace gmac::inline GMAC_ABI

/// The limits of the number inside.
template <class T>
struct std::numeric_limits<gmac::counted<T>> : std::numeric_limits<T> {};
