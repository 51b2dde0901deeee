// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/strided.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace gmac::targets::detail {

/// Fresh particles, reward + discount · component, on their way to the targets. How many there are differs from row to
/// row: many rows share the loop that writes them, so that its end is guessed wrong once for all of them.
template <std::floating_point T>
class fresh_particles {
public:
    [[nodiscard]] bool full() const noexcept { return size_ > capacity; }

    /// Adds `count` <= events_at_once particles: of row `state` the components that words[i] choose, for places[i] + shift.
    /// Reads events_at_once words and places.
    template <class Source>
    [[gnu::always_inline]] void add(Source const& source, std::size_t state, T reward, T discount,
                                    std::uint32_t const* words, std::uint32_t const* places, std::uint32_t shift,
                                    std::size_t count) noexcept {
        take_places(places, shift);
        if constexpr (std::same_as<T, float> && requires { source.weights; })
            if (source.weights.data() != nullptr && source.weights.cols() <= few)
                return blend(source, state, reward, discount, words, count);
        std::array<std::uint32_t, events_at_once> chosen;
        picker(source, state)(words, count, chosen.data());
        gather(source, state, reward, discount, chosen.data(), count);
    }
    /// The same with components by their numbers.
    template <class Source>
    void add_chosen(Source const& source, std::size_t state, T reward, T discount, std::uint32_t const* chosen,
                    std::uint32_t const* places, std::uint32_t shift, std::size_t count) noexcept {
        take_places(places, shift);
        gather(source, state, reward, discount, chosen, count);
    }

    /// Writes locations and deviations of all that were added to their places, and forgets them.
    [[gnu::always_inline]] void write(strided<T> locations, strided<T> deviations) noexcept {
        if (locations.stride == 1 && deviations.stride == 1)
            for (std::size_t i = 0; i < size_; ++i) {
                locations.data[places_[i]] = locations_[i];
                deviations.data[places_[i]] = deviations_[i];
            }
        else
            for (std::size_t i = 0; i < size_; ++i) {
                locations[places_[i]] = locations_[i];
                deviations[places_[i]] = deviations_[i];
            }
        size_ = 0;
    }
    /// The same without deviations.
    [[gnu::always_inline]] void write(strided<T> locations) noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            locations[places_[i]] = locations_[i];
        size_ = 0;
    }

private:
    static constexpr std::size_t capacity = 240;
    /// So many components are told apart by comparing with all of them.
    static constexpr std::size_t few = 8;

    using numbers = std::array<T, capacity + events_at_once>;

    [[gnu::always_inline]] void take_places(std::uint32_t const* places, std::uint32_t shift) noexcept {
        using integers = xsimd::batch<std::uint32_t>;
        for (std::size_t i = 0; i < events_at_once; i += integers::size)
            (integers::load_unaligned(places + i) + integers(shift)).store_unaligned(&places_[size_ + i]);
    }

    template <class Source>
    [[nodiscard]] static matrix_view<T const> const& deviations_or_locations(Source const& source) noexcept {
        if constexpr (requires { source.deviations; })
            return source.deviations;
        else
            return locations(source);
    }

    template <class Source>
    void gather(Source const& source, std::size_t state, T reward, T discount, std::uint32_t const* chosen,
                std::size_t count) noexcept {
        strided<T const> const from(locations(source), state);
        for (std::size_t i = 0; i < count; ++i)
            locations_[size_ + i] = reward + discount * from[chosen[i]];
        if constexpr (requires { source.deviations; }) {
            strided<T const> const from_deviations(source.deviations, state);
            for (std::size_t i = 0; i < count; ++i)
                deviations_[size_ + i] = discount * from_deviations[chosen[i]];
        }
        size_ += count;
    }

    /// What component_picker chooses, without going through the components' numbers.
    template <class Source>
    [[gnu::always_inline]] void blend(Source const& source, std::size_t state, float reward, float discount,
                                      std::uint32_t const* words, std::size_t count) noexcept {
        using V = lanes::widest<float>;
        constexpr bool spread = requires { source.deviations; };
        std::size_t const components = source.weights.cols();
        strided<T const> const weights(source.weights, state);
        strided<T const> const from(locations(source), state);
        strided<T const> const from_deviations(deviations_or_locations(source), state);
        constexpr std::size_t parts = events_at_once / V::size;
        std::array<V, parts> mark, location, deviation;
        for (std::size_t part = 0; part < parts; ++part) {
            mark[part] = marks_of_words(words + part * V::size);
            location[part] = V(from[0]);
            if constexpr (spread)
                deviation[part] = V(from_deviations[0]);
        }
        float sum = weights[0];
        for (std::size_t k = 1; k < components; ++k) {
            // A component begins where the one before it ends; one without weight, and what rounding leaves behind the
            // last, nowhere.
            float const next = sum + weights[k];
            V const start(next > sum ? sum : 2.0f);
            sum = next;
            for (std::size_t part = 0; part < parts; ++part) {
                auto const reached = mark[part] >= start;
                location[part] = lanes::select(reached, V(from[k]), location[part]);
                if constexpr (spread)
                    deviation[part] = lanes::select(reached, V(from_deviations[k]), deviation[part]);
            }
        }
        for (std::size_t part = 0; part < parts; ++part) {
            xsimd::fma(V(discount), location[part], V(reward)).store_unaligned(&locations_[size_ + part * V::size]);
            if constexpr (spread)
                (V(discount) * deviation[part]).store_unaligned(&deviations_[size_ + part * V::size]);
        }
        size_ += count;
    }

    std::size_t size_ = 0;
    std::array<std::uint32_t, capacity + events_at_once> places_;
    numbers locations_, deviations_{}; ///< deviations stay zero if the source has none
};

} // namespace gmac::targets::detail
