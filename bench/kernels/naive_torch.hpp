// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

/// The same quantities as users of libtorch write them: broadcasting over all pairs, autograd for the gradient, one
/// thread. Each function prepares its tensors and returns what is measured; the data are row-major and must outlive it.
namespace gmac::bench::naive {

using job = std::function<float()>; ///< returns the loss, so that it can be compared

/// [states, 15] raw outputs of five components, targets [states, particles].
job mixture_energy(float const* raw, float const* means, float const* deviations, std::size_t states,
                   std::size_t particles, bool target_term);
/// [states, samples] values and fractions, targets [states, particles].
job huber_quantile(float const* values, float const* fractions, float const* targets, std::size_t states,
                   std::size_t samples, std::size_t particles);
job expectile(float const* values, float const* fractions, float const* targets, std::size_t states,
              std::size_t samples, std::size_t particles);
job sample_energy(float const* values, float const* targets, std::size_t states, std::size_t samples,
                  std::size_t particles, bool target_term);
job squared_error(float const* values, float const* returns, std::size_t states);
/// A loop over the steps. [(steps + 1) environments, components] each, rewards [steps, environments].
job sr_lambda(float const* weights, float const* means, float const* deviations, float const* rewards,
              std::size_t steps, std::size_t environments, std::size_t components, std::size_t particles);
job gae(float const* values, float const* rewards, std::size_t steps, std::size_t environments);

} // namespace gmac::bench::naive
