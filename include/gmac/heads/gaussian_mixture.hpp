// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

namespace gmac::inline GMAC_ABI::heads {

/// A mixture of K Gaussian components as the value distribution of a state (GMAC in the paper).
///
/// Raw outputs of a state, 3 K columns: K weight logits l, K means μ, K raw deviations x. Then
///     w = softmax(l),   μ = μ,   σ = √(scale · (softplus(x) + floor)).
/// `scale` is a variance in squared units of the return. A floor of 0 lets a component shrink to a point.
template <std::size_t K>
struct gaussian_mixture {
    static_assert(K > 0, "a Gaussian mixture needs at least one component");

    static constexpr std::string_view name = "gaussian_mixture";
    static constexpr std::size_t components = K;
    static constexpr std::size_t outputs = 3 * K;

    double scale = 0.05 * 0.05;
    double floor = 1.0;

    [[nodiscard]] static constexpr std::size_t output_size() noexcept { return outputs; }

    /// Throws gmac::error unless scale is positive and finite, floor finite and not negative. Batch functions and losses
    /// call it.
    void check() const {
        require(scale > 0.0 && scale <= (std::numeric_limits<double>::max)(),
                "gaussian_mixture head: scale is {}, but must be positive and finite", scale);
        require(floor >= 0.0 && floor <= (std::numeric_limits<double>::max)(),
                "gaussian_mixture head: floor is {}, but must be finite and not negative", floor);
    }

    /// One mixture a lane; also the gradient with respect to these quantities.
    template <class V>
    struct parameters {
        std::array<V, K> weights, means, deviations;
    };

    template <class V>
    [[nodiscard]] parameters<V> transform(std::array<V, outputs> const& raw) const noexcept {
        parameters<V> result;
        result.weights = softmax(raw);
        for (std::size_t k = 0; k < K; ++k) {
            result.means[k] = raw[K + k];
            result.deviations[k] = deviation(raw[2 * K + k]);
        }
        return result;
    }

    /// From the gradient with respect to (weights, means, deviations) to the one with respect to the raw outputs.
    template <class V>
    void pull_back(std::array<V, outputs> const& raw, parameters<V> const& mixture,
                   parameters<V> const& parameter_gradient, std::array<V, outputs>& raw_gradient) const noexcept {
        using lanes::select;
        using lanes::softplus_sigmoid;
        V average = mixture.weights[0] * parameter_gradient.weights[0];
        for (std::size_t k = 1; k < K; ++k)
            average = average + mixture.weights[k] * parameter_gradient.weights[k];
        V const variance_floor = lanes::constant<V>(floor);
        V const zero = lanes::constant<V>(0.0);
        V const one = lanes::constant<V>(1.0);
        for (std::size_t k = 0; k < K; ++k) {
            raw_gradient[k] = mixture.weights[k] * (parameter_gradient.weights[k] - average);
            raw_gradient[K + k] = parameter_gradient.means[k];
            // σ² = c (softplus + floor), so dσ/dx = σ/2 · sigmoid / (softplus + floor). With floor 0 the ratio tends to 1
            // where softplus underflows.
            auto const [value, slope] = softplus_sigmoid(raw[2 * K + k]);
            V const total = value + variance_floor;
            V const ratio = select(total == zero, one, V(slope / total));
            raw_gradient[2 * K + k] =
                parameter_gradient.deviations[k] * (lanes::constant<V>(0.5) * mixture.deviations[k] * ratio);
        }
    }

    /// The mean of the mixture: the value of the state.
    template <class V>
    [[nodiscard]] V mean(std::array<V, outputs> const& raw) const noexcept {
        std::array<V, K> const weights = softmax(raw);
        V result = weights[0] * raw[K];
        for (std::size_t k = 1; k < K; ++k)
            result = result + weights[k] * raw[K + k];
        return result;
    }

    /// The value of each state: outputs [B, 3K] → values [B]. Throws gmac::error if the shapes do not fit, the values
    /// overlap the outputs, or an option is out of its range.
    template <class Outputs, class Values>
    void mean(Outputs&& outputs_of_states, Values&& values_of_states) const {
        auto const raw = as_matrix(outputs_of_states);
        using T = typename decltype(raw)::value_type;
        auto const values = gmac::detail::result_as<T>(as_vector(values_of_states));
        gmac::detail::require_values(values.size(), raw.rows(), "gaussian_mixture head");
        require_shape(raw, raw.rows(), outputs, "outputs", "gaussian_mixture head");
        matrix_view<T> const column = as_column(values);
        require(!may_overlap(column, raw), "gaussian_mixture head: the values overlap the outputs");
        for_each_block(raw, [&](auto const& block, std::size_t first, std::size_t count) {
            lanes::store_rows(mean(block), column, first, 0, count);
        });
    }

