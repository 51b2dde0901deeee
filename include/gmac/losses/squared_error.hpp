// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/losses/detail/mean_over_states.hpp>
#include <gmac/losses/detail/number_type.hpp>
#include <gmac/targets/returns.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses {

/// A head whose distribution is one number: `parameters<V>` has a member `value`.
template <class Head>
concept scalar_head = requires(Head const& head, std::array<float, Head::outputs> const& raw) {
    { head.transform(raw).value } -> std::convertible_to<float>;
};

namespace detail {

/// A loss ½ difference², and its derivative with respect to the value.
template <class V>
struct difference_and_slope {
    V difference, slope;
};

/// The mean over the states of the losses of `pointwise(value, state, count)`, a difference_and_slope a lane, and its gradient.
/// `gradient` may be the outputs themselves. Each square is taken of a share, so that it may be larger than T has.
template <bool WithGradient, class Head, class T, class Pointwise>
[[nodiscard]] T mean_pointwise(Head const& head, matrix_view<T const> outputs, matrix_view<T> gradient,
                               Pointwise&& pointwise) {
    using V = lanes::lane_for_t<T>;
    T const share = T(1) / static_cast<T>(outputs.rows());
    V const half_share = lanes::constant<V>(0.5 / static_cast<double>(outputs.rows()));
    return static_cast<T>(sum_over_states<V>(outputs.rows(), [&](std::size_t first, std::size_t count) {
        std::array<V, Head::outputs> raw;
        for (std::size_t j = 0; j < Head::outputs; ++j)
            raw[j] = lanes::load_rows<V>(outputs, first, j, count);
        auto const parameters = head.transform(raw);
        difference_and_slope<V> const loss = pointwise(parameters.value, first, count);
        if constexpr (WithGradient) {
            auto parameter_gradient = parameters;
            parameter_gradient.value = loss.slope * V(share);
            std::array<V, Head::outputs> raw_gradient;
            head.pull_back(raw, parameters, parameter_gradient, raw_gradient);
            for (std::size_t j = 0; j < Head::outputs; ++j)
                lanes::store_rows(raw_gradient[j], gradient, first, j, count);
        }
        return V(half_share * loss.difference * loss.difference);
    }));
}

/// Throws gmac::error if the gradient overlaps the targets, or the outputs without being in the same places.
template <class T, class Outputs, class Targets>
void require_apart(matrix_view<T> const& gradient, Outputs const& outputs, Targets const& targets,
                   std::string_view where) {
    require(same_elements(gradient, outputs) || !may_overlap(gradient, outputs),
            "{}: the gradient overlaps the outputs, but must be apart from them or the same", where);
    require(!may_overlap(gradient, as_column(targets)), "{}: the gradient overlaps the targets", where);
}

} // namespace detail

/// ½ (v − R)², the mean over the states: value learning of A2C and PPO without clipping.
///
/// Outputs are [B, 1] of a head with one number (heads::scalar), targets the returns [B], the gradient [B, 1].
struct squared_error {
    static constexpr std::string_view name = "squared_error";
    template <class T>
    using targets_type = targets::returns<T const>;
    template <class Head>
    static constexpr bool fits_head = scalar_head<Head>;

    /// Throws gmac::error if the shapes do not fit or the batch is empty.
    template <class Head, class Outputs, class Returns>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Returns&& returns) const {
        auto const raw = as_matrix(outputs);
        using T = typename decltype(raw)::value_type;
        return evaluate<false, T>(head, raw, detail::targets_as<T>(as_vector(returns)), {});
    }

    /// Also writes the gradient with respect to the raw outputs; it may be written over the outputs.
    template <class Head, class Outputs, class Returns, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Returns&& returns, Gradient&& gradient) const {
        auto const raw = as_matrix(outputs);
        using T = typename decltype(raw)::value_type;
        matrix_view<T> const to = detail::gradient_as<T>(as_matrix(gradient));
        return evaluate<true, T>(head, raw, detail::targets_as<T>(as_vector(returns)), to);
    }

    /// A head that does not fit is refused at compile time, in one sentence.
    template <class Head, class Outputs, class Returns>
        requires(!fits_head<Head>)
    double value(Head const&, Outputs&&, Returns&&) const {
        return require_fit<squared_error, Head>();
    }
    template <class Head, class Outputs, class Returns, class Gradient>
        requires(!fits_head<Head>)
    double value_and_gradient(Head const&, Outputs&&, Returns&&, Gradient&&) const {
        return require_fit<squared_error, Head>();
    }

private:
    template <bool WithGradient, class T, class Head>
    static T evaluate(Head const& head, matrix_view<T const> outputs, vector_view<T const> returns,
                      matrix_view<T> gradient) {
        require(outputs.rows() > 0, "squared_error: the batch is empty, but must have at least one state");
        require_shape(outputs, outputs.rows(), Head::outputs, "outputs", name);
        require_size(returns, outputs.rows(), "returns", name);
        if constexpr (WithGradient) {
            require_shape(gradient, outputs.rows(), Head::outputs, "the gradient", name);
            detail::require_apart(gradient, outputs, returns, name);
        }
        auto const wanted = as_column(returns);
        return detail::mean_pointwise<WithGradient>(head, outputs, gradient,
                                                    [&]<class V>(V const& value, std::size_t first, std::size_t count) {
                                                        V const difference =
                                                            value - lanes::load_rows<V>(wanted, first, 0, count);
                                                        return detail::difference_and_slope<V>{difference, difference};
                                                    });
    }
};

