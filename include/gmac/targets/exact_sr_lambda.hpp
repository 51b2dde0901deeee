// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/detail/mixture_row.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::targets {

namespace detail {

/// The backward pass for one environment after another. A row is made from the one of the next step: its components with
/// λ times their weights, and the one-step return in front of them.
template <class T, class Source, class Targets>
class exact_pass {
public:
    /// `kept`: how many components of n-step returns are kept in full; `most`: reduce to so many, or 0.
    exact_pass(rollout_view<T> const& rollout, Source const& source, Targets const& targets, double discount,
               double lambda, std::size_t kept, std::size_t most) noexcept
        : rollout_(rollout),
          source_(source),
          targets_(targets),
          truncations_(rollout.truncations()),
          size_(locations(source).cols()),
          kept_(kept),
          most_(most),
          discount_(static_cast<T>(discount)),
          carried_(static_cast<T>(lambda)),
          fresh_(static_cast<T>(1.0 - lambda)) {}

    [[nodiscard]] std::size_t truncations() const noexcept { return truncations_; }

    void operator()(std::size_t environment) const noexcept {
        final_rows<T> final_row(rollout_, truncations_);
        std::size_t const all = rollout_.environments();
        std::size_t count = 0; // components of the row of the next step
        for (std::size_t t = rollout_.steps(); t-- > 0;) {
            std::size_t const index = t * all + environment;
            mixture_row<Targets> const row(targets_, index);
            T const reward = rollout_.rewards(t, environment);
            ending const end = rollout_.end(t, environment);
            if (end == ending::terminated) {
                row.set(0, T(1), reward, T(0));
                count = 1;
            } else if (end == ending::truncated) {
                count = put(row, 0, rollout_.state_rows() + final_row(t, environment), reward, T(1));
            } else if (t + 1 == rollout_.steps() || carried_ == T(0)) {
                count = put(row, 0, index + all, reward, T(1));
            } else {
                mixture_row<Targets> const next(targets_, index + all);
                count = most_ > 0 ? reduced_step(row, next, count, index + all, reward)
                                  : full_step(row, next, count, index + all, reward);
            }
            row.clear_from(count);
        }
    }

private:
    /// The components of a state's distribution after a reward, from column `first` on, or into a sorted row of `first`
    /// components if there is a limit. Returns the number of components of the row.
    std::size_t put(mixture_row<Targets> const& row, std::size_t first, std::size_t state, T reward,
                    T factor) const noexcept {
        for (std::size_t k = 0; k < size_; ++k) {
            T weight = T(1) / static_cast<T>(size_);
            T deviation = 0;
            if constexpr (requires { source_.weights; })
                if (source_.weights.data() != nullptr)
                    weight = source_.weights(state, k);
            if constexpr (requires { source_.deviations; })
                deviation = discount_ * source_.deviations(state, k);
            T const location = reward + discount_ * locations(source_)(state, k);
            if (most_ == 0) {
                row.set(first + k, factor * weight, location, deviation);
            } else if constexpr (mixture_row<Targets>::gaussian) {
                if (weight > T(0))
                    first = row.insert({static_cast<double>(factor * weight), static_cast<double>(location),
                                        static_cast<double>(deviation)},
                                       first, most_);
            }
        }
        return most_ == 0 ? first + size_ : first;
    }

    std::size_t reduced_step(mixture_row<Targets> const& row, mixture_row<Targets> const& next, std::size_t count,
                             std::size_t state, T reward) const noexcept {
        row.take(next, 0, count, 0, carried_, reward, discount_);
        return fresh_ > T(0) ? put(row, count, state, reward, fresh_) : count;
    }

    std::size_t full_step(mixture_row<Targets> const& row, mixture_row<Targets> const& next, std::size_t count,
                          std::size_t state, T reward) const noexcept {
        if (fresh_ == T(0)) {
            row.take(next, 0, count, 0, carried_, reward, discount_);
            return count;
        }
        put(row, 0, state, reward, fresh_);
        constexpr std::size_t summary = mixture_row<Targets>::summary_size;
        if (count + size_ <= kept_ + summary) {
            row.take(next, 0, count, size_, carried_, reward, discount_);
            return count + size_;
        }
        std::size_t const moved = kept_ - size_; // of the next row's components the last ones that stay themselves
        row.take(next, 0, moved, size_, carried_, reward, discount_);
        component rest = next.summary(moved, count);
        rest.weight *= static_cast<double>(carried_);
        rest.mean = static_cast<double>(reward) + static_cast<double>(discount_) * rest.mean;
        rest.deviation *= static_cast<double>(discount_);
        row.set_summary(kept_, rest);
        return kept_ + summary;
    }

    rollout_view<T> const& rollout_;
    Source const& source_;
    Targets const& targets_;
    std::size_t truncations_, size_, kept_, most_;
    T discount_, carried_, fresh_;
};

} // namespace detail

