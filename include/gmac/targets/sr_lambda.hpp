// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::targets {

namespace detail {

/// A row of particles or components. Small enough to stay in registers, which compilers do not manage for views.
template <class T>
struct strided {
    T* data;
    std::ptrdiff_t stride;

    strided(matrix_view<T> const& matrix, std::size_t row) noexcept
        : data(matrix.data() + static_cast<std::ptrdiff_t>(row) * matrix.row_stride()), stride(matrix.col_stride()) {}
    T& operator[](std::size_t i) const noexcept { return data[static_cast<std::ptrdiff_t>(i) * stride]; }
};

/// to = shift + scale · from, with the same rounding for every stride and length.
template <std::floating_point T>
void affine(strided<T> from, strided<T> to, std::size_t size, T shift, T scale) noexcept {
    using V = lanes::widest<T>;
    constexpr std::size_t width = V::size;
    V const add(shift);
    V const factor(scale);
    std::size_t i = 0;
    if (from.stride == 1 && to.stride == 1)
        for (; i + width <= size; i += width)
            xsimd::fma(factor, V::load_unaligned(from.data + i), add).store_unaligned(to.data + i);
    if (i == size)
        return;
    alignas(64) std::array<T, width> part{};
    for (; i < size; i += width) {
        std::size_t const count = (std::min)(width, size - i);
        for (std::size_t lane = 0; lane < count; ++lane)
            part[lane] = from[i + lane];
        xsimd::fma(factor, V::load_aligned(part.data()), add).store_aligned(part.data());
        for (std::size_t lane = 0; lane < count; ++lane)
            to[i + lane] = part[lane];
    }
}

/// How many environments go together: enough to write memory in long runs.
inline constexpr std::size_t environments_at_once = 8;

/// Some particles of a row, the words that choose their components, and the components.
struct particle_list {
    alignas(64) std::array<std::uint32_t, particles_at_once> words, components;
    std::array<std::uint32_t, particles_at_once> particles;

    /// to[particle] = shift + scale · from[component] for the first `count` particles.
    template <std::floating_point T>
    void put(std::size_t count, strided<T const> from, strided<T> to, T shift, T scale) const noexcept {
        if (from.stride == 1 && to.stride == 1)
            for (std::size_t i = 0; i < count; ++i)
                to.data[particles[i]] = shift + scale * from.data[components[i]];
        else
            for (std::size_t i = 0; i < count; ++i)
                to[particles[i]] = shift + scale * from[components[i]];
    }
};

/// The backward pass of SR(λ), for a few environments at a time. The particles live in the output: those of step t are
/// those of step t + 1, replaced in part, discounted, plus the reward.
template <class T, class Source, class Targets>
class sr_pass {
public:
    sr_pass(rollout_view<T> const& rollout, Source const& source, Targets const& targets, double discount,
            double lambda, resampling replacement) noexcept
        : rollout_(rollout), source_(source), targets_(targets), truncations_(rollout.truncations()),
          discount_(static_cast<T>(discount)), lambda_(lambda), independent_(replacement == resampling::independent),
          gaps_(lambda) {}

    [[nodiscard]] std::size_t truncations() const noexcept { return truncations_; }

    /// At most `environments_at_once` environments from `first` on, a stream each.
    void operator()(std::size_t first, std::span<random_stream> streams) const noexcept {
        std::array<word_buffer, environments_at_once> words;
        for (std::size_t i = 0; i < streams.size(); ++i)
            words[i].open(streams[i]);
        final_rows<T> final_row(rollout_, truncations_);
        for (std::size_t t = rollout_.steps(); t-- > 0;)
            for (std::size_t i = streams.size(); i-- > 0;)
                step(t, first + i, final_row, words[i]);
        for (std::size_t i = 0; i < streams.size(); ++i)
            words[i].close();
    }

private:
    static constexpr bool from_samples = std::same_as<Source, sample_source<T>>;
    static constexpr bool gaussian = std::same_as<Targets, gaussian_particles<T>>;

