// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>

#include <array>
#include <cmath>
#include <cstddef>

namespace gmac::inline GMAC_ABI::losses::detail {

/// `Rows` lane vectors in memory, whose lanes may be read and written one by one.
template <class V, std::size_t Rows>
class lane_table {
public:
    using scalar = lanes::scalar_of<V>;
    static constexpr std::size_t width = lanes::width_of<V>;

    [[nodiscard]] V operator[](std::size_t row) const noexcept {
        return lanes::load_rows<V>(matrix_view<scalar const>(numbers_.data(), width, Rows, 1, width), 0, row);
    }
    void set(std::size_t row, V const& value) noexcept {
        lanes::store_rows(value, matrix_view<scalar>(numbers_.data(), width, Rows, 1, width), 0, row);
    }
    [[nodiscard]] scalar& operator()(std::size_t row, std::size_t lane) noexcept {
        return numbers_[row * width + lane];
    }
    [[nodiscard]] scalar const& operator()(std::size_t row, std::size_t lane) const noexcept {
        return numbers_[row * width + lane];
    }
    void fill(scalar const& value) noexcept { numbers_.fill(value); }

private:
    alignas(64) std::array<scalar, Rows * width> numbers_;
};

/// The unsigned integers of the lanes' size.
template <class V>
using index_of = typename lanes::detail::bits_of<V>::type;

/// Whole numbers in [0, 2^20) as integers.
template <class V>
[[nodiscard]] index_of<V> to_index(V const& whole) noexcept {
    if constexpr (lanes::native<V>) // the sum has the number in its lowest bits
        return lanes::detail::to_bits(
                   V(whole + lanes::constant<V>(lanes::detail::layout<lanes::scalar_of<V>>::round))) &
               index_of<V>(0xfffffu);
    else
        return static_cast<index_of<V>>(static_cast<double>(whole));
}

/// The nearest whole number of x in [0, 2^20); NaN stays.
template <class V>
[[nodiscard]] V nearest(V const& x) noexcept {
    if constexpr (lanes::native<V>) {
        V const round = lanes::constant<V>(lanes::detail::layout<lanes::scalar_of<V>>::round);
        return V(x + round) - round;
    } else {
        return V(std::nearbyint(static_cast<double>(x)));
    }
}

} // namespace gmac::inline GMAC_ABI::losses::detail
