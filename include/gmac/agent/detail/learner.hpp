// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/composition.hpp>
#include <gmac/agent/detail/optimised_range.hpp>
#include <gmac/agent/kl_schedule.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/agent/rollout.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/detail/gather.hpp>
#include <gmac/core/detail/moments.hpp>
#include <gmac/core/detail/spinning_team.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/losses/clipped_surrogate.hpp>
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
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// In the place of an actor: there is none, only the value is learned.
struct no_actor {};

/// The epochs of minibatches in which an agent, or a critic alone, learns a rollout. A minibatch is divided into parts by its
/// states, and where actor and critic have trunks of their own by these networks too. The number of parts does not depend on
/// the threads, and the parts' gradients are added in their order. On several ranks a minibatch has as many states of each of
/// them, and all take the same steps.
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
          rate_(from.options.learning_rate),
          advantages_(acts ? from.rollout.rows() : 0),
          order_(from.rollout.rows()) {
        require(static_cast<scalar>(max_gradient_norm()) > 0, "{}: max_gradient_norm is {}, but must be positive",
                from.name, max_gradient_norm());
        bool const two = acts && !from.options.shared_trunk;
        std::size_t const wanted = from.options.shards > 0
                                       ? from.options.shards
                                       : (std::min<std::size_t>)(8, minibatch() / 32) / (two ? 2 : 1);
        shards_ = std::clamp<std::size_t>(wanted, 1, minibatch());
        std::size_t const of_policy = policy_parameters();
        ranges_.push_back({0, two ? of_policy : parameters_, from.options});
        if (two)
            ranges_.push_back({of_policy, parameters_ - of_policy, from.options});
        for (std::size_t i = 0; i < (two ? 2 : 1) * shards_; ++i)
            parts_.emplace_back(from, (minibatch() + shards_ - 1) / shards_, acts && i < shards_, !two || i >= shards_);
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
        epoch_sums all;
        // Of ranks only the calling thread may speak with the others.
        work_in_team(tasks, ranks_ ? 1 : parts_.size(),
                     [&](executor& team) { all = go_through(parameters, team, stream, first_fraction, report); });
        std::size_t const in_epoch = (order_.size() + minibatch() - 1) / minibatch();
        report.epochs = static_cast<double>(all.steps) / static_cast<double>(in_epoch);
        report.gradient_norm = all.norms / static_cast<double>(all.batches);
        std::array totals{all.policy_loss, all.value_loss, all.entropy, all.kl, all.clipped};
        if (ranks_)
            ranks_->all_reduce(std::span<double>(totals));
        for (double& total : totals)
            total /= static_cast<double>(all.visits);
        report.policy_loss = totals[0];
        report.value_loss = totals[1];
        report.entropy = totals[2];
        report.approximate_kl = totals[3];
        report.clip_fraction = totals[4];
    }

    /// The optimiser's state, and the learning rate that follows the divergence.
    void persist(archive& state) {
        for (optimised_range<scalar>& range : ranges_)
            if (ranges_.size() == 1)
                range.persist(state);
            else
                state.inside(range.first == 0 ? "policy" : "critic", [&] { range.persist(state); });
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
    /// Over the minibatches of an update.
    struct epoch_sums {
        double policy_loss = 0.0, value_loss = 0.0, entropy = 0.0, kl = 0.0, clipped = 0.0; // of visited states
        double norms = 0.0;                                                                 // of their gradients
        std::size_t batches = 0, steps = 0, visits = 0;
    };
    /// Memory of one part of a minibatch, of up to `rows` states, of the policy, of the critic or of both.
    struct part {
        bool acting, judging;
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

        part(sources const& from, std::size_t rows, bool acting_too, bool judging_too)
            : acting(acting_too),
              judging(judging_too),
              work(make_workspace(from.networks, rows, acting, judging)),
              targets(from.targets.make_batch(judging ? rows : 0)),
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

        [[nodiscard]] static auto make_workspace(Networks const& networks, std::size_t rows, bool policy, bool critic) {
            if constexpr (acts)
                return networks.make_workspace(rows, policy, critic);
            else
                return networks.make_workspace(rows);
        }
        [[nodiscard]] std::size_t acted(std::size_t rows) const noexcept { return acting ? rows : 0; }
    };
    /// Of parts and of ranges: those of the policy and those of the critic, if these have trunks of their own.
    [[nodiscard]] std::size_t kinds() const noexcept { return ranges_.size(); }
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

    [[nodiscard]] std::size_t policy_parameters() const noexcept {
        if constexpr (acts)
            return from_.networks.policy().parameter_count();
        else
            return 0;
    }
    /// All epochs. Writes report.learning_rate where it follows the divergence.
    template <class StreamOf>
    [[nodiscard]] epoch_sums go_through(std::span<scalar> parameters, executor& tasks, StreamOf const& stream,
                                        std::size_t first_fraction, update_report& report) {
        epoch_sums all;
        agent_options const& options = from_.options;
        random_stream random = stream(stream_purpose::minibatch, 0);
        std::iota(order_.begin(), order_.end(), 0u);
        std::size_t const states = order_.size();
        bool stopped = false;
        for (std::size_t epoch = 0; epoch < options.epochs && !stopped; ++epoch) {
            random.shuffle(std::span<std::uint32_t>(order_));
            if (ranks_ && acts && options.normalize_advantages)
                measure_advantages(order_);
            if (adapts())
                report.learning_rate = rate_;
            double kl = 0.0;
            std::size_t visited = 0;
            for (std::size_t first = 0; first < states && !stopped; first += minibatch()) {
                std::size_t const count = (std::min)(minibatch(), states - first);
                std::size_t const total = count * from_.rollout.rank_count();
                std::size_t const batch = all.batches;
                double const kl_sum = evaluate_minibatch(
                    std::span<std::uint32_t const>(order_).subspan(first, count), total, parameters, tasks,
                    [&](std::size_t s) {
                        return stream(stream_purpose::fraction, first_fraction + batch * shards_ + s);
                    },
                    report.update, all);
                kl += kl_sum;
                visited += total;
                stopped = options.early_stop && kl_sum > 1.5 * options.target_kl * static_cast<double>(total);
                if (!stopped) {
                    step(parameters, tasks, report.learning_rate);
                    ++all.steps;
                }
            }
            all.visits += visited;
            if (adapts())
                rate_ = adaptive_rate().next(rate_, kl / static_cast<double>(visited));
        }
        return all;
    }

    /// The gradient of a minibatch of `total` states on all ranks, in `gradient_`, and the norms of its ranges, in `norms_`;
    /// returns the sum over its states of their approximate KL divergences. `rows` are those here.
    template <class StreamOf>
    [[nodiscard]] double evaluate_minibatch(std::span<std::uint32_t const> rows, std::size_t total,
                                            std::span<scalar const> parameters, executor& tasks,
                                            StreamOf const& fractions, std::uint64_t update, epoch_sums& to) {
        std::size_t const shards = (std::min)(shards_, rows.size());
        std::size_t const batch = to.batches++;
        auto const begin = [&](std::size_t s) { return s * rows.size() / shards; };
        std::span<scalar> const advantages = std::span(advantages_).first(acts ? rows.size() : 0);
        if (acts) {
            gather(rows, from_.advantages.data(), 1, advantages.data());
            if (from_.options.normalize_advantages && ranks_)
                normalize_by_all(shared_advantages_[batch % shared_advantages_.size()], advantages);
            else if (from_.options.normalize_advantages)
                targets::normalize(advantages);
        }
        tasks.run(shards * kinds(), [&](std::size_t i) {
            std::size_t const s = i % shards;
            std::size_t const count = begin(s + 1) - begin(s);
            part& one = parts_[i / shards * shards_ + s];
            if (acts && one.acting)
                std::copy_n(advantages.data() + begin(s), count, one.advantages.data());
            learn_part(rows.subspan(begin(s), count), total, parameters, fractions(s), one);
            if (shards == 1)
                add_gradients(i, 1);
        });
        if (shards > 1)
            tasks.run(kinds(), [&](std::size_t kind) { add_gradients(kind, shards); });
        minibatch_sums const here = add_sums(shards, to);
        auto const [loss, kl] = ranks_ ? add_ranks(here) : here;
        double const norm = whole_norm();
        if (!(std::isfinite(loss) && std::isfinite(norm))) [[unlikely]]
            fail("{}: update {}, minibatch {}: the loss is {} and the norm of its gradient {}; both must be finite{}",
                 from_.name, update, batch, loss / static_cast<double>(total), norm,
                 ranks_ ? ranks_->those_at_fault(is_at_fault(rows, batch, here.loss)) : std::string());
        to.norms += norm;
        return kl;
    }

    /// What `targets::normalize` needs of the minibatches of an epoch.
    void measure_advantages(std::span<std::uint32_t const> order) {
        std::vector<std::size_t> counts((order.size() + minibatch() - 1) / minibatch(), minibatch());
        counts.back() = order.size() - (counts.size() - 1) * minibatch();
        std::vector<double> numbers(order.size());
        for (std::size_t i = 0; i < numbers.size(); ++i)
            numbers[i] = static_cast<double>(from_.advantages[order[i]]);
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
        for (std::size_t kind = 0; kind < kinds(); ++kind)
            norms_[kind] = norm_of(kind);
        return {static_cast<double>(gradient_[parameters_]), static_cast<double>(gradient_[parameters_ + 1])};
    }
    /// Whether what is not finite is so on this rank, and not only by what it shares with others.
    [[nodiscard]] bool is_at_fault(std::span<std::uint32_t const> rows, std::size_t batch, double loss) const {
        bool finite = true;
        if constexpr (acts) {
            for (std::uint32_t const row : rows)
                finite = finite && std::isfinite(from_.advantages[row]);
            if (std::size_t const count = shared_advantages_.size(); finite && count > 0)
                if (!std::isfinite(shared_advantages_[batch % count].mean))
                    return false;
        }
        finite = finite && std::isfinite(loss);
        for (part const& one : parts_)
            for (scalar const g : range_of(one, one.gradient.span()))
                finite = finite && std::isfinite(g);
        return !finite;
    }

    /// The parameters take a step along the gradient, which is clipped. Where there are two ranges each is moved by the thread
    /// that has made its gradient, most likely, and has it at hand.
    void step(std::span<scalar> parameters, executor& tasks, double rate) {
        auto const most = static_cast<scalar>(max_gradient_norm());
        double const norm = whole_norm();
        tasks.run(kinds(), [&](std::size_t kind) {
            ranges_[kind].step(parameters, gradient_.span(),
                               from_.options.clip_networks_separately ? norms_[kind] : norm, most, rate);
        });
    }

    [[nodiscard]] double whole_norm() const noexcept {
        // As the parameters' type, which may not hold it.
        return kinds() == 1 ? norms_[0] : static_cast<double>(static_cast<scalar>(std::hypot(norms_[0], norms_[1])));
    }
    [[nodiscard]] double norm_of(std::size_t kind) const noexcept {
        return ranges_[kind].norm(std::span<scalar const>(gradient_.data(), parameters_));
    }

    /// Of a range of all parameters those of the networks that a part learns.
    template <class T>
    [[nodiscard]] std::span<T> range_of(part const& one, std::span<T> all) const noexcept {
        std::size_t const of_policy = policy_parameters();
        std::size_t const first = one.acting ? 0 : of_policy;
        return all.subspan(first, (one.judging ? parameters_ : of_policy) - first);
    }

    /// Loss and gradient of the states `rows`, a part of a minibatch of `total` states; the part's gradient is that of
    /// the minibatch's mean loss.
    void learn_part(std::span<std::uint32_t const> rows, std::size_t total, std::span<scalar const> parameters,
                    random_stream random, part& to) {
        Networks const& networks = from_.networks;
        scalar const share = scalar(1) / static_cast<scalar>(total);
        from_.rollout.gather_states(rows, to.observations.data());
        auto const states = networks.input({to.observations.data(), rows.size(), networks.inputs()}, to.work);
        if constexpr (acts)
            if (to.acting)
                actor_part(rows, states, share, parameters, to);
        if (to.judging)
            critic_part(rows, states, share, parameters, random, to);
        if constexpr (acts)
            if (to.acting)
                networks.policy_backward(parameters, states, to.work, to.gradient.span());
    }

    /// The value's loss, and its gradient with respect to the critic's parameters; of a shared trunk to its features.
    template <class States>
    void critic_part(std::span<std::uint32_t const> rows, States const& states, scalar share,
                     std::span<scalar const> parameters, random_stream& random, part& to) {
        Networks const& networks = from_.networks;
        auto const prediction = [&] {
            if constexpr (acts)
                return networks.value_forward(parameters, states, random, to.work, to.acting);
            else
                return networks.value_forward(parameters, states, random, to.work);
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
        networks.critic_backward(parameters, states, to.work, to.gradient.span());
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

    /// The sum of the gradients of the parts of a kind, in their order, and its norm.
    void add_gradients(std::size_t kind, std::size_t shards) noexcept {
        for (std::size_t s = 0; s < shards; ++s) {
            part const& one = parts_[kind * shards_ + s];
            std::span<scalar> const sum = range_of(one, gradient_.span());
            std::span<scalar const> const added = range_of(one, one.gradient.span());
            if (s == 0)
                std::copy(added.begin(), added.end(), sum.begin());
            else
                for (std::size_t i = 0; i < sum.size(); ++i)
                    sum[i] += added[i];
        }
        if (!ranks_)
            norms_[kind] = norm_of(kind);
    }

    /// The sums over the parts of a minibatch, in their order: what the report tells, and what is returned.
    minibatch_sums add_sums(std::size_t shards, epoch_sums& to) const noexcept {
        minibatch_sums all;
        for (std::size_t kind = 0; kind < kinds(); ++kind)
            for (std::size_t s = 0; s < shards; ++s) {
                part const& one = parts_[kind * shards_ + s];
                to.policy_loss += one.sums.loss;
                to.value_loss += one.value_loss;
                to.entropy += one.entropy;
                to.clipped += static_cast<double>(one.sums.clipped);
                all.kl += one.sums.kl;
                all.loss += one.sums.loss + one.value_loss;
            }
        to.kl += all.kl;
        return all;
    }

    sources from_;
    communicator* ranks_; // none if this is the only process
    std::size_t parameters_;
    buffer<scalar> gradient_;                       // of the parameters; of several ranks two sums more
    double rate_;                                   // of rate_schedule::kl
    std::vector<scalar> advantages_;                // of a minibatch
    std::vector<shared_moments> shared_advantages_; // of several ranks, of an epoch's minibatches
    std::size_t shards_ = 1;                        // parts by states
    std::vector<part> parts_;                       // those of the policy, and then as many of the critic
    std::vector<optimised_range<scalar>> ranges_;   // all parameters, or the policy's and the critic's
    std::array<double, 2> norms_{};                 // of the gradient in each of them
    std::vector<std::uint32_t> order_;              // of the states
};

} // namespace gmac::inline GMAC_ABI::detail
