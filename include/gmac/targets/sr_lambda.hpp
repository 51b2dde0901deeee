// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/strided.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::targets {

namespace detail {

/// How many environments go together: enough to write memory in long runs.
inline constexpr std::size_t environments_at_once = 8;

/// The backward pass of SR(λ), for a few environments at a time. The particles live in the output: those of step t are
/// those of step t + 1, replaced in part, discounted, plus the reward.
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
        if (independent_ || particles() <= stratum)
            return run(first, streams);
        for (std::size_t particle = 0; particle < particles(); particle += stratum) {
            sr_pass part = *this;
            part.first_particle_ = particle;
            part.targets_ = targets_.middle_cols(particle, (std::min)(stratum, particles() - particle));
            part.run(first, streams);
        }
    }

private:
    static constexpr bool from_samples = std::same_as<Source, sample_source<T>>;
    static constexpr bool gaussian = std::same_as<Targets, gaussian_particles<T>>;

    /// What an environment knows of the past.
    struct memory {
        replacement_events events; ///< of independent replacement
        age_order order;           ///< of stratified replacement
    };

    void run(std::size_t first, std::span<random_stream> streams) const noexcept {
        std::array<memory, environments_at_once> known;
        final_rows<T> final_row(rollout_, truncations_);
        for (std::size_t t = rollout_.steps(); t-- > 0;)
            for (std::size_t i = streams.size(); i-- > 0;)
                step(t, first + i, final_row, streams[i], known[i]);
    }

    void step(std::size_t t, std::size_t environment, final_rows<T>& final_row, random_stream& stream,
              memory& known) const noexcept {
        std::size_t const all = rollout_.environments();
        std::size_t const row = t * all + environment;
        T const reward = rollout_.rewards(t, environment);
        switch (rollout_.end(t, environment)) {
        case ending::terminated:
            terminate(row, reward, known);
            break;
        case ending::truncated:
            start(rollout_.state_rows() + final_row(t, environment), row, reward, stream, known);
            break;
        case ending::none:
            if (t + 1 == rollout_.steps() || lambda_ == 0.0) {
                start(row + all, row, reward, stream, known);
            } else {
                carry(row + all, row, reward);
                if (lambda_ < 1.0)
                    replace(row + all, row, reward, stream, known);
            }
        }
    }

    [[nodiscard]] std::size_t particles() const noexcept { return targets_.particles(); }
    [[nodiscard]] matrix_view<T> const& target_locations() const noexcept {
        if constexpr (gaussian)
            return targets_.means;
        else
            return targets_.values;
    }

    void terminate(std::size_t row, T reward, memory& known) const noexcept {
        if (!independent_)
            known.order.reset(particles());
        for (std::size_t i = 0; i < particles(); ++i) {
            target_locations()(row, i) = reward;
            if constexpr (gaussian)
                targets_.deviations(row, i) = T(0);
        }
    }
    [[gnu::always_inline]] void carry(std::size_t from, std::size_t row, T reward) const noexcept {
        auto const& to = target_locations();
        affine(strided<T>(to, from), strided<T>(to, row), particles(), reward, discount_);
        if constexpr (gaussian)
            affine(strided<T>(targets_.deviations, from), strided<T>(targets_.deviations, row), particles(), T(0),
                   discount_);
    }

    /// All particles are fresh ones of this state.
    void start(std::size_t state, std::size_t row, T reward, random_stream& stream, memory& known) const noexcept {
        if (!independent_)
            known.order.reset(particles());
        component_picker<T> const pick = picker(source_, state);
        std::size_t const count = particles();
        std::uint32_t const offset = independent_ || from_samples ? 0u : stream();
        std::array<std::uint32_t, chunk> positions;
        word_chunk choices;
        for (std::size_t first = 0; first < count; first += chunk) {
            std::size_t const here = (std::min)(chunk, count - first);
            for (std::size_t i = 0; i < here; ++i)
                positions[i] = static_cast<std::uint32_t>(first + i);
            if (independent_ && !from_samples)
                choices.draw(stream);
            else
                stratify(choices, offset, first, here, count);
            renew(state, row, reward, 0, here, positions.data(), choices.words.data(), pick);
        }
    }
    /// Some particles are replaced by fresh ones of this state.
    [[gnu::always_inline]] void replace(std::size_t state, std::size_t row, T reward, random_stream& stream,
                                        memory& known) const noexcept {
        std::size_t const count = particles();
        if (independent_) {
            known.events.next(static_cast<std::uint32_t>(count), gaps_, stream,
                              [&](std::uint32_t first, std::size_t here, std::uint32_t const* positions,
                                  std::uint32_t const* words) {
                                  renew(state, row, reward, first, here, positions, words, picker(source_, state));
                              });
            return;
        }
        double const shift = static_cast<double>(stream()) * 0x1p-32;
        std::uint32_t const offset = stream();
        std::array<std::uint32_t, stratum> positions;
        std::size_t const replaced = known.order.choose(count, 1.0 - lambda_, shift, positions.data());
        component_picker<T> const pick = picker(source_, state);
        word_chunk choices;
        for (std::size_t first = 0; first < replaced; first += chunk) {
            std::size_t const here = (std::min)(chunk, replaced - first);
            stratify(choices, offset, first, here, replaced);
            renew(state, row, reward, 0, here, &positions[first], choices.words.data(), pick);
        }
    }
    /// Words first … first + here − 1 of `count` that divide the range of words evenly.
    static void stratify(word_chunk& choices, std::uint32_t offset, std::size_t first, std::size_t here,
                         std::size_t count) noexcept {
        std::uint32_t const share = static_cast<std::uint32_t>((std::uint64_t(1) << 32u) / count); // of one: 0, all
        for (std::size_t i = 0; i < here; ++i)
            choices.words[i] = offset + static_cast<std::uint32_t>(first + i) * share;
    }
    /// particle ← reward + discount · component, for particles positions − first and the components that words choose.
    [[gnu::always_inline]] void renew(std::size_t state, std::size_t row, T reward, std::uint32_t first,
                                      std::size_t count, std::uint32_t const* positions, std::uint32_t const* words,
                                      component_picker<T> const& pick) const noexcept {
        word_chunk chosen;
        std::uint32_t* const components = chosen.words.data();
        if constexpr (from_samples)
            for (std::size_t i = 0; i < count; ++i)
                components[i] =
                    static_cast<std::uint32_t>((first_particle_ + (positions[i] - first)) % source_.values.cols());
        else
            pick(words, count, components);
        strided<T const> const from(locations(source_), state);
        strided<T> const to(target_locations(), row);
        T const scale = discount_;
        if constexpr (gaussian && requires { source_.deviations; }) {
            strided<T const> const from_deviations(source_.deviations, state);
            strided<T> const to_deviations(targets_.deviations, row);
            if (from.stride == 1 && from_deviations.stride == 1 && to.stride == 1 && to_deviations.stride == 1)
                for (std::size_t i = 0; i < count; ++i) {
                    to.data[positions[i] - first] = reward + scale * from.data[components[i]];
                    to_deviations.data[positions[i] - first] = scale * from_deviations.data[components[i]];
                }
            else
                for (std::size_t i = 0; i < count; ++i) {
                    to[positions[i] - first] = reward + scale * from[components[i]];
                    to_deviations[positions[i] - first] = scale * from_deviations[components[i]];
                }
        } else {
            for (std::size_t i = 0; i < count; ++i)
                to[positions[i] - first] = reward + scale * from[components[i]];
            if constexpr (gaussian)
                for (std::size_t i = 0; i < count; ++i)
                    targets_.deviations(row, positions[i] - first) = T(0);
        }
    }

    rollout_view<T> const& rollout_;
    Source const& source_;
    Targets targets_;
    std::size_t first_particle_ = 0;
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
/// out in all targets that depend on it.
///
/// The targets depend on the rollout, the distributions and the streams, and on nothing else: any way to split the
/// environments, and any number of threads, gives the same. The words drawn are the same for float and double.
struct sr_lambda {
    double discount = 0.99;
    double lambda = 0.95;
    std::size_t particles = 128;
    resampling replacement = resampling::independent;

