// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
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
/// Conv2d and ReLU on random images [images, channels, size, size].
job convolution(std::size_t images, std::size_t channels, std::size_t size, std::size_t filters, std::size_t kernel,
                std::size_t stride, bool input_gradient, bool backward);
/// Linear and ReLU on random numbers.
job fully_connected(std::size_t rows, std::size_t inputs, std::size_t outputs, bool backward);
/// The paper's network on screens [images, 4, 84, 84]: three convolutions and a linear layer of 512, with ReLUs.
job atari_trunk(std::uint8_t const* screens, std::size_t images, bool backward);

} // namespace gmac::bench::naive
