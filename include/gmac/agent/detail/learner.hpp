// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/composition.hpp>
#include <gmac/agent/kl_schedule.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/detail/gather.hpp>
#include <gmac/core/detail/moments.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/rmsprop.hpp>
#include <gmac/targets/normalize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// In the place of an actor: there is none, only the value is learned.
struct no_actor {};

/// The epochs of minibatches in which an agent, or a critic alone, learns a rollout. A minibatch is divided into parts,
/// whose number does not depend on the threads, and the parts' gradients are added in their order. On several ranks a
/// minibatch has as many states of each of them, and all take the same steps.
template <class Networks, class Actor, class Head, class Loss>
class learner {
    static constexpr bool acts = !std::same_as<Actor, no_actor>;

public:
    using scalar = typename Networks::scalar;
    using observation_type = typename Networks::observation_type;
    using rollout_type = rollout<scalar, observation_type>;
    using targets_type = typename targets_of<Loss, scalar>::template maker<Head>;

    /// What the agent is made of and what one update learns from; all of it must outlive the learner.
    struct sources {
        agent_options const& options;
        Networks const& networks;
        Actor const& actor;
        Head const& head;
        Loss const& loss;
        rollout_type const& rollout;
        targets_type const& targets;
        std::span<scalar const> advantages;                    ///< [T E]
        std::span<scalar const> intrinsic_returns{};           ///< [T E], of an agent that explores
        char const* name = acts ? "actor_critic" : "observer"; ///< in messages
    };

    explicit learner(sources const& from)
        : from_(from),
          ranks_(from.rollout.ranks()),
          parameters_(from.networks.parameter_count()),
          gradient_(parameters_ + (ranks_ ? 2 : 0)),
          optimiser_(make_optimiser(parameters_, from.options)),
          rate_(from.options.learning_rate),
          order_(from.rollout.rows()),
          advantages_(acts ? order_.size() : 0) {
        std::size_t const wanted =
            from.options.shards > 0 ? from.options.shards : (std::min<std::size_t>)(8, minibatch() / 32);
        std::size_t const count = std::clamp<std::size_t>(wanted, 1, minibatch());
        for (std::size_t s = 0; s < count; ++s)
            parts_.emplace_back(from, (minibatch() + count - 1) / count);
    }

    /// The rate with which an update begins; `progress` is the part of the run that is done.
    [[nodiscard]] double learning_rate(double progress) const noexcept {
        if (adapts())
            return rate_;
        return from_.options.learning_rate * (from_.options.schedule == rate_schedule::linear ? 1.0 - progress : 1.0);
    }

