// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

namespace gmac::inline GMAC_ABI::heads {

/// The atoms z_0 < … < z_{N−1} of a categorical head, evenly spaced, or evenly spaced in
///     symlog(z) = sign(z) log(1 + |z|)
/// (Hafner et al. 2023, "Mastering diverse domains through world models"): fine near zero and coarse far out.
template <class T, std::size_t N>
struct atom_grid {
    std::array<T, N> atoms;
    std::array<T, N - 1> gaps; ///< z_{i+1} − z_i
    std::array<T, N - 1> inverse_gaps;
    double origin;         ///< z_0, or symlog(z_0)
    double atoms_per_unit; ///< of z, or of symlog(z)
    bool symlog;

    /// Where x lies among the atoms: i at atom i, between two atoms linear in x or, if they are even in symlog, in
    /// symlog(x). Below the lowest atom it is 0 and above the highest N − 1. NaN stays.
    template <class V>
    [[nodiscard]] V place(V const& x) const noexcept {
        V const position = (symlog ? symlog_of(x) : x) - lanes::constant<V>(origin);
        V const last = lanes::constant<V>(static_cast<double>(N - 1));
        return lanes::at_least(lanes::constant<V>(0.0),
                               lanes::at_most(last, V(position * lanes::constant<V>(atoms_per_unit))));
    }

private:
    template <class V>
    [[nodiscard]] static V symlog_of(V const& x) noexcept {
        V const size = lanes::log1p(V(lanes::abs(x)));
        return lanes::select(x < lanes::constant<V>(0.0), V(-size), size);
    }
};

/// Probabilities of N fixed atoms as the value distribution of a state, as in C51 (Bellemare et al. 2017, "A distributional
/// perspective on reinforcement learning"). The N raw outputs of a state are logits l, the probabilities softmax(l).
///
/// The atoms lie between `minimum` and `maximum`, both among them, in units of the return; see atom_grid. What a loss
/// learns of returns beyond them is clipped, so the range should be wide enough.
template <std::size_t N>
struct categorical {
    static_assert(N > 1, "a categorical head needs at least two atoms");

    static constexpr std::string_view name = "categorical";
    static constexpr std::size_t outputs = N;

    double minimum = -10.0;
    double maximum = 10.0;
    bool symlog = false; ///< atoms evenly spaced in symlog of the return

    [[nodiscard]] static constexpr std::size_t output_size() noexcept { return N; }
    /// How many points `support` gives for a state.
    [[nodiscard]] static constexpr std::size_t support_size() noexcept { return N; }

    /// The atoms. Throws gmac::error unless minimum < maximum, both finite, so far apart that T tells the atoms from
    /// each other and their distances have inverses, and so near that sums of a few distances do not overflow. Batch
    /// functions and losses call it.
    template <class T>
    [[nodiscard]] atom_grid<T, N> grid() const {
        require(
            std::isfinite(minimum) && std::isfinite(maximum) && minimum < maximum,
            "categorical head: the atoms lie from {} to {}, but the minimum must be less than the maximum, and both "
            "finite",
            minimum, maximum);
        auto const bent = [](double z) { return std::copysign(std::log1p(std::abs(z)), z); };
        auto const straight = [](double y) { return std::copysign(std::expm1(std::abs(y)), y); };
        double const first = symlog ? bent(minimum) : minimum;
        double const last = symlog ? bent(maximum) : maximum;
        require(
            maximum / 2.0 - minimum / 2.0 <= static_cast<double>((std::numeric_limits<T>::max)()) / 32.0,
            "categorical head: the atoms lie from {} to {}, which is too far apart for sums of distances in this type",
            minimum, maximum);
        atom_grid<T, N> result{};
        result.origin = first;
        result.atoms_per_unit = static_cast<double>(N - 1) / (last - first);
        result.symlog = symlog;
        for (std::size_t i = 0; i < N; ++i) {
            double const share = static_cast<double>(i) / static_cast<double>(N - 1);
            double const y = (1.0 - share) * first + share * last;
            result.atoms[i] = static_cast<T>(symlog ? straight(y) : y);
        }
        result.atoms[0] = static_cast<T>(minimum);
        result.atoms[N - 1] = static_cast<T>(maximum);
        for (std::size_t i = 0; i + 1 < N; ++i) {
            result.gaps[i] = result.atoms[i + 1] - result.atoms[i];
            require(result.gaps[i] > T(0) && result.gaps[i] - result.gaps[i] == T(0),
                    "categorical head: {} atoms from {} to {} cannot be told from each other in this type", N, minimum,
                    maximum);
            result.inverse_gaps[i] = T(1) / result.gaps[i];
            require(result.inverse_gaps[i] - result.inverse_gaps[i] == T(0),
                    "categorical head: {} atoms from {} to {} are too near each other for the inverse of a distance in "
                    "this type",
                    N, minimum, maximum);
        }
        return result;
    }

    /// One distribution a lane. The probability of atom i is also exp((l_i − largest) − log_total), which keeps the
    /// digits of a small one's logarithm.
    template <class V>
    struct parameters {
        std::array<V, N> probabilities;
        V largest;   ///< logit
        V log_total; ///< log Σ exp(l_i − largest)
    };

