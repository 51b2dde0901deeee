// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/composition.hpp>
#include <gmac/agent/critic_network.hpp>
#include <gmac/agent/detail/critic_targets.hpp>
#include <gmac/agent/detail/learner.hpp>
#include <gmac/agent/detail/state_values.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// What an observer learned of the latest rollout; see update_report.
struct observer_report {
    double value_loss = 0.0;
    double explained_variance = 0.0;
    double gradient_norm = 0.0;
};

/// Sees every rollout of an agent, once the agent has learned it, and has no say in what the agent does.
/// `T` is the agent's number type and `O` the element type of its observations.
template <class T, observation_element O = float>
class rollout_observer {
public:
    virtual ~rollout_observer() = default;
    /// The rollout of update `number`, from 1, and the agent's learning rate in its last epoch. What is thrown here ends the
    /// agent's training, when it has learned this rollout.
    virtual void observe(rollout<T, O> const& seen, std::uint64_t number, double learning_rate, executor& tasks) = 0;
    /// Everything that the next call depends on.
    virtual void persist(archive& state) = 0;
};

/// What an observer is put together of, each by its name; what is not named is default-constructed.
template <class Head, class Loss>
struct observer_parts {
    Head head{};
    Loss loss{};
    std::uint64_t seed = 0; ///< of its parameters, minibatches and targets
};

namespace detail {
/// What a program may do with an observer, without the observer.
struct refused_observer {
    [[nodiscard]] observer_report report() const noexcept { return {}; }
};
} // namespace detail

/// A critic that watches: a value distribution of the agent's policy, with head, loss, network and SR(λ) targets of its
/// own, learned from the same rollouts. So any number of methods can be compared on one and the same policy, whose run is
/// the same to the bit with and without them. Made by an agent:
///
///     auto& iqac = agent.observe<heads::implicit_quantile, losses::huber_quantile>({.seed = 4});
template <class Head, class Loss, nn::backend Backend = backends::simd<float>, class Trunk = default_trunk<Backend>>
    requires detail::composable<Head, Loss, Backend>
class observer final : public rollout_observer<typename Backend::scalar,
                                               typename critic_network<Head, Backend, Trunk>::observation_type> {
public:
    using scalar = typename Backend::scalar;
    using head_type = Head;
    using network_type = critic_network<Head, Backend, Trunk>;
    using observation_type = typename network_type::observation_type;
    using rollout_type = rollout<scalar, observation_type>;
    using workspace = typename network_type::workspace;

    /// For the rollouts in `like`, which must outlive it, as an agent's does. Of the options it takes those of minibatches,
    /// epochs, optimiser, SR(λ) and value network; the learning rate is the agent's. `threads` is how many its passes may
    /// use. Throws gmac::error for an option outside its range and for a trunk of other inputs than the states have.
    observer(rollout_type const& like, Trunk trunk, agent_options options, observer_parts<Head, Loss> with = {},
             std::size_t threads = 1)
        : options_(detail::checked(std::move(options))),
          seed_(with.seed),
          head_(std::move(with.head)),
          loss_(std::move(with.loss)),
          networks_(std::move(trunk), head_, options_.value_gain),
          parameters_(networks_.parameter_count()),
          rollout_(like),
          values_(networks_, like, threads),
          targets_(head_, options_, like, values_.capacity()),
          learner_({options_, networks_, none_, head_, loss_, like, targets_.for_loss(), {}}) {
        require(networks_.inputs() == like.state_size(),
                "observer: the trunk takes {} inputs, but a state has {} elements", networks_.inputs(),
                like.state_size());
        random_stream random = stream_for(seed_, stream_purpose::initialisation);
        networks_.initialize(parameters_.span(), random);
    }
    observer(observer const&) = delete;
    observer& operator=(observer const&) = delete;

    /// Learns the rollout, which is the one that it was made for. Throws gmac::error if the loss or its gradient is not
    /// finite.
    void observe(rollout_type const& seen, std::uint64_t number, double learning_rate, executor& tasks) override {
        require(&seen == &rollout_, "observer: this is another rollout than the one that the observer was made for");
        // As an agent counts: what it makes of a rollout it draws before the update counts, and minibatches after that.
        auto const made = streams_of(number - 1);
        values_.evaluate(parameters_.span(), head_, seen, tasks,
                         [&](std::size_t row) { return made(stream_purpose::fraction, row); });
        targets_.make(
            head_, seen, values_, [&](std::size_t e) { return made(stream_purpose::target, e); }, tasks);
        update_report now{.update = number, .learning_rate = learning_rate};
        learner_.learn(parameters_.span(), tasks, streams_of(number), values_.capacity(), now);
        report_ = {.value_loss = now.value_loss,
                   .explained_variance = targets_.explained_variance(),
                   .gradient_norm = now.gradient_norm};
    }

    /// Of the latest rollout.
    [[nodiscard]] observer_report const& report() const noexcept { return report_; }
    [[nodiscard]] Head const& head() const noexcept { return head_; }
    [[nodiscard]] std::span<scalar const> parameters() const noexcept { return parameters_.span(); }
    [[nodiscard]] std::span<scalar> parameters() noexcept { return parameters_.span(); }
    [[nodiscard]] workspace make_workspace(std::size_t rows = 1) const { return networks_.make_workspace(rows); }
    /// The value head's columns for each state, [n, head.output_size()], valid until the workspace's next use. `random` is
    /// for heads that sample.
    [[nodiscard]] matrix_view<scalar const> value_outputs(matrix_view<observation_type const> observations,
                                                          random_stream& random, workspace& work) const {
        auto const states = networks_.input(observations, work);
        return network_type::value_net::columns(networks_.value_forward(parameters_.span(), states, random, work));
    }

    void persist(archive& state) override {
        state.inside("parameters", [&] { nn::persist_parameters(state, networks_, parameters_.span()); });
        state.inside("optimiser", [&] { learner_.persist(state); });
        state("seed", seed_);
    }

private:
    [[nodiscard]] auto streams_of(std::uint64_t number) const noexcept {
        return [this, number](stream_purpose purpose, std::size_t index) {
            return rollout_.stream(seed_, purpose, number, index);
        };
    }

    agent_options options_;
    std::uint64_t seed_;
    detail::no_actor none_;
    Head head_;
    Loss loss_;
    network_type networks_;
    buffer<scalar> parameters_;
    rollout_type const& rollout_;
    detail::state_values<network_type, Head> values_;
    detail::critic_targets<Head, Loss, scalar> targets_;
    detail::learner<network_type, detail::no_actor, Head, Loss> learner_;
    observer_report report_;
};

} // namespace gmac::inline GMAC_ABI
