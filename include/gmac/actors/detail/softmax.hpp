// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

/// Softmax policies on logits [B, n], any columns of the outputs of a network, one action a row. Of what they are given
/// nothing is checked here. A logit that is NaN or +∞ gives NaN in all results of its row; so does a row of −∞ alone.
namespace gmac::inline GMAC_ABI::detail {

/// By inversion of a uniform number in [0, 1).
template <class T>
[[nodiscard]] T draw_of_softmax(vector_view<T const> const& logits, T uniform) noexcept {
    T highest = logits[0];
    for (std::size_t j = 1; j < logits.size(); ++j)
        highest = logits[j] > highest ? logits[j] : highest;
    T sum = 0;
    for (std::size_t j = 0; j < logits.size(); ++j)
        sum += std::exp(logits[j] - highest);
    if (!(sum >= T(1))) // a NaN, or all are forbidden
        return (std::numeric_limits<T>::quiet_NaN)();
    T const mark = uniform * sum;
    T passed = 0;
    std::size_t action = 0;
    for (std::size_t j = 0; j < logits.size(); ++j) {
        T const part = std::exp(logits[j] - highest);
        passed += part;
        if (part > T(0)) // a forbidden action is not drawn, whatever the rounding
            action = j;
        if (mark < passed)
            break;
    }
    return static_cast<T>(action);
}

/// The most probable action, the first of several.
template <class T>
[[nodiscard]] T mode_of_softmax(vector_view<T const> const& logits) noexcept {
    std::size_t best = 0;
    T spoiled = 0;
    for (std::size_t j = 0; j < logits.size(); ++j) {
        best = logits[j] > logits[best] ? j : best;
        spoiled += std::isnan(logits[j]) ? logits[j] : T(0);
    }
    spoiled += logits[best] - logits[best]; // not 0 if it is infinite
    return static_cast<T>(best) + spoiled;
}

template <class V>
struct softmax_summary {
    V highest; ///< the largest logit
    V log_sum; ///< log Σ exp(z − highest)
    V entropy;
};
template <class V, class T>
[[nodiscard]] softmax_summary<V> summarise_softmax(matrix_view<T const> const& logits, std::size_t first,
                                                   std::size_t count) noexcept {
    V const zero = lanes::constant<V>(0.0);
    V highest = lanes::load_rows<V>(logits, first, 0, count);
    for (std::size_t j = 1; j < logits.cols(); ++j) {
        V const logit = lanes::load_rows<V>(logits, first, j, count);
        highest = lanes::select(logit > highest, logit, highest);
    }
    V sum = zero;
    V weighted = zero; // Σ exp(d) d with d = z − highest <= 0
    for (std::size_t j = 0; j < logits.cols(); ++j) {
        V const distance = lanes::load_rows<V>(logits, first, j, count) - highest;
        V const part = lanes::exp(distance);
        sum = sum + part;
        weighted = weighted + lanes::select(part == zero, zero, V(part * distance));
    }
    V const log_sum = lanes::log(sum);
    return {highest, log_sum, log_sum - weighted / sum};
}

/// log π(a) and the entropy −Σ π log π, all columns [B, 1]; added to what is there, or written.
template <class T>
void softmax_log_probability_and_entropy(matrix_view<T const> const& logits, matrix_view<T const> const& actions,
                                         matrix_view<T> const& log_probabilities, matrix_view<T> const& entropies,
                                         bool add) {
    using V = lanes::lane_for_t<T>;
    for (std::size_t i = 0; i < logits.rows(); i += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, logits.rows() - i);
        auto const all = summarise_softmax<V>(logits, i, count);
        V const action = lanes::load_rows<V>(actions, i, 0, count);
        V chosen = lanes::constant<V>(0.0);
        for (std::size_t j = 0; j < logits.cols(); ++j) {
            V const logit = lanes::load_rows<V>(logits, i, j, count);
            chosen = lanes::select(action == lanes::constant<V>(static_cast<double>(j)), logit, chosen);
        }
        V log_probability = chosen - all.highest - all.log_sum;
        V entropy = all.entropy;
        if (add) {
            log_probability = lanes::load_rows<V>(log_probabilities, i, 0, count) + log_probability;
            entropy = lanes::load_rows<V>(entropies, i, 0, count) + entropy;
        }
        lanes::store_rows<V>(log_probability, log_probabilities, i, 0, count);
        lanes::store_rows<V>(entropy, entropies, i, 0, count);
    }
}

/// The gradient of Σ_i (c_i log π(a_i) + d_i entropy_i): c (1{a = j} − π_j) − d π_j (log π_j + entropy). It may be written to
/// the logits' memory.
template <class T>
void softmax_gradient(matrix_view<T const> const& logits, matrix_view<T const> const& actions,
                      matrix_view<T const> const& log_probability_gradient,
                      matrix_view<T const> const& entropy_gradient, matrix_view<T> const& output_gradient) {
    using V = lanes::lane_for_t<T>;
    V const zero = lanes::constant<V>(0.0);
    for (std::size_t i = 0; i < logits.rows(); i += lanes::width_of<V>) {
        std::size_t const count = (std::min)(lanes::width_of<V>, logits.rows() - i);
        auto const all = summarise_softmax<V>(logits, i, count);
        V const action = lanes::load_rows<V>(actions, i, 0, count);
        V const c = lanes::load_rows<V>(log_probability_gradient, i, 0, count);
        V const d = lanes::load_rows<V>(entropy_gradient, i, 0, count);
        for (std::size_t j = 0; j < logits.cols(); ++j) {
            V const log_probability = lanes::load_rows<V>(logits, i, j, count) - all.highest - all.log_sum;
            V const probability = lanes::exp(log_probability);
            V const hit = lanes::select(action == lanes::constant<V>(static_cast<double>(j)), c, zero);
            V const surprise = d * probability * (log_probability + all.entropy);
            // A forbidden action: 0 · −∞ is meant as the limit 0.
            V const bonus = lanes::select(probability == zero, zero, surprise);
            lanes::store_rows<V>(hit - c * probability - bonus, output_gradient, i, j, count);
        }
    }
}

} // namespace gmac::inline GMAC_ABI::detail