    /// No exponential overflows, and a NaN or +∞ among the logits makes every probability NaN.
    template <class V>
    [[nodiscard]] parameters<V> transform(std::array<V, N> const& logits) const noexcept {
        parameters<V> result;
        result.largest = largest_of(logits);
        V total = lanes::constant<V>(0.0);
        for (std::size_t i = 0; i < N; ++i) {
            result.probabilities[i] = lanes::exp(V(logits[i] - result.largest));
            total = total + result.probabilities[i];
        }
        result.log_total = lanes::log(total);
        V const inverse = lanes::constant<V>(1.0) / total;
        for (V& probability : result.probabilities)
            probability = probability * inverse;
        return result;
    }

    /// From the gradient with respect to the probabilities to the one with respect to the logits, in place:
    /// p_i (g_i − Σ p_j g_j).
    template <class V>
    void pull_back(parameters<V> const& distribution, std::array<V, N>& gradient) const noexcept {
        V average = lanes::constant<V>(0.0);
        for (std::size_t i = 0; i < N; ++i)
            average = average + distribution.probabilities[i] * gradient[i];
        for (std::size_t i = 0; i < N; ++i)
            gradient[i] = distribution.probabilities[i] * (gradient[i] - average);
    }

    /// The value of each state, the mean of its distribution: outputs [B, N] → values [B]. Throws gmac::error if the
    /// shapes do not fit, the values overlap the outputs, or the atoms are refused.
    template <class Outputs, class Values>
    void mean(Outputs&& outputs_of_states, Values&& values_of_states) const {
        auto const raw = as_matrix(outputs_of_states);
        using T = typename decltype(raw)::value_type;
        auto const values = gmac::detail::result_as<T>(as_vector(values_of_states));
        matrix_view<T> const column(values.data(), values.size(), 1, values.stride(), 1);
        gmac::detail::require_values(values.size(), raw.rows(), "categorical head");
        require_shape(raw, raw.rows(), N, "outputs", "categorical head");
        require(!may_overlap(column, raw), "categorical head: the values overlap the outputs");
        auto atoms = grid<T>().atoms;
        T const shrink = shrink_for_sum(atoms);
        for (T& atom : atoms)
            atom = atom * shrink;
        T const grow = T(1) / shrink;
        for_each_block(raw, [&](auto const& logits, std::size_t first, std::size_t count) {
            using V = std::remove_cvref_t<decltype(logits[0])>;
            V const largest = largest_of(logits);
            V total = lanes::constant<V>(0.0);
            V sum = total;
            for (std::size_t i = 0; i < N; ++i) {
                V const share = lanes::exp(V(logits[i] - largest));
                total = total + share;
                sum = sum + share * V(atoms[i]);
            }
            lanes::store_rows(V(sum / total * V(grow)), column, first, 0, count);
        });
    }

    /// The atoms and their probabilities: outputs [B, N] → points, weights [B, N]. Throws gmac::error if the shapes do not
    /// fit, a result overlaps the outputs, or the atoms are refused.
    template <class Outputs, class Points, class Weights>
    void support(Outputs&& outputs_of_states, Points&& points_of_states, Weights&& weights_of_states) const {
        auto const raw = as_matrix(outputs_of_states);
        using T = typename decltype(raw)::value_type;
        auto const points = gmac::detail::result_as<T>(as_matrix(points_of_states));
        auto const weights = gmac::detail::result_as<T>(as_matrix(weights_of_states));
        require_shape(raw, raw.rows(), N, "outputs", "categorical head");
        require_shape(points, raw.rows(), N, "the matrix of points", "categorical head");
        require_shape(weights, raw.rows(), N, "the matrix of weights", "categorical head");
        require(!may_overlap(points, raw) && !may_overlap(weights, raw),
                "categorical head: the support overlaps the outputs");
        auto const atoms = grid<T>().atoms;
        for (std::size_t i = 0; i < raw.rows(); ++i)
            for (std::size_t j = 0; j < N; ++j)
                points(i, j) = atoms[j];
        for_each_block(raw, [&](auto const& logits, std::size_t first, std::size_t count) {
            auto const probabilities = transform(logits).probabilities;
            lanes::write_columns(probabilities.data(), weights, first, 0, N, count);
        });
    }

private:
    /// A power of two times which the atoms' sum does not overflow: 1 unless they are huge.
    template <class T>
    [[nodiscard]] static T shrink_for_sum(std::array<T, N> const& atoms) noexcept {
        T const less = T(1) / static_cast<T>(std::bit_ceil(N));
        T const most = (std::numeric_limits<T>::max)() * less;
        return atoms[0] < -most || atoms[N - 1] > most ? less : T(1);
    }

    template <class V>
    [[nodiscard]] static V largest_of(std::array<V, N> const& logits) noexcept {
        V largest = logits[0];
        for (std::size_t i = 1; i < N; ++i)
            largest = lanes::select(largest < logits[i], logits[i], largest);
        return largest;
    }

    /// Calls visit(logits of a block of lanes, first state, number of states) for every block.
    template <class T, class Visit>
    static void for_each_block(matrix_view<T> const& raw, Visit&& visit) {
        using V = lanes::lane_for_t<T>;
        for (std::size_t first = 0; first < raw.rows(); first += lanes::width_of<V>) {
            std::size_t const count = (std::min)(lanes::width_of<V>, raw.rows() - first);
            std::array<V, N> logits;
            lanes::read_columns(raw, first, 0, N, logits.data(), count);
            visit(logits, first, count);
        }
    }
};

} // namespace gmac::inline GMAC_ABI::heads
