// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI::nn {

namespace detail {

/// Σ uᵢ vᵢ in eight chains, which compilers turn into registers and which give the same sum for any width of them.
[[nodiscard]] inline double dot(std::span<double const> u, std::span<double const> v) noexcept {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + 8 <= u.size(); i += 8)
        for (std::size_t k = 0; k < 8; ++k)
            sums[k] += u[i + k] * v[i + k];
    for (std::size_t k = 0; i < u.size(); ++i, ++k)
        sums[k] += u[i] * v[i];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

} // namespace detail

/// Fills the matrix with gain times a random matrix with orthonormal rows or columns, whichever are fewer, uniform over
/// all such matrices (Haar): the orthogonal factor of a Gaussian matrix (Saxe et al. 2014). Throws gmac::error if the gain
/// is not finite.
///
/// Gram-Schmidt with positive norms is that factor with the sign fixed; each vector is made orthogonal twice, which is
/// enough for full precision (Giraud et al. 2005). Computed in double for every T, so float and double start alike.
template <std::floating_point T>
void initialize_orthogonal(matrix_view<T> matrix, T gain, random_stream& stream) {
    require(std::isfinite(gain), "initialize_orthogonal: gain is {}, but must be finite", gain);
    if (matrix.empty())
        return;
    bool const wide = matrix.rows() <= matrix.cols();
    std::size_t const count = wide ? matrix.rows() : matrix.cols();
    std::size_t const length = wide ? matrix.cols() : matrix.rows();
    std::vector<double> vectors(count * length);
    auto const vector = [&](std::size_t i) { return std::span(vectors).subspan(i * length, length); };
    for (std::size_t i = 0; i < count; ++i) {
        std::span<double> const v = vector(i);
        double norm = 0;
        while (!(norm > 1e-8)) { // a draw inside the span of the others has probability zero
            for (double& x : v)
                x = stream.normal<double>();
            for (int pass = 0; pass < 2; ++pass)
                for (std::size_t j = 0; j < i; ++j) {
                    std::span<double const> const u = vector(j);
                    double const along = detail::dot(u, v);
                    for (std::size_t k = 0; k < length; ++k)
                        v[k] -= along * u[k];
                }
            norm = std::sqrt(detail::dot(v, v));
        }
        for (double& x : v)
            x /= norm;
    }
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < length; ++k)
            (wide ? matrix(i, k) : matrix(k, i)) = static_cast<T>(static_cast<double>(gain) * vectors[i * length + k]);
}

} // namespace gmac::inline GMAC_ABI::nn
