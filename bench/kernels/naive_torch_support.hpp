// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "naive_torch.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>

/// What the versions for libtorch share.
namespace gmac::bench::naive {

inline torch::Tensor tensor(float const* data, std::size_t rows, std::size_t cols) {
    torch::set_num_threads(1);
    return torch::from_blob(const_cast<float*>(data),
                            {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols)}, torch::kFloat32)
        .clone();
}

/// The loss of fresh leaves, and its gradient.
template <class Loss>
job with_gradient(torch::Tensor leaf, Loss loss) {
    leaf.set_requires_grad(true);
    return [leaf, loss]() mutable {
        leaf.mutable_grad() = torch::Tensor();
        torch::Tensor const value = loss(leaf);
        value.backward();
        return value.item<float>();
    };
}

/// Per state: 2 δ(U, V) − δ(U, U) [− δ(V, V)] of the mixture that raw outputs [B, 15] stand for, all pairs by broadcasting.
torch::Tensor mixture_energy_of(torch::Tensor const& raw, torch::Tensor const& means, torch::Tensor const& deviations,
                                bool target_term);
/// Per state, of values and fractions [B, N] and targets [B, m].
torch::Tensor huber_quantile_of(torch::Tensor const& values, torch::Tensor const& fractions,
                                torch::Tensor const& targets);
torch::Tensor sample_energy_of(torch::Tensor const& values, torch::Tensor const& targets, bool target_term);

/// Means and deviations of particles, [T, E, m] each, by a loop over the steps. Mixtures are [T + 1, E, K] each, rewards
/// and `going_on`, 0 where an episode ended, [T, E].
struct particles {
    torch::Tensor means, deviations;
};
particles sr_lambda_of(torch::Tensor const& weights, torch::Tensor const& means, torch::Tensor const& deviations,
                       torch::Tensor const& rewards, torch::Tensor const& going_on, std::int64_t count);
torch::Tensor sr_lambda_of_points(torch::Tensor const& values, torch::Tensor const& rewards,
                                  torch::Tensor const& going_on, std::int64_t count, bool drawn);
/// Advantages [T, E] of values [T + 1, E].
torch::Tensor gae_of(torch::Tensor const& values, torch::Tensor const& rewards, torch::Tensor const& going_on);

} // namespace gmac::bench::naive
