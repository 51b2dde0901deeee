// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/detail/independent.hpp>
#include <gmac/targets/detail/particle_rows.hpp>
#include <gmac/targets/detail/stratified.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::inline GMAC_ABI::targets {

namespace detail {

/// How many environments go together, so that memory is written in long runs: with 64 environments 1.2 times as fast as one
/// after another, with 128 of them 1.4 times.
inline constexpr std::size_t environments_at_once = 8;
/// So that particles can be numbered in 31 bits.
inline constexpr std::ptrdiff_t most_particles = std::ptrdiff_t(1) << 27;

/// Algorithm 1 backwards in time, for a few environments at a time. Particles are replaced when step t takes them from step
/// t + 1, whose targets they remain.
template <class T, class Source, class Targets>
class sr_pass {
public:
    sr_pass(rollout_view<T> const& rollout, Source const& source, Targets const& targets, double discount,
            double lambda, resampling replacement) noexcept
        : rollout_(rollout),
          source_(source),
          targets_(targets),
          truncations_(rollout.truncations()),
          discount_(static_cast<T>(discount)),
          lambda_(lambda),
          independent_(replacement == resampling::independent),
          gaps_(lambda) {}

    [[nodiscard]] std::size_t truncations() const noexcept { return truncations_; }

    /// At most `environments_at_once` environments from `first` on, a stream each.
    void operator()(std::size_t first, std::span<random_stream> streams) const noexcept {
        if (targets_.weighted())
            share_weights(first, streams.size());
        std::size_t const all = targets_.particles();
        std::size_t const group = independent_ ? all : stratum;
        for (std::size_t particle = 0; particle < all; particle += group)
            run(first, streams, particle, targets_.middle_cols(particle, (std::min)(group, all - particle)));
    }

private:
    /// Equally likely particles: weights of 1/m.
    void share_weights(std::size_t first, std::size_t environments) const noexcept {
        T const share = T(1) / static_cast<T>(targets_.particles());
        for (std::size_t t = 0; t < rollout_.steps(); ++t)
            for (std::size_t e = first; e < first + environments; ++e)
                for (std::size_t i = 0; i < targets_.particles(); ++i)
                    targets_.weights(t * rollout_.environments() + e, i) = share;
    }

    void run(std::size_t first, std::span<random_stream> streams, std::size_t first_particle,
             Targets const& targets) const noexcept {
        using rows = particle_rows<T, Source, Targets>;
        std::array<typename rows::memory, environments_at_once> known;
        rows const particles(source_, targets, first_particle, discount_, independent_ ? &gaps_ : nullptr,
                             1.0 - lambda_);
        final_rows<T> final_row(rollout_, truncations_);
        std::size_t const all = rollout_.environments();
        for (std::size_t t = rollout_.steps(); t-- > 0;)
            for (std::size_t i = streams.size(); i-- > 0;) {
                std::size_t const e = first + i, row = t * all + e, next = row + all;
                typename rows::transition const here{row, rollout_.rewards(t, e), streams[i], known[i]};
                ending const end = rollout_.end(t, e);
                if (end == ending::terminated) {
                    particles.set(here);
                } else if (end == ending::truncated) {
                    particles.draw(rollout_.state_rows() + final_row(t, e), here);
                } else if (t + 1 == rollout_.steps() || lambda_ == 0.0) {
                    particles.draw(next, here);
                } else {
                    particles.take(next, here);
                    if (lambda_ < 1.0)
                        particles.replace(next, here);
                }
            }
    }

    rollout_view<T> const& rollout_;
    Source const& source_;
    Targets const& targets_;
    std::size_t truncations_;
    T discount_;
    double lambda_;
    bool independent_;
    geometric_gaps gaps_;
};

} // namespace detail

/// SR(λ), the sample-replacement return (GMAC paper, Algorithm 1): m particles of the λ-return's distribution for each
/// state of a rollout. Backwards in time, with X the m particles of an environment, first m fresh ones of Z(x_T):
///     if transition t was truncated, X ← m fresh particles of Z(its final observation);
///     X ← r_t + γ X (a Gaussian particle: μ ← r_t + γ μ, σ ← γ σ); if it was terminated, X ← r_t with σ = 0;
///     X is the target of x_t; then each particle is replaced by a fresh one of Z(x_t) with probability 1 − λ.
/// The paper prints that the fresh ones come from the target itself; they come from the value distribution at x_t, only
/// then is the mean of the targets the λ-return, GAE advantage plus value, on average.
///
/// λ = 0 replaces all particles and λ = 1 none, without a random number for that choice. A reward that is not finite comes
/// out in all targets that depend on it, and with a discount of 0 an infinite one as NaN in the targets before it: 0 · ∞.
///
/// The targets depend on the rollout, the distributions and the streams, and on nothing else: any way to split the
/// environments, and any number of threads, gives the same. The words drawn are the same for float and double.
struct sr_lambda {
    double discount = 0.99;
    double lambda = 0.95;
    std::size_t particles = 128;
    resampling replacement = resampling::independent;

