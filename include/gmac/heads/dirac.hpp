// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/detail/row_means.hpp>
#include <gmac/heads/quantile_outputs.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::heads {

/// N point masses of weight 1/N at fixed quantile fractions, the midpoints τ_i = (i + ½) / N, as in QR-DQN (Dabney et al.
/// 2018, "Distributional reinforcement learning with quantile regression"). The N raw outputs of a state are the points;
/// their order carries the fraction for quantile losses and has no meaning for sample losses.
template <std::size_t N>
struct dirac {
    static_assert(N > 0, "a Dirac head needs at least one point");

    static constexpr std::string_view name = "dirac";
    static constexpr std::size_t outputs = N;

    [[nodiscard]] static constexpr std::size_t output_size() noexcept { return N; }
    /// How many equally likely points `support` gives for a state.
    [[nodiscard]] static constexpr std::size_t support_size() noexcept { return N; }

    /// The fraction of each output. (Not constexpr, since T may be no literal type; constant for float and double.)
    template <class T>
    static inline std::array<T, N> const midpoints = [] {
        std::array<T, N> fractions;
        for (std::size_t i = 0; i < N; ++i)
            fractions[i] = static_cast<T>((static_cast<double>(i) + 0.5) / static_cast<double>(N));
        return fractions;
    }();

    /// The value of each state: outputs [B, N] → values [B]. Throws gmac::error if the shapes do not fit.
    template <class Outputs, class Values>
    void mean(Outputs&& outputs_of_states, Values&& values_of_states) const {
        detail::row_means(as_matrix(outputs_of_states), N, as_vector(values_of_states), "dirac head");
    }

    /// The points as samples of the value distribution, [B, N]. Throws gmac::error if the shape does not fit.
    template <class Outputs>
    [[nodiscard]] constexpr auto samples(Outputs&& outputs_of_states) const {
        auto const raw = as_matrix(outputs_of_states);
        using T = typename decltype(raw)::value_type;
        require_shape(raw, raw.rows(), N, "outputs", "dirac head");
        return matrix_view<T const>(raw);
    }

    /// The points with their fractions. Throws gmac::error if the shape does not fit.
    template <class Outputs>
    [[nodiscard]] constexpr auto quantiles(Outputs&& outputs_of_states) const {
        auto const points = samples(outputs_of_states);
        using T = typename decltype(points)::value_type;
        return quantile_outputs<T const>{points, shared_fractions(vector_view<T const>(midpoints<T>), points.rows())};
    }

    /// Equally likely points of each state's distribution: outputs [B, N] → points [B, N]. Throws gmac::error if the
    /// shapes do not fit.
    template <class Outputs, class Points>
    constexpr void support(Outputs&& outputs_of_states, Points&& points_of_states) const {
        auto const raw = samples(outputs_of_states);
        auto const points = as_matrix(points_of_states);
        require_shape(points, raw.rows(), N, "the matrix of points", "dirac head");
        for (std::size_t i = 0; i < raw.rows(); ++i)
            for (std::size_t j = 0; j < N; ++j)
                points(i, j) = raw(i, j);
    }
};

} // namespace gmac::inline GMAC_ABI::heads
