// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/losses/detail/number_type.hpp>
#include <gmac/losses/detail/smaller_unit.hpp>
#include <gmac/targets/particles.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>

/// What the losses between samples share: what they accept and their checks.
namespace gmac::inline GMAC_ABI::losses {

/// A head that gives samples of its distribution: `head.samples(outputs)` is a matrix_view [B, N].
template <class Head>
concept sample_head = requires(Head const& head, matrix_view<float const> columns) {
    { head.samples(columns) } -> std::same_as<matrix_view<float const>>;
} || requires(Head const& head, quantile_outputs<float const> const& quantiles) {
    { head.samples(quantiles) } -> std::same_as<matrix_view<float const>>;
};

/// A head that predicts quantiles: `head.quantiles(outputs)` is a gmac::quantile_outputs, [B, N] values and fractions.
template <class Head>
concept quantile_head = requires(Head const& head, matrix_view<float const> columns) {
    { head.quantiles(columns) } -> std::same_as<quantile_outputs<float const>>;
} || requires(Head const& head, quantile_outputs<float const> const& quantiles) {
    { head.quantiles(quantiles) } -> std::same_as<quantile_outputs<float const>>;
};

namespace detail {

template <class Targets>
inline constexpr bool are_dirac_particles = false;
template <class T>
inline constexpr bool are_dirac_particles<targets::dirac_particles<T>> = true;

/// Row `state` of a matrix, or nothing of an empty matrix.
template <class T>
[[nodiscard]] constexpr vector_view<T> row_of(matrix_view<T> const& matrix, std::size_t state) noexcept {
    return matrix.empty() ? vector_view<T>() : matrix.row(state);
}

/// What is to be known of a row: whether all its elements are in an interval (a NaN is not), and their sum.
template <class T>
struct row_check {
    bool within;
    T sum;
};
template <class T>
[[nodiscard]] row_check<T> check_row(vector_view<T const> const& row, double least, double greatest) noexcept {
    using V = lanes::lane_for_t<T>;
    constexpr std::size_t width = lanes::width_of<V>;
    row_check<T> result{true, T(0)};
    std::size_t i = 0;
    if constexpr (width > 1) { // not left to the compiler: at -O2 the check would cost more than some losses
        if (row.contiguous() && row.size() >= width) {
            V const low(static_cast<T>(least));
            V const high(static_cast<T>(greatest));
            V sum(T(0));
            auto outside = sum != sum;
            for (; i + width <= row.size(); i += width) {
                V const x = V::load_unaligned(row.data() + i);
                outside = outside || !(low <= x) || !(x <= high);
                sum = sum + x;
            }
            result = {!lanes::any(outside), lanes::sum_lanes(sum)};
        }
    }
    for (; i < row.size(); ++i) {
        result.within = result.within && row[i] >= static_cast<T>(least) && row[i] <= static_cast<T>(greatest);
        result.sum = result.sum + row[i];
    }
    return result;
}

/// Names the element of a row that is not in [0, 1]. Apart from the check, which is in every call of a loss.
template <class T>
[[noreturn]] void fail_in_row(matrix_view<T const> const& matrix, std::size_t state, std::string_view what,
                              std::string_view unit, std::string_view where) {
    std::size_t j = 0;
    while (j + 1 < matrix.cols() && matrix(state, j) >= T(0) && matrix(state, j) <= T(1))
        ++j;
    fail("{}: the {} of state {}, {} {} is {}, but must be in [0, 1]", where, what, state, unit, j,
         static_cast<double>(matrix(state, j)));
}

/// Each row of weights is not negative and sums to one, as nearly as a mixture's weights must.
template <class T>
void require_weights(matrix_view<T const> const& weights, std::string_view where) {
    T const tolerance = static_cast<T>(kernels::weight_tolerance<T>);
    for (std::size_t i = 0; i < weights.rows(); ++i) {
        auto const [within, sum] = check_row(weights.row(i), 0.0, 2.0);
        if (!within) [[unlikely]]
            fail_in_row(weights, i, "target weight", "particle", where);
        bool const whole = lanes::abs(T(sum - T(1))) <= tolerance;
        require(whole, "{}: the target weights of state {} sum to {}, but must sum to 1", where, i,
                static_cast<double>(sum));
    }
}

template <class T>
void require_fractions(matrix_view<T const> const& fractions, std::string_view where) {
    std::size_t const rows = fractions.row_stride() == 0 ? 1 : fractions.rows();
    for (std::size_t i = 0; i < rows; ++i)
        if (!check_row(fractions.row(i), 0.0, 1.0).within) [[unlikely]]
            fail_in_row(fractions, i, "fraction", "quantile", where);
}

/// The checks that all losses between samples share.
template <class T>
void require_samples(matrix_view<T const> const& samples, targets::dirac_particles<T const> const& targets,
                     std::string_view where) {
    require(samples.rows() > 0, "{}: the batch is empty, but must have at least one state", where);
    require(samples.cols() > 0, "{}: the head predicts no samples, but must predict at least one", where);
    targets::require_targets(targets, samples.rows(), where);
    if (targets.weighted())
        require_weights(targets.weights, where);
}

/// The gradient has the samples' shape and touches nothing that is still to be read.
template <class T>
void require_gradient(matrix_view<T> const& gradient, matrix_view<T const> const& samples,
                      targets::dirac_particles<T const> const& targets, std::string_view where) {
    require_shape(gradient, samples.rows(), samples.cols(), "the gradient", where);
    require(!may_overlap(gradient, samples),
            "{}: the gradient overlaps the outputs in memory, but must have memory of its own", where);
    require(!may_overlap(gradient, targets.values) && !(targets.weighted() && may_overlap(gradient, targets.weights)),
            "{}: the gradient overlaps the targets in memory, but must have memory of its own", where);
}

struct no_gradient {};

/// What every loss on quantiles does around its kernel: the checks, and then
/// `loss.mean<WithGradient, V>(predicted, targets, gradient)`. In other units `loss.in_unit(u)` takes the loss's place, of degree
/// `Loss::degree`.
template <class Lanes, bool WithGradient, class Loss, class Head, class Outputs, class Targets, class Gradient>
auto evaluate_quantiles(Loss const& loss, Head const& head, Outputs& outputs, Targets const& targets,
                        Gradient const& gradient) {
    static_assert(are_dirac_particles<Targets> || !fits_head<Loss, Head>,
                  "this loss compares samples: its targets are targets::dirac_particles");
    if constexpr (gmac::detail::tensor<Outputs>) {
        auto const view = as_matrix(outputs);
        return evaluate_quantiles<Lanes, WithGradient>(loss, head, view, targets, gradient);
    } else if constexpr (require_fit<Loss, Head>() && are_dirac_particles<Targets>) {
        auto const predicted = head.quantiles(outputs);
        using T = typename decltype(predicted)::value_type;
        using V = std::conditional_t<std::is_void_v<Lanes>, lanes::lane_for_t<T>, Lanes>;
        auto const wanted = targets_as<T>(targets);
        loss.check();
        require_samples(predicted.values, wanted, Loss::name);
        require_fractions(predicted.fractions, Loss::name);
        matrix_view<T> to;
        if constexpr (WithGradient) {
            to = gradient_as<T>(gradient);
            require_gradient(to, predicted.values, wanted, Loss::name);
            require(!may_overlap(to, predicted.fractions),
                    "{}: the gradient overlaps the fractions in memory, but must have memory of its own", Loss::name);
        }
        return without_overflow<
            WithGradient,
            Loss::degree>(predicted.values, wanted, to,
                          [&]<bool Gradients>(matrix_view<T const> const& values, auto const& particles, double unit,
                                              matrix_view<T> const& slopes) {
                              return loss.in_unit(unit)
                                  .template mean<Gradients, V>(quantile_outputs<T const>{values, predicted.fractions},
                                                               particles, slopes);
                          });
    } else {
        return 0.0;
    }
}

} // namespace detail

} // namespace gmac::inline GMAC_ABI::losses