    /// Learns the rollout, beginning with report.learning_rate, and adds the means over it to the report. `stream(purpose,
    /// index)` gives the update's random streams; the fractions' begin at `first_fraction`. Throws gmac::error if the loss
    /// or its gradient is not finite; the parameters are then those of the last minibatch that was.
    template <class StreamOf>
    void learn(std::span<scalar> parameters, executor& tasks, StreamOf const& stream, std::size_t first_fraction,
               update_report& report) {
        agent_options const& options = from_.options;
        random_stream random = stream(stream_purpose::minibatch, 0);
        std::iota(order_.begin(), order_.end(), 0u);
        std::size_t const states = order_.size();
        std::size_t const in_epoch = (states + minibatch() - 1) / minibatch();
        std::size_t batches = 0, steps = 0, visits = 0;
        bool stopped = false;
        for (std::size_t epoch = 0; epoch < options.epochs && !stopped; ++epoch) {
            random.shuffle(std::span<std::uint32_t>(order_));
            if (ranks_ && acts && options.normalize_advantages)
                measure_advantages(in_epoch);
            if (adapts())
                report.learning_rate = rate_;
            double kl = 0.0;
            std::size_t visited = 0;
            for (std::size_t first = 0; first < states && !stopped; first += minibatch(), ++batches) {
                std::size_t const count = (std::min)(minibatch(), states - first);
                std::size_t const parts = (std::min)(parts_.size(), count);
                std::size_t const total = count * from_.rollout.rank_count();
                double const kl_sum = evaluate_minibatch(
                    std::span<std::uint32_t const>(order_).subspan(first, count), total, parameters, tasks,
                    [&](std::size_t s) {
                        return stream(stream_purpose::fraction, first_fraction + batches * parts + s);
                    },
                    batches, report);
                kl += kl_sum;
                visited += total;
                stopped = options.early_stop && kl_sum > 1.5 * options.target_kl * static_cast<double>(total);
                if (!stopped) {
                    step(parameters, report.learning_rate);
                    ++steps;
                }
            }
            visits += visited;
            if (adapts())
                rate_ = adaptive_rate().next(rate_, kl / static_cast<double>(visited));
        }
        report.epochs = static_cast<double>(steps) / static_cast<double>(in_epoch);
        report.gradient_norm /= static_cast<double>(batches);
        std::array const means{&report.policy_loss, &report.value_loss, &report.entropy, &report.approximate_kl,
                               &report.clip_fraction};
        std::array<double, means.size()> sums{};
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] = *means[i];
        if (ranks_)
            ranks_->all_reduce(std::span<double>(sums));
        for (std::size_t i = 0; i < sums.size(); ++i)
            *means[i] = sums[i] / static_cast<double>(visits);
    }

    /// The optimiser's state, and the learning rate that follows the divergence.
    void persist(archive& state) {
        std::visit([&](auto& rule) { rule.persist(state); }, optimiser_);
        if (!adapts())
            return;
        state("adaptive_learning_rate", rate_);
        auto const [target, least, most, factor] = adaptive_rate();
        require(rate_ >= least && rate_ <= most,
                "actor_critic: the stored learning rate is {}, but must be in [{}, {}]", rate_, least, most);
    }

