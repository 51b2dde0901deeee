// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/critic_network.hpp>
#include <gmac/agent/detail/learner.hpp>
#include <gmac/agent/detail/state_values.hpp>
#include <gmac/agent/intrinsic_reward.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/detail/gather.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/backend.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

struct random_network_distillation_options {
    std::size_t features = 64;   ///< outputs of both networks
    double learning_rate = 1e-4; ///< of the predictor, by Adam
    std::size_t epochs = 1;      ///< of the predictor over a rollout
};

/// Throws gmac::error for the first option outside its range, with its name, its value and the range.
inline void validate(random_network_distillation_options const& options) {
    constexpr std::size_t most = std::size_t{1} << 24u;
    require(options.features >= 1 && options.features <= most,
            "random_network_distillation: features is {}, but must be in [1, {}]", options.features, most);
    require(std::isfinite(options.learning_rate) && options.learning_rate > 0.0,
            "random_network_distillation: learning_rate is {}, but must be finite and positive", options.learning_rate);
    require(options.epochs > 0, "random_network_distillation: epochs is 0, but must be at least 1");
}

namespace detail {

/// Numbers that are only compared: a head for networks whose outputs mean nothing.
struct feature_head {
    std::size_t features;
    [[nodiscard]] std::size_t output_size() const noexcept { return features; }
    template <class Outputs, class Values>
    void mean(Outputs const&, Values const&) const noexcept {}
};

/// The features that another network has for the same states.
template <class T>
struct distilled_features {
    matrix_view<T const> values; // [B, features]

    template <class>
    struct maker {
        struct batch {
            buffer<T> values;
        };
        matrix_view<T const> features; // [states, features]

        [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<T>(rows * features.cols())}; }
        [[nodiscard]] distilled_features take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
            gather(rows, features.data(), features.cols(), to.values.data());
            return {{to.values.data(), rows.size(), features.cols()}};
        }
    };
};

/// The mean squared difference of two rows of features.
template <class T>
[[nodiscard]] T mean_square(matrix_view<T const> const& a, matrix_view<T const> const& b, std::size_t row) noexcept {
    T sum(0);
    for (std::size_t j = 0; j < a.cols(); ++j) {
        T const difference = a(row, j) - b(row, j);
        sum += difference * difference;
    }
    return sum / static_cast<T>(a.cols());
}

/// The mean over the states of that, and its gradient.
struct distillation_loss {
    template <class T>
    using targets_type = distilled_features<T>;

    template <class T>
    T value_and_gradient(feature_head const&, matrix_view<T const> outputs, distilled_features<T> const& targets,
                         matrix_view<T> gradient) const noexcept {
        T const states = static_cast<T>(outputs.rows());
        T const slope = T(2) / (states * static_cast<T>(outputs.cols()));
        T sum(0);
        for (std::size_t i = 0; i < outputs.rows(); ++i) {
            sum += mean_square(outputs, targets.values, i);
            for (std::size_t j = 0; j < outputs.cols(); ++j)
                gradient(i, j) = slope * (outputs(i, j) - targets.values(i, j));
        }
        return sum / states;
    }
};

} // namespace detail

