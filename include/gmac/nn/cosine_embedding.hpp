// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace gmac::inline GMAC_ABI::nn {

/// embedding(r, i − 1) = cos(π i τ_r), i = 1 … columns: one row for each fraction (Dabney et al. 2018, equation 4; their
/// i = 0 gives a constant, which the layer's bias does already).
///
/// By cos((i + 8) x) = 2 cos(8 x) cos(i x) − cos((i − 8) x), eight chains of additions in double: one cosine a row. The
/// error of the recurrence grows like the square of its steps and stays below 1e-11 for 200 columns.
template <class T>
void cosine_embedding(vector_view<T const> fractions, matrix_view<T> embedding) {
    require_size(fractions, embedding.rows(), "fractions", "cosine_embedding");
    constexpr std::size_t chains = 8;
    std::size_t const cols = embedding.cols();
    for (std::size_t r = 0; r < embedding.rows(); ++r) {
        double const x = std::numbers::pi * static_cast<double>(fractions[r]);
        double const c1 = std::cos(x);
        std::array<double, chains + 1> first{1.0, c1}; // cos(i x), i = 0 … 8
        for (std::size_t i = 2; i <= chains; ++i)
            first[i] = 2 * c1 * first[i - 1] - first[i - 2];
        double const step = 2 * first[chains];
        std::array<double, chains> now, before; // cos((i + k) x) and cos((i + k − 8) x), k = 1 … 8
        for (std::size_t k = 0; k < chains; ++k) {
            now[k] = first[k + 1];
            before[k] = first[chains - 1 - k];
        }
        for (std::size_t i = 0; i < cols; i += chains) {
            std::size_t const count = (std::min)(chains, cols - i);
            for (std::size_t k = 0; k < count; ++k)
                embedding(r, i + k) = static_cast<T>(now[k]);
            for (std::size_t k = 0; k < chains; ++k) {
                double const next = step * now[k] - before[k];
                before[k] = now[k];
                now[k] = next;
            }
        }
    }
}

} // namespace gmac::inline GMAC_ABI::nn