/// PPO's clipped value loss, the mean over the states of
///     ½ max((v − R)², (v_old + clamp(v − v_old, −clip, clip) − R)²)
/// with R the return and v_old the value at the time of the rollout. Where the clipped term is the larger one the
/// gradient is zero unless |v − v_old| < clip.
struct clipped_squared_error {
    static constexpr std::string_view name = "clipped_squared_error";
    template <class T>
    using targets_type = targets::clipped_returns<T const>;
    template <class Head>
    static constexpr bool fits_head = scalar_head<Head>;

    double clip = 0.2; ///< in units of the return

    /// `targets` has the vectors `returns` and `old_values`, [B] each. Throws gmac::error if the shapes do not fit, the
    /// batch is empty or clip is negative or NaN.
    template <class Head, class Outputs, class Targets>
    [[nodiscard]] auto value(Head const& head, Outputs&& outputs, Targets const& targets) const {
        auto const raw = as_matrix(outputs);
        using T = typename decltype(raw)::value_type;
        return evaluate<false, T>(head, raw, targets_in<T>(targets), {});
    }

    /// Also writes the gradient with respect to the raw outputs; it may be written over the outputs.
    template <class Head, class Outputs, class Targets, class Gradient>
    auto value_and_gradient(Head const& head, Outputs&& outputs, Targets const& targets, Gradient&& gradient) const {
        auto const raw = as_matrix(outputs);
        using T = typename decltype(raw)::value_type;
        matrix_view<T> const to = detail::gradient_as<T>(as_matrix(gradient));
        return evaluate<true, T>(head, raw, targets_in<T>(targets), to);
    }

    /// A head that does not fit is refused at compile time, in one sentence.
    template <class Head, class Outputs, class Targets>
        requires(!fits_head<Head>)
    double value(Head const&, Outputs&&, Targets const&) const {
        return require_fit<clipped_squared_error, Head>();
    }
    template <class Head, class Outputs, class Targets, class Gradient>
        requires(!fits_head<Head>)
    double value_and_gradient(Head const&, Outputs&&, Targets const&, Gradient&&) const {
        return require_fit<clipped_squared_error, Head>();
    }

private:
    /// What are no such targets stops the compilation with one sentence.
    template <class T, class Targets>
    static targets::clipped_returns<T const> targets_in(Targets const& targets) {
        constexpr bool fit = requires {
            targets.returns;
            targets.old_values;
        };
        static_assert(fit,
                      "clipped_squared_error compares with returns and old values: its targets are "
                      "targets::clipped_returns");
        if constexpr (fit)
            return {detail::targets_as<T>(as_vector(targets.returns)),
                    detail::targets_as<T>(as_vector(targets.old_values))};
        else
            return {};
    }

    template <bool WithGradient, class T, class Head>
    T evaluate(Head const& head, matrix_view<T const> outputs, targets::clipped_returns<T const> const& targets,
               matrix_view<T> gradient) const {
        require(clip >= 0.0, "clipped_squared_error: clip is {}, but must not be negative", clip);
        require(outputs.rows() > 0, "clipped_squared_error: the batch is empty, but must have at least one state");
        require_shape(outputs, outputs.rows(), Head::outputs, "outputs", name);
        require_size(targets.returns, outputs.rows(), "returns", name);
        require_size(targets.old_values, outputs.rows(), "old_values", name);
        if constexpr (WithGradient) {
            require_shape(gradient, outputs.rows(), Head::outputs, "the gradient", name);
            detail::require_apart(gradient, outputs, targets.returns, name);
            detail::require_apart(gradient, outputs, targets.old_values, name);
        }
        auto const wanted = as_column(targets.returns);
        auto const old = as_column(targets.old_values);
        return detail::mean_pointwise<WithGradient>(head, outputs, gradient,
                                                    [&]<class V>(V const& value, std::size_t first, std::size_t count) {
                                                        return pointwise(value,
                                                                         lanes::load_rows<V>(wanted, first, 0, count),
                                                                         lanes::load_rows<V>(old, first, 0, count));
                                                    });
    }

    template <class V>
    [[nodiscard]] detail::difference_and_slope<V> pointwise(V const& value, V const& wanted, V const& old) const {
        using lanes::select;
        V const zero = lanes::constant<V>(0.0);
        V const limit = lanes::constant<V>(clip);
        V const change = value - old;
        V const capped = select(limit < change, limit, select(change < V(zero - limit), V(zero - limit), change));
        V const plain = V(value - wanted) + old * zero; // NaN if one of the three is, and then it wins
        // Inside the range the clipped value is the value itself, not old + (value − old) with its rounding.
        auto const inside = capped == change;
        V const clipped = select(inside, plain, V(V(old + capped) - wanted));
        auto const clipped_wins = lanes::abs(plain) < lanes::abs(clipped); // squares may both be infinite
        V const clipped_slope = select(inside, plain, zero);
        return {select(clipped_wins, clipped, plain), select(clipped_wins, clipped_slope, plain)};
    }
};

} // namespace gmac::inline GMAC_ABI::losses
