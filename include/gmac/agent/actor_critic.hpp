// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/composition.hpp>
#include <gmac/agent/networks.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/policy.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/agent/surrogate.hpp>
#include <gmac/agent/value_targets.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/nn/rmsprop.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gmac {

/// How long to train, and who hears of it.
struct train_options {
    /// Environment steps in all, those of earlier calls and of a resumed run included; the last rollout may pass it.
    std::uint64_t frames = 0;
    std::function<void(update_report const&)> on_update{};
    /// Asked after each update; true ends the training there.
    std::function<bool()> stop{};
};

/// An actor-critic agent that learns by proximal policy optimisation, with the value distribution as policies: `Actor`
/// makes actions of network outputs, `Head` a value distribution, `Loss` learns it. The paper's four methods are aliases
/// of this class in gmac/agents.hpp. It never names an environment: it sees an environment_batch.
///
/// The environments and the executor must outlive the agent. Every random choice comes from counter-based streams of
/// (seed, purpose, update, environment), so a run is the same for any number of threads, and a resumed run is the run
/// that was never stopped.
template <class Actor, class Head, class Loss, class Backend = backends::simd<float>, class Trunk = nn::mlp<Backend>>
class actor_critic {
public:
    using scalar = typename Backend::scalar;
    using actor_type = Actor;
    using head_type = Head;
    using loss_type = Loss;
    using network_type = actor_critic_networks<Actor, Head, Backend, Trunk>;
    using value_net = typename network_type::value_net;
    /// Element type of the observations: bytes if the trunk reads bytes, or else float.
    using observation_type = typename network_type::observation_type;
    using environments = basic_environment_batch<observation_type>;

    /// Throws gmac::error for an option outside its range.
    explicit actor_critic(environments& worlds, agent_options options = {}, std::uint64_t seed = 0,
                          executor* tasks = nullptr, Actor actor = {}, Head head = {}, Loss loss = {})
        requires std::constructible_from<Trunk, std::span<std::size_t const>, nn::mlp_options>
        : actor_critic(worlds, make_trunk(worlds, options), options, seed, tasks, actor, head, loss) {}

    /// With a trunk of the caller's.
    actor_critic(environments& worlds, Trunk trunk, agent_options options, std::uint64_t seed = 0,
                 executor* tasks = nullptr, Actor actor = {}, Head head = {}, Loss loss = {})
        : options_(checked(std::move(options))),
          worlds_(worlds),
          tasks_(tasks ? tasks : &serial_),
          seed_(seed),
          actor_(actor),
          head_(head),
          loss_(loss),
          size_(gmac::action_size(worlds.action_space())),
          networks_(std::move(trunk), actor_, head_, worlds.action_space(), options_),
          parameters_(networks_.parameter_count()),
          gradient_(networks_.parameter_count()),
          optimiser_(make_optimiser(parameters_.size(), options_)),
          rollout_(options_.steps, worlds.size(), worlds.observation_size(), size_, worlds.history()),
          targets_(head_, rule(), rollout_.rows(), all_rows()),
          outputs_(all_rows() * networks_.value_outputs()),
          values_(all_rows()),
          advantages_(rollout_.rows()),
          returns_(rollout_.rows()),
          order_(rollout_.rows()),
          environment_actions_(worlds.size() * size_),
          streams_(worlds.size()),
          acting_(networks_.make_workspace(worlds.size())) {
        if constexpr (requires { loss_.clip = scalar(0); })
            loss_.clip = static_cast<decltype(loss_.clip)>(options_.clip);
        require(networks_.inputs() == rollout_.state_size(),
                "actor_critic: the trunk takes {} inputs, but a state has {} elements ({} observations of {})",
                networks_.inputs(), rollout_.state_size(), worlds.history().frames, worlds.observation_size());
        random_stream random = stream_for(seed_, stream_purpose::initialisation);
        networks_.initialize(parameters_.span(), actor_, random);
        for (std::size_t s = 0; s < shard_count(); ++s)
            shards_.emplace_back(*this, (minibatch() + shard_count() - 1) / shard_count());
        std::size_t const chunk_count = (all_rows() + chunk_rows - 1) / chunk_rows;
        for (std::size_t i = 0; i < std::clamp<std::size_t>(tasks_->concurrency(), 1, chunk_count); ++i)
            evaluators_.push_back({networks_.make_workspace((std::min)(chunk_rows, all_rows())),
                                   buffer<observation_type>(assembled((std::min)(chunk_rows, all_rows())))});
        finished_.reserve(rollout_.rows());
        restart();
    }

