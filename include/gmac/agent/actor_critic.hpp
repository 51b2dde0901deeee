// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/composition.hpp>
#include <gmac/agent/detail/critic_targets.hpp>
#include <gmac/agent/detail/intrinsic_advantages.hpp>
#include <gmac/agent/detail/learner.hpp>
#include <gmac/agent/detail/state_values.hpp>
#include <gmac/agent/intrinsic_reward.hpp>
#include <gmac/agent/networks.hpp>
#include <gmac/agent/observer.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/policy.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/requirements.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/statistics/statistic_range.hpp>

#include <fmt/core.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// How long to train, and who hears of it.
struct train_options {
    /// Environment steps in all, those of earlier calls and of a resumed run included; the last rollout may pass it.
    std::uint64_t frames = 0;
    std::function<void(update_report const&)> on_update{};
    /// Evaluates after each update that completes a multiple of so many frames; 0: never.
    std::uint64_t evaluate_every = 0;
    /// Plays the episodes of an evaluation, in environments of its own: `gmac::evaluate(policy, others)` with a policy of
    /// this agent.
    std::function<std::vector<finished_episode>()> evaluate{};
    /// Hears of each evaluation, after on_update of the same update.
    std::function<void(evaluation_report const&)> on_evaluation{};
    /// Asked after each update and its evaluation; true, on any rank, ends the training there.
    std::function<bool()> stop{};
};

/// What an agent is put together of, each by its name; what is not named is default-constructed.
template <class Actor, class Head, class Loss>
struct agent_parts {
    Actor actor{};
    Head head{};
    Loss loss{};
    std::uint64_t seed = 0;
    executor* tasks = nullptr;     ///< what runs on several threads; none: this one
    communicator* ranks = nullptr; ///< the processes that train this agent together; none: this one alone
};

namespace detail {

/// What a program may do with an agent, without the agent.
template <class Actor, class Head, class Loss, class Trunk>
class refused_agent {
public:
    using parts = agent_parts<Actor, Head, Loss>;
    template <class Worlds>
    explicit refused_agent(Worlds&, agent_options const& = {}, parts = {}) {}
    template <class Worlds>
    refused_agent(Worlds&, Trunk, agent_options const& = {}, parts = {}) {}
    void train(train_options const&) {}
    update_report update(double = 0.0) { return {}; }
};

} // namespace detail

