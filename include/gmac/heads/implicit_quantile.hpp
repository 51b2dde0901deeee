// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/detail/row_means.hpp>
#include <gmac/heads/quantile_outputs.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace gmac::inline GMAC_ABI::nn {
template <class Backend>
class implicit_quantile_network;
}

namespace gmac::inline GMAC_ABI::heads {

/// The quantile function of the value distribution as a network of the fraction (Dabney et al. 2018, "Implicit quantile
/// networks for distributional reinforcement learning"; IQAC in the paper): N fractions τ are drawn uniformly from
/// [0, 1), each goes through a cosine embedding cos(π i τ), i = 1 … `embedding`, and a layer of the trunk's width, is
/// multiplied element-wise with the trunk's features, and passes a layer of `hidden` units to one value.
///
/// `samples_per_state` fractions are drawn for every state, or once for all states of a minibatch (`shared`), which saves the
/// embedding. Losses take gmac::quantile_outputs, with [B, N] values and their fractions.
struct implicit_quantile {
    static constexpr std::string_view name = "implicit_quantile";

    std::size_t samples_per_state = 64; ///< N
    std::size_t embedding = 64;         ///< cosines of a fraction
    std::size_t hidden = 256;           ///< units between the product and the value
    bool shared = false;                ///< one set of fractions for the whole minibatch

    template <class Backend>
    using network = nn::implicit_quantile_network<Backend>;

    [[nodiscard]] constexpr std::size_t output_size() const noexcept { return samples_per_state; }
    /// How many equally likely points `support` gives for a state.
    [[nodiscard]] constexpr std::size_t support_size() const noexcept { return samples_per_state; }

    /// How many rows of fractions a minibatch of `rows` states needs.
    [[nodiscard]] constexpr std::size_t fraction_rows(std::size_t rows) const noexcept { return shared ? 1 : rows; }

    /// Draws fractions into [fraction_rows(B), N], row by row.
    template <std::floating_point T>
    void draw(random_stream& random, matrix_view<T> fractions) const {
        require(fractions.cols() == samples_per_state,
                "implicit_quantile head: fractions is {} x {}, but must have {} columns", fractions.rows(),
                fractions.cols(), samples_per_state);
        for (std::size_t i = 0; i < fractions.rows(); ++i)
            for (std::size_t j = 0; j < fractions.cols(); ++j)
                fractions(i, j) = random.uniform<T>();
    }

    /// The value of each state, the mean of its quantiles: [B, N] → values [B]. Throws gmac::error if the shapes do not fit.
    template <class T, class Values>
    void mean(quantile_outputs<T> const& outputs, Values&& values_of_states) const {
        detail::row_means(outputs.values, samples_per_state, as_vector(values_of_states), name_in_messages);
    }
    template <class Outputs, class Values>
    void mean(Outputs const& values_of_quantiles, Values&& values_of_states) const {
        detail::row_means(as_matrix(values_of_quantiles), samples_per_state, as_vector(values_of_states),
                          name_in_messages);
    }

    /// The quantiles as samples of the value distribution, [B, N]. Throws gmac::error if the shape does not fit.
    template <class T>
    [[nodiscard]] constexpr matrix_view<std::remove_const_t<T> const> samples(
        quantile_outputs<T> const& outputs) const {
        return samples(outputs.values);
    }
    template <class Outputs>
    [[nodiscard]] constexpr auto samples(Outputs const& values_of_quantiles) const {
        auto const raw = as_matrix(values_of_quantiles);
        using T = typename decltype(raw)::value_type;
        require_shape(raw, raw.rows(), samples_per_state, "the matrix of quantiles", name_in_messages);
        return matrix_view<T const>(raw);
    }

    /// The quantiles with their fractions. Throws gmac::error if the shapes do not fit.
    template <class T>
    [[nodiscard]] constexpr quantile_outputs<std::remove_const_t<T> const> quantiles(
        quantile_outputs<T> const& outputs) const {
        require_shape(outputs.values, outputs.rows(), samples_per_state, "the matrix of quantiles", name_in_messages);
        require_shape(outputs.fractions, outputs.rows(), samples_per_state, "the matrix of fractions",
                      name_in_messages);
        return outputs;
    }

    /// A matrix of quantiles alone is refused with one sentence.
    template <class T>
    [[nodiscard]] constexpr quantile_outputs<std::remove_const_t<T> const> quantiles(matrix_view<T> const&) const {
        static_assert(!std::same_as<T, T>,
                      "heads::implicit_quantile has a fraction for each quantile: its outputs are "
                      "gmac::quantile_outputs{values, fractions}, as nn::implicit_quantile_network gives "
                      "them, not one matrix");
        return {};
    }

    /// Equally likely points of each state's distribution: quantiles [B, N] → points [B, N]. Throws gmac::error if the
    /// shapes do not fit.
    template <class Outputs, class Points>
    constexpr void support(Outputs&& values_of_quantiles, Points&& points_of_states) const {
        auto const raw = as_matrix(values_of_quantiles);
        auto const points = as_matrix(points_of_states);
        require_shape(raw, raw.rows(), samples_per_state, "the matrix of quantiles", name_in_messages);
        require_shape(points, raw.rows(), samples_per_state, "the matrix of points", name_in_messages);
        for (std::size_t i = 0; i < raw.rows(); ++i)
            for (std::size_t j = 0; j < samples_per_state; ++j)
                points(i, j) = raw(i, j);
    }

private:
    static constexpr std::string_view name_in_messages = "implicit_quantile head";
};

} // namespace gmac::inline GMAC_ABI::heads