    actor_critic(actor_critic const&) = delete;
    actor_critic& operator=(actor_critic const&) = delete;

    /// Trains until `frames` environment steps are done. Throws gmac::error if a reward, an observation, an action or a
    /// loss is not finite; the parameters are then those of the last update that was.
    void train(train_options const& train) {
        auto const start = std::chrono::steady_clock::now();
        std::uint64_t const before = frames_;
        while (frames_ < train.frames) {
            double const progress = static_cast<double>(frames_) / static_cast<double>(train.frames);
            update_report report = update(progress);
            report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            report.frames_per_second = static_cast<double>(frames_ - before) / report.seconds;
            if (train.on_update)
                train.on_update(report);
            if (train.stop && train.stop())
                break;
        }
    }

    /// One rollout and what is learned from it. `progress` in [0, 1) is the part of the run that is done, for the
    /// learning-rate schedule.
    update_report update(double progress = 0.0) {
        update_report report;
        detail::lap_timer timer;
        collect(report, timer);
        evaluate_states();
        report.inference_seconds += timer.lap();
        make_targets();
        report.target_seconds = timer.lap();
        ++updates_;
        report.learning_rate =
            options_.learning_rate * (options_.schedule == rate_schedule::linear ? 1.0 - progress : 1.0);
        report.explained_variance = explained_variance<scalar>(returns_.span(), values_.span().first(returns_.size()));
        learn(report);
        report.learning_seconds = timer.lap();
        rollout_.carry_over();
        report.update = updates_;
        report.frames = frames_;
        report.episodes = episodes_.count();
        report.mean_return = episodes_.mean_return();
        report.median_return = episodes_.median_return();
        report.mean_length = episodes_.mean_length();
        report.finished = finished_;
        return report;
    }

    /// What the agent does, with memory for batches of up to `rows` observations.
    [[nodiscard]] auto policy(std::size_t rows = 1) const { return gmac::policy<actor_critic>(*this, rows); }

    [[nodiscard]] std::span<scalar const> parameters() const noexcept { return parameters_.span(); }
    [[nodiscard]] std::span<scalar> parameters() noexcept { return parameters_.span(); }
    [[nodiscard]] network_type const& networks() const noexcept { return networks_; }
    [[nodiscard]] Actor const& actor() const noexcept { return actor_; }
    [[nodiscard]] Head const& head() const noexcept { return head_; }
    [[nodiscard]] agent_options const& options() const noexcept { return options_; }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept { return worlds_.action_space(); }
    [[nodiscard]] std::size_t action_size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
    [[nodiscard]] std::uint64_t updates() const noexcept { return updates_; }

    /// What the policy and the value depend on: the part of `persist` that acting needs.
    void persist_parameters(archive& state) {
        state.inside("parameters", [&] {
            networks_.describe([&](std::string const& name, std::size_t offset, std::size_t rows, std::size_t cols) {
                state(name, parameters_.span().subspan(offset, rows * cols), rows, cols);
            });
        });
    }

    /// Everything that the next update depends on, the environments included. Environments that cannot be stored start
    /// their episodes anew when this loads.
    void persist(archive& state) {
        persist_parameters(state);
        state.inside("optimiser", [&] { std::visit([&](auto& rule) { rule.persist(state); }, optimiser_); });
        state.inside("episodes", [&] { episodes_.persist(state); });
        state("seed", seed_);
        state("frames", frames_);
        state("updates", updates_);
        state.inside("environments", [&] { worlds_.persist(state); });
        state.inside("history", [&] { rollout_.persist(state); });
        if (state.loading()) {
            if (worlds_.checkpointable())
                worlds_.observe(rollout_.observations(0));
            else
                restart();
        }
    }

private:
    static constexpr std::size_t chunk_rows = 256;

