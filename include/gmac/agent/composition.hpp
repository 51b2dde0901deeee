// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/actor.hpp>
#include <gmac/agent/value_network.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/compatibility.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/nn/module.hpp>
#include <gmac/targets/makers.hpp>

#include <concepts>
#include <cstddef>

/// What an actor_critic needs of its parts, and the sentences that it says where something is missing.
/// docs/extending.md has the same in words, with an example.
namespace gmac::inline GMAC_ABI {

/// What a head's network gives to the loss: matrix_view<scalar const> [n, output size], unless the head has a network
/// of its own.
template <class Head, class Backend>
using prediction_of = detail::prediction_by<typename Backend::scalar, value_network<Head, Backend>>;

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

/// Whether these can be parts of an actor_critic, and whether head and loss fit each other there. Each question is asked
/// only if the ones before it have the answer yes.
template <class Actor, class Backend, class Trunk>
concept sound_parts =
    nn::backend<Backend> && nn::module<Trunk, typename Backend::scalar> && actor<Actor, typename Backend::scalar>;
template <class Head, class Loss, class Backend>
concept composable =
    value_loss<Loss, typename Backend::scalar> && losses::fits_head<Loss, Head> && network_is_defined<Head, Backend> &&
    value_head<Head, Backend> && targets_of<Loss, typename Backend::scalar>::template can_be_made_from<Head> &&
    learns<Head, Loss, Backend>;

template <class Trunk, class Backend>
inline constexpr bool has_other_scalar = false;
template <class Trunk, class Backend>
    requires requires { typename Trunk::scalar; }
inline constexpr bool has_other_scalar<Trunk, Backend> =
    !std::same_as<typename Trunk::scalar, typename Backend::scalar>;

/// Says the first thing that is missing.
template <class Actor, class Backend, class Trunk>
consteval bool refuse_parts() {
    constexpr bool are_sound = sound_parts<Actor, Backend, Trunk>;
    if constexpr (!nn::backend<Backend>)
        static_assert(are_sound,
                      "this is no backend, such as backends::simd<float>: it needs a type `scalar` and the functions "
                      "product, product_add, affine, activate, activate_backward and column_sums of gmac::nn::backend");
    else if constexpr (has_other_scalar<Trunk, Backend>)
        static_assert(are_sound, "this trunk has another number type `scalar` than the agent's backend");
    else if constexpr (!nn::module<Trunk, typename Backend::scalar>)
        static_assert(are_sound,
                      "this trunk is no network, such as nn::mlp<Backend>: it needs a type `workspace` and the members "
                      "inputs, outputs, parameter_count, initialize, describe, make_workspace, forward and backward of "
                      "gmac::nn::module");
    else
        static_assert(are_sound,
                      "this is no actor, such as actors::categorical: it needs the members output_size, "
                      "free_parameter_count, initialize, sample, mode, log_probability_and_entropy and gradient of "
                      "gmac::actor");
    return true;
}

template <class Head, class Loss, class Backend, class T = typename Backend::scalar>
consteval bool refuse_head_and_loss() {
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

template <class Backend>
struct default_trunk {
    struct type {};
};
template <nn::backend Backend>
struct default_trunk<Backend> {
    using type = nn::mlp<Backend>;
};

} // namespace detail

/// The trunk of an agent that is not given one: a multilayer perceptron.
template <class Backend>
using default_trunk = typename detail::default_trunk<Backend>::type;

} // namespace gmac::inline GMAC_ABI
