// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/value_network.hpp>
#include <gmac/agent/value_targets.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/fits.hpp>
#include <gmac/targets/kind.hpp>

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

/// A loss says what it learns from; see targets::kind.
template <class Loss>
concept value_loss = requires {
    { Loss::target } -> std::convertible_to<targets::kind>;
};

/// SR(λ) draws Dirac particles from equally likely points of the head's distribution.
template <class Head, class T>
concept gives_points = requires(Head const& head, matrix_view<T const> outputs, matrix_view<T> points) {
    { head.support_size() } -> std::convertible_to<std::size_t>;
    head.support(outputs, points);
};

/// SR(λ) draws Gaussian particles from the components of the head's distribution.
template <class Head, class T>
concept gives_components = requires(Head const& head, matrix_view<T const> outputs, matrix_view<T> part) {
    { Head::components } -> std::convertible_to<std::size_t>;
    head.distribution(outputs, part, part, part);
};

namespace detail {

template <class Head, class Loss, class T>
inline constexpr bool gives_particles = Loss::target == targets::kind::dirac_particles      ? gives_points<Head, T>
                                        : Loss::target == targets::kind::gaussian_particles ? gives_components<Head, T>
                                                                                            : true;

template <class Head, class Loss, class T>
using targets_of = decltype(std::declval<value_targets<Loss::target, Head, T> const&>()
                                .take(std::declval<std::span<std::uint32_t const>>(),
                                      std::declval<typename value_targets<Loss::target, Head, T>::batch&>()));

template <class Head, class Loss, class Backend, class T = typename Backend::scalar>
concept learns = requires(Loss const& loss, Head const& head, prediction_of<Head, Backend> const& prediction,
                          targets_of<Head, Loss, T> (&take)(), matrix_view<T> const& gradient) {
    { loss.value_and_gradient(head, prediction, take(), gradient) } -> std::convertible_to<double>;
};

/// A head may only declare its network, as heads::implicit_quantile does.
template <class Head, class Backend>
concept network_is_defined = requires { sizeof(value_network<Head, Backend>); };

/// Whether head and loss make an actor_critic. Each question is asked only if the ones before it have the answer yes.
template <class Head, class Loss, class Backend>
concept composable =
    value_loss<Loss> && losses::fits_head<Loss, Head> && network_is_defined<Head, Backend> &&
    value_head<Head, Backend> && gives_particles<Head, Loss, typename Backend::scalar> && learns<Head, Loss, Backend>;

/// Says the first thing that is missing.
template <class Head, class Loss, class Backend>
consteval bool refuse_composition() {
    using T = typename Backend::scalar;
    constexpr bool is_composable = composable<Head, Loss, Backend>;
    if constexpr (!value_loss<Loss>)
        static_assert(is_composable,
                      "this loss does not say what it learns from, which an actor_critic must know, by a "
                      "member `static constexpr gmac::targets::kind target`: see docs/extending.md");
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
    else if constexpr (Loss::target == targets::kind::dirac_particles && !gives_points<Head, T>)
        static_assert(is_composable,
                      "this loss learns from Dirac particles, for which an actor_critic needs the members "
                      "support_size() and support(outputs, points) of the head: see docs/extending.md");
    else if constexpr (Loss::target == targets::kind::gaussian_particles && !gives_components<Head, T>)
        static_assert(is_composable,
                      "this loss learns from Gaussian particles, for which an actor_critic needs the "
                      "members components and distribution(outputs, weights, means, deviations) of the "
                      "head: see docs/extending.md");
    else
        static_assert(is_composable,
                      "this loss has no value_and_gradient(head, outputs, targets, gradient) that takes "
                      "the outputs of this head and targets of its own kind: see docs/extending.md");
    return true;
}

} // namespace detail

} // namespace gmac