/// Random network distillation (Burda et al. 2019): the reward of a transition is the mean squared error with which a
/// network predicts the outputs of another one, whose weights are random and stay, for the state that follows; the error is
/// large where few states were like it. After the end of an episode that state is the first of the next one. Both see
/// states as the policy does, so observations that are normalised for it are for them.
template <nn::backend Backend, class Trunk>
class random_network_distillation final
    : public intrinsic_reward<typename Backend::scalar,
                              typename critic_network<detail::feature_head, Backend, Trunk>::observation_type> {
    using network_type = critic_network<detail::feature_head, Backend, Trunk>;
    using maker_type =
        typename detail::distilled_features<typename Backend::scalar>::template maker<detail::feature_head>;

public:
    using scalar = typename Backend::scalar;
    using observation_type = typename network_type::observation_type;
    using rollout_type = rollout<scalar, observation_type>;

    /// For the rollouts in `like`, which must outlive it, as an agent's does. `trunk` is the network below the features of
    /// both; of `learning` it takes minibatch, shards and the optimiser's epsilon. Throws gmac::error for an option outside its range.
    random_network_distillation(rollout_type const& like, Trunk trunk, agent_options learning, std::uint64_t seed,
                                random_network_distillation_options const& options = {}, std::size_t threads = 1)
        : options_(checked(std::move(learning), options)),
          seed_(seed),
          head_{options.features},
          network_(std::move(trunk), head_, std::sqrt(2.0)),
          fixed_(network_.parameter_count()),
          predictor_(network_.parameter_count()),
          rollout_(like),
          wanted_(network_, like, threads),
          predicted_(network_, like, threads),
          targets_{{nullptr, 0, options.features}}, // the features come with the first rollout
          learner_({options_, network_, none_, head_, loss_, rollout_, targets_, {}, {}, name}) {
        require(network_.inputs() == like.state_size(), "{}: the trunk takes {} inputs, but a state has {} elements",
                name, network_.inputs(), like.state_size());
        random_stream random = stream_for(seed_, stream_purpose::exploration);
        network_.initialize(fixed_.span(), random);
        network_.initialize(predictor_.span(), random);
    }
    random_network_distillation(random_network_distillation const&) = delete;
    random_network_distillation& operator=(random_network_distillation const&) = delete;

    void measure(evaluated_rollout<scalar, observation_type> const& seen, matrix_view<scalar> rewards,
                 executor& tasks) override {
        require(&seen.rollout == &rollout_, "{}: this is another rollout than the one that it was made for", name);
        auto const nothing_random = [this](std::size_t) { return stream_for(seed_, stream_purpose::exploration); };
        wanted_.evaluate(fixed_.span(), head_, rollout_, tasks, nothing_random);
        predicted_.evaluate(predictor_.span(), head_, rollout_, tasks, nothing_random);
        targets_.features = wanted_.outputs();
        for (std::size_t t = 0; t < rewards.rows(); ++t)
            for (std::size_t e = 0; e < rewards.cols(); ++e)
                rewards(t, e) =
                    detail::mean_square(predicted_.outputs(), wanted_.outputs(), (t + 1) * rewards.cols() + e);
    }

    /// Throws gmac::error if the loss or its gradient is not finite.
    void learn(rollout_type const& seen, std::uint64_t number, executor& tasks) override {
        require(&seen == &rollout_ && targets_.features.rows() > 0,
                "{}: what is learned must have been measured before", name);
        update_report report{.update = number, .learning_rate = options_.learning_rate};
        learner_.learn(
            predictor_.span(), tasks,
            [&](stream_purpose, std::size_t index) {
                return rollout_.stream(seed_, stream_purpose::exploration, number, index);
            },
            1, report);
    }

    void persist(archive& state) override {
        state.inside("fixed", [&] { nn::persist_parameters(state, network_, fixed_.span()); });
        state.inside("predictor", [&] { nn::persist_parameters(state, network_, predictor_.span()); });
        state.inside("optimiser", [&] { learner_.persist(state); });
        state("seed", seed_);
    }

private:
    static constexpr char const* name = "random_network_distillation";

    [[nodiscard]] static agent_options checked(agent_options learning,
                                               random_network_distillation_options const& options) {
        validate(options);
        learning.learning_rate = options.learning_rate;
        learning.epochs = options.epochs;
        learning.schedule = rate_schedule::constant;
        learning.optimiser = optimiser_kind::adam;
        learning.max_gradient_norm = std::numeric_limits<double>::infinity();
        learning.value_coefficient = 1.0;
        return detail::checked(std::move(learning));
    }

    agent_options options_;
    std::uint64_t seed_;
    detail::no_actor none_;
    detail::feature_head head_;
    detail::distillation_loss loss_;
    network_type network_;
    buffer<scalar> fixed_, predictor_;
    rollout_type const& rollout_;
    detail::state_values<network_type, detail::feature_head> wanted_, predicted_;
    maker_type targets_;
    detail::learner<network_type, detail::no_actor, detail::feature_head, detail::distillation_loss> learner_;
};

} // namespace gmac::inline GMAC_ABI