    struct shard {
        typename network_type::workspace work;
        typename detail::value_targets<Loss::target, Head, scalar>::batch targets;
        buffer<observation_type> observations;
        buffer<scalar> actions;
        buffer<scalar> old_log_probabilities, log_probabilities, log_probability_gradient;
        buffer<scalar> entropies, entropy_gradient, advantages;
        buffer<scalar> gradient;
        surrogate_sums sums{};
        double value_loss = 0.0, entropy = 0.0;

        shard(actor_critic const& agent, std::size_t rows)
            : work(agent.networks_.make_workspace(rows)),
              targets(agent.targets_.make_batch(rows)),
              observations(rows * agent.networks_.inputs()),
              actions(rows * agent.size_),
              old_log_probabilities(rows),
              log_probabilities(rows),
              log_probability_gradient(rows),
              entropies(rows),
              entropy_gradient(rows),
              advantages(rows),
              gradient(agent.parameters_.size()) {}
    };

    /// Memory of one thread for the passes over all states of a rollout.
    struct evaluator {
        typename network_type::workspace work;
        buffer<observation_type> states;
    };

    using optimiser_type = std::variant<nn::adam<scalar>, nn::rmsprop<scalar>>;

    static optimiser_type make_optimiser(std::size_t parameters, agent_options const& options) {
        if (options.optimiser == optimiser_kind::adam)
            return nn::adam<scalar>(parameters,
                                    {.learning_rate = options.learning_rate, .epsilon = options.optimiser_epsilon});
        return nn::rmsprop<scalar>(parameters,
                                   {.learning_rate = options.learning_rate, .epsilon = options.optimiser_epsilon});
    }

    static agent_options checked(agent_options options) {
        validate(options);
        return options;
    }
    static Trunk make_trunk(environments const& worlds, agent_options const& options) {
        validate(options);
        std::vector<std::size_t> widths{state_size(worlds)};
        widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
        return Trunk(std::span<std::size_t const>(widths), nn::mlp_options{.function = options.activation,
                                                                           .activate_last = true,
                                                                           .gain = options.trunk_gain,
                                                                           .last_gain = options.trunk_gain});
    }

    [[nodiscard]] targets::sr_lambda rule() const {
        return {.discount = options_.discount, .lambda = options_.lambda, .particles = options_.particles};
    }
    [[nodiscard]] std::size_t minibatch() const noexcept { return (std::min)(options_.minibatch, rollout_.rows()); }
    [[nodiscard]] std::size_t shard_count() const noexcept {
        std::size_t const wanted = options_.shards > 0 ? options_.shards : (std::min<std::size_t>)(8, minibatch() / 32);
        return std::clamp<std::size_t>(wanted, 1, minibatch());
    }
    /// States of a rollout, those after the last step, and at most one final observation a transition.
    [[nodiscard]] std::size_t all_rows() const noexcept { return 2 * rollout_.rows() + worlds_.size(); }
    [[nodiscard]] std::size_t used_rows() const noexcept {
        return rollout_.rows() + worlds_.size() + rollout_.final_count();
    }
    [[nodiscard]] double max_gradient_norm() const noexcept {
        return options_.max_gradient_norm.value_or(Loss::target == targets::kind::gaussian_particles ? 5.0 : 0.5);
    }
    /// How many elements it takes to assemble states of several observations; states of one are read in place.
    [[nodiscard]] std::size_t assembled(std::size_t states) const noexcept {
        return worlds_.history().frames > 1 ? states * rollout_.state_size() : 0;
    }
    void restart() {
        worlds_.reset(rollout_.observations(0));
        rollout_.restart();
    }
    /// A stream of this update; `index` tells environments or parts apart.
    [[nodiscard]] random_stream stream(stream_purpose purpose, std::size_t index) const noexcept {
        return stream_for(seed_, purpose, (updates_ << 24u) | index);
    }

