// SPDX-License-Identifier: Apache-2.0
// Heads, the implicit quantile network, and whole updates.
#include "naive_torch_support.hpp"

#include <algorithm>
#include <memory>
#include <numbers>
#include <vector>

namespace gmac::bench::naive {

namespace {

using torch::Tensor;

/// The quantile function as a network of the fraction.
struct quantile_network : torch::nn::Module {
    quantile_network(std::int64_t width, std::int64_t samples, std::int64_t embedding, std::int64_t units)
        : samples_(samples),
          frequencies(std::numbers::pi * torch::arange(1, embedding + 1)),
          embed(register_module("embed", torch::nn::Linear(embedding, width))),
          hidden(register_module("hidden", torch::nn::Linear(width, units))),
          value(register_module("value", torch::nn::Linear(units, 1))) {}

    /// values and fractions, [B, N] each
    std::pair<Tensor, Tensor> forward(Tensor const& features) {
        Tensor const fractions = torch::rand({features.size(0), samples_});
        Tensor const phi = torch::relu(embed(torch::cos(fractions.unsqueeze(2) * frequencies)));
        return {value(torch::relu(hidden(phi * features.unsqueeze(1)))).squeeze(2), fractions};
    }

    std::int64_t samples_;
    Tensor frequencies;
    torch::nn::Linear embed, hidden, value;
};

struct mixture {
    Tensor weights, means, deviations;
};
mixture mixture_of(Tensor const& raw) {
    auto const parts = raw.chunk(3, 1);
    return {torch::softmax(parts[0], 1), parts[1], (0.0025 * (torch::softplus(parts[2]) + 1.0)).sqrt()};
}

/// An agent as one writes it in PyTorch.
class agent {
public:
    agent(method which, std::int64_t environments, std::int64_t steps, std::int64_t minibatch, std::int64_t epochs,
          std::int64_t units)
        : which_(which),
          environments_(environments),
          steps_(steps),
          minibatch_(minibatch),
          epochs_(epochs),
          trunk_(torch::nn::Linear(4, units), torch::nn::Tanh(), torch::nn::Linear(units, units), torch::nn::Tanh()),
          policy_(units, 4),
          value_(units, which == method::gmac           ? 15
                        : which == method::dirac_energy ? 64
                                                        : 1),
          quantiles_(std::make_shared<quantile_network>(units, 64, 64, 256)),
          observation_(torch::arange(4).to(torch::kFloat32).mul(0.25).expand({environments, 4})) {
        for (auto const& part : {trunk_->parameters(), policy_->parameters(),
                                 implicit() ? quantiles_->parameters() : value_->parameters()})
            parameters_.insert(parameters_.end(), part.begin(), part.end());
        adam_ = std::make_unique<torch::optim::Adam>(parameters_, torch::optim::AdamOptions(1e-4).eps(1e-5));
    }

    float operator()() {
        act();
        targets();
        std::int64_t const rows = steps_ * environments_;
        float loss = 0.0F;
        for (std::int64_t epoch = 0; epoch < epochs_; ++epoch)
            for (Tensor const& index : torch::randperm(rows).split(minibatch_))
                loss = learn(index);
        return loss;
    }

private:
    struct outputs {
        Tensor logits, value, fractions; ///< `value` as the loss takes it
    };
    [[nodiscard]] bool implicit() const { return which_ == method::iqac || which_ == method::iqac_e; }

    outputs forward(Tensor const& observations) {
        Tensor const features = trunk_->forward(observations);
        if (!implicit())
            return {policy_(features), value_(features), {}};
        auto const [values, fractions] = quantiles_->forward(features);
        return {policy_(features), values, fractions};
    }
    [[nodiscard]] Tensor mean_of(Tensor const& value) const {
        if (which_ != method::gmac)
            return value.mean(1);
        mixture const m = mixture_of(value);
        return (m.weights * m.means).sum(1);
    }

    void act() {
        torch::NoGradGuard const none;
        std::vector<Tensor> observations, actions, log_probabilities, values, rewards, going_on;
        for (std::int64_t t = 0; t <= steps_; ++t) {
            outputs const out = forward(observation_);
            values.push_back(out.value);
            if (t == steps_)
                break;
            Tensor const all = torch::log_softmax(out.logits, 1);
            Tensor const action = torch::multinomial(all.exp(), 1);
            observations.push_back(observation_);
            actions.push_back(action);
            log_probabilities.push_back(all.gather(1, action));
            rewards.push_back((action == 0).to(torch::kFloat32).squeeze(1));
            going_on.push_back(torch::full({environments_}, ++step_ % 100 == 0 ? 0.0 : 1.0));
        }
        observations_ = torch::cat(observations);
        actions_ = torch::cat(actions);
        log_probabilities_ = torch::cat(log_probabilities);
        rewards_ = torch::stack(rewards);
        going_on_ = torch::stack(going_on);
        outputs_ = torch::stack(values); // [T + 1, E, outputs]
    }

