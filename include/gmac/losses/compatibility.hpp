// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::heads {
struct scalar;
template <std::size_t N>
struct dirac;
struct implicit_quantile;
template <std::size_t K>
struct gaussian_mixture;
} // namespace gmac::inline GMAC_ABI::heads

/// Which losses fit which heads, and the sentences that refuse the other pairs, all in one place.
namespace gmac::inline GMAC_ABI::losses {

struct squared_error;
struct clipped_squared_error;
struct huber_quantile;
struct expectile;
struct sample_energy;
struct gaussian_mixture_energy;
struct categorical_cross_entropy;
struct categorical_energy;
struct hl_gauss;

/// Whether the loss can learn what the head predicts. A loss says so by its member
/// `template <class Head> static constexpr bool fits_head`; one without it is taken to fit every head.
template <class Loss, class Head>
inline constexpr bool fits_head = true;
template <class Loss, class Head>
    requires requires { Loss::template fits_head<Head>; }
inline constexpr bool fits_head<Loss, Head> = Loss::template fits_head<Head>;

namespace detail {

enum class known { other, scalar, dirac, implicit_quantile, gaussian_mixture };
template <class Head>
inline constexpr known kind_of = known::other;
template <>
inline constexpr known kind_of<heads::scalar> = known::scalar;
template <std::size_t N>
inline constexpr known kind_of<heads::dirac<N>> = known::dirac;
template <>
inline constexpr known kind_of<heads::implicit_quantile> = known::implicit_quantile;
template <std::size_t K>
inline constexpr known kind_of<heads::gaussian_mixture<K>> = known::gaussian_mixture;

} // namespace detail

/// Stops the compilation, with one sentence that names the pair and what would fit, unless the loss fits the head. Gives
/// whether it fits, so that what follows can be left out and nothing more is said: `if constexpr (require_fit<L, H>())`.
template <class Loss, class Head>
[[nodiscard]] consteval bool require_fit() {
    static_assert(fits_head<Loss, Head>, "this loss does not fit this head, as its member `fits_head` says");
    return fits_head<Loss, Head>;
}
template <class Loss, class Head>
    requires std::same_as<Loss, squared_error>
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::dirac)
        static_assert(fits_head<Loss, Head>,
                      "losses::squared_error does not fit heads::dirac<N>: this loss fits heads::scalar; this head "
                      "fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::implicit_quantile)
        static_assert(fits_head<Loss, Head>,
                      "losses::squared_error does not fit heads::implicit_quantile: this loss fits heads::scalar; "
                      "this head fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::gaussian_mixture)
        static_assert(fits_head<Loss, Head>,
                      "losses::squared_error does not fit heads::gaussian_mixture<K>: this loss fits heads::scalar; "
                      "this head fits gaussian_mixture_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "losses::squared_error does not fit this head, whose transform gives no single `value`: use a "
                      "loss that fits it, or heads::scalar");
    return fits_head<Loss, Head>;
}

template <class Loss, class Head>
    requires std::same_as<Loss, clipped_squared_error>
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::dirac)
        static_assert(fits_head<Loss, Head>,
                      "losses::clipped_squared_error does not fit heads::dirac<N>: this loss fits heads::scalar; "
                      "this head fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::implicit_quantile)
        static_assert(fits_head<Loss, Head>,
                      "losses::clipped_squared_error does not fit heads::implicit_quantile: this loss fits "
                      "heads::scalar; this head fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::gaussian_mixture)
        static_assert(fits_head<Loss, Head>,
                      "losses::clipped_squared_error does not fit heads::gaussian_mixture<K>: this loss fits "
                      "heads::scalar; this head fits gaussian_mixture_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "losses::clipped_squared_error does not fit this head, whose transform gives no single "
                      "`value`: use a loss that fits it, or heads::scalar");
    return fits_head<Loss, Head>;
}

template <class Loss, class Head>
    requires std::same_as<Loss, huber_quantile>
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::scalar)
        static_assert(fits_head<Loss, Head>,
                      "losses::huber_quantile does not fit heads::scalar: this loss fits heads::dirac<N> and "
                      "heads::implicit_quantile; this head fits squared_error and clipped_squared_error");
    else if constexpr (head == detail::known::gaussian_mixture)
        static_assert(fits_head<Loss, Head>,
                      "losses::huber_quantile does not fit heads::gaussian_mixture<K>: this loss fits "
                      "heads::dirac<N> and heads::implicit_quantile; this head fits gaussian_mixture_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "losses::huber_quantile does not fit this head, which has no quantiles(outputs): use a loss "
                      "that fits it, or heads::dirac<N> or heads::implicit_quantile");
    return fits_head<Loss, Head>;
}

