// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/value_network.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/fits.hpp>
#include <gmac/targets/makers.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// What an actor_critic needs of a value head and of a loss, and the sentences that it says where something is missing.
/// docs/extending.md has the same in words, with an example.
namespace gmac {

/// What a head's network gives to the loss: matrix_view<scalar const> [n, output size], unless the head has a network
/// of its own.
template <class Head, class Backend>
using prediction_of =
    decltype(std::declval<value_network<Head, Backend> const&>()
                 .predict(std::declval<std::span<typename Backend::scalar const>>(),
                          std::declval<matrix_view<typename Backend::scalar const>>(), std::declval<random_stream&>(),
                          std::declval<typename value_network<Head, Backend>::tape&>()));

/// A head tells how many outputs it has and what the mean of its distribution is, the value of a state.
template <class Head, class Backend>
concept value_head = requires(Head const& head, prediction_of<Head, Backend> const& prediction,
                              vector_view<typename Backend::scalar> values) {
    { head.output_size() } -> std::convertible_to<std::size_t>;
    head.mean(prediction, values);
};

/// A loss names the type of the targets that it learns from; see gmac/targets/makers.hpp.
template <class Loss, class T>
concept value_loss = requires { typename Loss::template targets_type<T>; };

namespace detail {

template <class Loss, class T>
using targets_of = typename Loss::template targets_type<T>;

template <class Head, class Loss, class Backend, class T = typename Backend::scalar>
concept learns = requires(Loss const& loss, Head const& head, prediction_of<Head, Backend> const& prediction,
                          targets_of<Loss, T> (&take)(), matrix_view<T> const& gradient) {
    { loss.value_and_gradient(head, prediction, take(), gradient) } -> std::convertible_to<double>;
};

/// A head may only declare its network, as heads::implicit_quantile does.
template <class Head, class Backend>
concept network_is_defined = requires { sizeof(value_network<Head, Backend>); };

/// Whether head and loss make an actor_critic. Each question is asked only if the ones before it have the answer yes.
template <class Head, class Loss, class Backend>
concept composable =
    value_loss<Loss, typename Backend::scalar> && losses::fits_head<Loss, Head> && network_is_defined<Head, Backend> &&
    value_head<Head, Backend> && targets_of<Loss, typename Backend::scalar>::template can_be_made_from<Head> &&
    learns<Head, Loss, Backend>;

/// Says the first thing that is missing.
template <class Head, class Loss, class Backend>
consteval bool refuse_composition() {
    using T = typename Backend::scalar;
    constexpr bool is_composable = composable<Head, Loss, Backend>;
    if constexpr (!value_loss<Loss, T>)
        static_assert(is_composable,
                      "this loss does not say what it learns from, which an actor_critic must know, by a "
                      "member `template <class T> using targets_type = …`: see docs/extending.md");
    else if constexpr (!losses::fits_head<Loss, Head>)
        static_cast<void>(losses::require_fit<Loss, Head>());
    else if constexpr (!network_is_defined<Head, Backend>)
        static_assert(is_composable,
                      "this head's network is declared but not defined here: include its header, for "
                      "heads::implicit_quantile gmac/nn/implicit_quantile.hpp");
    else if constexpr (!value_head<Head, Backend>)
        static_assert(is_composable,
                      "this head has not the members that an actor_critic needs, output_size() and "
                      "mean(outputs, values): see docs/extending.md");
    else if constexpr (!targets_of<Loss, T>::template can_be_made_from<Head>)
        targets_of<Loss, T>::template require_head<Head>();
    else
        static_assert(is_composable,
                      "this loss has no value_and_gradient(head, outputs, targets, gradient) that takes "
                      "the outputs of this head and targets of its own kind: see docs/extending.md");
    return true;
}

} // namespace detail

} // namespace gmac
