// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/detail/space.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

namespace gmac::inline GMAC_ABI::actors {

/// A policy on real vectors of D elements whose noise is a function of the state, generalised state-dependent exploration
/// (gSDE, Raffin et al. 2021): aⱼ = μⱼ(s) + Σ_f θⱼ_f φ_f(s), where φ are the F features that the trunk gives and the matrix θ,
/// with independent θⱼ_f ~ N(0, σⱼ_f²), is drawn anew only after `noise_steps` steps, and for each rollout. As long as it is kept,
/// near states get near actions. For each state that is a normal distribution, so its density and entropy are exact:
///     aⱼ ~ N(μⱼ, Σ_f φ_f² σⱼ_f² + floor²).
///
/// Shapes: outputs [B, D + F], means and the features; actions [B, D]; free parameters [D, F], log σ, a row for each element
/// of the action; everything else [B]. All functions throw gmac::error for shapes that do not match. A number that is not
/// finite comes out in all results that depend on it.
struct state_dependent_exploration {
    double initial_deviation = 1.0; ///< of an action whose features are all ±1: σ starts at it / √F; positive
    double floor = 1e-3;            ///< the deviation of the noise beside θ; at least 1e-15
    std::size_t noise_steps = 4;    ///< steps of a rollout for which θ is kept; 0: all of them
    bool learn_features = false; ///< whether the features' gradient is written; else it is 0, as in the authors' code

    /// Columns that the actor's layer must give. Throws unless the space is a box, and for options out of range.
    [[nodiscard]] std::size_t output_size(action_space const& space) const {
        require(initial_deviation > 0.0 && std::isfinite(initial_deviation),
                "state_dependent_exploration: initial_deviation is {}, but must be positive and finite",
                initial_deviation);
        require(floor >= 1e-15 && std::isfinite(floor),
                "state_dependent_exploration: floor is {}, but must be at least 1e-15 and finite", floor);
        return detail::box_size("state_dependent_exploration", space);
    }
    [[nodiscard]] static constexpr bool reads_features() noexcept { return true; }
    [[nodiscard]] std::size_t free_parameter_count(action_space const& space, std::size_t features) const {
        return output_size(space) * features;
    }
    template <std::floating_point T>
    void initialize(std::span<T> free, std::size_t features) const {
        double const deviation = initial_deviation / std::sqrt(static_cast<double>(features));
        std::fill(free.begin(), free.end(), static_cast<T>(std::log(deviation)));
    }

