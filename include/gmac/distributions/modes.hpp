// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/component.hpp>
#include <gmac/distributions/detail/mixture_quantile.hpp>
#include <gmac/distributions/detail/turning_points.hpp>

#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// A place at which the density of a distribution is greater than on both sides of it.
template <std::floating_point T>
struct mode {
    T location;
    T density; ///< at the location; infinite for a point
    T mass;    ///< the probability between the least densities on both sides: what gathers around the mode
};

namespace detail {

/// The modes of one mixture after the other, with memory that is used again. Computed in double for float.
template <std::floating_point T>
class mode_search {
public:
    using wide = kernels::wide<T>;

    /// Takes the components in whose modes one is interested.
    void clear() noexcept { components_.clear(); }
    void add(normal_component<T> const& c) { components_.push_back(kernels::widened(c)); }

    /// Calls visit(mode<T>) for each mode, in ascending order of the locations.
    template <class Visit>
    void for_each(Visit&& visit) {
        sharp_ = components_;
        for (auto& c : sharp_)
            if (kernels::turning_points<wide>::too_narrow(c))
                c.deviation = wide(0);
        constexpr wide infinity = std::numeric_limits<wide>::infinity();
        auto const turns = search_.find(sharp_);
        for (std::size_t i = 0; i < turns.size(); i += 2) {
            kernels::boundary<wide> const low = i > 0 ? turns[i - 1] : kernels::boundary<wide>{-infinity};
            kernels::boundary<wide> const high =
                i + 1 < turns.size() ? turns[i + 1] : kernels::boundary<wide>{infinity};
            visit(mode<T>{static_cast<T>(turns[i].location),
                          static_cast<T>(kernels::mixture_pdf<wide>(components_, turns[i].location)),
                          static_cast<T>(kernels::mixture_probability<wide>(sharp_, low, high))});
        }
    }

private:
    std::vector<normal_component<wide>> components_, sharp_;
    kernels::turning_points<wide> search_;
};

} // namespace detail

/// The modes of a mixture in ascending order: one at least, and at most as many as there are components (docs/mathematics.md,
/// "Modes"), whose masses sum to one.
///
/// A component of deviation 0 is the limit of one that becomes narrower: a mode of its own, of infinite density, with what is
/// between the least densities on both sides of it. On a slope one of these is right beside it. A component is taken for a
/// point, too, if its deviation is less than 16 units of rounding of its mean; its density is still that of the component. Components
/// of weight 0 are not there. Two modes are one if the density between them is lower by no more than rounding shows: if
/// its derivative is nowhere there greater than 1000 units of rounding of the sum of its terms' magnitudes. So two equal components
/// whose means are exactly two deviations apart have one mode.
template <component_mixture D>
[[nodiscard]] std::vector<mode<typename D::value_type>> modes(D const& distribution) {
    using T = typename D::value_type;
    detail::mode_search<T> search;
    for (std::size_t i = 0; i < distribution.size(); ++i)
        search.add(distribution.component(i));
    std::vector<mode<T>> result;
    search.for_each([&](mode<T> const& one) { result.push_back(one); });
    return result;
}

} // namespace gmac::inline GMAC_ABI