/// An actor-critic agent that learns by proximal policy optimisation, with the value distribution as policies: `Actor`
/// makes actions of network outputs, `Head` a value distribution, `Loss` learns it. The paper's four methods are aliases
/// of this class in gmac/agents.hpp. It never names an environment: it sees an environment_batch.
///
/// The environments and the executor must outlive the agent. Every random choice comes from counter-based streams of
/// (seed, purpose, update, environment), so a run is the same for any number of threads, and a resumed run is the run
/// that was never stopped.
///
/// With a communicator every rank has such an agent, of the same seed and options, and as many environments, of which none
/// is like another's. All calls of `train`, `update`, `observe` and `explore` are collective. What they learn is what one
/// agent would with all the environments and minibatches as many times as large: its frames are those of all ranks, and so
/// are the numbers of its reports but for seconds. Parameters stay the same on all ranks, to the bit. What one rank throws
/// the others do not know and wait: distributed::run ends them (docs/scale.md).
template <class Actor, class Head, class Loss, class Backend = backends::simd<float>,
          class Trunk = default_trunk<Backend>>
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

    using parts = agent_parts<Actor, Head, Loss>;

    /// `agent(worlds, {.steps = 64}, {.head = …, .seed = 3})`. Throws gmac::error for an option outside its range.
    explicit actor_critic(environments& worlds, agent_options options = {}, parts with = {})
        : actor_critic(worlds, make_trunk(worlds, options), options, std::move(with)) {}

    /// With a trunk of the caller's.
    actor_critic(environments& worlds, Trunk trunk, agent_options options = {}, parts with = {})
        : options_(detail::checked(std::move(options))),
          worlds_(worlds),
          tasks_(with.tasks ? with.tasks : &serial_),
          seed_(with.seed),
          actor_(std::move(with.actor)),
          head_(std::move(with.head)),
          loss_(std::move(with.loss)),
          size_(gmac::action_size(worlds.action_space())),
          networks_(std::move(trunk), actor_, head_, worlds.action_space(), options_),
          parameters_(networks_.parameter_count()),
          rollout_(options_.steps, worlds.size(), worlds.observation_size(), size_, worlds.history(),
                   worlds.action_masks().cols(), with.ranks),
          values_(networks_, rollout_, tasks_->concurrency()),
          targets_(head_, options_, rollout_, values_.capacity()),
          environment_actions_(worlds.size() * size_),
          entropies_(worlds.size()),
          streams_(worlds.size(), noise_steps_of(actor_)),
          acting_(networks_.policy().make_workspace(worlds.size())),
          curiosity_(options_.exploration, options_.lambda, rollout_.steps(), worlds.size()),
          learner_({options_, networks_, actor_, head_, loss_, rollout_, targets_.for_loss(), targets_.advantages(),
                    curiosity_.returns()}) {
        require(networks_.inputs() == rollout_.state_size(),
                "actor_critic: the trunk takes {} inputs, but a state has {} elements ({} observations of {})",
                networks_.inputs(), rollout_.state_size(), worlds.history().frames, worlds.observation_size());
        require(
            worlds.action_masks().empty() || worlds.action_masks().cols() == networks_.policy().layer_outputs(),
            "actor_critic: the environments have masks of {} actions, but the actor has {} outputs a state, and must "
            "have one for each action",
            worlds.action_masks().cols(), networks_.policy().layer_outputs());
        random_stream random = stream_for(seed_, stream_purpose::initialisation);
        networks_.initialize(parameters_.span(), actor_, random);
        worlds_.set_discount(options_.discount);
        finished_.reserve(rollout_.rows());
        require_same_on_all_ranks();
        worlds_.reset(rollout_.observations(0));
        rollout_.combine(worlds_);
    }

    /// What is no batch of environments for this agent is refused, in one sentence.
    template <class Worlds>
        requires(!std::derived_from<Worlds, environments>)
    explicit actor_critic(Worlds& worlds, agent_options options = {}, parts with = {})
        : actor_critic(as_batch<observation_type>(worlds), std::move(options), std::move(with)) {}
    template <class Worlds>
        requires(!std::derived_from<Worlds, environments>)
    actor_critic(Worlds& worlds, Trunk trunk, agent_options options = {}, parts with = {})
        : actor_critic(as_batch<observation_type>(worlds), std::move(trunk), std::move(options), std::move(with)) {}

    actor_critic(actor_critic const&) = delete;
    actor_critic& operator=(actor_critic const&) = delete;

    /// Trains until `frames` environment steps are done. Throws gmac::error if a reward, an observation, an action or a
    /// loss is not finite; the parameters are then those of the last update that was. What an observer throws ends the
    /// training too, when the agent has learned the update.
    void train(train_options const& train) {
        require(train.evaluate_every == 0 || train.evaluate,
                "actor_critic: evaluate_every is {}, but there is no `evaluate` that plays the episodes",
                train.evaluate_every);
        detail::lap_timer timer;
        double seconds = 0.0;
        std::uint64_t const before = frames_;
        while (frames_ < train.frames) {
            std::uint64_t const until_now = frames_;
            double const progress = static_cast<double>(frames_) / static_cast<double>(train.frames);
            update_report report = update(progress);
            report.seconds = seconds += timer.lap();
            report.frames_per_second = static_cast<double>(frames_ - before) / report.seconds;
            if (train.on_update)
                train.on_update(report);
            if (train.evaluate_every > 0 && frames_ / train.evaluate_every > until_now / train.evaluate_every)
                evaluate(train);
            bool const stops = train.stop && train.stop();
            if (rollout_.ranks() ? on_any_rank(*rollout_.ranks(), stops) : stops)
                break;
        }
    }

    /// One rollout and what is learned from it. It begins with what the environments show now, whoever has moved them since
    /// the last update; then states of several observations begin anew. `progress` in [0, 1) is the part of the run that
    /// is done, for the learning-rate schedule.
    update_report update(double progress = 0.0) {
        if (options_.exploration)
            curiosity_.require_reward();
        update_report report;
        detail::lap_timer timer;
        collect(report, timer);
        values_.evaluate(parameters_.span(), head_, rollout_, *tasks_,
                         [&](std::size_t row) { return stream(stream_purpose::fraction, row); });
        report.inference_seconds += timer.lap();
        targets_.make(
            head_, rollout_, values_, [&](std::size_t e) { return stream(stream_purpose::target, e); }, *tasks_);
        if (options_.exploration)
            report.intrinsic_reward = curiosity_.add({rollout_, values_.outputs(), values_.values()},
                                                     values_.intrinsic_values(), targets_.advantages(), *tasks_);
        report.target_seconds = timer.lap();
        report.update = ++updates_;
        report.learning_rate = learner_.learning_rate(progress);
        report.explained_variance = targets_.explained_variance();
        learner_.learn(
            parameters_.span(), *tasks_,
            [&](stream_purpose purpose, std::size_t index) { return stream(purpose, index); }, values_.capacity(),
            report);
        curiosity_.learn(rollout_, updates_, *tasks_);
        for (auto const& observer : observers_)
            observer->observe(rollout_, updates_, report.learning_rate, *tasks_);
        report.learning_seconds = timer.lap();
        report.frames = frames_;
        report.episodes = episodes_.count();
        report.mean_return = episodes_.mean_return();
        report.median_return = episodes_.median_return();
        report.mean_length = episodes_.mean_length();
        report.finished = finished_;
        return report;
    }

    /// Makes advantages, from the next rollout on, of another statistic of the value distributions than their means: a
    /// gmac::statistic (gmac/statistics.hpp), `agent.value_by(gmac::statistics::cvar(0.1))`, or a function (head, what it
    /// predicts of n states, values [n]), or (head, what it predicts, states [n, state size], values [n]), that several
    /// threads may call at once. The TD error is then
    ///     δ = r + γ ρ(Z(x')) − ρ(Z(x)),
    /// and with λ = 1 the statistic is only a baseline (docs/mathematics.md). What the critic learns stays what it was. Not
    /// part of what is saved. Throws gmac::error for a statistic whose parameter is outside its range.
    template <class Function>
    void value_by(Function function) {
        if constexpr (std::same_as<Function, statistic>)
            validate(function);
        using values = detail::state_values<network_type, Head>;
        if constexpr (std::constructible_from<typename values::value_function, Function>)
            values_.value_by(std::move(function));
        else
            values_.value_by(
                [function = std::move(function)](Head const& head, typename values::prediction const& outputs,
                                                 matrix_view<observation_type const>,
                                                 vector_view<scalar> to) mutable { function(head, outputs, to); });
        range_.reset();
    }
    /// The same with a statistic of its own for each episode, which the last number of the states tells: the environments
    /// are gmac::conditioned_environments, of which nothing is checked but that the number is in [−1, 1]. What `deploy` makes
    /// of this agent acts by any of them. Throws gmac::error for a range that is none.
    void value_by(statistic_range const& range) {
        validate(range);
        values_.value_by(range);
        range_ = range;
    }
    /// What `value_by` was given, if it was a range.
    [[nodiscard]] std::optional<statistic_range> const& value_range() const noexcept { return range_; }

    /// A further critic of this policy, which learns from the same rollouts and has no say in it; see observer. Without
    /// options it has the agent's, whose learning rate it has in any case; `trunk` is the network below its head, by default
    /// one like the agent's. What is loaded must have been saved with the same observers.
    template <class OtherHead, class OtherLoss, class OtherTrunk = Trunk>
    auto& observe(observer_parts<OtherHead, OtherLoss> with = {}, std::optional<agent_options> const& options = {},
                  std::type_identity_t<std::optional<OtherTrunk>> trunk = {}) {
        if constexpr (detail::composable<OtherHead, OtherLoss, Backend>) {
            using critic = observer<OtherHead, OtherLoss, Backend, OtherTrunk>;
            if constexpr (std::same_as<OtherTrunk, Trunk>)
                trunk = trunk ? std::move(trunk) : networks_.trunk();
            require(trunk.has_value(), "actor_critic: an observer with another kind of trunk must be given it");
            auto made = std::make_unique<critic>(rollout_, std::move(*trunk), options.value_or(options_),
                                                 std::move(with), tasks_->concurrency());
            critic& added = *made;
            observe(std::move(made));
            return added;
        } else {
            static_assert(detail::refuse_head_and_loss<OtherHead, OtherLoss, Backend>());
            static detail::refused_observer refused;
            return refused;
        }
    }
    /// Whatever else is to see each rollout.
    void observe(std::unique_ptr<rollout_observer<scalar, observation_type>> observer) {
        require(observer != nullptr, "actor_critic: observe was given no observer");
        observers_.push_back(std::move(observer));
    }

    /// Rewards the agent for what is new to it, too: what gmac/agent/exploration.hpp makes,
    ///     agent.explore(gmac::exploration::energy_distance(agent));
    /// or an intrinsic_reward of one's own. These rewards are divided by the running deviation of their discounted sums; a
    /// value of their own, on the critic's trunk, learns their λ-returns, which go on where an episode ends; and advantages
    /// are both kinds', weighed by options.exploration. Throws gmac::error without these options, which the agent must be made
    /// with. What is loaded must have been saved with the same kind.
    void explore(std::unique_ptr<intrinsic_reward<scalar, observation_type>> reward) {
        require(reward != nullptr, "actor_critic: explore was given no reward");
        require(options_.exploration.has_value(),
                "actor_critic: to explore, the agent must be made with options that have a member `exploration`");
        curiosity_.reward_by(std::move(reward));
    }

    /// What the agent does, with memory for batches of up to `rows` observations.
    [[nodiscard]] auto policy(std::size_t rows = 1) const { return gmac::policy<actor_critic>(*this, rows); }

    [[nodiscard]] std::span<scalar const> parameters() const noexcept { return parameters_.span(); }
    [[nodiscard]] std::span<scalar> parameters() noexcept { return parameters_.span(); }
    /// The latest rollout, what observers are made for.
    [[nodiscard]] rollout<scalar, observation_type> const& experience() const noexcept { return rollout_; }
    [[nodiscard]] network_type const& networks() const noexcept { return networks_; }
    [[nodiscard]] Actor const& actor() const noexcept { return actor_; }
    [[nodiscard]] Head const& head() const noexcept { return head_; }
    [[nodiscard]] agent_options const& options() const noexcept { return options_; }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept { return worlds_.action_space(); }
    [[nodiscard]] std::size_t action_size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
    [[nodiscard]] std::uint64_t updates() const noexcept { return updates_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
    /// Those that train this agent together; none: this process alone.
    [[nodiscard]] communicator* ranks() const noexcept { return rollout_.ranks(); }
    /// How many threads its tasks may use.
    [[nodiscard]] std::size_t concurrency() const noexcept { return tasks_->concurrency(); }

    /// What the policy and the value depend on: the part of `persist` that acting needs.
    void persist_parameters(archive& state) {
        state.inside("parameters", [&] { nn::persist_parameters(state, networks_, parameters_.span()); });
    }

    /// Everything that the next update depends on, the environments included. Environments that cannot be stored start
    /// their episodes anew when this loads.
    void persist(archive& state) {
        persist_learned(state);
        if (options_.exploration)
            state.inside("exploration", [&] { curiosity_.persist(state); });
        state.inside("environments", [&] { worlds_.persist(state); });
        state.inside("history", [&] { rollout_.persist(state, worlds_); });
        if (state.loading() && !worlds_.checkpointable()) {
            worlds_.reset(rollout_.observations(0));
            if (rollout_.ranks()) // of which each has counted what it was shown now
                state.inside("environments", [&] { worlds_.persist_shared(state); });
        }
    }
    /// The part of `persist` that is the same on all ranks: what was learned, and not where the environments are.
    void persist_shared(archive& state) {
        persist_learned(state);
        if (options_.exploration)
            state.inside("exploration", [&] { curiosity_.persist_shared(state); });
        state.inside("environments", [&] { worlds_.persist_shared(state); });
    }

private:
    void evaluate(train_options const& train) const {
        detail::lap_timer timer;
        auto const episodes = train.evaluate();
        evaluation_report report = evaluation_report::of(episodes);
        report.update = updates_;
        report.frames = frames_;
        report.seconds = timer.lap();
        if (train.on_evaluation)
            train.on_evaluation(report);
    }

    void persist_learned(archive& state) {
        persist_parameters(state);
        state.inside("optimiser", [&] { learner_.persist(state); });
        state.inside("episodes", [&] { episodes_.persist(state); });
        state("seed", seed_);
        state("frames", frames_);
        state("updates", updates_);
        for (std::size_t i = 0; i < observers_.size(); ++i)
            state.inside(fmt::format("observer{}", i), [&] { observers_[i]->persist(state); });
    }

    /// Or they would wait for each other without end.
    void require_same_on_all_ranks() const {
        std::array<shared_number, 6> const numbers{{{"seed", seed_},
                                                    {"number of environments", rollout_.environments()},
                                                    {"number of steps", options_.steps},
                                                    {"minibatch", options_.minibatch},
                                                    {"number of epochs", options_.epochs},
                                                    {"number of parameters", parameters_.size()}}};
        if (rollout_.ranks())
            rollout_.ranks()->require_same("actor_critic", numbers);
    }

    static Trunk make_trunk(environments const& worlds, agent_options const& options) {
        validate(options);
        std::vector<std::size_t> widths{state_size(worlds)};
        widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
        nn::mlp_options const layers{.function = options.activation,
                                     .activate_last = true,
                                     .gain = options.trunk_gain,
                                     .last_gain = options.trunk_gain};
        constexpr bool has_widths = std::constructible_from<Trunk, std::span<std::size_t const>, nn::mlp_options>;
        static_assert(has_widths,
                      "this agent's trunk is not made from agent_options, as nn::mlp is: give one to the "
                      "agent, `agent(worlds, trunk, options)`");
        if constexpr (has_widths)
            return Trunk(std::span<std::size_t const>(widths), layers);
        else
            fail("no trunk");
    }

    /// A stream of this update; `index` tells environments or parts apart.
    [[nodiscard]] random_stream stream(stream_purpose purpose, std::size_t index) const noexcept {
        return rollout_.stream(seed_, purpose, updates_, index);
    }

    void collect(update_report& report, detail::lap_timer& timer) {
        rollout_.begin(worlds_);
        finished_.clear();
        std::size_t const count = worlds_.size();
        for (std::size_t e = 0; e < count; ++e)
            streams_.streams()[e] = stream(stream_purpose::action, e);
        matrix_view<float> const actions(environment_actions_.data(), count, size_);
        std::span<scalar const> const parameters = parameters_.span();
        auto const free = networks_.policy().free(parameters);
        for (std::size_t t = 0; t < options_.steps; ++t) {
            auto const draw = [&](auto outputs, auto, auto sampled) {
                actor_.sample(outputs, free, streams_.at(t), sampled);
            };
            matrix_view<scalar> const sampled = rollout_.actions(t);
            auto const outputs = networks_.policy().act(parameters, rollout_.states(t), worlds_.action_space(), draw,
                                                        sampled, actions, acting_, rollout_.masks(t));
            auto const now = rollout_.log_probabilities().subspan(t * count, count);
            actor_.log_probability_and_entropy(outputs, free, matrix_view<scalar const>(sampled),
                                               vector_view<scalar>(now), vector_view<scalar>(entropies_.span()));
            report.inference_seconds += timer.lap();
            rollout_.record(t, worlds_, actions);
            report.environment_seconds += timer.lap();
            frames_ += count * rollout_.rank_count();
            for (finished_episode episode : worlds_.finished()) {
                episode.environment += rollout_.first_environment();
                finished_.push_back({frames_, episode});
                if (!rollout_.ranks())
                    episodes_.add(episode);
            }
        }
        if (!rollout_.ranks())
            return;
        rollout_.combine(worlds_);
        rollout_.ranks()->collect(finished_);
        for (timed_episode const& ended : finished_)
            episodes_.add(ended.episode);
        report.environment_seconds += timer.lap();
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
    buffer<scalar> parameters_;
    rollout<scalar, observation_type> rollout_;
    detail::state_values<network_type, Head> values_;
    std::optional<statistic_range> range_;
    detail::critic_targets<Head, Loss, scalar> targets_;
    std::vector<float> environment_actions_;
    buffer<scalar> entropies_; // of the last actions; nobody reads them
    action_streams streams_;
    typename network_type::policy_type::workspace acting_;
    detail::intrinsic_advantages<scalar, observation_type> curiosity_;
    detail::learner<network_type, Actor, Head, Loss> learner_;
    episode_window episodes_;
    std::vector<timed_episode> finished_;
    std::vector<std::unique_ptr<rollout_observer<scalar, observation_type>>> observers_;
    std::uint64_t frames_ = 0, updates_ = 0;
};

/// Parts that are none, or do not fit each other: these say so, in one sentence, and take every use without another error.
template <class Actor, class Head, class Loss, class Backend, class Trunk>
    requires(!detail::sound_parts<Actor, Backend, Trunk>)
class actor_critic<Actor, Head, Loss, Backend, Trunk> : public detail::refused_agent<Actor, Head, Loss, Trunk> {
    static_assert(detail::refuse_parts<Actor, Backend, Trunk>());

public:
    using detail::refused_agent<Actor, Head, Loss, Trunk>::refused_agent;
};
template <class Actor, class Head, class Loss, class Backend, class Trunk>
    requires(detail::sound_parts<Actor, Backend, Trunk> && !detail::composable<Head, Loss, Backend>)
class actor_critic<Actor, Head, Loss, Backend, Trunk> : public detail::refused_agent<Actor, Head, Loss, Trunk> {
    static_assert(detail::refuse_head_and_loss<Head, Loss, Backend>());

public:
    using detail::refused_agent<Actor, Head, Loss, Trunk>::refused_agent;
};

} // namespace gmac::inline GMAC_ABI
