// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

/// Formulas at the ends of the number line, where the exact result is a number that T has. The judge is long double, whose
/// exponents reach 32 times as far as those of double.
namespace gmac::testing {

template <class T>
inline constexpr T quiet_nan = std::numeric_limits<T>::quiet_NaN();
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();

/// Zero, and with both signs the smallest numbers of T, the largest, and some between.
template <class T>
[[nodiscard]] std::vector<T> extremes() {
    using limits = std::numeric_limits<T>;
    std::vector<T> numbers{T(0)};
    for (T const x :
         {limits::denorm_min(), (limits::min)(), std::sqrt((limits::min)()), limits::epsilon(), T(1), T(100),
          std::sqrt((limits::max)()), 4 * std::sqrt((limits::max)()), (limits::max)() / 4, (limits::max)()}) {
        numbers.push_back(x);
        numbers.push_back(-x);
    }
    return numbers;
}

/// True if `computed` is what T has for the exact number: `ulps` units of rounding of it, or of `scale` where terms of
/// that size cancel; infinite beyond the largest number, NaN for NaN.
template <class T>
[[nodiscard]] bool agrees(T computed, long double exact, double ulps = 8, long double scale = 0) {
    using limits = std::numeric_limits<T>;
    auto const largest = static_cast<long double>((limits::max)());
    if (std::isnan(exact) || std::isnan(computed))
        return std::isnan(exact) && std::isnan(computed);
    long double const rounding = static_cast<long double>(ulps) * static_cast<long double>(limits::epsilon());
    long double const slack = rounding * std::fmax(std::abs(exact), scale) +
                              static_cast<long double>(ulps) * static_cast<long double>(limits::denorm_min());
    if (std::isinf(computed))
        return std::abs(exact) + slack > largest && std::signbit(exact) == std::signbit(computed);
    return std::abs(static_cast<long double>(computed) - exact) <= slack;
}

/// Thousands of cases, of which only those that fail are told: `CHECK(cases.failed() == "")` at the end.
class sweep {
public:
    /// One number of one case; `what` and the inputs are for the message.
    template <class T, class... Inputs>
    void expect(std::string_view what, T computed, long double exact, double ulps, long double scale,
                Inputs const&... inputs) {
        if (agrees(computed, exact, ulps, scale))
            return;
        if (++failures_ <= 5)
            text_ += fmt::format("{} of {}: {}, but must be {}\n", what, fmt::join(std::tuple(inputs...), ", "),
                                 computed, static_cast<double>(exact));
    }
    [[nodiscard]] std::string failed() const {
        return failures_ == 0 ? "" : fmt::format("{}{} in all", text_, failures_);
    }

private:
    std::string text_;
    std::size_t failures_ = 0;
};

} // namespace gmac::testing
