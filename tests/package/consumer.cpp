// SPDX-License-Identifier: Apache-2.0
#include <gmac/gmac.hpp>

#include <fmt/core.h>

#include <cstdlib>
#include <vector>

int main() {
    gmac::random_stream random(1);
    std::vector<float> numbers(6);
    for (float& number : numbers)
        number = random.uniform<float>();
    gmac::matrix_view<float const> const matrix(numbers.data(), 2, 3);
    fmt::print("gmac {}.{}.{}: {} x {}, {}\n", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH,
               matrix.rows(), matrix.cols(), matrix(1, 2));
    return matrix(1, 2) == numbers[5] ? EXIT_SUCCESS : EXIT_FAILURE;
}