/// The distribution that SR(λ) samples from, as a whole and without a random number. With N transitions from x_t to the
/// end of the episode or of the rollout, it is the mixture of the n-step returns
///     G_n = r_t + … + γ^(n−1) r_{t+n−1} + γ^n Z(x_{t+n})
/// with weights (1 − λ) λ^(n−1) for n < N, and of the last one, which bootstraps from what follows the rollout or from the
/// final observation (or, after a termination, from nothing), with the remaining λ^(N−1): (1 − λ) λ^(N−1) as the N-step
/// return and λ^N as the bootstrap of the paper's Algorithm 1. The weights sum to one, (1 − λ)(1 + λ + … + λ^(N−2)) being
/// 1 − λ^(N−1). The mean is the λ-return for every λ, since that is the same sum of the means of the G_n.
///
/// Left alone, it has up to K components for each of the N returns. Two options bound that; both keep the weight, the
/// mean and the variance of the mixture to rounding.
struct exact_sr_lambda {
    double discount = 0.99;
    double lambda = 0.95;
    /// Returns of more than n steps, where n is the least with λ^n <= cutoff, are merged into one normal component (into
    /// two equal point masses for Dirac targets). Their weight is λ^n. 0 keeps all.
    double cutoff = 0.0;
    /// If not zero, every state's mixture is reduced to so many normal components: going back in time, the pair of
    /// neighbours that changes the shape least is merged whenever there is one too many.
    std::size_t components = 0;

    /// Columns that the targets must have for rollouts of this many steps and `size` components a state (the columns of
    /// the source); Gaussian targets need one for what the cutoff merges, Dirac targets two.
    [[nodiscard]] std::size_t capacity(std::size_t steps, std::size_t size, bool gaussian_targets = true) const {
        require_options();
        if (components > 0)
            return components;
        std::size_t const kept = kept_steps(steps);
        bool const one_return = lambda == 0.0 || lambda == 1.0;
        std::size_t const room = one_return ? 0 : gaussian_targets ? 1 : 2;
        return (std::min)((std::max)(steps, kept) * size, kept * size + room);
    }

    /// source: gaussian_source, dirac_source or sample_source with (T + 1) E rows and one for each truncated transition;
    /// targets: gaussian_particles or (without a limit on the components, and not from Gaussian mixtures) dirac_particles,
    /// [T E, at least the capacity], with weights. Columns that are not needed get the weight 0. With `tasks` the
    /// environments are spread over its threads. Nothing is allocated.
    ///
    /// Throws gmac::error for an option out of its range, shapes that do not match, targets that overlap the source in
    /// memory, weights that are negative or do not sum to one, negative deviations, and numbers of the source that
    /// are not finite. A reward that is not finite comes out in all targets that depend on it.
    template <std::floating_point T, class Source, class Targets>
    void operator()(rollout_view<T> const& rollout, Source const& source, Targets const& targets,
                    executor* tasks = nullptr) const {
        if constexpr (detail::require_kinds<T, Source, Targets>()) {
            auto const pass = prepare(rollout, source, targets);
            std::size_t const all = rollout.environments();
            detail::require_distributions(source, all, detail::locations(source).rows() - all, "exact_sr_lambda");
            if (tasks != nullptr)
                tasks->run(all, pass);
            else
                for (std::size_t e = 0; e < all; ++e)
                    pass(e);
        }
    }

private:
    void require_options() const {
        detail::require_unit_interval(discount, "discount", "exact_sr_lambda");
        detail::require_unit_interval(lambda, "lambda", "exact_sr_lambda");
        detail::require_unit_interval(cutoff, "cutoff", "exact_sr_lambda");
    }
    /// How many n-step returns are kept in full.
    [[nodiscard]] std::size_t kept_steps(std::size_t steps) const noexcept {
        if (lambda == 0.0 || lambda == 1.0)
            return 1;
        double weight = lambda;
        std::size_t kept = 1;
        for (; kept < steps && weight > cutoff; ++kept) // at the latest where λ^n is no longer a number above zero
            weight *= lambda;
        return kept;
    }

    template <class T, class Source, class Targets>
    [[nodiscard]] detail::exact_pass<T, Source, Targets> prepare(rollout_view<T> const& rollout, Source const& source,
                                                                 Targets const& targets) const {
        constexpr bool gaussian = std::same_as<Targets, gaussian_particles<T>>;
        require_options();
        require(gaussian || components == 0,
                "exact_sr_lambda: components is {}, but a reduction that keeps the variance "
                "needs gaussian_particles as targets",
                components);
        detail::require_rollout(rollout, "exact_sr_lambda");
        require_targets(targets, rollout.rows(), "exact_sr_lambda");
        require(targets.weighted(),
                "exact_sr_lambda: the targets have no weights, but its components need them: add a matrix of weights "
                "of the shape of the others");
        std::size_t const size = detail::locations(source).cols();
        std::size_t const needed = capacity(rollout.steps(), size, gaussian);
        require(targets.particles() >= needed,
                "exact_sr_lambda: the targets have {} columns, but must have at least {}", targets.particles(), needed);
        detail::exact_pass<T, Source, Targets> pass(rollout, source, targets, discount, lambda,
                                                    kept_steps(rollout.steps()) * size, components);
        detail::require_source(source, rollout.state_rows(), pass.truncations(), "exact_sr_lambda");
        detail::require_apart(source, targets, "exact_sr_lambda");
        return pass;
    }
};

} // namespace gmac::inline GMAC_ABI::targets
