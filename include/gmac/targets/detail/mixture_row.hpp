// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/component.hpp>
#include <gmac/targets/detail/strided.hpp>
#include <gmac/targets/particles.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>

namespace gmac::inline GMAC_ABI::targets::detail {

/// Sums over many components are kept in double.
using component = normal_component<double>;

/// Two components as one with their weight, mean and variance.
[[nodiscard]] inline component merged(component const& a, component const& b) noexcept {
    double const weight = a.weight + b.weight;
    if (weight == 0.0)
        return a;
    double const share = b.weight / weight;
    double const distance = b.mean - a.mean;
    double const square = (1.0 - share) * a.deviation * a.deviation + share * b.deviation * b.deviation +
                          share * (1.0 - share) * distance * distance;
    double deviation = std::sqrt(square);
    if (!std::isnormal(square)) // whose root may be a number all the same
        deviation = std::hypot(std::sqrt(1.0 - share) * a.deviation, std::sqrt(share) * b.deviation,
                               std::sqrt(share * (1.0 - share)) * distance);
    return {weight, a.mean + share * distance, deviation};
}

/// What merging two components costs: their weights' harmonic sum times the squared distance of (mean, deviation), by
/// which the mixture's shape changes while its mean and variance stay.
[[nodiscard]] inline double merging_cost(component const& a, component const& b) noexcept {
    double const weight = a.weight + b.weight;
    double const mean = a.mean - b.mean;
    double const deviation = a.deviation - b.deviation;
    return weight > 0.0 ? a.weight * b.weight / weight * (mean * mean + deviation * deviation) : 0.0;
}

/// One row of weighted targets that is being written.
template <class Targets>
class mixture_row {
public:
    using T = typename Targets::value_type;
    static constexpr bool gaussian = std::same_as<Targets, gaussian_particles<T>>;
    /// Components that keep the mean and the variance of any number: one normal one, or two point masses.
    static constexpr std::size_t summary_size = gaussian ? 1 : 2;

    mixture_row(Targets const& targets, std::size_t row) noexcept
        : weights_(targets.weights, row),
          locations_(locations_of(targets), row),
          deviations_(deviations_of(targets), row),
          capacity_(targets.particles()) {}

    [[nodiscard]] component operator[](std::size_t i) const noexcept {
        double deviation = 0.0;
        if constexpr (gaussian)
            deviation = static_cast<double>(deviations_[i]);
        return {static_cast<double>(weights_[i]), static_cast<double>(locations_[i]), deviation};
    }
    void set(std::size_t i, T weight, T location, T deviation) const noexcept {
        weights_[i] = weight;
        locations_[i] = location;
        if constexpr (gaussian)
            deviations_[i] = deviation;
    }
    void set(std::size_t i, component const& c) const noexcept {
        set(i, static_cast<T>(c.weight), static_cast<T>(c.mean), static_cast<T>(c.deviation));
    }
    void clear_from(std::size_t first) const noexcept {
        for (std::size_t i = first; i < capacity_; ++i)
            set(i, T(0), T(0), T(0));
    }

    /// Components first … first + count − 1 of `other`, scaled and moved, as components `to` … of this row.
    void take(mixture_row const& other, std::size_t first, std::size_t count, std::size_t to, T weight_factor,
              T location_shift, T factor) const noexcept {
        affine(other.weights_.from(first), weights_.from(to), count, T(0), weight_factor);
        affine(other.locations_.from(first), locations_.from(to), count, location_shift, factor);
        if constexpr (gaussian)
            affine(other.deviations_.from(first), deviations_.from(to), count, T(0), factor);
    }

    /// Components [first, last) as one, with their weight, mean and variance.
    [[nodiscard]] component summary(std::size_t first, std::size_t last) const noexcept {
        component all = (*this)[first];
        for (std::size_t i = first + 1; i < last; ++i)
            all = merged(all, (*this)[i]);
        return all;
    }
    /// Writes a component where summary_size components may stand.
    void set_summary(std::size_t i, component const& all) const noexcept {
        if constexpr (gaussian) {
            set(i, all);
        } else {
            set(i, {0.5 * all.weight, all.mean - all.deviation, 0.0});
            set(i + 1, {0.5 * all.weight, all.mean + all.deviation, 0.0});
        }
    }

    /// Inserts a component into the first `count`, which are sorted by their means. If there are `most` already, the two
    /// neighbours that are cheapest to merge become one. Returns the new count.
    [[nodiscard]] std::size_t insert(component const& added, std::size_t count, std::size_t most) const noexcept
        requires gaussian
    {
        std::size_t place = 0; // before which it belongs
        while (place < count && (*this)[place].mean < added.mean)
            ++place;
        if (count < most) {
            for (std::size_t i = count; i > place; --i)
                set(i, (*this)[i - 1]);
            set(place, added);
            return count + 1;
        }
        // Pair i is components i and i + 1; the added one has two pairs in place of pair `place` − 1.
        bool const has_left = place > 0;
        bool const has_right = place < count;
        double const left = has_left ? merging_cost((*this)[place - 1], added) : 0.0;
        double const right = has_right ? merging_cost(added, (*this)[place]) : 0.0;
        bool const to_left = has_left && (!has_right || left <= right);
        double best = to_left ? left : right;
        std::size_t pair = count; // none
        component next = (*this)[0];
        for (std::size_t i = 0; i + 1 < count; ++i) {
            component const here = next;
            next = (*this)[i + 1];
            double const cost = merging_cost(here, next);
            if (cost < best && i + 1 != place) {
                best = cost;
                pair = i;
            }
        }
        if (pair == count) {
            std::size_t const neighbour = to_left ? place - 1 : place;
            set(neighbour, merged((*this)[neighbour], added));
            return count;
        }
        set(pair, merged((*this)[pair], (*this)[pair + 1]));
        if (pair < place) { // the hole at pair + 1 moves up to place − 1
            for (std::size_t i = pair + 1; i + 1 < place; ++i)
                set(i, (*this)[i + 1]);
            set(place - 1, added);
        } else { // the hole moves down to place
            for (std::size_t i = pair + 1; i > place; --i)
                set(i, (*this)[i - 1]);
            set(place, added);
        }
        return count;
    }

private:
    strided<T> weights_, locations_, deviations_;
    std::size_t capacity_;
};

} // namespace gmac::inline GMAC_ABI::targets::detail