    void collect(update_report& report, detail::lap_timer& timer) {
        rollout_.begin();
        finished_.clear();
        for (std::size_t e = 0; e < streams_.size(); ++e)
            streams_[e] = stream(stream_purpose::action, e);
        std::size_t const count = worlds_.size();
        matrix_view<float> const actions(environment_actions_.data(), count, size_);
        auto const free = networks_.free(std::span<scalar const>(parameters_.span()));
        for (std::size_t t = 0; t < options_.steps; ++t) {
            auto const states = networks_.input(rollout_.states(t), acting_);
            auto const outputs = networks_.actor_forward(parameters_.span(), states, acting_);
            matrix_view<scalar> const sampled = rollout_.actions(t);
            actor_.sample(outputs, free, std::span<random_stream>(streams_), sampled);
            to_environment(worlds_.action_space(), matrix_view<scalar const>(sampled), actions);
            auto const now = rollout_.log_probabilities().subspan(t * count, count);
            actor_.log_probability_and_entropy(outputs, free, matrix_view<scalar const>(sampled),
                                               vector_view<scalar>(now), vector_view<scalar>(values_.data(), count));
            report.inference_seconds += timer.lap();
            rollout_.record(t, worlds_, actions);
            report.environment_seconds += timer.lap();
            frames_ += count;
            for (finished_episode const& episode : worlds_.finished()) {
                episodes_.add(episode);
                finished_.push_back({frames_, episode});
            }
        }
    }

    /// The value head's outputs and means for every state of the rollout, in chunks that do not depend on the threads.
    void evaluate_states() {
        std::size_t const chunks = (used_rows() + chunk_rows - 1) / chunk_rows;
        std::size_t const parts = evaluators_.size();
        tasks_->run(parts, [&](std::size_t part) {
            for (std::size_t c = part; c < chunks; c += parts)
                evaluate_chunk(c, evaluators_[part]);
        });
    }
    void evaluate_chunk(std::size_t chunk, evaluator& with) {
        std::size_t const used = used_rows();
        std::size_t const seen = rollout_.rows() + worlds_.size();
        // A chunk may begin among the states of the rollout and end among the final observations.
        for (std::size_t first = chunk * chunk_rows; first < (std::min)(used, (chunk + 1) * chunk_rows);) {
            bool const final = first >= seen;
            std::size_t const last = (std::min)((chunk + 1) * chunk_rows, final ? used : seen);
            auto const all = final ? rollout_.final_states(first - seen, last - first, with.states.span())
                                   : rollout_.states(first, last - first, with.states.span());
            random_stream random = stream(stream_purpose::fraction, first);
            auto const states = networks_.input(all, with.work);
            auto const prediction = networks_.value_forward(parameters_.span(), states, random, with.work);
            head_.mean(prediction, vector_view<scalar>(values_.data() + first, last - first));
            auto const columns = value_net::columns(prediction);
            std::copy_n(columns.data(), columns.rows() * columns.cols(),
                        outputs_.data() + first * networks_.value_outputs());
            first = last;
        }
    }

    void make_targets() {
        std::size_t const seen = rollout_.rows() + worlds_.size();
        targets::rollout_view<scalar> const steps{rollout_.rewards(), rollout_.terminated(), rollout_.truncated()};
        vector_view<scalar const> const values(values_.data(), seen);
        vector_view<scalar const> const finals(values_.data() + seen, rollout_.final_count());
        targets::gae const advantage{.discount = options_.discount, .lambda = options_.lambda};
        advantage(steps, values, finals, vector_view<scalar>(advantages_.span()), vector_view<scalar>(returns_.span()));
        for (std::size_t e = 0; e < streams_.size(); ++e)
            streams_[e] = stream(stream_purpose::target, e);
        targets_.compute(head_, detail::target_source<scalar>{.steps = steps,
                                                              .outputs = {outputs_.data(), used_rows(),
                                                                          networks_.value_outputs()},
                                                              .values = {values_.data(), used_rows()},
                                                              .returns = returns_.span(),
                                                              .streams = streams_,
                                                              .tasks = tasks_});
    }

