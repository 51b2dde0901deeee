// SPDX-License-Identifier: Apache-2.0
#include "naive_torch_support.hpp"

#include <numbers>

namespace gmac::bench::naive {

namespace {

constexpr double minimum = -10.0;
constexpr double maximum = 10.0;

double spacing_of(std::int64_t atoms) {
    return (maximum - minimum) / static_cast<double>(atoms - 1);
}

/// Each particle's mass 1/m at the two atoms beside it, [states, atoms].
torch::Tensor projected(torch::Tensor const& targets, std::int64_t atoms, projection how) {
    torch::Tensor const x = targets.clamp(minimum, maximum);
    if (how == projection::pairs) {
        torch::Tensor const z = torch::linspace(minimum, maximum, atoms).view({1, atoms, 1});
        return (1.0 - (x.unsqueeze(1) - z).abs() / spacing_of(atoms)).clamp(0, 1).mean(2);
    }
    torch::Tensor const place = (x - minimum) / spacing_of(atoms);
    torch::Tensor const lower = place.floor().clamp(0, atoms - 2);
    torch::Tensor const above = (place - lower) / static_cast<double>(x.size(1));
    torch::Tensor const below = 1.0 / static_cast<double>(x.size(1)) - above;
    torch::Tensor const index = lower.to(torch::kInt64);
    return torch::zeros({x.size(0), atoms}).scatter_add(1, index, below).scatter_add(1, index + 1, above);
}

torch::Tensor cross_entropy(torch::Tensor const& masses, torch::Tensor const& logits) {
    return -(masses * torch::log_softmax(logits, 1)).sum(1).mean();
}

} // namespace

job categorical_cross_entropy(float const* logits, float const* targets, std::size_t states, std::size_t atoms,
                              std::size_t particles, projection how) {
    torch::Tensor const wanted = tensor(targets, states, particles);
    return with_gradient(tensor(logits, states, atoms),
                         [=](torch::Tensor const& l) { return cross_entropy(projected(wanted, l.size(1), how), l); });
}

job categorical_energy(float const* logits, float const* targets, std::size_t states, std::size_t atoms,
                       std::size_t particles, projection how) {
    torch::Tensor const wanted = tensor(targets, states, particles);
    return with_gradient(tensor(logits, states, atoms), [=](torch::Tensor const& l) {
        torch::Tensor const difference = torch::softmax(l, 1).cumsum(1) - projected(wanted, l.size(1), how).cumsum(1);
        return 2.0 * spacing_of(l.size(1)) * difference.pow(2).sum(1).mean();
    });
}

job hl_gauss(float const* logits, float const* targets, std::size_t states, std::size_t atoms, std::size_t particles) {
    torch::Tensor const wanted = tensor(targets, states, particles);
    return with_gradient(tensor(logits, states, atoms), [=](torch::Tensor const& l) {
        double const spacing = spacing_of(l.size(1));
        torch::Tensor const edges = torch::linspace(minimum - 0.5 * spacing, maximum + 0.5 * spacing, l.size(1) + 1);
        torch::Tensor const x = wanted.clamp(minimum, maximum).unsqueeze(2);
        torch::Tensor const below = torch::erf((edges - x) / (0.75 * spacing * std::numbers::sqrt2));
        torch::Tensor const in_bins = below.slice(2, 1) - below.slice(2, 0, -1);
        torch::Tensor const in_all = below.slice(2, -1) - below.slice(2, 0, 1);
        return cross_entropy((in_bins / in_all).mean(1), l);
    });
}

} // namespace gmac::bench::naive
