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
/// Logits [states, atoms] on even atoms from −10 to 10, targets [states, particles]. The projection of targets onto the atoms is
/// by all pairs, as in Dopamine and Tianshou, or scattered to the two atoms beside each target.
enum class projection { pairs, scatter };
job categorical_cross_entropy(float const* logits, float const* targets, std::size_t states, std::size_t atoms,
                              std::size_t particles, projection how);
job categorical_energy(float const* logits, float const* targets, std::size_t states, std::size_t atoms,
                       std::size_t particles, projection how);
job hl_gauss(float const* logits, float const* targets, std::size_t states, std::size_t atoms, std::size_t particles);
job squared_error(float const* values, float const* returns, std::size_t states);
job clipped_squared_error(float const* values, float const* returns, float const* old_values, std::size_t states);
/// A loop over the steps. [(steps + 1) environments, components] each, rewards [steps, environments].
job sr_lambda(float const* weights, float const* means, float const* deviations, float const* rewards,
              std::size_t steps, std::size_t environments, std::size_t components, std::size_t particles);
/// The whole mixture instead of particles; what exceeds `columns` is merged into the last one, by its moments.
job exact_sr_lambda(float const* weights, float const* means, float const* deviations, float const* rewards,
                    std::size_t steps, std::size_t environments, std::size_t components, std::size_t columns);
/// SR(λ) with points, [(steps + 1) environments, support]. `drawn` says that they are samples, taken by number.
job sr_lambda_of_points(float const* values, float const* rewards, std::size_t steps, std::size_t environments,
                        std::size_t support, std::size_t particles, bool drawn);
job gae(float const* values, float const* rewards, std::size_t steps, std::size_t environments);
/// Conv2d and ReLU on random images [images, channels, size, size].
job convolution(std::size_t images, std::size_t channels, std::size_t size, std::size_t filters, std::size_t kernel,
                std::size_t stride, bool input_gradient, bool backward);
/// Linear and ReLU on random numbers.
job fully_connected(std::size_t rows, std::size_t inputs, std::size_t outputs, bool backward);
/// The paper's network on screens [images, 4, 84, 84]: three convolutions and a linear layer of 512, with ReLUs.
job atari_trunk(std::uint8_t const* screens, std::size_t images, bool backward);
/// The network of MinAtar's authors on grids [images, channels, 10, 10]: 16 filters of 3 x 3 and a linear layer of 128.
job minatar_trunk(std::uint8_t const* grids, std::size_t images, std::size_t channels, bool backward);
job lambda_return(float const* values, float const* rewards, std::size_t steps, std::size_t environments);

/// Numbers of one mixture, [components] each.
job mixture_samples(float const* weights, float const* means, float const* deviations, std::size_t components,
                    std::size_t count);
job categorical_samples(float const* logits, std::size_t states, std::size_t actions);

/// From raw outputs [states, 3 components] to softmax, means and deviations, and the gradient of their sum; their mean.
job mixture_pull_back(float const* raw, std::size_t states, std::size_t components);
job mixture_mean(float const* raw, std::size_t states, std::size_t components);
/// The mean of each row.
job row_means(float const* values, std::size_t states, std::size_t columns);
/// The implicit quantile network of features [states, features]: forward, and the gradients of everything. Its fractions are
/// drawn anew.
job implicit_quantile(float const* features, std::size_t states, std::size_t width, std::size_t samples,
                      std::size_t embedding, std::size_t hidden);

enum class method { ppo, gmac, iqac, iqac_e, dirac_energy };
/// The whole update of a method on the environment of updates.cpp: rollout, targets and epochs, with separate modules
/// for trunk, policy and value, autograd and torch::optim::Adam.
job update(method which, std::size_t environments, std::size_t steps, std::size_t minibatch, std::size_t epochs,
           std::size_t units);

} // namespace gmac::bench::naive
