// SPDX-License-Identifier: Apache-2.0
// SR(λ), GAE and sampling, with a loop over the steps.
#include "naive_torch_support.hpp"

namespace gmac::bench::naive {

namespace {

constexpr double discount = 0.99, lambda = 0.95;

torch::Tensor by_step(float const* data, std::size_t steps, std::size_t environments, std::size_t columns) {
    return tensor(data, steps * environments, columns)
        .reshape({static_cast<std::int64_t>(steps), static_cast<std::int64_t>(environments),
                  static_cast<std::int64_t>(columns)});
}

} // namespace

particles sr_lambda_of(torch::Tensor const& weights, torch::Tensor const& means, torch::Tensor const& deviations,
                       torch::Tensor const& rewards, torch::Tensor const& going_on, std::int64_t count) {
    std::int64_t const steps = rewards.size(0), environments = rewards.size(1);
    particles const out{torch::empty({steps, environments, count}), torch::empty({steps, environments, count})};
    torch::Tensor chosen = torch::multinomial(weights[steps], count, true);
    torch::Tensor x = means[steps].gather(1, chosen), s = deviations[steps].gather(1, chosen);
    for (std::int64_t t = steps - 1; t >= 0; --t) {
        torch::Tensor const factor = discount * going_on[t].unsqueeze(1);
        x = rewards[t].unsqueeze(1) + factor * x;
        s = factor * s;
        out.means[t].copy_(x);
        out.deviations[t].copy_(s);
        chosen = torch::multinomial(weights[t], count, true);
        torch::Tensor const replace = torch::rand({environments, count}) < 1.0 - lambda;
        x = torch::where(replace, means[t].gather(1, chosen), x);
        s = torch::where(replace, deviations[t].gather(1, chosen), s);
    }
    return out;
}

/// What lies from `first` on becomes one component with its mean and variance.
torch::Tensor merged(torch::Tensor const& part, torch::Tensor const& rest, std::int64_t first) {
    return torch::cat({part.slice(1, 0, first), rest.unsqueeze(1)}, 1);
}

std::vector<torch::Tensor> exact_sr_lambda_of(torch::Tensor const& weights, torch::Tensor const& means,
                                              torch::Tensor const& deviations, torch::Tensor const& rewards,
                                              std::int64_t columns) {
    std::int64_t const steps = rewards.size(0);
    std::vector<torch::Tensor> out; // means of each step, from the last
    torch::Tensor w = weights[steps], x = means[steps], s = deviations[steps];
    for (std::int64_t t = steps - 1; t >= 0; --t) {
        if (t + 1 < steps) {
            w = torch::cat({(1.0 - lambda) * weights[t + 1], lambda * w}, 1);
            x = torch::cat({means[t + 1], x}, 1);
            s = torch::cat({deviations[t + 1], s}, 1);
        }
        if (std::int64_t const kept = columns - 1; w.size(1) > columns) {
            torch::Tensor const v = w.slice(1, kept), y = x.slice(1, kept), d = s.slice(1, kept);
            torch::Tensor const weight = v.sum(1), mean = (v * y).sum(1) / weight;
            torch::Tensor const square = (v * (y * y + d * d)).sum(1) / weight;
            w = merged(w, weight, kept);
            x = merged(x, mean, kept);
            s = merged(s, (square - mean * mean).clamp_min(0).sqrt(), kept);
        }
        x = rewards[t].unsqueeze(1) + discount * x;
        s = discount * s;
        out.push_back(x);
    }
    return out;
}

torch::Tensor sr_lambda_of_points(torch::Tensor const& values, torch::Tensor const& rewards,
                                  torch::Tensor const& going_on, std::int64_t count, bool drawn) {
    std::int64_t const steps = rewards.size(0), environments = rewards.size(1), support = values.size(2);
    torch::Tensor const out = torch::empty({steps, environments, count});
    torch::Tensor const by_number = (torch::arange(count) % support).expand({environments, count});
    auto const fresh = [&](std::int64_t t) {
        return values[t].gather(1, drawn ? by_number : torch::randint(support, {environments, count}, torch::kInt64));
    };
    torch::Tensor x = fresh(steps);
    for (std::int64_t t = steps - 1; t >= 0; --t) {
        x = rewards[t].unsqueeze(1) + discount * going_on[t].unsqueeze(1) * x;
        out[t].copy_(x);
        x = torch::where(torch::rand({environments, count}) < 1.0 - lambda, fresh(t), x);
    }
    return out;
}

torch::Tensor gae_of(torch::Tensor const& values, torch::Tensor const& rewards, torch::Tensor const& going_on) {
    torch::Tensor const advantages = torch::empty_like(rewards);
    torch::Tensor next = torch::zeros({rewards.size(1)});
    for (std::int64_t t = rewards.size(0) - 1; t >= 0; --t) {
        next = rewards[t] + discount * going_on[t] * values[t + 1] - values[t] + discount * lambda * going_on[t] * next;
        advantages[t].copy_(next);
    }
    return advantages;
}

job sr_lambda(float const* weights, float const* means, float const* deviations, float const* rewards,
              std::size_t steps, std::size_t environments, std::size_t components, std::size_t particles) {
    auto const shaped = [&](float const* data) { return by_step(data, steps + 1, environments, components); };
    torch::Tensor const w = shaped(weights), mu = shaped(means), sigma = shaped(deviations);
    torch::Tensor const r = tensor(rewards, steps, environments), on = torch::ones_like(r);
    auto const m = static_cast<std::int64_t>(particles);
    return [=] {
        torch::NoGradGuard const none;
        return sr_lambda_of(w, mu, sigma, r, on, m).means.mean().item<float>();
    };
}

job exact_sr_lambda(float const* weights, float const* means, float const* deviations, float const* rewards,
                    std::size_t steps, std::size_t environments, std::size_t components, std::size_t columns) {
    auto const shaped = [&](float const* data) { return by_step(data, steps + 1, environments, components); };
    torch::Tensor const w = shaped(weights), mu = shaped(means), sigma = shaped(deviations);
    torch::Tensor const r = tensor(rewards, steps, environments);
    auto const most = static_cast<std::int64_t>(columns);
    return [=] {
        torch::NoGradGuard const none;
        return exact_sr_lambda_of(w, mu, sigma, r, most).back().mean().item<float>();
    };
}

job sr_lambda_of_points(float const* values, float const* rewards, std::size_t steps, std::size_t environments,
                        std::size_t support, std::size_t particles, bool drawn) {
    torch::Tensor const z = by_step(values, steps + 1, environments, support);
    torch::Tensor const r = tensor(rewards, steps, environments), on = torch::ones_like(r);
    auto const m = static_cast<std::int64_t>(particles);
    return [=] {
        torch::NoGradGuard const none;
        return sr_lambda_of_points(z, r, on, m, drawn).mean().item<float>();
    };
}

job gae(float const* values, float const* rewards, std::size_t steps, std::size_t environments) {
    torch::Tensor const v = tensor(values, steps + 1, environments), r = tensor(rewards, steps, environments);
    torch::Tensor const on = torch::ones_like(r);
    return [=] {
        torch::NoGradGuard const none;
        return gae_of(v, r, on).mean().item<float>();
    };
}

job lambda_return(float const* values, float const* rewards, std::size_t steps, std::size_t environments) {
    torch::Tensor const v = tensor(values, steps + 1, environments), r = tensor(rewards, steps, environments);
    torch::Tensor const on = torch::ones_like(r);
    auto const last = static_cast<std::int64_t>(steps);
    return [=] {
        torch::NoGradGuard const none;
        return (gae_of(v, r, on) + v.slice(0, 0, last)).mean().item<float>();
    };
}

job mixture_samples(float const* weights, float const* means, float const* deviations, std::size_t components,
                    std::size_t count) {
    torch::Tensor const w = tensor(weights, 1, components)[0], mu = tensor(means, 1, components)[0],
                        sigma = tensor(deviations, 1, components)[0];
    auto const n = static_cast<std::int64_t>(count);
    return [=] {
        torch::NoGradGuard const none;
        torch::Tensor const chosen = torch::multinomial(w, n, true);
        return (mu.index_select(0, chosen) + sigma.index_select(0, chosen) * torch::randn({n}))[0].item<float>();
    };
}

job categorical_samples(float const* logits, std::size_t states, std::size_t actions) {
    torch::Tensor const l = tensor(logits, states, actions);
    return [=] {
        torch::NoGradGuard const none;
        return static_cast<float>(torch::multinomial(torch::softmax(l, 1), 1)[0][0].item<std::int64_t>());
    };
}

} // namespace gmac::bench::naive