    /// source: gaussian_source, dirac_source or sample_source with (T + 1) E rows and one for each truncated transition;
    /// streams: E, one an environment, moved on by what is drawn; targets: gaussian_particles or dirac_particles, [T E,
    /// particles]. If they have weights, these become 1 / particles each. From point masses and samples Gaussian particles
    /// get a deviation of zero. With `tasks` the environments are spread over its threads. Nothing is allocated.
    ///
    /// Throws gmac::error for an option out of its range, shapes that do not match, targets that overlap the source in
    /// memory, weights that are negative or do not sum to one, negative deviations, and numbers of the source that
    /// are not finite.
    template <std::floating_point T, class Source, class Targets>
    void operator()(rollout_view<T> const& rollout, Source const& source, std::span<random_stream> streams,
                    Targets const& targets, executor* tasks = nullptr) const {
        if constexpr (detail::require_kinds<T, Source, Targets>()) {
            auto const pass = prepare(rollout, source, targets);
            std::size_t const all = rollout.environments();
            require_streams(streams, all);
            detail::require_distributions(source, all, detail::locations(source).rows() - all, "sr_lambda");
            auto const run = [&](std::size_t task) {
                pass(task * detail::environments_at_once, part(streams, task * detail::environments_at_once, all));
            };
            std::size_t const count = (all + detail::environments_at_once - 1) / detail::environments_at_once;
            if (tasks != nullptr)
                tasks->run(count, run);
            else
                for (std::size_t task = 0; task < count; ++task)
                    run(task);
        }
    }

    /// With one stream: two words of it are the seed of a stream for each environment, numbered 0 … E − 1.
    template <std::floating_point T, class Source, class Targets>
    void operator()(rollout_view<T> const& rollout, Source const& source, random_stream& stream,
                    Targets const& targets) const {
        if constexpr (detail::require_kinds<T, Source, Targets>()) {
            auto const pass = prepare(rollout, source, targets);
            std::size_t const all = rollout.environments();
            detail::require_distributions(source, all, detail::locations(source).rows() - all, "sr_lambda");
            std::uint64_t const high = stream();
            std::uint64_t const seed = high << 32u | stream();
            std::array<random_stream, detail::environments_at_once> own;
            for (std::size_t e = 0; e < all; e += own.size()) {
                for (std::size_t i = 0; i < own.size(); ++i)
                    own[i] = random_stream(seed, e + i);
                pass(e, part(own, 0, all - e));
            }
        }
    }

    /// Only environments [first, last): writes their rows of the targets and uses their streams (of all E) and no other,
    /// so several threads may each take a range. Checks the distributions of their states, and all final ones.
    template <std::floating_point T, class Source, class Targets>
    void environments(std::size_t first, std::size_t last, rollout_view<T> const& rollout, Source const& source,
                      std::span<random_stream> streams, Targets const& targets) const {
        if constexpr (detail::require_kinds<T, Source, Targets>()) {
            auto const pass = prepare(rollout, source, targets);
            std::size_t const all = rollout.environments();
            require_streams(streams, all);
            require(first <= last && last <= all, "sr_lambda: environments {} to {} are asked for, but there are {}",
                    first, last, all);
            for (std::size_t t = 1; t <= rollout.steps(); ++t)
                detail::require_distributions(source, t * all + first, last - first, "sr_lambda");
            detail::require_distributions(source, rollout.state_rows(), pass.truncations(), "sr_lambda");
            for (std::size_t e = first; e < last; e += detail::environments_at_once)
                pass(e, part(streams, e, last));
        }
    }

private:
    static void require_streams(std::span<random_stream const> streams, std::size_t environments) {
        require(streams.size() == environments,
                "sr_lambda: there are {} random streams, but must be one for each of {} environments", streams.size(),
                environments);
    }

    /// The streams of a block that starts at `first` and does not reach beyond `last`.
    [[nodiscard]] static std::span<random_stream> part(std::span<random_stream> streams, std::size_t first,
                                                       std::size_t last) noexcept {
        return streams.subspan(first, (std::min)(detail::environments_at_once, last - first));
    }

    template <class T, class Source, class Targets>
    [[nodiscard]] detail::sr_pass<T, Source, Targets> prepare(rollout_view<T> const& rollout, Source const& source,
                                                              Targets const& targets) const {
        detail::require_unit_interval(discount, "discount", "sr_lambda");
        detail::require_unit_interval(lambda, "lambda", "sr_lambda");
        require(particles > 0, "sr_lambda: particles is 0, but must be at least 1");
        require(particles <= static_cast<std::size_t>(detail::most_particles),
                "sr_lambda: particles is {}, but must be at most {}", particles, detail::most_particles);
        detail::require_rollout(rollout, "sr_lambda");
        require_targets(targets, rollout.rows(), "sr_lambda");
        require(targets.particles() == particles, "sr_lambda: the targets have {} particles, but must have {}",
                targets.particles(), particles);
        detail::sr_pass<T, Source, Targets> pass(rollout, source, targets, discount, lambda, replacement);
        detail::require_source(source, rollout.state_rows(), pass.truncations(), "sr_lambda");
        detail::require_apart(source, targets, "sr_lambda");
        return pass;
    }
};

} // namespace gmac::inline GMAC_ABI::targets
