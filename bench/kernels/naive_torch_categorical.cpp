// SPDX-License-Identifier: Apache-2.0
#include "naive_torch_support.hpp"

#include <numbers>

namespace gmac::bench::naive {

namespace {

/// Each particle's mass 1/m to the two atoms beside it, [states, atoms].
torch::Tensor projected(torch::Tensor const& targets, double minimum, double maximum, std::int64_t atoms) {
    double const spacing = (maximum - minimum) / static_cast<double>(atoms - 1);
    torch::Tensor const place = (targets.clamp(minimum, maximum) - minimum) / spacing;
    torch::Tensor const lower = place.floor().clamp(0, atoms - 2);
    torch::Tensor const above = (place - lower) / static_cast<double>(targets.size(1));
    torch::Tensor const below = 1.0 / static_cast<double>(targets.size(1)) - above;
    torch::Tensor const index = lower.to(torch::kInt64);
    torch::Tensor const masses = torch::zeros({targets.size(0), atoms});
    return masses.scatter_add(1, index, below).scatter_add(1, index + 1, above);
}

torch::Tensor cross_entropy(torch::Tensor const& masses, torch::Tensor const& logits) {
    return -(masses * torch::log_softmax(logits, 1)).sum(1).mean();
}

} // namespace

job categorical_cross_entropy(float const* logits, float const* targets, std::size_t states, std::size_t atoms,
                              std::size_t particles) {
    torch::Tensor const wanted = tensor(targets, states, particles);
    return with_gradient(tensor(logits, states, atoms), [=](torch::Tensor const& l) {
        return cross_entropy(projected(wanted, -10.0, 10.0, l.size(1)), l);
    });
}

job categorical_energy(float const* logits, float const* targets, std::size_t states, std::size_t atoms,
                       std::size_t particles) {
    torch::Tensor const wanted = tensor(targets, states, particles);
    return with_gradient(tensor(logits, states, atoms), [=](torch::Tensor const& l) {
        double const spacing = 20.0 / static_cast<double>(l.size(1) - 1);
        torch::Tensor const target = projected(wanted, -10.0, 10.0, l.size(1)).cumsum(1);
        return 2.0 * spacing * (torch::softmax(l, 1).cumsum(1) - target).pow(2).sum(1).mean();
    });
}

job hl_gauss(float const* logits, float const* targets, std::size_t states, std::size_t atoms, std::size_t particles) {
    torch::Tensor const wanted = tensor(targets, states, particles);
    return with_gradient(tensor(logits, states, atoms), [=](torch::Tensor const& l) {
        double const spacing = 20.0 / static_cast<double>(l.size(1) - 1);
        torch::Tensor const edges = torch::linspace(-10.0 - 0.5 * spacing, 10.0 + 0.5 * spacing, l.size(1) + 1);
        torch::Tensor const x = wanted.clamp(-10.0, 10.0).unsqueeze(2);
        torch::Tensor const below = torch::erf((edges - x) / (0.75 * spacing * std::numbers::sqrt2));
        torch::Tensor const in_bins = below.slice(2, 1) - below.slice(2, 0, -1);
        torch::Tensor const in_all = below.slice(2, -1) - below.slice(2, 0, 1);
        return cross_entropy((in_bins / in_all).mean(1), l);
    });
}

} // namespace gmac::bench::naive