    /// Draws an action for each row: θ of the row's stream, D F normals, and then D for the noise beside it. A stream that is
    /// where it was gives the same θ. Nothing is allocated.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void sample(Outputs const& outputs, detail::span_of<T const> free, std::span<random_stream> streams,
                detail::matrix_of<T> actions) const {
        matrix_view<T const> const columns(outputs);
        std::size_t const features = features_of(columns, free.size(), actions.rows(), actions.cols());
        require(streams.size() == columns.rows(),
                "state_dependent_exploration: there are {} random streams for {} rows", streams.size(), columns.rows());
        mode(columns, free, actions);
        std::size_t const size = actions.cols();
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t f = 0; f < features; ++f) {
                T const deviation = std::exp(free[j * features + f]);
                for (std::size_t i = 0; i < columns.rows(); ++i)
                    actions(i, j) += deviation * streams[i].normal<T>() * columns(i, size + f);
            }
        for (std::size_t i = 0; i < columns.rows(); ++i)
            for (std::size_t j = 0; j < size; ++j)
                actions(i, j) += static_cast<T>(floor) * streams[i].normal<T>();
    }

    /// The most probable action of each row: the mean.
    template <class Outputs, std::floating_point T = detail::matrix_value<Outputs>>
    void mode(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T> actions) const {
        matrix_view<T const> const columns(outputs);
        static_cast<void>(features_of(columns, free.size(), actions.rows(), actions.cols()));
        for (std::size_t i = 0; i < actions.rows(); ++i)
            for (std::size_t j = 0; j < actions.cols(); ++j)
                actions(i, j) = columns(i, j);
    }

    /// The logarithm of the density π(a), and the differential entropy, in nats.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void log_probability_and_entropy(Outputs const& outputs, detail::span_of<T const> free,
                                     detail::matrix_of<T const> actions, detail::vector_of<T> log_probabilities,
                                     detail::vector_of<T> entropies) const {
        matrix_view<T const> const columns(outputs);
        static_cast<void>(features_of(columns, free.size(), actions.rows(), actions.cols()));
        require_size(log_probabilities, columns.rows(), "log_probabilities", "state_dependent_exploration");
        require_size(entropies, columns.rows(), "entropies", "state_dependent_exploration");
        using V = lanes::lane_for_t<T>;
        matrix_view<T> const log_probability_column = as_column(log_probabilities);
        matrix_view<T> const entropy_column = as_column(entropies);
        auto const size = static_cast<double>(actions.cols());
        V const half = lanes::constant<V>(0.5);
        V const constants = lanes::constant<V>(half_log_two_pi * size);
        V const dimensions = lanes::constant<V>(0.5 * size);
        for (std::size_t i = 0; i < columns.rows(); i += lanes::width_of<V>) {
            std::size_t const count = (std::min)(lanes::width_of<V>, columns.rows() - i);
            V half_squares = lanes::constant<V>(0.0);
            V logs = lanes::constant<V>(0.0);
            for (std::size_t j = 0; j < actions.cols(); ++j) {
                V const variance = variances<V>(columns, free, actions.cols(), i, j, count);
                V const z = distances<V>(columns, actions, i, j, count) / lanes::sqrt(variance);
                half_squares = half_squares + half * z * z;
                logs = logs + half * lanes::log(variance);
            }
            lanes::store_rows<V>(-half_squares - logs - constants, log_probability_column, i, 0, count);
            lanes::store_rows<V>(logs + constants + dimensions, entropy_column, i, 0, count);
        }
    }

    /// The gradient of Σ_i (c_i log π(a_i) + d_i entropy_i), c = log_probability_gradient and d = entropy_gradient, with
    /// respect to the outputs, of which the features' is 0 unless learn_features, and to the free parameters. Written, not
    /// added, to output_gradient, shaped like the outputs and not their memory, and to free_gradient.
    template <class Outputs, class T = detail::matrix_value<Outputs>>
    void gradient(Outputs const& outputs, detail::span_of<T const> free, detail::matrix_of<T const> actions,
                  detail::vector_of<T const> log_probability_gradient, detail::vector_of<T const> entropy_gradient,
                  detail::matrix_of<T> output_gradient, detail::span_of<T> free_gradient) const {
        matrix_view<T const> const columns(outputs);
        std::size_t const size = actions.cols();
        std::size_t const features = features_of(columns, free.size(), actions.rows(), size);
        require_size(log_probability_gradient, columns.rows(), "log_probability_gradient",
                     "state_dependent_exploration");
        require_size(entropy_gradient, columns.rows(), "entropy_gradient", "state_dependent_exploration");
        require_shape(output_gradient, columns.rows(), columns.cols(), "output_gradient",
                      "state_dependent_exploration");
        require(free_gradient.size() == free.size(),
                "state_dependent_exploration: the gradient of {} free parameters has {} elements", free.size(),
                free_gradient.size());
        using V = lanes::lane_for_t<T>;
        constexpr std::size_t width = lanes::width_of<V>;
        matrix_view<T const> const policy_gradient = as_column(log_probability_gradient);
        matrix_view<T const> const bonus_gradient = as_column(entropy_gradient);
        V const one = lanes::constant<V>(1.0);
        std::fill(free_gradient.begin(), free_gradient.end(), T(0));
        for (std::size_t i = 0; i < columns.rows(); ++i)
            for (std::size_t f = 0; f < features; ++f)
                output_gradient(i, size + f) = T(0);
        alignas(64) std::array<T, width> weights; // of a row: the derivative by the variance, times 2
        for (std::size_t j = 0; j < size; ++j)
            for (std::size_t i = 0; i < columns.rows(); i += width) {
                std::size_t const count = (std::min)(width, columns.rows() - i);
                V const c = lanes::load_rows<V>(policy_gradient, i, 0, count);
                V const d = lanes::load_rows<V>(bonus_gradient, i, 0, count);
                V const variance = variances<V>(columns, free, size, i, j, count);
                V const deviation = lanes::sqrt(variance);
                V const z = distances<V>(columns, actions, i, j, count) / deviation;
                lanes::store_rows<V>(c * z / deviation, output_gradient, i, j, count);
                V const weight = (c * (z * z - one) + d) / variance;
                if constexpr (width == 1)
                    weights[0] = weight;
                else
                    weight.store_aligned(weights.data());
                add_weighted<V>(columns, free, size, i, j, std::span<T const>(weights).first(count), output_gradient,
                                free_gradient);
            }
    }

