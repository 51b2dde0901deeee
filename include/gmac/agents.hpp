// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/actor_critic.hpp>
#include <gmac/heads/categorical.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/losses/squared_error.hpp>
#include <gmac/nn/implicit_quantile.hpp>
#include <gmac/nn/mlp.hpp>

#include <cstddef>

/// The paper's methods, each one head and one loss in the same skeleton, and what lies next to them.
namespace gmac::inline GMAC_ABI::agents {

/// Proximal policy optimisation (Schulman et al. 2017): the value is a number.
template <class Actor, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using ppo = actor_critic<Actor, heads::scalar, losses::clipped_squared_error, Backend, Trunk>;

/// IQAC: quantiles at sampled fractions, learned by the Huber quantile loss.
template <class Actor, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using iqac = actor_critic<Actor, heads::implicit_quantile, losses::huber_quantile, Backend, Trunk>;

/// IQAC-E: the same head, learned by the energy distance between samples.
template <class Actor, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using iqac_e = actor_critic<Actor, heads::implicit_quantile, losses::sample_energy, Backend, Trunk>;

/// GMAC: a mixture of five Gaussians, learned by the analytic energy distance.
template <class Actor, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using gmac = actor_critic<Actor, heads::gaussian_mixture<5>, losses::gaussian_mixture_energy, Backend, Trunk>;

/// N Diracs at fixed fractions (as QR-DQN has them), with each loss that fits them.
template <class Actor, std::size_t N = 64, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using dirac_huber_quantile = actor_critic<Actor, heads::dirac<N>, losses::huber_quantile, Backend, Trunk>;
template <class Actor, std::size_t N = 64, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using dirac_expectile = actor_critic<Actor, heads::dirac<N>, losses::expectile, Backend, Trunk>;
template <class Actor, std::size_t N = 64, class Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
using dirac_energy = actor_critic<Actor, heads::dirac<N>, losses::sample_energy, Backend, Trunk>;

/// Probabilities of N fixed atoms, learned from the target projected onto them (C51, Bellemare et al. 2017), from a Gaussian
/// histogram of it (HL-Gauss, Farebrother et al. 2024), or by the energy distance.
template <class Actor, std::size_t N = 51, class Backend = backends::simd<float>, class Trunk = nn::mlp<Backend>>
using c51 = actor_critic<Actor, heads::categorical<N>, losses::categorical_cross_entropy, Backend, Trunk>;
template <class Actor, std::size_t N = 51, class Backend = backends::simd<float>, class Trunk = nn::mlp<Backend>>
using hl_gauss = actor_critic<Actor, heads::categorical<N>, losses::hl_gauss, Backend, Trunk>;
template <class Actor, std::size_t N = 51, class Backend = backends::simd<float>, class Trunk = nn::mlp<Backend>>
using categorical_energy = actor_critic<Actor, heads::categorical<N>, losses::categorical_energy, Backend, Trunk>;

} // namespace gmac::inline GMAC_ABI::agents
