// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <concepts>
#include <type_traits>

/// What a loss is given, as views of the outputs' number type T. Another type stops the compilation with one sentence, and
/// the empty view that is then given adds none.
namespace gmac::inline GMAC_ABI::losses::detail {

/// Kind is vector_view, targets::dirac_particles or targets::gaussian_particles.
template <class T, template <class> class Kind, class U>
[[nodiscard]] constexpr Kind<T const> targets_as(Kind<U> const& targets) noexcept {
    using given = std::remove_const_t<U>;
    constexpr bool float_and_double = std::same_as<T, float> && std::same_as<given, double>;
    constexpr bool double_and_float = std::same_as<T, double> && std::same_as<given, float>;
    static_assert(!float_and_double,
                  "the outputs are float, but the targets are double: both must be of one type, which "
                  ".cast<float>().eval() or xt::xtensor<float, 2>(targets) gives");
    static_assert(!double_and_float,
                  "the outputs are double, but the targets are float: both must be of one type, which "
                  ".cast<double>().eval() or xt::xtensor<double, 2>(targets) gives");
    static_assert(std::same_as<T, given> || float_and_double || double_and_float,
                  "outputs and targets have different number types, but both must be of one");
    if constexpr (std::same_as<T, given>)
        return targets;
    else
        return {};
}

template <class T, class U>
[[nodiscard]] constexpr matrix_view<T> gradient_as(matrix_view<U> const& gradient) noexcept {
    constexpr bool float_and_double = std::same_as<T, float> && std::same_as<U, double>;
    constexpr bool double_and_float = std::same_as<T, double> && std::same_as<U, float>;
    constexpr bool constant = std::same_as<T const, U>;
    static_assert(!float_and_double, "the outputs are float, but the gradient is double: both must be of one type");
    static_assert(!double_and_float, "the outputs are double, but the gradient is float: both must be of one type");
    static_assert(!constant, "the gradient is const, but it is what the loss writes");
    static_assert(std::same_as<T, U> || float_and_double || double_and_float || constant,
                  "outputs and gradient have different number types, but both must be of one");
    if constexpr (std::same_as<T, U>)
        return gradient;
    else
        return {};
}

} // namespace gmac::inline GMAC_ABI::losses::detail
