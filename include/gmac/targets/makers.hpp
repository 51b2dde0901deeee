// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/detail/gather.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/returns.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

/// How an agent makes what its loss learns from. A loss names the type of its targets, `template <class T> using
/// targets_type`, and that type owns its making: its `maker<Head>` makes the targets of all states of a rollout once, and
/// takes those of a minibatch out of them. A kind of one's own is a type with such a maker (docs/extending.md).
namespace gmac::inline GMAC_ABI::targets {

/// What targets are made from: one rollout, and what the value head said of its states.
template <class T>
struct rollout_source {
    rollout_view<T> steps;            ///< [T, E] each
    matrix_view<T const> outputs;     ///< [(T + 1) E + truncated, output size] of the value head
    std::span<T const> values;        ///< [(T + 1) E + truncated] their means
    std::span<T const> returns;       ///< [T E] λ-returns
    std::span<random_stream> streams; ///< [E]
    executor* tasks = nullptr;
};

template <class T>
template <class Head>
class returns<T>::maker {
    using scalar = typename vector_view<T>::value_type;

public:
    /// Memory for the targets of a minibatch.
    struct batch {
        buffer<scalar> values;
    };
    /// For rollouts of `rows` transitions, T E.
    maker(Head const&, sr_lambda const&, std::size_t rows, std::size_t /*states*/) : returns_(rows) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<scalar>(rows)}; }
    void make(Head const&, rollout_source<scalar> const& source) {
        std::copy(source.returns.begin(), source.returns.end(), returns_.data());
    }
    [[nodiscard]] returns take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
        gmac::detail::gather(rows, returns_.data(), 1, to.values.data());
        return returns(to.values.data(), rows.size());
    }

private:
    buffer<scalar> returns_;
};

template <class T>
template <class Head>
class clipped_returns<T>::maker {
    using scalar = typename clipped_returns<T>::value_type;

public:
    struct batch {
        buffer<scalar> returns, old_values;
    };
    maker(Head const&, sr_lambda const&, std::size_t rows, std::size_t /*states*/)
        : returns_(rows), old_values_(rows) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<scalar>(rows), buffer<scalar>(rows)}; }
    void make(Head const&, rollout_source<scalar> const& source) {
        std::copy(source.returns.begin(), source.returns.end(), returns_.data());
        std::copy_n(source.values.data(), old_values_.size(), old_values_.data());
    }
    [[nodiscard]] clipped_returns take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
        gmac::detail::gather(rows, returns_.data(), 1, to.returns.data());
        gmac::detail::gather(rows, old_values_.data(), 1, to.old_values.data());
        return {{to.returns.data(), rows.size()}, {to.old_values.data(), rows.size()}};
    }

private:
    buffer<scalar> returns_, old_values_;
};

/// SR(λ) on the points of the head.
template <class T>
template <class Head>
class dirac_particles<T>::maker {
    using scalar = typename dirac_particles<T>::value_type;
    static constexpr bool weighted_points = gives_weighted_points<Head, scalar>;

public:
    struct batch {
        buffer<scalar> values;
    };
    /// For rollouts of `rows` transitions, T E, with up to `states` states and final observations.
    maker(Head const& head, sr_lambda const& rule, std::size_t rows, std::size_t states)
        : rule_(rule),
          rows_(rows),
          particles_(rule.particles * rows),
          points_(states * head.support_size()),
          weights_(weighted_points ? points_.size() : 0) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<scalar>(rows * rule_.particles)}; }
    void make(Head const& head, rollout_source<scalar> const& source) {
        auto const view = [&](buffer<scalar>& all) {
            return matrix_view<scalar>(all.data(), source.outputs.rows(), head.support_size());
        };
        dirac_source<scalar> drawn_from{view(points_)};
        if constexpr (weighted_points) {
            drawn_from.weights = view(weights_);
            head.support(source.outputs, view(points_), view(weights_));
        } else {
            head.support(source.outputs, view(points_));
        }
        rule_(source.steps, drawn_from, source.streams,
              dirac_particles<scalar>{{particles_.data(), rows_, rule_.particles}}, source.tasks);
    }
    [[nodiscard]] dirac_particles take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
        gmac::detail::gather(rows, particles_.data(), rule_.particles, to.values.data());
        return {{to.values.data(), rows.size(), rule_.particles}};
    }

private:
    sr_lambda rule_;
    std::size_t rows_;
    buffer<scalar> particles_, points_, weights_;
};

/// SR(λ) on the components of the head.
template <class T>
template <class Head>
class gaussian_particles<T>::maker {
    using scalar = typename gaussian_particles<T>::value_type;

public:
    struct batch {
        buffer<scalar> means, deviations;
    };
    /// For rollouts of `rows` transitions, T E, with up to `states` states and final observations.
    maker(Head const&, sr_lambda const& rule, std::size_t rows, std::size_t states)
        : rule_(rule),
          rows_(rows),
          means_(rows * rule.particles),
          deviations_(rows * rule.particles),
          component_weights_(states * Head::components),
          component_means_(states * Head::components),
          component_deviations_(states * Head::components) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const {
        return {buffer<scalar>(rows * rule_.particles), buffer<scalar>(rows * rule_.particles)};
    }
    void make(Head const& head, rollout_source<scalar> const& source) {
        auto const view = [&](buffer<scalar>& all) {
            return matrix_view<scalar>(all.data(), source.outputs.rows(), Head::components);
        };
        head.distribution(source.outputs, view(component_weights_), view(component_means_),
                          view(component_deviations_));
        gaussian_source<scalar> const drawn_from{view(component_weights_), view(component_means_),
                                                 view(component_deviations_)};
        rule_(source.steps, drawn_from, source.streams,
              gaussian_particles<scalar>{{means_.data(), rows_, rule_.particles},
                                         {deviations_.data(), rows_, rule_.particles}},
              source.tasks);
    }
    [[nodiscard]] gaussian_particles take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
        gmac::detail::gather(rows, means_.data(), rule_.particles, to.means.data());
        gmac::detail::gather(rows, deviations_.data(), rule_.particles, to.deviations.data());
        return {{to.means.data(), rows.size(), rule_.particles}, {to.deviations.data(), rows.size(), rule_.particles}};
    }

private:
    sr_lambda rule_;
    std::size_t rows_;
    buffer<scalar> means_, deviations_;
    buffer<scalar> component_weights_, component_means_, component_deviations_;
};

} // namespace gmac::inline GMAC_ABI::targets
