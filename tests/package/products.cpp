// SPDX-License-Identifier: Apache-2.0
// gmac::xtensor brings the headers and the BLAS.
#include <gmac/backends/xtensor.hpp>

#include <array>
#include <cstdlib>

int main() {
    std::array const left{1.0, 2.0, 3.0, 4.0}, right{5.0, 6.0, 7.0, 8.0};
    std::array<double, 4> product{};
    gmac::backends::xtensor<double>::product({left.data(), 2, 2}, {right.data(), 2, 2}, {product.data(), 2, 2});
    return product == std::array{19.0, 22.0, 43.0, 50.0} ? EXIT_SUCCESS : EXIT_FAILURE;
}