    void step(std::size_t t, std::size_t environment, final_rows<T>& final_row, word_buffer& words) const noexcept {
        std::size_t const all = rollout_.environments();
        std::size_t const row = t * all + environment;
        T const reward = rollout_.rewards(t, environment);
        switch (rollout_.end(t, environment)) {
        case ending::terminated:
            terminate(row, reward);
            break;
        case ending::truncated:
            start(rollout_.state_rows() + final_row(t, environment), row, reward, words);
            break;
        case ending::none:
            if (t + 1 == rollout_.steps() || lambda_ == 0.0) {
                start(row + all, row, reward, words);
            } else {
                carry(row + all, row, reward);
                if (lambda_ < 1.0)
                    replace(row + all, row, reward, words);
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

    void terminate(std::size_t row, T reward) const noexcept {
        for (std::size_t i = 0; i < particles(); ++i) {
            target_locations()(row, i) = reward;
            if constexpr (gaussian)
                targets_.deviations(row, i) = T(0);
        }
    }
    void carry(std::size_t from, std::size_t row, T reward) const noexcept {
        auto const& to = target_locations();
        affine(strided<T>(to, from), strided<T>(to, row), particles(), reward, discount_);
        if constexpr (gaussian)
            affine(strided<T>(targets_.deviations, from), strided<T>(targets_.deviations, row), particles(), T(0),
                   discount_);
    }

    /// All particles are fresh ones of this state.
    void start(std::size_t state, std::size_t row, T reward, word_buffer& words) const noexcept {
        component_picker<T> const pick(weights_of(source_, state), locations(source_).cols());
        particle_list list;
        std::size_t const count = particles();
        std::uint32_t const offset = independent_ || from_samples ? 0u : words();
        for (std::size_t first = 0; first < count; first += particles_at_once) {
            std::size_t const here = (std::min)(particles_at_once, count - first);
            for (std::size_t i = 0; i < here; ++i)
                list.particles[i] = static_cast<std::uint32_t>(first + i);
            if (!independent_)
                for (std::size_t i = 0; i < here; ++i)
                    list.words[i] = offset + share(first + i, count);
            renew(state, row, reward, list, here, pick, words);
        }
    }
    /// Some particles are replaced by fresh ones of this state.
    void replace(std::size_t state, std::size_t row, T reward, word_buffer& words) const noexcept {
        component_picker<T> const pick(weights_of(source_, state), locations(source_).cols());
        particle_list list;
        std::size_t const count = particles();
        if (independent_) {
            for (std::size_t i = gaps_(words); i < count;) {
                std::size_t here = 0;
                for (; i < count && here < particles_at_once; i += 1 + gaps_(words))
                    list.particles[here++] = static_cast<std::uint32_t>(i);
                renew(state, row, reward, list, here, pick, words);
            }
            return;
        }
        // Places (j + u) / (1 − λ) for j = 0, 1, …: each particle holds one of them with probability 1 − λ.
        double const rate = 1.0 - lambda_;
        double const spacing = 1.0 / rate;
        double const start = static_cast<double>(words()) * 0x1p-32;
        double const places = std::ceil(static_cast<double>(count) * rate - start);
        std::size_t const replaced = places > 0.0 ? static_cast<std::size_t>(places) : 0;
        std::uint32_t const offset = replaced == 0 || from_samples ? 0u : words();
        for (std::size_t first = 0; first < replaced; first += particles_at_once) {
            std::size_t const here = (std::min)(particles_at_once, replaced - first);
            for (std::size_t i = 0; i < here; ++i) {
                double const place = (static_cast<double>(first + i) + start) * spacing;
                list.particles[i] = static_cast<std::uint32_t>((std::min)(static_cast<std::size_t>(place), count - 1));
                list.words[i] = offset + share(first + i, replaced);
            }
            renew(state, row, reward, list, here, pick, words);
        }
    }
    /// Gives the particles of the list fresh components: independent ones, or those that the list's words choose.
    void renew(std::size_t state, std::size_t row, T reward, particle_list& list, std::size_t count,
               component_picker<T> const& pick, word_buffer& words) const noexcept {
        if constexpr (from_samples)
            for (std::size_t i = 0; i < count; ++i)
                list.components[i] = list.particles[i] % static_cast<std::uint32_t>(source_.values.cols());
        else
            pick(independent_ ? words.take(count) : list.words.data(), count, list.components.data());
        list.put(count, strided<T const>(locations(source_), state), strided<T>(target_locations(), row), reward,
                 discount_);
        if constexpr (gaussian && requires { source_.deviations; })
            list.put(count, strided<T const>(source_.deviations, state), strided<T>(targets_.deviations, row), T(0),
                     discount_);
        else if constexpr (gaussian)
            for (std::size_t i = 0; i < count; ++i)
                targets_.deviations(row, list.particles[i]) = T(0);
    }

    /// part / whole of 2^32.
    [[nodiscard]] static std::uint32_t share(std::size_t part, std::size_t whole) noexcept {
        return static_cast<std::uint32_t>((static_cast<std::uint64_t>(part) << 32u) / whole);
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
        require(streams.size() == all, "sr_lambda: there are {} random streams, but must be one for each of {} environments",
                streams.size(), all);
        detail::require_distributions(source, all, detail::locations(source).rows() - all, "sr_lambda");
        auto const run = [&](std::size_t task) { pass(task * detail::environments_at_once, part(streams, task * detail::environments_at_once, all)); };
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
        require(streams.size() == all, "sr_lambda: there are {} random streams, but must be one for each of {} environments",
                streams.size(), all);
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
        static_assert(std::same_as<Targets, gaussian_particles<T>> ||
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
        require_apart(source, targets);
        return pass;
    }

    template <class Source, class Targets>
    static void require_apart(Source const& source, Targets const& targets) {
        auto const apart = [&](auto const& read) {
            bool shared = false;
            if constexpr (requires { targets.deviations; })
                shared = may_overlap(targets.means, read) || may_overlap(targets.deviations, read);
            else
                shared = may_overlap(targets.values, read);
            require(!shared, "sr_lambda: the targets overlap the value distributions in memory");
        };
        apart(detail::locations(source));
        if constexpr (requires { source.deviations; })
            apart(source.deviations);
        if constexpr (requires { source.weights; })
            apart(source.weights);
    }
};

} // namespace gmac::targets
