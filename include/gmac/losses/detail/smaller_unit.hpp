// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <vector>

namespace gmac::inline GMAC_ABI::losses::detail {

/// `numbers` times `unit`, row by row, unless one is not finite: then nothing.
template <class T>
[[nodiscard]] std::vector<T> in_unit(matrix_view<T const> const& numbers, T unit) {
    std::vector<T> result;
    result.reserve(numbers.rows() * numbers.cols());
    for (std::size_t i = 0; i < numbers.rows(); ++i)
        for (std::size_t j = 0; j < numbers.cols(); ++j) {
            if (!std::isfinite(numbers(i, j)))
                return {};
            result.push_back(numbers(i, j) * unit);
        }
    return result;
}

/// A mean over pairs may be a number although their sum overflows. So a loss of finite numbers that is not finite is done again
/// in units 2^32 times as large, where no sum overflows that has a representable mean. With samples, targets and thresholds
/// times u a loss of degree d is u^d times as large, and its gradient u^(d − 1).
///
/// `mean.operator()<WithGradient>(samples, targets, u, gradient)` is the loss. At degree 1 the gradient is made of signs and
/// shares, which do not overflow: it stays.
template <bool WithGradient, int Degree, class T, class Mean>
[[nodiscard]] T without_overflow(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
                                 matrix_view<T> const& gradient, Mean&& mean) {
    static_assert(Degree == 1 || Degree == 2);
    T const value = mean.template operator()<WithGradient>(samples, targets, 1.0, gradient);
    if constexpr (std::floating_point<T>)
        if (!std::isfinite(value)) [[unlikely]] {
            constexpr T unit(0x1p-32), back(0x1p32);
            std::vector<T> const x = in_unit(samples, unit), z = in_unit(targets.values, unit);
            if (x.empty() || z.empty())
                return value;
            constexpr bool gradient_too = WithGradient && Degree == 2;
            T const again =
                mean.template operator()<gradient_too>(matrix_view<T const>(x.data(), samples.rows(), samples.cols()),
                                                       targets::dirac_particles<T const>{{z.data(),
                                                                                          targets.values.rows(),
                                                                                          targets.values.cols()},
                                                                                         targets.weights},
                                                       static_cast<double>(unit), gradient);
            if constexpr (gradient_too)
                for (std::size_t i = 0; i < gradient.rows(); ++i)
                    for (std::size_t j = 0; j < gradient.cols(); ++j)
                        gradient(i, j) *= back;
            return Degree == 2 ? again * back * back : again * back;
        }
    return value;
}

} // namespace gmac::inline GMAC_ABI::losses::detail