    /// The mixture of each state: outputs [B, 3K] → weights, means, deviations, [B, K] each. Throws gmac::error if the
    /// shapes do not fit, a result overlaps the outputs, or an option is out of its range.
    template <class Outputs, class Weights, class Means, class Deviations>
    void distribution(Outputs&& outputs_of_states, Weights&& weights_of_states, Means&& means_of_states,
                      Deviations&& deviations_of_states) const {
        auto const raw = as_matrix(outputs_of_states);
        using T = typename decltype(raw)::value_type;
        auto const weights = gmac::detail::result_as<T>(as_matrix(weights_of_states));
        auto const means = gmac::detail::result_as<T>(as_matrix(means_of_states));
        auto const deviations = gmac::detail::result_as<T>(as_matrix(deviations_of_states));
        require(raw.cols() == outputs, "gaussian_mixture head: outputs is {} x {}, but must have {} columns",
                raw.rows(), raw.cols(), outputs);
        require_shape(weights, raw.rows(), K, "weights", "gaussian_mixture head");
        require_shape(means, raw.rows(), K, "means", "gaussian_mixture head");
        require_shape(deviations, raw.rows(), K, "deviations", "gaussian_mixture head");
        require(!may_overlap(weights, raw) && !may_overlap(means, raw) && !may_overlap(deviations, raw),
                "gaussian_mixture head: the distribution overlaps the outputs");
        for_each_block(raw, [&](auto const& block, std::size_t first, std::size_t count) {
            auto const mixture = transform(block);
            for (std::size_t k = 0; k < K; ++k) {
                lanes::store_rows(mixture.weights[k], weights, first, k, count);
                lanes::store_rows(mixture.means[k], means, first, k, count);
                lanes::store_rows(mixture.deviations[k], deviations, first, k, count);
            }
        });
    }

private:
    /// √(scale · (softplus(x) + floor)).
    template <class V>
    [[nodiscard]] V deviation(V const& x) const noexcept {
        using lanes::constant;
        constexpr bool single = std::same_as<lanes::scalar_of<V>, float>;
        V const spread = lanes::softplus(x) + constant<V>(floor);
        constexpr double least = single ? 1e-37 : 1e-307;
        if (scale <= 1.0 && scale > least && scale * floor > least) // always a normal number
            return lanes::sqrt(V(constant<V>(scale) * spread));
        V root = lanes::sqrt(spread);
        if (floor == 0.0) // softplus tends to exp, whose root underflows later
            root = lanes::select(x < constant<V>(single ? -20.0 : -40.0), V(lanes::exp(V(constant<V>(0.5) * x))), root);
        return constant<V>(std::sqrt(scale)) * root;
    }

    /// exp(l − max l) / sum: no exponential overflows, and a NaN or +∞ among the logits makes every weight NaN.
    template <class V>
    [[nodiscard]] static std::array<V, K> softmax(std::array<V, outputs> const& raw) noexcept {
        using lanes::exp;
        using lanes::select;
        V largest = raw[0];
        for (std::size_t k = 1; k < K; ++k)
            largest = select(largest < raw[k], raw[k], largest);
        std::array<V, K> weights;
        weights[0] = exp(V(raw[0] - largest));
        V sum = weights[0];
        for (std::size_t k = 1; k < K; ++k) {
            weights[k] = exp(V(raw[k] - largest));
            sum = sum + weights[k];
        }
        V const inverse = lanes::constant<V>(1.0) / sum;
        for (V& weight : weights)
            weight = weight * inverse;
        return weights;
    }

    /// Calls visit(raw outputs of a block of lanes, first state, number of states) for every block.
    template <class T, class Visit>
    void for_each_block(matrix_view<T> const& raw, Visit&& visit) const {
        check();
        using V = lanes::lane_for_t<T>;
        for (std::size_t first = 0; first < raw.rows(); first += lanes::width_of<V>) {
            std::size_t const count = (std::min)(lanes::width_of<V>, raw.rows() - first);
            std::array<V, outputs> block;
            for (std::size_t j = 0; j < outputs; ++j)
                block[j] = lanes::load_rows<V>(raw, first, j, count);
            visit(block, first, count);
        }
    }
};

} // namespace gmac::inline GMAC_ABI::heads
