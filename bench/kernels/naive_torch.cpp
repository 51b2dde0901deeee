// SPDX-License-Identifier: Apache-2.0
#include "naive_torch.hpp"

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <numbers>

namespace gmac::bench::naive {

namespace {

torch::Tensor tensor(float const* data, std::size_t rows, std::size_t cols) {
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

job mixture_energy(float const* raw, float const* means, float const* deviations, std::size_t states,
                   std::size_t particles, bool target_term) {
    torch::Tensor const nu = tensor(means, states, particles), tau = tensor(deviations, states, particles);
    double const share = 1.0 / static_cast<double>(particles);
    return with_gradient(tensor(raw, states, 15), [=](torch::Tensor const& outputs) {
        auto const parts = outputs.chunk(3, 1);
        torch::Tensor const w = torch::softmax(parts[0], 1), mu = parts[1];
        torch::Tensor const variance = 0.0025 * (torch::softplus(parts[2]) + 1.0);
        torch::Tensor const target_variance = tau * tau;
        auto const sums = [](torch::Tensor const& a, torch::Tensor const& b) {
            return a.unsqueeze(2) + b.unsqueeze(1);
        };
        torch::Tensor const cross =
            (w.unsqueeze(2) * share * expected_distance(pairs(mu, nu), sums(variance, target_variance))).sum({1, 2});
        torch::Tensor const own =
            (w.unsqueeze(2) * w.unsqueeze(1) * expected_distance(pairs(mu, mu), sums(variance, variance))).sum({1, 2});
        torch::Tensor loss = 2.0 * cross - own;
        if (target_term)
            loss =
                loss -
                (share * share * expected_distance(pairs(nu, nu), sums(target_variance, target_variance))).sum({1, 2});
        return loss.mean();
    });
}

job huber_quantile(float const* values, float const* fractions, float const* targets, std::size_t states,
                   std::size_t samples, std::size_t particles) {
    torch::Tensor const tau = tensor(fractions, states, samples), target = tensor(targets, states, particles);
    return with_gradient(tensor(values, states, samples), [=](torch::Tensor const& theta) {
        torch::Tensor const delta = target.unsqueeze(1) - theta.unsqueeze(2);
        torch::Tensor const size = delta.abs();
        torch::Tensor const huber = torch::where(size <= 1.0, 0.5 * delta * delta, size - 0.5);
        return (level(tau, delta) * huber).sum(1).mean(1).mean();
    });
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
    return with_gradient(tensor(values, states, samples), [=](torch::Tensor const& x) {
        torch::Tensor loss = 2.0 * pairs(x, target).abs().mean({1, 2}) - pairs(x, x).abs().mean({1, 2});
        if (target_term)
            loss = loss - pairs(target, target).abs().mean({1, 2});
        return loss.mean();
    });
}

job squared_error(float const* values, float const* returns, std::size_t states) {
    torch::Tensor const target = tensor(returns, states, 1);
    return with_gradient(tensor(values, states, 1),
                         [=](torch::Tensor const& v) { return 0.5 * (v - target).pow(2).mean(); });
}

job sr_lambda(float const* weights, float const* means, float const* deviations, float const* rewards,
              std::size_t steps, std::size_t environments, std::size_t components, std::size_t particles) {
    auto const shaped = [&](float const* data) {
        return tensor(data, steps + 1, environments * components)
            .reshape({static_cast<std::int64_t>(steps + 1), static_cast<std::int64_t>(environments),
                      static_cast<std::int64_t>(components)});
    };
    torch::Tensor const w = shaped(weights), mu = shaped(means), sigma = shaped(deviations);
    torch::Tensor const r = tensor(rewards, steps, environments);
    auto const m = static_cast<std::int64_t>(particles);
    auto const last = static_cast<std::int64_t>(steps);
    return [=] {
        torch::NoGradGuard const none;
        torch::Tensor const out_means = torch::empty({last, w.size(1), m}),
                            out_deviations = torch::empty_like(out_means);
        torch::Tensor chosen = torch::multinomial(w[last], m, true);
        torch::Tensor x = mu[last].gather(1, chosen), s = sigma[last].gather(1, chosen);
        for (std::int64_t t = last - 1; t >= 0; --t) {
            x = r[t].unsqueeze(1) + 0.99 * x;
            s = 0.99 * s;
            out_means[t].copy_(x);
            out_deviations[t].copy_(s);
            chosen = torch::multinomial(w[t], m, true);
            torch::Tensor const replace = torch::rand({w.size(1), m}) < 0.05;
            x = torch::where(replace, mu[t].gather(1, chosen), x);
            s = torch::where(replace, sigma[t].gather(1, chosen), s);
        }
        return out_means.mean().item<float>();
    };
}

job gae(float const* values, float const* rewards, std::size_t steps, std::size_t environments) {
    torch::Tensor const v = tensor(values, steps + 1, environments), r = tensor(rewards, steps, environments);
    auto const last = static_cast<std::int64_t>(steps);
    return [=] {
        torch::NoGradGuard const none;
        torch::Tensor const advantages = torch::empty_like(r);
        torch::Tensor next = torch::zeros({v.size(1)});
        for (std::int64_t t = last - 1; t >= 0; --t) {
            next = r[t] + 0.99 * v[t + 1] - v[t] + 0.99 * 0.95 * next;
            advantages[t].copy_(next);
        }
        return advantages.mean().item<float>();
    };
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

} // namespace gmac::bench::naive