template <class Loss, class Head>
    requires std::same_as<Loss, expectile>
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::scalar)
        static_assert(fits_head<Loss, Head>,
                      "losses::expectile does not fit heads::scalar: this loss fits heads::dirac<N> and "
                      "heads::implicit_quantile; this head fits squared_error and clipped_squared_error");
    else if constexpr (head == detail::known::gaussian_mixture)
        static_assert(fits_head<Loss, Head>,
                      "losses::expectile does not fit heads::gaussian_mixture<K>: this loss fits heads::dirac<N> and "
                      "heads::implicit_quantile; this head fits gaussian_mixture_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "losses::expectile does not fit this head, which has no quantiles(outputs): use a loss that "
                      "fits it, or heads::dirac<N> or heads::implicit_quantile");
    return fits_head<Loss, Head>;
}

template <class Loss, class Head>
    requires std::same_as<Loss, sample_energy>
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::scalar)
        static_assert(fits_head<Loss, Head>,
                      "losses::sample_energy does not fit heads::scalar: this loss fits heads::dirac<N> and "
                      "heads::implicit_quantile; this head fits squared_error and clipped_squared_error");
    else if constexpr (head == detail::known::gaussian_mixture)
        static_assert(fits_head<Loss, Head>,
                      "losses::sample_energy does not fit heads::gaussian_mixture<K>: this loss fits heads::dirac<N> "
                      "and heads::implicit_quantile; this head fits gaussian_mixture_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "losses::sample_energy does not fit this head, which has no samples(outputs): use a loss that "
                      "fits it, or heads::dirac<N> or heads::implicit_quantile");
    return fits_head<Loss, Head>;
}

template <class Loss, class Head>
    requires std::same_as<Loss, gaussian_mixture_energy>
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::scalar)
        static_assert(fits_head<Loss, Head>,
                      "losses::gaussian_mixture_energy does not fit heads::scalar: this loss fits "
                      "heads::gaussian_mixture<K>; this head fits squared_error and clipped_squared_error");
    else if constexpr (head == detail::known::dirac)
        static_assert(fits_head<Loss, Head>,
                      "losses::gaussian_mixture_energy does not fit heads::dirac<N>: this loss fits "
                      "heads::gaussian_mixture<K>; this head fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::implicit_quantile)
        static_assert(fits_head<Loss, Head>,
                      "losses::gaussian_mixture_energy does not fit heads::implicit_quantile: this loss fits "
                      "heads::gaussian_mixture<K>; this head fits huber_quantile, expectile and sample_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "losses::gaussian_mixture_energy does not fit this head, whose transform gives no weights, "
                      "means and deviations: use a loss that fits it, or heads::gaussian_mixture<K>");
    return fits_head<Loss, Head>;
}

template <class Loss, class Head>
    requires(std::same_as<Loss, categorical_cross_entropy> || std::same_as<Loss, categorical_energy> ||
             std::same_as<Loss, hl_gauss>)
[[nodiscard]] consteval bool require_fit() {
    constexpr auto head = detail::kind_of<Head>;
    if constexpr (head == detail::known::scalar)
        static_assert(fits_head<Loss, Head>,
                      "this categorical loss does not fit heads::scalar: this loss fits heads::categorical<N>; "
                      "this head fits squared_error and clipped_squared_error");
    else if constexpr (head == detail::known::dirac)
        static_assert(fits_head<Loss, Head>,
                      "this categorical loss does not fit heads::dirac<N>: this loss fits heads::categorical<N>; "
                      "this head fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::implicit_quantile)
        static_assert(fits_head<Loss, Head>,
                      "this categorical loss does not fit heads::implicit_quantile: this loss fits "
                      "heads::categorical<N>; this head fits huber_quantile, expectile and sample_energy");
    else if constexpr (head == detail::known::gaussian_mixture)
        static_assert(fits_head<Loss, Head>,
                      "this categorical loss does not fit heads::gaussian_mixture<K>: this loss fits "
                      "heads::categorical<N>; this head fits gaussian_mixture_energy");
    else
        static_assert(fits_head<Loss, Head>,
                      "this categorical loss does not fit this head, which is no softmax on atoms: use a loss "
                      "that fits it, or heads::categorical<N>");
    return fits_head<Loss, Head>;
}

} // namespace gmac::inline GMAC_ABI::losses