private:
    struct minibatch_sums {
        double loss = 0.0, kl = 0.0;
    };
    using optimiser_type = std::variant<nn::adam<scalar>, nn::rmsprop<scalar>>;

    /// Memory of one part of a minibatch, of up to `rows` states.
    struct part {
        typename Networks::workspace work;
        typename targets_type::batch targets;
        buffer<observation_type> observations;
        buffer<scalar> actions;
        buffer<std::uint8_t> masks;
        buffer<scalar> old_log_probabilities, log_probabilities, log_probability_gradient;
        buffer<scalar> entropies, entropy_gradient, advantages;
        buffer<scalar> gradient;
        losses::surrogate_sums sums{};
        double value_loss = 0.0, entropy = 0.0;

        part(sources const& from, std::size_t rows)
            : work(from.networks.make_workspace(rows)),
              targets(from.targets.make_batch(rows)),
              observations(rows * from.networks.inputs()),
              actions(acted(rows) * from.rollout.actions().cols()),
              masks(acted(rows) * from.rollout.masks().cols()),
              old_log_probabilities(acted(rows)),
              log_probabilities(acted(rows)),
              log_probability_gradient(acted(rows)),
              entropies(acted(rows)),
              entropy_gradient(acted(rows)),
              advantages(acted(rows)),
              gradient(from.networks.parameter_count()) {}

        [[nodiscard]] static std::size_t acted(std::size_t rows) noexcept { return acts ? rows : 0; }
    };

    static optimiser_type make_optimiser(std::size_t parameters, agent_options const& options) {
        if (options.optimiser == optimiser_kind::adam)
            return nn::adam<scalar>(parameters,
                                    {.learning_rate = options.learning_rate, .epsilon = options.optimiser_epsilon});
        return nn::rmsprop<scalar>(parameters,
                                   {.learning_rate = options.learning_rate, .epsilon = options.optimiser_epsilon});
    }
    [[nodiscard]] std::size_t minibatch() const noexcept {
        return (std::min)(from_.options.minibatch, from_.rollout.rows());
    }
    [[nodiscard]] double max_gradient_norm() const noexcept {
        if constexpr (requires { Loss::max_gradient_norm; })
            return from_.options.max_gradient_norm.value_or(Loss::max_gradient_norm);
        else
            return from_.options.max_gradient_norm.value_or(0.5);
    }

    /// Who does not act has the rate of the agent that he watches.
    [[nodiscard]] bool adapts() const noexcept { return acts && from_.options.schedule == rate_schedule::kl; }
    [[nodiscard]] kl_schedule adaptive_rate() const noexcept {
        return {.target = from_.options.target_kl,
                .minimum = from_.options.learning_rate_minimum,
                .maximum = from_.options.learning_rate_maximum};
    }

    /// The gradient of a minibatch of `total` states on all ranks, clipped, in `gradient_`; returns the sum over its states of
    /// their approximate KL divergences. `rows` are those here.
    template <class StreamOf>
    [[nodiscard]] double evaluate_minibatch(std::span<std::uint32_t const> rows, std::size_t total,
                                            std::span<scalar const> parameters, executor& tasks,
                                            StreamOf const& fractions, std::size_t batch, update_report& report) {
        std::size_t const parts = (std::min)(parts_.size(), rows.size());
        auto const begin = [&](std::size_t s) { return s * rows.size() / parts; };
        std::span<scalar> const advantages = std::span(advantages_).first(acts ? rows.size() : 0);
        if constexpr (acts) {
            gather(rows, from_.advantages.data(), 1, advantages.data());
            if (from_.options.normalize_advantages && ranks_)
                normalize_by_all(shared_advantages_[batch % shared_advantages_.size()], advantages);
            else if (from_.options.normalize_advantages)
                targets::normalize(advantages);
        }
        tasks.run(parts, [&](std::size_t s) {
            std::size_t const count = begin(s + 1) - begin(s);
            if constexpr (acts)
                std::copy_n(advantages.data() + begin(s), count, parts_[s].advantages.data());
            learn_part(rows.subspan(begin(s), count), total, parameters, fractions(s), parts_[s]);
        });
        minibatch_sums const here = add_parts(parts, report);
        auto const [loss, kl] = ranks_ ? add_ranks(here) : here;
        double const norm = clip_gradient();
        if (!(std::isfinite(loss) && std::isfinite(norm))) [[unlikely]]
            fail("{}: update {}, minibatch {}: the loss is {} and the norm of its gradient {}; both must be finite{}",
                 from_.name, report.update, batch, loss / static_cast<double>(total), norm,
                 ranks_ ? ranks_->those_at_fault(is_at_fault(rows, batch, parts, here.loss)) : std::string());
        report.gradient_norm += norm;
        return kl;
    }

    /// What `targets::normalize` needs of the minibatches of an epoch.
    void measure_advantages(std::size_t minibatches) {
        std::vector<std::size_t> counts(minibatches, minibatch());
        counts.back() = order_.size() - (minibatches - 1) * minibatch();
        std::vector<double> numbers(order_.size());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<double>(from_.advantages[order_[i]]);
        shared_advantages_ = ranks_->moments_of(counts, numbers);
    }
    /// targets::normalize of the part of some numbers that lies here.
    static void normalize_by_all(shared_moments const& all, std::span<scalar> here) noexcept {
        bool const constant = only_rounding<scalar>(all.squares / all.count, std::abs(all.mean));
        double const deviation = std::sqrt(all.squares / (all.count - 1.0));
        for (scalar& one : here)
            one = constant ? scalar(0) : static_cast<scalar>((static_cast<double>(one) - all.mean) / deviation);
    }
    /// Adds the gradients of all ranks, and with them, as two numbers more, these sums.
    [[nodiscard]] minibatch_sums add_ranks(minibatch_sums const& here) {
        gradient_[parameters_] = static_cast<scalar>(here.loss);
        gradient_[parameters_ + 1] = static_cast<scalar>(here.kl);
        ranks_->all_reduce(gradient_.span());
        return {static_cast<double>(gradient_[parameters_]), static_cast<double>(gradient_[parameters_ + 1])};
    }
    /// Whether what is not finite is so on this rank, and not only by what it shares with others.
    [[nodiscard]] bool is_at_fault(std::span<std::uint32_t const> rows, std::size_t batch, std::size_t parts,
                                   double loss) const {
        bool finite = true;
        if constexpr (acts) {
            for (std::uint32_t const row : rows)
                finite = finite && std::isfinite(from_.advantages[row]);
            if (std::size_t const count = shared_advantages_.size(); finite && count > 0)
                if (!std::isfinite(shared_advantages_[batch % count].mean))
                    return false;
        }
        finite = finite && std::isfinite(loss);
        for (std::size_t s = 0; s < parts; ++s)
            for (scalar const g : parts_[s].gradient.span())
                finite = finite && std::isfinite(g);
        return !finite;
    }

    /// The norm of the whole gradient before it was clipped.
    [[nodiscard]] double clip_gradient() {
        auto const most = static_cast<scalar>(max_gradient_norm());
        std::span<scalar> const all = gradient_.span().first(parameters_);
        if constexpr (acts)
            if (from_.options.clip_networks_separately) {
                std::size_t const of_policy = from_.networks.policy().parameter_count();
                double const policy = nn::clip_gradient_norm(all.first(of_policy), most);
                double const critic = nn::clip_gradient_norm(all.subspan(of_policy), most);
                return std::hypot(policy, critic);
            }
        return nn::clip_gradient_norm(all, most);
    }

    void step(std::span<scalar> parameters, double rate) {
        std::visit(
            [&](auto& rule) {
                rule.set_learning_rate(rate);
                rule.step(parameters, std::span<scalar const>(gradient_.span().first(parameters_)));
            },
            optimiser_);
    }

    /// Loss and gradient of the states `rows`, a part of a minibatch of `total` states; the part's gradient is that of
    /// the minibatch's mean loss.
    void learn_part(std::span<std::uint32_t const> rows, std::size_t total, std::span<scalar const> parameters,
                    random_stream random, part& to) {
        Networks const& networks = from_.networks;
        scalar const share = scalar(1) / static_cast<scalar>(total);
        from_.rollout.gather_states(rows, to.observations.data());
        auto const states = networks.input({to.observations.data(), rows.size(), networks.inputs()}, to.work);
        auto const prediction = [&] {
            if constexpr (acts) {
                actor_part(rows, states, share, parameters, to);
                return networks.value_forward(parameters, states, random, to.work, true);
            } else {
                return networks.value_forward(parameters, states, random, to.work);
            }
        }();
        matrix_view<scalar> const gradient(to.work.value_gradient.data(), rows.size(), networks.value_outputs());
        auto const mean_loss =
            from_.loss.value_and_gradient(from_.head, prediction, from_.targets.take(rows, to.targets), gradient);
        scalar const count = static_cast<scalar>(rows.size());
        to.value_loss = static_cast<double>(mean_loss) * static_cast<double>(rows.size());
        scalar const weight = static_cast<scalar>(from_.options.value_coefficient) * count * share;
        for (std::size_t i = 0; i < rows.size() * networks.value_outputs(); ++i)
            to.work.value_gradient[i] *= weight;
        if constexpr (acts)
            if (networks.explores()) {
                // ½ (v − R)², a mean over the minibatch like the other losses
                auto const values = networks.intrinsic_values(parameters, to.work);
                for (std::size_t i = 0; i < rows.size(); ++i)
                    to.work.intrinsic_gradient[i] = static_cast<scalar>(from_.options.value_coefficient) * share *
                                                    (values(i, 0) - from_.intrinsic_returns[rows[i]]);
            }
        networks.backward(parameters, states, to.work, to.gradient.span());
    }

    /// The clipped surrogate and the entropy bonus, and their gradient with respect to the actor's outputs.
    template <class States>
    void actor_part(std::span<std::uint32_t const> rows, States const& states, scalar share,
                    std::span<scalar const> parameters, part& to) {
        Networks const& networks = from_.networks;
        std::size_t const count = rows.size();
        std::size_t const action_size = from_.rollout.actions().cols();
        auto const first = [count](buffer<scalar>& all) { return all.span().first(count); };
        gather(rows, from_.rollout.actions().data(), action_size, to.actions.data());
        gather(rows, from_.rollout.log_probabilities().data(), 1, to.old_log_probabilities.data());

        auto const free = networks.policy().free(parameters);
        matrix_view<scalar const> const actions(to.actions.data(), count, action_size);
        auto const outputs = networks.policy().masked(networks.policy().forward(parameters, states, to.work.policy),
                                                      masks_of(rows, to), to.work.policy);
        from_.actor.log_probability_and_entropy(outputs, free, actions,
                                                vector_view<scalar>(first(to.log_probabilities)),
                                                vector_view<scalar>(first(to.entropies)));
        losses::clipped_surrogate const surrogate{.clip = from_.options.clip};
        to.sums = surrogate.value_and_gradient(first(to.log_probabilities), first(to.old_log_probabilities),
                                               first(to.advantages), first(to.log_probability_gradient), share);
        to.entropy = 0.0;
        for (scalar const entropy : first(to.entropies))
            to.entropy += static_cast<double>(entropy);
        std::fill_n(to.entropy_gradient.data(), count, -static_cast<scalar>(from_.options.entropy_coefficient) * share);
        from_.actor.gradient(outputs, free, actions, vector_view<scalar const>(first(to.log_probability_gradient)),
                             vector_view<scalar const>(first(to.entropy_gradient)),
                             matrix_view<scalar>(to.work.actor_gradient.data(), count, networks.actor_outputs()),
                             networks.policy().free(to.gradient.span()));
    }

    [[nodiscard]] matrix_view<std::uint8_t const> masks_of(std::span<std::uint32_t const> rows,
                                                           part& to) const noexcept {
        std::size_t const actions = from_.rollout.masks().cols();
        gather(rows, from_.rollout.masks().data(), actions, to.masks.data());
        return {to.masks.data(), rows.size(), actions};
    }

    /// The sums over the parts, in their order: the gradient, what the report tells, and what is returned.
    minibatch_sums add_parts(std::size_t parts, update_report& report) noexcept {
        minibatch_sums sums;
        for (std::size_t s = 0; s < parts; ++s) {
            part const& p = parts_[s];
            report.policy_loss += p.sums.loss;
            sums.kl += p.sums.kl;
            report.clip_fraction += static_cast<double>(p.sums.clipped);
            report.value_loss += p.value_loss;
            report.entropy += p.entropy;
            sums.loss += p.sums.loss + p.value_loss;
        }
        report.approximate_kl += sums.kl;
        std::copy(parts_[0].gradient.begin(), parts_[0].gradient.end(), gradient_.data());
        for (std::size_t s = 1; s < parts; ++s)
            for (std::size_t i = 0; i < parameters_; ++i)
                gradient_[i] += parts_[s].gradient[i];
        return sums;
    }

    sources from_;
    communicator* ranks_; // none if this is the only process
    std::size_t parameters_;
    buffer<scalar> gradient_; // of the parameters; of several ranks two sums more
    optimiser_type optimiser_;
    double rate_; // of rate_schedule::kl
    std::vector<std::uint32_t> order_;
    std::vector<scalar> advantages_;                // of a minibatch
    std::vector<shared_moments> shared_advantages_; // of several ranks, of an epoch's minibatches
    std::vector<part> parts_;
};

} // namespace gmac::inline GMAC_ABI::detail
