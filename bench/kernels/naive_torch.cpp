// SPDX-License-Identifier: Apache-2.0
#include "naive_torch_support.hpp"

#include <cmath>
#include <numbers>

namespace gmac::bench::naive {

namespace {

torch::Tensor expected_distance(torch::Tensor const& d, torch::Tensor const& variance) {
    torch::Tensor const s = variance.sqrt();
    return s * std::sqrt(2.0 / std::numbers::pi) * torch::exp(-d * d / (2.0 * variance)) +
           d * torch::erf(d / (s * std::numbers::sqrt2));
}

torch::Tensor pairs(torch::Tensor const& a, torch::Tensor const& b) {
    return a.unsqueeze(2) - b.unsqueeze(1);
}

/// |τ − 1{δ < 0}| with δ = target − prediction, [states, samples, particles].
torch::Tensor level(torch::Tensor const& fractions, torch::Tensor const& delta) {
    return (fractions.unsqueeze(2) - (delta < 0).to(torch::kFloat32)).abs();
}

} // namespace

torch::Tensor mixture_energy_of(torch::Tensor const& raw, torch::Tensor const& means, torch::Tensor const& deviations,
                                bool target_term) {
    double const share = 1.0 / static_cast<double>(means.size(1));
    auto const parts = raw.chunk(3, 1);
    torch::Tensor const w = torch::softmax(parts[0], 1), mu = parts[1];
    torch::Tensor const variance = 0.0025 * (torch::softplus(parts[2]) + 1.0);
    torch::Tensor const target_variance = deviations * deviations;
    auto const sums = [](torch::Tensor const& a, torch::Tensor const& b) { return a.unsqueeze(2) + b.unsqueeze(1); };
    torch::Tensor const cross =
        (w.unsqueeze(2) * share * expected_distance(pairs(mu, means), sums(variance, target_variance))).sum({1, 2});
    torch::Tensor const own =
        (w.unsqueeze(2) * w.unsqueeze(1) * expected_distance(pairs(mu, mu), sums(variance, variance))).sum({1, 2});
    torch::Tensor loss = 2.0 * cross - own;
    if (target_term)
        loss = loss - (share * share * expected_distance(pairs(means, means), sums(target_variance, target_variance)))
                          .sum({1, 2});
    return loss;
}

torch::Tensor huber_quantile_of(torch::Tensor const& values, torch::Tensor const& fractions,
                                torch::Tensor const& targets) {
    torch::Tensor const delta = targets.unsqueeze(1) - values.unsqueeze(2);
    torch::Tensor const size = delta.abs();
    torch::Tensor const huber = torch::where(size <= 1.0, 0.5 * delta * delta, size - 0.5);
    return (level(fractions, delta) * huber).sum(1).mean(1);
}

torch::Tensor sample_energy_of(torch::Tensor const& values, torch::Tensor const& targets, bool target_term) {
    torch::Tensor loss = 2.0 * pairs(values, targets).abs().mean({1, 2}) - pairs(values, values).abs().mean({1, 2});
    if (target_term)
        loss = loss - pairs(targets, targets).abs().mean({1, 2});
    return loss;
}

job mixture_energy(float const* raw, float const* means, float const* deviations, std::size_t states,
                   std::size_t particles, bool target_term) {
    torch::Tensor const nu = tensor(means, states, particles), tau = tensor(deviations, states, particles);
    return with_gradient(tensor(raw, states, 15), [=](torch::Tensor const& outputs) {
        return mixture_energy_of(outputs, nu, tau, target_term).mean();
    });
}

job huber_quantile(float const* values, float const* fractions, float const* targets, std::size_t states,
                   std::size_t samples, std::size_t particles) {
    torch::Tensor const tau = tensor(fractions, states, samples), target = tensor(targets, states, particles);
    return with_gradient(tensor(values, states, samples),
                         [=](torch::Tensor const& theta) { return huber_quantile_of(theta, tau, target).mean(); });
}

job expectile(float const* values, float const* fractions, float const* targets, std::size_t states,
              std::size_t samples, std::size_t particles) {
    torch::Tensor const tau = tensor(fractions, states, samples), target = tensor(targets, states, particles);
    return with_gradient(tensor(values, states, samples), [=](torch::Tensor const& theta) {
        torch::Tensor const delta = target.unsqueeze(1) - theta.unsqueeze(2);
        return (level(tau, delta) * delta * delta).sum(1).mean(1).mean();
    });
}

job sample_energy(float const* values, float const* targets, std::size_t states, std::size_t samples,
                  std::size_t particles, bool target_term) {
    torch::Tensor const target = tensor(targets, states, particles);
    return with_gradient(tensor(values, states, samples),
                         [=](torch::Tensor const& x) { return sample_energy_of(x, target, target_term).mean(); });
}

job squared_error(float const* values, float const* returns, std::size_t states) {
    torch::Tensor const target = tensor(returns, states, 1);
    return with_gradient(tensor(values, states, 1),
                         [=](torch::Tensor const& v) { return 0.5 * (v - target).pow(2).mean(); });
}

job clipped_squared_error(float const* values, float const* returns, float const* old_values, std::size_t states) {
    torch::Tensor const target = tensor(returns, states, 1), old = tensor(old_values, states, 1);
    return with_gradient(tensor(values, states, 1), [=](torch::Tensor const& v) {
        torch::Tensor const clipped = old + (v - old).clamp(-0.2, 0.2);
        return 0.5 * torch::max((v - target).pow(2), (clipped - target).pow(2)).mean();
    });
}

namespace {

/// A pass through a network, and back from a gradient of ones.
job network_job(torch::nn::Sequential network, std::function<torch::Tensor()> input, bool backward) {
    torch::set_num_threads(1);
    return [=]() mutable {
        if (!backward) {
            torch::NoGradGuard const none;
            return network->forward(input())[0].sum().item<float>();
        }
        network->zero_grad();
        torch::Tensor const output = network->forward(input());
        output.backward(torch::ones_like(output));
        return output[0].sum().item<float>();
    };
}

std::int64_t number(std::size_t x) {
    return static_cast<std::int64_t>(x);
}

torch::nn::Conv2d convolution_layer(std::size_t channels, std::size_t filters, std::size_t kernel, std::size_t stride) {
    return torch::nn::Conv2d(
        torch::nn::Conv2dOptions(number(channels), number(filters), number(kernel)).stride(number(stride)));
}

} // namespace

job convolution(std::size_t images, std::size_t channels, std::size_t size, std::size_t filters, std::size_t kernel,
                std::size_t stride, bool input_gradient, bool backward) {
    torch::Tensor const x = torch::rand({number(images), number(channels), number(size), number(size)});
    return network_job(
        torch::nn::Sequential(convolution_layer(channels, filters, kernel, stride), torch::nn::ReLU()),
        [=] { return x.detach().set_requires_grad(input_gradient); }, backward);
}

job fully_connected(std::size_t rows, std::size_t inputs, std::size_t outputs, bool backward) {
    torch::Tensor const x = torch::rand({number(rows), number(inputs)});
    return network_job(
        torch::nn::Sequential(torch::nn::Linear(number(inputs), number(outputs)), torch::nn::ReLU()),
        [=] { return x.detach().set_requires_grad(true); }, backward);
}

job atari_trunk(std::uint8_t const* screens, std::size_t images, bool backward) {
    torch::Tensor const bytes =
        torch::from_blob(const_cast<std::uint8_t*>(screens), {number(images), 4, 84, 84}, torch::kUInt8).clone();
    torch::nn::Sequential network(convolution_layer(4, 32, 8, 4), torch::nn::ReLU(), convolution_layer(32, 64, 4, 2),
                                  torch::nn::ReLU(), convolution_layer(64, 32, 3, 1), torch::nn::ReLU(),
                                  torch::nn::Flatten(), torch::nn::Linear(32 * 7 * 7, 512), torch::nn::ReLU());
    return network_job(
        network, [=] { return bytes.to(torch::kFloat32).mul(1.0 / 255.0); }, backward);
}

job minatar_trunk(std::uint8_t const* grids, std::size_t images, std::size_t channels, bool backward) {
    torch::Tensor const bytes =
        torch::from_blob(const_cast<std::uint8_t*>(grids), {number(images), number(channels), 10, 10}, torch::kUInt8)
            .clone();
    torch::nn::Sequential network(convolution_layer(channels, 16, 3, 1), torch::nn::ReLU(), torch::nn::Flatten(),
                                  torch::nn::Linear(16 * 8 * 8, 128), torch::nn::ReLU());
    return network_job(
        network, [=] { return bytes.to(torch::kFloat32); }, backward);
}

} // namespace gmac::bench::naive
