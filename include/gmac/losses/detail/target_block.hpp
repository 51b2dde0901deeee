// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/losses/detail/folded_normal.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string_view>

namespace gmac::inline GMAC_ABI::losses::detail {

/// Particles of the target that are held in lanes at a time: they stay in the first-level cache.
inline constexpr std::size_t tile_size = 64;

template <class V>
struct particle_tile {
    std::array<V, tile_size> means, doubled_variances, weights; ///< 2 τ²
    std::size_t size;
};

/// Targets with standard deviations: targets::gaussian_particles; the others are point masses.
template <class Targets>
concept gaussian_targets = requires(Targets const& targets) { targets.deviations; };

/// Calls visit(matrix, what it holds) for every matrix of the targets.
template <class Targets, class Visit>
void for_each_part(Targets const& targets, Visit&& visit) {
    if constexpr (gaussian_targets<Targets>) {
        visit(targets.means, "means");
        visit(targets.deviations, "deviations");
    } else {
        visit(targets.values, "values");
    }
    if (targets.weighted())
        visit(targets.weights, "weights");
}

/// The targets of one block of states, a lane each, seen tile by tile. V has the scalar type of the targets.
template <class V, class Targets>
class target_block {
public:
    using scalar = lanes::scalar_of<V>;
    static constexpr bool has_deviations = gaussian_targets<Targets>;

    target_block(Targets const& targets, std::size_t first, std::size_t count) noexcept
        : targets_(targets), first_(first), count_(count) {}

    [[nodiscard]] std::size_t particles() const noexcept { return targets_.particles(); }
    [[nodiscard]] bool weighted() const noexcept { return targets_.weighted(); }

    /// Begins anew, with means and deviations times `unit`.
    void measure_in(V const& unit) noexcept {
        unit_ = unit;
        total_ = lanes::constant<V>(0.0);
    }
    /// visit(numbers of a lane each) for all numbers of the targets as they are, weights too.
    template <class Visit>
    void for_each_number(Visit&& visit) const {
        for_each_part(targets_, [&](auto const& part, std::string_view) {
            for (std::size_t j = 0; j < particles(); ++j)
                visit(lanes::load_rows<V>(part, first_, j, count_));
        });
    }

    /// Loads the particles from `start` on; notes deviations and weights that are negative or NaN.
    void load(std::size_t start, particle_tile<V>& tile) noexcept {
        tile.size = (std::min)(tile_size, particles() - start);
        if constexpr (has_deviations) {
            lanes::read_columns(targets_.means, first_, start, tile.size, tile.means.data(), count_);
            lanes::read_columns(targets_.deviations, first_, start, tile.size, tile.doubled_variances.data(), count_);
            for (std::size_t j = 0; j < tile.size; ++j) {
                note(tile.doubled_variances[j]);
                tile.doubled_variances[j] = kernels::doubled_variance(in_unit(tile.doubled_variances[j]));
            }
        } else {
            lanes::read_columns(targets_.values, first_, start, tile.size, tile.means.data(), count_);
        }
        for (std::size_t j = 0; j < tile.size; ++j)
            tile.means[j] = in_unit(tile.means[j]);
        if (weighted()) {
            lanes::read_columns(targets_.weights, first_, start, tile.size, tile.weights.data(), count_);
            for (std::size_t j = 0; j < tile.size; ++j) {
                note(tile.weights[j]);
                total_ = total_ + tile.weights[j];
            }
        }
    }

    /// After the last tile: throws gmac::error that names the state and the particle unless the targets were
    /// distributions. The weights of a state may miss one by kernels::weight_tolerance.
    void check(std::string_view where) const {
        V const one = lanes::constant<V>(1.0);
        auto fine = flawed_ <= lanes::constant<V>(0.0);
        if (weighted())
            fine = fine && (lanes::abs(V(total_ - one)) <= lanes::constant<V>(tolerance));
        if (lanes::any(!fine)) [[unlikely]]
            explain(where);
    }

    /// The weight of each particle where they are uniform.
    [[nodiscard]] V share() const noexcept { return lanes::constant<V>(1.0 / static_cast<double>(particles())); }

    /// Σ v_j² e(0, 2 τ_j²), each particle with a copy of itself: e(0, 2 τ²) = 2 τ / √π.
    [[nodiscard]] V diagonal() const noexcept {
        V sum = lanes::constant<V>(0.0);
        if constexpr (has_deviations) {
            for (std::size_t j = 0; j < particles(); ++j) {
                V const deviation = in_unit(lanes::load_rows<V>(targets_.deviations, first_, j, count_));
                V const weight = weighted() ? lanes::load_rows<V>(targets_.weights, first_, j, count_) : share();
                sum = sum + weight * weight * (lanes::constant<V>(2.0 * kernels::inverse_sqrt_pi) * deviation);
            }
        }
        return sum;
    }

private:
    static constexpr double tolerance = kernels::weight_tolerance<scalar>;

    /// Only numbers overflow: nothing is counted for others.
    [[nodiscard]] V in_unit(V const& x) const noexcept {
        if constexpr (std::floating_point<scalar>)
            return x * unit_;
        else
            return x;
    }
    /// Notes x if it is negative or NaN, in a number and not in a mask: so the next one waits for a selection only, not for a comparison.
    void note(V const& x) noexcept {
        flawed_ = lanes::select(x >= lanes::constant<V>(0.0), flawed_, lanes::constant<V>(1.0));
    }
    /// Finds what is wrong, for the message.
    [[noreturn]] void explain(std::string_view where) const {
        for (std::size_t i = first_; i < first_ + count_; ++i) {
            double total = 0.0;
            for (std::size_t j = 0; j < particles(); ++j) {
                if constexpr (has_deviations)
                    require_not_negative(static_cast<double>(targets_.deviations(i, j)), "deviation", i, j, where);
                if (weighted()) {
                    auto const weight = static_cast<double>(targets_.weights(i, j));
                    require_not_negative(weight, "weight", i, j, where);
                    total += weight;
                }
            }
            require(!weighted() || std::abs(total - 1.0) <= 0.5 * tolerance,
                    "{}: the target weights of state {} sum to {}, but must sum to 1", where, i, total);
        }
        fail("{}: the target weights must sum to 1", where);
    }
    static void require_not_negative(double value, std::string_view what, std::size_t state, std::size_t particle,
                                     std::string_view where) {
        require(value >= 0.0, "{}: the target {} of state {}, particle {} is {}, but must not be negative", where, what,
                state, particle, value);
    }

    Targets const& targets_;
    std::size_t first_, count_;
    V unit_ = lanes::constant<V>(1.0);
    V flawed_ = lanes::constant<V>(0.0), total_ = flawed_;
};

} // namespace gmac::inline GMAC_ABI::losses::detail
