// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/energy.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace gmac::inline GMAC_ABI::targets {

namespace detail {

/// What is predicted of one state, each number z as shift + factor z: a component_mixture.
struct moved_components {
    using value_type = double;
    std::span<normal_component<double> const> components;
    double factor = 1.0, shift = 0.0;

    [[nodiscard]] std::size_t size() const noexcept { return components.size(); }
    [[nodiscard]] normal_component<double> component(std::size_t k) const noexcept {
        auto const& c = components[k];
        return {c.weight, shift + factor * c.mean, factor * c.deviation};
    }
};

/// The distributions of all states as components: of a mixture its own, else points in ascending order.
template <class Head, class T>
class predicted_components {
    static constexpr bool is_mixture = requires { Head::components; };
    static constexpr bool is_scalar = !is_mixture && !requires(Head const& head) { head.support_size(); };

public:
    predicted_components(Head const& head, matrix_view<T const> const& outputs) {
        std::size_t const states = outputs.rows();
        if constexpr (is_mixture)
            size_ = Head::components;
        else if constexpr (!is_scalar)
            size_ = head.support_size();
        buffer<T> weights(states * size_), means(states * size_), deviations(is_mixture ? states * size_ : 0);
        auto const view = [&](buffer<T>& all) { return matrix_view<T>(all.data(), states, size_); };
        std::fill_n(weights.data(), weights.size(), T(1) / static_cast<T>(size_));
        if constexpr (is_mixture)
            head.distribution(outputs, view(weights), view(means), view(deviations));
        else if constexpr (is_scalar)
            head.mean(outputs, vector_view<T>(means.data(), states));
        else if constexpr (gives_weighted_points<Head, T>)
            head.support(outputs, view(means), view(weights));
        else
            head.support(outputs, view(means));
        components_.reserve(weights.size());
        for (std::size_t i = 0; i < weights.size(); ++i)
            components_.push_back({static_cast<double>(weights[i]), static_cast<double>(means[i]),
                                   is_mixture ? static_cast<double>(deviations[i]) : 0.0});
        if constexpr (!is_mixture)
            for (std::size_t s = 0; s < states; ++s)
                sort(components_.data() + s * size_);
    }

    [[nodiscard]] moved_components of(std::size_t state, double factor = 1.0, double shift = 0.0) const noexcept {
        return {{components_.data() + state * size_, size_}, factor, shift};
    }
    [[nodiscard]] static double distance(moved_components const& u, moved_components const& v) noexcept {
        return is_mixture ? energy(u, v) : 4.0 * gmac::detail::half_cramer(u, v);
    }

private:
    /// Rows with a NaN, which has no place in an order, become NaN, and so do their distances.
    void sort(normal_component<double>* row) {
        auto const is_nan = [](auto const& c) { return std::isnan(c.mean); };
        if (std::any_of(row, row + size_, is_nan))
            std::for_each(row, row + size_, [](auto& c) { c.mean = std::numeric_limits<double>::quiet_NaN(); });
        else
            std::sort(row, row + size_, [](auto const& a, auto const& b) { return a.mean < b.mean; });
    }

    std::size_t size_ = 1;
    std::vector<normal_component<double>> components_;
};

} // namespace detail

/// How far the value distribution of a state is from its one-step target: the energy distance between Z(x_t) and
/// r_t + γ Z(x_{t+1}), the point r_t after a terminated transition, and with the final observation's Z after a truncated one.
/// The paper takes it, or the root of its half, as a reward for exploring (section 5, "Using distributions"); that these
/// two distributions are meant is how this library reads it. Of a
/// head with one number it is twice the TD error's magnitude. In units of the return.
struct one_step_distance {
    double discount = 0.99;

    /// outputs: what `head` takes, its columns for the (T + 1) E states, row t E + e, and the final observations after them
    /// (of an implicit quantile head its quantiles); distances: [T, E] or a vector of T E elements. Throws gmac::error for a
    /// discount outside [0, 1], shapes that do not match and overlapping memory. What is not finite gives no finite distance.
    template <class Head, std::floating_point T, class Distances>
    void operator()(Head const& head, rollout_view<T> const& steps, std::type_identity_t<matrix_view<T const>> outputs,
                    Distances&& distances) const {
        constexpr auto where = "one_step_distance";
        detail::require_unit_interval(discount, "discount", where);
        detail::require_rollout(steps, where);
        auto const to = detail::by_step<T>(distances, steps.steps(), steps.environments(), "distances", where);
        require(outputs.rows() == steps.state_rows() + steps.truncations(),
                "{}: outputs has {} rows, but there are {} states and {} final observations", where, outputs.rows(),
                steps.state_rows(), steps.truncations());
        require(!may_overlap(to, steps.rewards) && !may_overlap(to, outputs),
                "{}: the distances overlap the rewards or the outputs in memory", where);
        detail::predicted_components<Head, T> const predicted(head, outputs);
        std::size_t final = steps.state_rows();
        for (std::size_t t = 0; t < steps.steps(); ++t)
            for (std::size_t e = 0; e < steps.environments(); ++e) {
                std::size_t const row = t * steps.environments() + e;
                ending const end = steps.end(t, e);
                // After termination the factor 0 makes a point of whatever comes next.
                double const factor = end == ending::terminated ? 0.0 : discount;
                std::size_t const next = end == ending::truncated ? final++ : row + steps.environments();
                to(t, e) = static_cast<T>(
                    predicted.distance(predicted.of(row),
                                       predicted.of(next, factor, static_cast<double>(steps.rewards(t, e)))));
            }
    }
};

} // namespace gmac::inline GMAC_ABI::targets