    void targets() {
        torch::NoGradGuard const none;
        Tensor const flat = outputs_.reshape({(steps_ + 1) * environments_, -1});
        Tensor const values = mean_of(flat).reshape({steps_ + 1, environments_});
        Tensor const advantages = gae_of(values, rewards_, going_on_);
        old_values_ = values.slice(0, 0, steps_).reshape({-1});
        returns_ = advantages.reshape({-1}) + old_values_;
        advantages_ = advantages.reshape({-1});
        auto const by_step = [&](Tensor const& t) { return t.reshape({steps_ + 1, environments_, -1}); };
        if (which_ == method::gmac) {
            mixture const m = mixture_of(flat);
            particles const p =
                sr_lambda_of(by_step(m.weights), by_step(m.means), by_step(m.deviations), rewards_, going_on_, 128);
            means_ = p.means.reshape({-1, 128});
            deviations_ = p.deviations.reshape({-1, 128});
        } else if (which_ != method::ppo) {
            means_ = sr_lambda_of_points(outputs_, rewards_, going_on_, 64, implicit()).reshape({-1, 64});
        }
    }

    Tensor value_loss(outputs const& out, Tensor const& index) {
        if (which_ == method::gmac)
            return mixture_energy_of(out.value, means_.index_select(0, index), deviations_.index_select(0, index),
                                     false)
                .mean();
        if (which_ == method::iqac)
            return huber_quantile_of(out.value, out.fractions, means_.index_select(0, index)).mean();
        if (which_ != method::ppo)
            return sample_energy_of(out.value, means_.index_select(0, index), false).mean();
        Tensor const v = out.value.squeeze(1), old = old_values_.index_select(0, index),
                     target = returns_.index_select(0, index);
        Tensor const clipped = old + (v - old).clamp(-0.2, 0.2);
        return 0.5 * torch::max((v - target).pow(2), (clipped - target).pow(2)).mean();
    }

    float learn(Tensor const& index) {
        outputs const out = forward(observations_.index_select(0, index));
        Tensor const all = torch::log_softmax(out.logits, 1);
        Tensor const log_probability = all.gather(1, actions_.index_select(0, index)).squeeze(1);
        Tensor advantage = advantages_.index_select(0, index);
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8);
        Tensor const ratio = (log_probability - log_probabilities_.index_select(0, index).squeeze(1)).exp();
        Tensor const surrogate = torch::min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean();
        Tensor const entropy = -(all.exp() * all).sum(1).mean();
        Tensor const loss = 0.5 * value_loss(out, index) - surrogate - 0.01 * entropy;
        adam_->zero_grad();
        loss.backward();
        torch::nn::utils::clip_grad_norm_(parameters_, 0.5);
        adam_->step();
        return loss.item<float>();
    }

    method which_;
    std::int64_t environments_, steps_, minibatch_, epochs_, step_ = 0;
    torch::nn::Sequential trunk_;
    torch::nn::Linear policy_, value_;
    std::shared_ptr<quantile_network> quantiles_;
    std::vector<Tensor> parameters_;
    std::unique_ptr<torch::optim::Adam> adam_;
    Tensor observation_, observations_, actions_, log_probabilities_, rewards_, going_on_, outputs_;
    Tensor old_values_, returns_, advantages_, means_, deviations_;
};

} // namespace

job mixture_pull_back(float const* raw, std::size_t states, std::size_t components) {
    return with_gradient(tensor(raw, states, 3 * components), [](Tensor const& outputs) {
        mixture const m = mixture_of(outputs);
        return (m.weights + m.means + m.deviations).sum();
    });
}

job mixture_mean(float const* raw, std::size_t states, std::size_t components) {
    Tensor const outputs = tensor(raw, states, 3 * components);
    return [outputs] {
        torch::NoGradGuard const none;
        mixture const m = mixture_of(outputs);
        return (m.weights * m.means).sum(1)[0].item<float>();
    };
}

job row_means(float const* values, std::size_t states, std::size_t columns) {
    Tensor const rows = tensor(values, states, columns);
    return [rows] {
        torch::NoGradGuard const none;
        return rows.mean(1)[0].item<float>();
    };
}

job implicit_quantile(float const* features, std::size_t states, std::size_t width, std::size_t samples,
                      std::size_t embedding, std::size_t hidden) {
    auto const network =
        std::make_shared<quantile_network>(static_cast<std::int64_t>(width), static_cast<std::int64_t>(samples),
                                           static_cast<std::int64_t>(embedding), static_cast<std::int64_t>(hidden));
    return with_gradient(tensor(features, states, width), [network](Tensor const& inputs) {
        network->zero_grad();
        return network->forward(inputs).first.sum();
    });
}

job update(method which, std::size_t environments, std::size_t steps, std::size_t minibatch, std::size_t epochs,
           std::size_t units) {
    torch::set_num_threads(1);
    auto const learner = std::make_shared<agent>(which, static_cast<std::int64_t>(environments),
                                                 static_cast<std::int64_t>(steps), static_cast<std::int64_t>(minibatch),
                                                 static_cast<std::int64_t>(epochs), static_cast<std::int64_t>(units));
    return [learner] { return (*learner)(); };
}

} // namespace gmac::bench::naive
