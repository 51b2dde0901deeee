// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>

#include <type_traits>

namespace gmac::inline GMAC_ABI::targets {

/// The λ-return of each state, [B]: a vector_view.
template <class T>
struct returns : vector_view<T> {
    using vector_view<T>::vector_view;

    /// Makes these targets of a rollout, for an agent: gmac/targets/makers.hpp.
    template <class Head>
    class maker;
    template <class Head>
    static constexpr bool can_be_made_from = true;
};

/// The λ-return of each state and its value at the time of the rollout, [B] each.
template <class T>
struct clipped_returns {
    using value_type = std::remove_const_t<T>;

    vector_view<T> returns{};
    vector_view<T> old_values{};

    /// Makes these targets of a rollout, for an agent: gmac/targets/makers.hpp.
    template <class Head>
    class maker;
    template <class Head>
    static constexpr bool can_be_made_from = true;
};
template <gmac::detail::vector_like... Parts>
clipped_returns(Parts&&...) -> clipped_returns<gmac::detail::vector_element<Parts...>>;

} // namespace gmac::inline GMAC_ABI::targets