    void learn(update_report& report) {
        random_stream random = stream(stream_purpose::minibatch, 0);
        std::iota(order_.begin(), order_.end(), 0u);
        std::size_t const states = order_.size();
        std::size_t batches = 0;
        for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch) {
            random.shuffle(std::span<std::uint32_t>(order_));
            for (std::size_t first = 0; first < states; first += minibatch(), ++batches) {
                std::size_t const count = (std::min)(minibatch(), states - first);
                learn_from(std::span<std::uint32_t const>(order_).subspan(first, count), batches, report);
            }
        }
        double const steps = static_cast<double>(batches);
        double const visits = static_cast<double>(states * options_.epochs);
        report.gradient_norm /= steps;
        report.policy_loss /= visits;
        report.value_loss /= visits;
        report.entropy /= visits;
        report.approximate_kl /= visits;
        report.clip_fraction /= visits;
    }

    void learn_from(std::span<std::uint32_t const> rows, std::size_t batch, update_report& report) {
        std::size_t const parts = (std::min)(shards_.size(), rows.size());
        auto const begin = [&](std::size_t part) { return part * rows.size() / parts; };
        for (std::size_t s = 0; s < parts; ++s)
            for (std::size_t i = begin(s); i < begin(s + 1); ++i)
                minibatch_advantages_[i] = advantages_[rows[i]];
        if (options_.normalize_advantages)
            normalize(std::span<scalar>(minibatch_advantages_).first(rows.size()));
        tasks_->run(parts, [&](std::size_t s) {
            auto const mine = rows.subspan(begin(s), begin(s + 1) - begin(s));
            std::copy_n(minibatch_advantages_.data() + begin(s), mine.size(), shards_[s].advantages.data());
            learn_part(mine, rows.size(), stream(stream_purpose::fraction, all_rows() + batch * parts + s), shards_[s]);
        });
        add_gradients(parts);
        double loss = 0.0;
        for (std::size_t s = 0; s < parts; ++s) {
            shard const& part = shards_[s];
            report.policy_loss += part.sums.loss;
            report.approximate_kl += part.sums.kl;
            report.clip_fraction += static_cast<double>(part.sums.clipped);
            report.value_loss += part.value_loss;
            report.entropy += part.entropy;
            loss += part.sums.loss + part.value_loss;
        }
        double const norm = nn::clip_gradient_norm(gradient_.span(), static_cast<scalar>(max_gradient_norm()));
        require(
            std::isfinite(loss) && std::isfinite(norm),
            "actor_critic: update {}, minibatch {}: the loss is {} and the norm of its gradient {}; both must be finite",
            updates_, batch, loss / static_cast<double>(rows.size()), norm);
        report.gradient_norm += norm;
        std::visit(
            [&](auto& rule) {
                rule.set_learning_rate(report.learning_rate);
                rule.step(parameters_.span(), std::span<scalar const>(gradient_.span()));
            },
            optimiser_);
    }

    /// Loss and gradient of the states `rows`, a part of a minibatch of `total` states; the part's gradient is that of
    /// the minibatch's mean loss.
    void learn_part(std::span<std::uint32_t const> rows, std::size_t total, random_stream random, shard& part) {
        std::size_t const count = rows.size();
        scalar const share = scalar(1) / static_cast<scalar>(total);
        auto const first = [count](buffer<scalar>& all) { return all.span().first(count); };
        rollout_.gather_states(rows, part.observations.data());
        auto const states = networks_.input({part.observations.data(), count, networks_.inputs()}, part.work);
        detail::gather(rows, rollout_.actions().data(), size_, part.actions.data());
        detail::gather(rows, std::as_const(rollout_).log_probabilities().data(), 1, part.old_log_probabilities.data());

        std::span<scalar const> const parameters = parameters_.span();
        auto const free = networks_.free(parameters);
        matrix_view<scalar const> const actions(part.actions.data(), count, size_);
        auto const outputs = networks_.actor_forward(parameters, states, part.work);
        actor_.log_probability_and_entropy(outputs, free, actions, vector_view<scalar>(first(part.log_probabilities)),
                                           vector_view<scalar>(first(part.entropies)));
        part.sums = clipped_surrogate<scalar>(first(part.log_probabilities), first(part.old_log_probabilities),
                                              first(part.advantages), static_cast<scalar>(options_.clip), share,
                                              first(part.log_probability_gradient));
        part.entropy = 0.0;
        for (scalar const entropy : first(part.entropies))
            part.entropy += static_cast<double>(entropy);
        std::ranges::fill(first(part.entropy_gradient), -static_cast<scalar>(options_.entropy_coefficient) * share);
        actor_.gradient(outputs, free, actions, vector_view<scalar const>(first(part.log_probability_gradient)),
                        vector_view<scalar const>(first(part.entropy_gradient)),
                        matrix_view<scalar>(part.work.actor_gradient.data(), count, networks_.actor_outputs()),
                        networks_.free(part.gradient.span()));

        auto const prediction = networks_.value_forward(parameters, states, random, part.work, true);
        matrix_view<scalar> const value_gradient(part.work.value_gradient.data(), count, networks_.value_outputs());
        auto const mean_loss =
            loss_.value_and_gradient(head_, prediction, targets_.take(rows, part.targets), value_gradient);
        part.value_loss = static_cast<double>(mean_loss) * static_cast<double>(count);
        scalar const weight = static_cast<scalar>(options_.value_coefficient) * static_cast<scalar>(count) * share;
        for (std::size_t i = 0; i < count * networks_.value_outputs(); ++i)
            part.work.value_gradient[i] *= weight;
        networks_.backward(parameters, states, part.work, part.gradient.span());
    }

    /// The sum of the parts' gradients, in their order.
    void add_gradients(std::size_t parts) noexcept {
        std::ranges::copy(shards_[0].gradient, gradient_.data());
        for (std::size_t s = 1; s < parts; ++s)
            for (std::size_t i = 0; i < gradient_.size(); ++i)
                gradient_[i] += shards_[s].gradient[i];
    }

    agent_options options_;
    environments& worlds_;
    serial_executor serial_;
    executor* tasks_;
    std::uint64_t seed_;
    Actor actor_;
    Head head_;
    Loss loss_;
    std::size_t size_;
    network_type networks_;
    buffer<scalar> parameters_, gradient_;
    optimiser_type optimiser_;
    rollout<scalar, observation_type> rollout_;
    detail::value_targets<Loss::target, Head, scalar> targets_;
    buffer<scalar> outputs_, values_, advantages_, returns_;
    std::vector<std::uint32_t> order_;
    std::vector<scalar> minibatch_advantages_ = std::vector<scalar>(order_.size());
    std::vector<float> environment_actions_;
    std::vector<random_stream> streams_;
    typename network_type::workspace acting_;
    std::vector<evaluator> evaluators_;
    std::vector<shard> shards_;
    episode_window episodes_;
    std::vector<timed_episode> finished_;
    std::uint64_t frames_ = 0, updates_ = 0;
};

/// A head and a loss that do not fit each other: this says so, in one sentence, and takes every use without another error.
template <class Actor, class Head, class Loss, class Backend, class Trunk>
    requires(!detail::composable<Head, Loss, Backend>)
class actor_critic<Actor, Head, Loss, Backend, Trunk> {
public:
    static_assert(detail::refuse_composition<Head, Loss, Backend>());

    template <class O>
    explicit actor_critic(basic_environment_batch<O>&, agent_options = {}, std::uint64_t = 0, executor* = nullptr,
                          Actor = {}, Head = {}, Loss = {}) {}
    template <class O>
    actor_critic(basic_environment_batch<O>&, Trunk, agent_options, std::uint64_t = 0, executor* = nullptr, Actor = {},
                 Head = {}, Loss = {}) {}
    void train(train_options const&) {}
    update_report update(double = 0.0) { return {}; }
};

} // namespace gmac
