// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/losses/detail/energy_lanes.hpp>
#include <gmac/losses/detail/radix_sort.hpp>
#include <gmac/losses/detail/sorting_network.hpp>
#include <gmac/losses/sample_algorithm.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>

/// Which kernel a loss between samples uses, from costs that were measured (Zen 5, AVX-512, GCC 12; float and double). The
/// unit is the time of one pair, divided by the lanes that pairs are computed in.
namespace gmac::losses::detail {

enum class sample_kernel {
    pairs, ///< all pairs, states in lanes
    lanes, ///< sorted by a network, states in lanes
    rows   ///< sorted state by state
};

/// The most target particles, and points of both kinds, that a loss sorts on the stack.
inline constexpr std::size_t most_particles_on_stack = 4096;
inline constexpr std::size_t most_points_on_stack = 8192;

/// For an explicit choice of the sorting algorithm where there is none.
inline void require_sortable(sample_algorithm algorithm, bool sortable, std::size_t samples, std::size_t particles,
                             std::string_view where) {
    require(
        algorithm != sample_algorithm::sorted || sortable,
        "{}: {} samples and {} particles are too many to be sorted without a sample_workspace that is reserved for them, "
        "or their type is neither float nor double",
        where, samples, particles);
}

/// `workspace_fits` says that the caller gave memory for so many.
template <class V>
[[nodiscard]] sample_kernel plan_quantiles(sample_algorithm algorithm, std::size_t quantiles, std::size_t particles,
                                           bool workspace_fits, std::string_view where) {
    using T = lanes::scalar_of<V>;
    bool const sortable = radix_sortable<T> && (workspace_fits || particles <= most_particles_on_stack);
    require_sortable(algorithm, sortable, quantiles, particles, where);
    if (!sortable || algorithm == sample_algorithm::pairwise)
        return sample_kernel::pairs;
    constexpr double sort = std::same_as<T, float> ? 11.0 : 20.0;    // a particle
    constexpr double search = std::same_as<T, float> ? 43.0 : 105.0; // a quantile
    auto const n = static_cast<double>(quantiles);
    auto const m = static_cast<double>(particles);
    bool const faster = n * m > static_cast<double>(lanes::width_of<V>) * (sort * m + search * n);
    return faster || algorithm == sample_algorithm::sorted ? sample_kernel::rows : sample_kernel::pairs;
}

template <class V>
[[nodiscard]] sample_kernel plan_energy(sample_algorithm algorithm, std::size_t samples, std::size_t particles,
                                        bool target_term, bool workspace_fits, std::string_view where) {
    using T = lanes::scalar_of<V>;
    std::size_t const points = samples + particles;
    bool const few = whole_blocks(samples) + whole_blocks(particles) <= most_points_in_lanes;
    bool const sortable = few || (radix_sortable<T> && (workspace_fits || points <= most_points_on_stack));
    require_sortable(algorithm, sortable, samples, particles, where);
    if (!sortable || algorithm == sample_algorithm::pairwise)
        return sample_kernel::pairs;
    sample_kernel const sorted = few ? sample_kernel::lanes : sample_kernel::rows;
    double const lanes = static_cast<double>(lanes::width_of<V>);
    double const point = few ? 12.0 : lanes * (std::same_as<T, float> ? 10.0 : 16.0);
    auto const n = static_cast<double>(samples);
    auto const m = static_cast<double>(particles);
    bool const faster = n * (n + m) + (target_term ? m * m : 0.0) > point * (n + m);
    return faster || algorithm == sample_algorithm::sorted ? sorted : sample_kernel::pairs;
}

/// Row `state` of a matrix, or nothing of an empty matrix.
template <class T>
[[nodiscard]] constexpr vector_view<T> row_of(matrix_view<T> const& matrix, std::size_t state) noexcept {
    return matrix.empty() ? vector_view<T>() : matrix.row(state);
}

} // namespace gmac::losses::detail
