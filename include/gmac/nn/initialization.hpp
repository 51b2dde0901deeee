// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <vector>

namespace gmac::nn {

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
    for (std::size_t i = 0; i < count; ++i) {
        double* const v = vectors.data() + i * length;
        double norm = 0;
        while (!(norm > 1e-8)) { // a draw inside the span of the others has probability zero
            for (std::size_t k = 0; k < length; ++k)
                v[k] = stream.normal<double>();
            for (int pass = 0; pass < 2; ++pass)
                for (std::size_t j = 0; j < i; ++j) {
                    double const* const u = vectors.data() + j * length;
                    double dot = 0;
                    for (std::size_t k = 0; k < length; ++k)
                        dot += u[k] * v[k];
                    for (std::size_t k = 0; k < length; ++k)
                        v[k] -= dot * u[k];
                }
            norm = 0;
            for (std::size_t k = 0; k < length; ++k)
                norm += v[k] * v[k];
            norm = std::sqrt(norm);
        }
        for (std::size_t k = 0; k < length; ++k)
            v[k] /= norm;
    }
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < length; ++k)
            (wide ? matrix(i, k) : matrix(k, i)) = static_cast<T>(static_cast<double>(gain) * vectors[i * length + k]);
}

} // namespace gmac::nn