    /// source: gaussian_source, dirac_source or sample_source with (T + 1) E rows and one for each truncated transition;
    /// streams: E, one an environment, moved on by what is drawn; targets: gaussian_particles or dirac_particles without
    /// weights, [T E, particles]. From point masses and samples Gaussian particles get a deviation of zero. With `tasks`
    /// the environments are spread over its threads. Nothing is allocated.
    ///
    /// Throws gmac::error for an option out of its range, shapes that do not match, targets that overlap the source in
    /// memory, weights that are negative or do not sum to one, negative deviations, and numbers of the source that
    /// are not finite.
    template <std::floating_point T, class Source, class Targets>
    void operator()(rollout_view<T> const& rollout, Source const& source, std::span<random_stream> streams,
                    Targets const& targets, executor* tasks = nullptr) const {
        auto const pass = prepare(rollout, source, targets);
        std::size_t const all = rollout.environments();
        require(streams.size() == all,
                "sr_lambda: there are {} random streams, but must be one for each of {} environments", streams.size(),
                all);
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

    /// With one stream: two words of it are the seed of a stream for each environment, numbered 0 … E − 1.
    template <std::floating_point T, class Source, class Targets>
    void operator()(rollout_view<T> const& rollout, Source const& source, random_stream& stream,
                    Targets const& targets) const {
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

    /// Only environments [first, last): writes their rows of the targets and uses their streams (of all E) and no other,
    /// so several threads may each take a range. Checks the distributions of their states, and all final ones.
    template <std::floating_point T, class Source, class Targets>
    void environments(std::size_t first, std::size_t last, rollout_view<T> const& rollout, Source const& source,
                      std::span<random_stream> streams, Targets const& targets) const {
        auto const pass = prepare(rollout, source, targets);
        std::size_t const all = rollout.environments();
        require(streams.size() == all,
                "sr_lambda: there are {} random streams, but must be one for each of {} environments", streams.size(),
                all);
        require(first <= last && last <= all, "sr_lambda: environments {} to {} are asked for, but there are {}", first,
                last, all);
        for (std::size_t t = 1; t <= rollout.steps(); ++t)
            detail::require_distributions(source, t * all + first, last - first, "sr_lambda");
        detail::require_distributions(source, rollout.state_rows(), pass.truncations(), "sr_lambda");
        for (std::size_t e = first; e < last; e += detail::environments_at_once)
            pass(e, part(streams, e, last));
    }

private:
    /// The streams of a block that starts at `first` and does not reach beyond `last`.
    [[nodiscard]] static std::span<random_stream> part(std::span<random_stream> streams, std::size_t first,
                                                       std::size_t last) noexcept {
        return streams.subspan(first, (std::min)(detail::environments_at_once, last - first));
    }

    template <class T, class Source, class Targets>
    [[nodiscard]] detail::sr_pass<T, Source, Targets> prepare(rollout_view<T> const& rollout, Source const& source,
                                                              Targets const& targets) const {
        static_assert(std::same_as<Source, gaussian_source<T>> || std::same_as<Source, dirac_source<T>> ||
                          std::same_as<Source, sample_source<T>>,
                      "sr_lambda: the value distributions are a gaussian_source, dirac_source or sample_source of the "
                      "rewards' type");
        static_assert(
            std::same_as<Targets, gaussian_particles<T>> ||
                (std::same_as<Targets, dirac_particles<T>> && !std::same_as<Source, gaussian_source<T>>),
            "sr_lambda: the targets are gaussian_particles or, not from Gaussian mixtures, dirac_particles of "
            "the rewards' type");
        detail::require_unit_interval(discount, "discount", "sr_lambda");
        detail::require_unit_interval(lambda, "lambda", "sr_lambda");
        require(particles > 0, "sr_lambda: particles is 0, but must be at least 1");
        detail::require_rollout(rollout, "sr_lambda");
        require_targets(targets, rollout.rows(), "sr_lambda");
        require(targets.particles() == particles, "sr_lambda: the targets have {} particles, but must have {}",
                targets.particles(), particles);
        require(!targets.weighted(), "sr_lambda: the targets have weights, but its particles are equally likely");
        detail::sr_pass<T, Source, Targets> pass(rollout, source, targets, discount, lambda, replacement);
        detail::require_source(source, rollout.state_rows() + pass.truncations(), "sr_lambda");
        detail::require_apart(source, targets, "sr_lambda");
        return pass;
    }
};

} // namespace gmac::targets