private:
    static constexpr double half_log_two_pi = 0.91893853320467274178;

    /// Of element j, σ of some features, from `first` on; lanes beyond `count` repeat the last one.
    template <class V, class T>
    [[nodiscard]] static V deviations(std::span<T const> free, std::size_t first, std::size_t count) noexcept {
        return lanes::exp(lanes::load_rows<V>(matrix_view<T const>(free.data(), free.size(), 1), first, 0, count));
    }
    /// Columns first … first + count − 1 of a row.
    template <class V, class T>
    [[nodiscard]] static V columns_at(matrix_view<T const> const& matrix, std::size_t row, std::size_t first,
                                      std::size_t count) noexcept {
        return lanes::load_rows<V>(transposed(matrix), first, row, count);
    }

    /// Of element j in rows i … i + count − 1; NaN where it is not finite.
    template <class V, class T>
    [[nodiscard]] V variances(matrix_view<T const> const& columns, std::span<T const> free, std::size_t size,
                              std::size_t i, std::size_t j, std::size_t count) const noexcept {
        constexpr std::size_t width = lanes::width_of<V>;
        std::size_t const features = columns.cols() - size;
        std::array<V, width> sums;
        sums.fill(lanes::constant<V>(0.0));
        alignas(64) std::array<T, width> totals{};
        for (std::size_t f = 0; f < features; f += width) {
            std::size_t const some = (std::min)(width, features - f);
            V const deviation = deviations<V>(free, j * features + f, some);
            for (std::size_t r = 0; r < count; ++r) {
                V const noise = columns_at<V>(columns, i + r, size + f, some) * deviation;
                if (some == width)
                    sums[r] = sums[r] + noise * noise;
                else
                    totals[r] = lanes::sum_lanes(V(noise * noise), some);
            }
        }
        for (std::size_t r = 0; r < count; ++r)
            totals[r] = totals[r] + lanes::sum_lanes(sums[r]);
        std::fill(totals.begin() + static_cast<std::ptrdiff_t>(count), totals.end(), totals[count - 1]);
        V const variance = lanes::load_rows<V>(matrix_view<T const>(totals.data(), width, 1), 0, 0) +
                           lanes::constant<V>(floor * floor);
        return variance + lanes::taint(&variance, 1);
    }
    template <class V, class T>
    [[nodiscard]] static V distances(matrix_view<T const> const& columns, matrix_view<T const> const& actions,
                                     std::size_t i, std::size_t j, std::size_t count) noexcept {
        return lanes::load_rows<V>(actions, i, j, count) - lanes::load_rows<V>(columns, i, j, count);
    }

    /// Adds what element j of some rows contributes to the gradients of its parameters, w (φ σ)², and of the features, w φ σ².
    template <class V, class T>
    void add_weighted(matrix_view<T const> const& columns, std::span<T const> free, std::size_t size, std::size_t i,
                      std::size_t j, std::span<T const> weights, matrix_view<T> const& output_gradient,
                      std::span<T> free_gradient) const noexcept {
        constexpr std::size_t width = lanes::width_of<V>;
        std::size_t const features = columns.cols() - size;
        matrix_view<T> const of_free(free_gradient.data() + j * features, features, 1);
        matrix_view<T> const of_columns = transposed(output_gradient);
        auto const add = [](V const& more, matrix_view<T> const& to, std::size_t row, std::size_t col,
                            std::size_t count) {
            lanes::store_rows<V>(lanes::load_rows<V>(matrix_view<T const>(to), row, col, count) + more, to, row, col,
                                 count);
        };
        for (std::size_t f = 0; f < features; f += width) {
            std::size_t const some = (std::min)(width, features - f);
            V const deviation = deviations<V>(free, j * features + f, some);
            V sum = lanes::constant<V>(0.0);
            for (std::size_t r = 0; r < weights.size(); ++r) {
                V const noise = columns_at<V>(columns, i + r, size + f, some) * deviation;
                V const weighted = V(weights[r]) * noise;
                sum = sum + weighted * noise;
                if (learn_features)
                    add(weighted * deviation, of_columns, size + f, i + r, some);
            }
            add(sum, of_free, f, 0, some);
        }
    }

    /// How many features there are. Throws for shapes that do not match.
    template <class T>
    [[nodiscard]] static std::size_t features_of(matrix_view<T const> const& outputs, std::size_t free,
                                                 std::size_t rows, std::size_t size) {
        require(size > 0 && outputs.cols() > size && rows == outputs.rows(),
                "state_dependent_exploration: outputs is {} x {} and actions {} x {}, but outputs has a row for each "
                "action, with a column for each element and the features",
                outputs.rows(), outputs.cols(), rows, size);
        std::size_t const features = outputs.cols() - size;
        require(free == size * features,
                "state_dependent_exploration: {} free parameters were given, but it has {}, one for each of {} "
                "elements and {} features",
                free, size * features, size, features);
        return features;
    }
};

} // namespace gmac::inline GMAC_ABI::actors
