// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/detail/few_components.hpp>
#include <gmac/targets/detail/independent.hpp>
#include <gmac/targets/detail/stratified.hpp>
#include <gmac/targets/detail/strided.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/sources.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace gmac::inline GMAC_ABI::targets::detail {

/// The steps of SR(λ) on particles that live in the targets: row t is made from row t + 1.
template <class T, class Source, class Targets>
class particle_rows {
public:
    /// What an environment knows of the steps behind it.
    struct memory {
        replacement_events independent;
        stratified_events stratified;
    };
    /// A transition: the row of its target, its reward, and what is its environment's own.
    struct transition {
        std::size_t row;
        T reward;
        random_stream& random;
        memory& known;
    };

    /// `first_particle` is the number of the first column of the targets.
    particle_rows(Source const& source, Targets const& targets, std::size_t first_particle, T discount,
                  geometric_gaps const* gaps, double replaced) noexcept
        : source_(source),
          targets_(targets),
          first_particle_(first_particle),
          discount_(discount),
          gaps_(gaps),
          places_(targets.particles(), replaced) {}

    /// X ← r.
    void set(transition const& here) const noexcept {
        if (!independent())
            here.known.stratified.reset(particles());
        for (std::size_t i = 0; i < particles(); ++i) {
            locations_of(targets_)(here.row, i) = here.reward;
            if constexpr (gaussian)
                targets_.deviations(here.row, i) = T(0);
        }
    }

    /// X ← r + γ X, with the particles of row `from`.
    [[gnu::always_inline]] void take(std::size_t from, transition const& here) const noexcept {
        auto const& to = locations_of(targets_);
        affine(strided<T>(to, from), strided<T>(to, here.row), particles(), here.reward, discount_);
        if constexpr (gaussian)
            affine(strided<T>(targets_.deviations, from), strided<T>(targets_.deviations, here.row), particles(), T(0),
                   discount_);
    }

    /// X ← r + γ X with fresh particles of Z(state).
    void draw(std::size_t state, transition const& here) const noexcept {
        if (!independent())
            here.known.stratified.reset(particles());
        std::size_t const count = particles();
        std::uint32_t const offset = independent() || from_samples ? 0u : here.random();
        std::array<std::uint32_t, chunk> positions;
        word_chunk choices;
        for (std::size_t first = 0; first < count; first += chunk) {
            std::size_t const some = (std::min)(chunk, count - first);
            for (std::size_t i = 0; i < chunk; ++i)
                positions[i] = static_cast<std::uint32_t>(first + i);
            if (independent() && !from_samples)
                choices.draw(here.random);
            else
                stratified_events::stratify(choices.words.data(), offset, first, some, count);
            renew(state, here, some, positions.data(), choices.words.data());
        }
    }

    /// Each particle is replaced, with probability 1 − λ, by r + γ times a fresh one of Z(state).
    [[gnu::always_inline]] void replace(std::size_t state, transition const& here) const noexcept {
        if (independent()) {
            here.known.independent.next(
                static_cast<std::uint32_t>(particles()), *gaps_, here.random,
                [&](std::uint32_t first, std::size_t count, std::uint32_t const* positions, std::uint32_t const* words)
                    __attribute__((always_inline)) { write(state, here, first, count, positions, words); });
        } else {
            auto& chosen = here.known.stratified;
            chosen.next(places_, here.random);
            renew(state, here, chosen.count(), chosen.positions(), chosen.words());
        }
    }

private:
    static constexpr bool from_samples = std::same_as<Source, sample_source<T>>;
    static constexpr bool gaussian = std::same_as<Targets, gaussian_particles<T>>;

    [[nodiscard]] std::size_t particles() const noexcept { return targets_.particles(); }
    [[nodiscard]] bool independent() const noexcept { return gaps_ != nullptr; }

    /// Particles at `positions` become fresh ones, of the components that words choose; a multiple of events_at_once of each
    /// are read.
    void renew(std::size_t state, transition const& here, std::size_t count, std::uint32_t const* positions,
               std::uint32_t const* words) const noexcept {
        for (std::size_t i = 0; i < count; i += events_at_once)
            write(state, here, 0, (std::min)(events_at_once, count - i), positions + i, words + i);
    }
    /// The same for at most events_at_once of them, at positions − first.
    [[gnu::always_inline]] void write(std::size_t state, transition const& here, std::uint32_t first, std::size_t count,
                                      std::uint32_t const* positions, std::uint32_t const* words) const noexcept {
        std::array<T, events_at_once> locations, deviations{};
        if constexpr (std::same_as<T, float> && !from_samples) {
            if (few_components(source_)) {
                blend(source_, state, here.reward, discount_, words, locations.data(), deviations.data());
                return put(here.row, first, count, positions, locations, deviations);
            }
        }
        std::array<std::uint32_t, events_at_once> chosen;
        if constexpr (from_samples)
            for (std::size_t i = 0; i < count; ++i)
                chosen[i] =
                    static_cast<std::uint32_t>((first_particle_ + (positions[i] - first)) % source_.values.cols());
        else
            picker(source_, state)(words, count, chosen.data());
        strided<T const> const from(detail::locations(source_), state);
        for (std::size_t i = 0; i < count; ++i)
            locations[i] = here.reward + discount_ * from[chosen[i]];
        if constexpr (requires { source_.deviations; }) {
            strided<T const> const from_deviations(source_.deviations, state);
            for (std::size_t i = 0; i < count; ++i)
                deviations[i] = discount_ * from_deviations[chosen[i]];
        }
        put(here.row, first, count, positions, locations, deviations);
    }
    [[gnu::always_inline]] void put(std::size_t row, std::uint32_t first, std::size_t count,
                                    std::uint32_t const* positions, std::array<T, events_at_once> const& locations,
                                    [[maybe_unused]] std::array<T, events_at_once> const& deviations) const noexcept {
        strided<T> const to(locations_of(targets_), row);
        for (std::size_t i = 0; i < count; ++i)
            to[positions[i] - first] = locations[i];
        if constexpr (gaussian) {
            strided<T> const to_deviations(targets_.deviations, row);
            for (std::size_t i = 0; i < count; ++i)
                to_deviations[positions[i] - first] = deviations[i];
        }
    }

    Source const& source_;
    Targets const& targets_;
    std::size_t first_particle_;
    T discount_;
    geometric_gaps const* gaps_; ///< of independent replacement; null where it is stratified
    even_places places_;
};

} // namespace gmac::inline GMAC_ABI::targets::detail
