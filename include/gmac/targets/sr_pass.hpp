// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/fresh_particles.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/stratified.hpp>
#include <gmac/targets/strided.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::targets::detail {

/// How many environments go together: enough to write memory in long runs.
inline constexpr std::size_t environments_at_once = 8;
/// So that particles of environments_at_once rows can be numbered in 31 bits.
inline constexpr std::ptrdiff_t most_particles = std::ptrdiff_t(1) << 27;

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
          row_stride_(common_row_stride(targets)),
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
        replacement_events events;    ///< of independent replacement
        stratified_events stratified; ///< of stratified replacement
    };

    /// One transition of an environment, and where its fresh particles go.
    struct transition {
        std::size_t row; ///< of the targets
        T reward;
        random_stream& stream;
        memory& known;
        fresh_particles<T>& fresh;
        std::size_t first_row; ///< they are counted from its first particle on
        std::uint32_t shift;   ///< of this row's first particle
    };

    void run(std::size_t first, std::span<random_stream> streams) const noexcept {
        std::array<memory, environments_at_once> known;
        fresh_particles<T> fresh;
        final_rows<T> final_row(rollout_, truncations_);
        even_places const places(particles(), 1.0 - lambda_);
        std::size_t const all = rollout_.environments();
        std::size_t const ahead = (std::min)(rows_ahead, streams.size());
        for (std::size_t t = rollout_.steps(); t-- > 0;) {
            std::size_t const first_row = t * all + first;
            // Long before they are used: what follows does not wait for them, nor loads what is only on its way to memory.
            if (lambda_ < 1.0 && !independent_)
                for (std::size_t i = streams.size(); i-- > 0;)
                    if (!begins(t, first + i))
                        known[i].stratified.next(places, streams[i]);
            for (std::size_t i = streams.size(); i-- > 0;) {
                std::size_t const row = first_row + i;
                if (i >= ahead)
                    expect(row - ahead);
                else if (t > 0)
                    expect(row - ahead + streams.size() - all);
                bool const apart = row_stride_ == 0;
                transition const here{row,
                                      rollout_.rewards(t, first + i),
                                      streams[i],
                                      known[i],
                                      fresh,
                                      apart ? row : first_row,
                                      static_cast<std::uint32_t>(i * row_stride_)};
                if (begins(t, first + i)) {
                    begin(t, first + i, final_row, here);
                } else {
                    carry(row + all, here);
                    if (lambda_ < 1.0 && independent_)
                        replace(row + all, here);
                    else if (lambda_ < 1.0)
                        renew(row + all, here, 0, known[i].stratified.count(), known[i].stratified.positions(),
                              known[i].stratified.words());
                }
                if (apart)
                    write(fresh, row);
            }
            write(fresh, first_row);
        }
        for (std::size_t i = 0; i < streams.size() && !independent_; ++i)
            known[i].stratified.give_back(streams[i]);
    }

    /// Asks for the memory of a row that will be written soon; what follows in a long row, the machine foresees.
    [[gnu::always_inline]] void expect(std::size_t row) const noexcept { // else GCC drops it as without effect
        if (row_stride_ == 0)
            return;
        constexpr std::size_t line = 64 / sizeof(T);
        std::size_t const size = (std::min)(particles(), 16 * line);
        T const* const to = strided<T>(locations_of(targets_), row).data;
        T const* const to_deviations = strided<T>(deviations_of(targets_), row).data;
        for (std::size_t i = 0; i < size; i += line) {
            __builtin_prefetch(to + i, 1);
            if constexpr (gaussian)
                __builtin_prefetch(to_deviations + i, 1);
        }
    }

    /// Whether the particles do not come from the next row.
    [[nodiscard]] bool begins(std::size_t t, std::size_t environment) const noexcept {
        return t + 1 == rollout_.steps() || lambda_ == 0.0 || rollout_.end(t, environment) != ending::none;
    }
    /// Then they are fresh ones, or the reward.
    [[gnu::noinline]] void begin(std::size_t t, std::size_t environment, final_rows<T>& final_row,
                                 transition const& here) const noexcept {
        switch (rollout_.end(t, environment)) {
        case ending::terminated:
            terminate(here);
            break;
        case ending::truncated:
            start(rollout_.state_rows() + final_row(t, environment), here);
            break;
        case ending::none:
            start(here.row + rollout_.environments(), here);
        }
    }

    [[nodiscard]] std::size_t particles() const noexcept { return targets_.particles(); }
    /// How far apart rows are whose particles are next to each other, if means and deviations agree in it; otherwise 0.
    [[nodiscard]] static std::size_t common_row_stride(Targets const& targets) noexcept {
        auto const& to = locations_of(targets);
        auto const& to_deviations = deviations_of(targets);
        bool const common = to.col_stride() == 1 && to_deviations.col_stride() == 1 && to.row_stride() > 0 &&
                            to.row_stride() <= most_particles && to_deviations.row_stride() == to.row_stride();
        return common ? static_cast<std::size_t>(to.row_stride()) : 0;
    }

    void terminate(transition const& here) const noexcept {
        if (!independent_)
            here.known.stratified.reset(particles());
        for (std::size_t i = 0; i < particles(); ++i) {
            locations_of(targets_)(here.row, i) = here.reward;
            if constexpr (gaussian)
                targets_.deviations(here.row, i) = T(0);
        }
    }
    [[gnu::always_inline]] void carry(std::size_t from, transition const& here) const noexcept {
        auto const& to = locations_of(targets_);
        affine(strided<T>(to, from), strided<T>(to, here.row), particles(), here.reward, discount_);
        if constexpr (gaussian)
            affine(strided<T>(targets_.deviations, from), strided<T>(targets_.deviations, here.row), particles(), T(0),
                   discount_);
    }

    /// All particles are fresh ones of this state.
    void start(std::size_t state, transition const& here) const noexcept {
        if (!independent_)
            here.known.stratified.reset(particles());
        std::size_t const count = particles();
        std::uint32_t const offset = independent_ || from_samples ? 0u : here.known.stratified.word(here.stream);
        std::array<std::uint32_t, chunk> positions;
        word_chunk choices;
        for (std::size_t first = 0; first < count; first += chunk) {
            std::size_t const some = (std::min)(chunk, count - first);
            for (std::size_t i = 0; i < chunk; ++i)
                positions[i] = static_cast<std::uint32_t>(first + i);
            if (independent_ && !from_samples)
                choices.draw(here.stream);
            else
                stratified_events::stratify(choices.words.data(), offset, first, some, count);
            renew(state, here, 0, some, positions.data(), choices.words.data());
        }
    }
    /// Some particles are replaced by fresh ones of this state.
    [[gnu::always_inline]] void replace(std::size_t state, transition const& here) const noexcept {
        here.known.events.next(
            static_cast<std::uint32_t>(particles()), gaps_, here.stream,
            [&](std::uint32_t first, std::size_t some, std::uint32_t const* positions, std::uint32_t const* words)
                __attribute__((always_inline)) { add(state, here, first, some, positions, words); });
    }
    /// Fresh particles positions − first of the components that words choose; a multiple of events_at_once of each are read.
    void renew(std::size_t state, transition const& here, std::uint32_t first, std::size_t count,
               std::uint32_t const* positions, std::uint32_t const* words) const noexcept {
        for (std::size_t i = 0; i < count; i += events_at_once)
            add(state, here, first, (std::min)(events_at_once, count - i), positions + i, words + i);
    }
    [[gnu::always_inline]] void add(std::size_t state, transition const& here, std::uint32_t first, std::size_t count,
                                    std::uint32_t const* positions, std::uint32_t const* words) const noexcept {
        if (here.fresh.full())
            write(here.fresh, here.first_row);
        if constexpr (from_samples) {
            std::array<std::uint32_t, events_at_once> chosen;
            for (std::size_t i = 0; i < count; ++i)
                chosen[i] =
                    static_cast<std::uint32_t>((first_particle_ + (positions[i] - first)) % source_.values.cols());
            here.fresh.add_chosen(source_, state, here.reward, discount_, chosen.data(), positions, here.shift - first,
                                  count);
        } else {
            here.fresh.add(source_, state, here.reward, discount_, words, positions, here.shift - first, count);
        }
    }
    /// The fresh particles go to their places, counted from the first of a row.
    [[gnu::always_inline]] void write(fresh_particles<T>& fresh, std::size_t row) const noexcept {
        if constexpr (gaussian)
            fresh.write(strided<T>(targets_.means, row), strided<T>(targets_.deviations, row));
        else
            fresh.write(strided<T>(targets_.values, row));
    }

    static constexpr std::size_t rows_ahead = 4;

    rollout_view<T> const& rollout_;
    Source const& source_;
    Targets targets_;
    std::size_t first_particle_ = 0;
    std::size_t truncations_;
    T discount_;
    double lambda_;
    bool independent_;
    std::size_t row_stride_;
    geometric_gaps gaps_;
};

} // namespace gmac::targets::detail
