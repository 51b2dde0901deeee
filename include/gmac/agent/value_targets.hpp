// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/kind.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::detail {

/// What `value_targets` are made from: one rollout and what the value head said of its states.
template <class T>
struct target_source {
    targets::rollout_view<T> steps;   ///< [T, E] each
    matrix_view<T const> outputs;     ///< [(T + 1) E + truncated, output size] of the value head
    std::span<T const> values;        ///< [(T + 1) E + truncated] their means
    std::span<T const> returns;       ///< [T E] λ-returns
    std::span<random_stream> streams; ///< [E]
    executor* tasks = nullptr;
};

template <class T>
void gather(std::span<std::uint32_t const> rows, T const* from, std::size_t columns, T* to) noexcept {
    for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(from + rows[i] * columns, columns, to + i * columns);
}

/// The targets of a loss for all states of a rollout, made once a rollout; a minibatch takes rows of them.
template <targets::kind Kind, class Head, class T>
class value_targets;

template <class Head, class T>
class value_targets<targets::kind::returns, Head, T> {
public:
    struct batch {
        buffer<T> returns;
    };
    value_targets(Head const&, targets::sr_lambda const&, std::size_t rows, std::size_t /*all_rows*/)
        : returns_(rows) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<T>(rows)}; }
    void compute(Head const&, target_source<T> const& source) { std::ranges::copy(source.returns, returns_.data()); }
    [[nodiscard]] vector_view<T const> take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
        gather(rows, returns_.data(), 1, to.returns.data());
        return {to.returns.data(), rows.size()};
    }

private:
    buffer<T> returns_;
};

template <class T>
struct clipped_returns {
    vector_view<T const> returns, old_values;
};

template <class Head, class T>
class value_targets<targets::kind::clipped_returns, Head, T> {
public:
    struct batch {
        buffer<T> returns, old_values;
    };
    value_targets(Head const&, targets::sr_lambda const&, std::size_t rows, std::size_t /*all_rows*/)
        : returns_(rows), old_values_(rows) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<T>(rows), buffer<T>(rows)}; }
    void compute(Head const&, target_source<T> const& source) {
        std::ranges::copy(source.returns, returns_.data());
        std::copy_n(source.values.data(), old_values_.size(), old_values_.data());
    }
    [[nodiscard]] clipped_returns<T> take(std::span<std::uint32_t const> rows, batch& to) const noexcept {
        gather(rows, returns_.data(), 1, to.returns.data());
        gather(rows, old_values_.data(), 1, to.old_values.data());
        return {vector_view<T const>(to.returns.data(), rows.size()),
                vector_view<T const>(to.old_values.data(), rows.size())};
    }

private:
    buffer<T> returns_, old_values_;
};

/// The head gives `support(outputs, values)`: N equally likely values a state, [rows, N].
template <class Head, class T>
class value_targets<targets::kind::dirac_particles, Head, T> {
public:
    struct batch {
        buffer<T> values;
    };
    value_targets(Head const& head, targets::sr_lambda const& rule, std::size_t rows, std::size_t all_rows)
        : rule_(rule), rows_(rows), particles_(rule.particles * rows), support_(all_rows * head.support_size()) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const { return {buffer<T>(rows * rule_.particles)}; }
    void compute(Head const& head, target_source<T> const& source) {
        matrix_view<T> const support(support_.data(), source.outputs.rows(), head.support_size());
        head.support(source.outputs, support);
        rule_(source.steps, targets::dirac_source<T>{support}, source.streams,
              targets::dirac_particles<T>{{particles_.data(), rows_, rule_.particles}}, source.tasks);
    }
    [[nodiscard]] targets::dirac_particles<T const> take(std::span<std::uint32_t const> rows,
                                                         batch& to) const noexcept {
        gather(rows, particles_.data(), rule_.particles, to.values.data());
        return {{to.values.data(), rows.size(), rule_.particles}};
    }

private:
    targets::sr_lambda rule_;
    std::size_t rows_;
    buffer<T> particles_, support_;
};

/// The head gives `distribution(outputs, weights, means, deviations)`: K components a state, [rows, K] each.
template <class Head, class T>
class value_targets<targets::kind::gaussian_particles, Head, T> {
public:
    struct batch {
        buffer<T> means, deviations;
    };
    value_targets(Head const&, targets::sr_lambda const& rule, std::size_t rows, std::size_t all_rows)
        : rule_(rule),
          rows_(rows),
          means_(rows * rule.particles),
          deviations_(rows * rule.particles),
          mixture_weights_(all_rows * Head::components),
          mixture_means_(all_rows * Head::components),
          mixture_deviations_(all_rows * Head::components) {}

    [[nodiscard]] batch make_batch(std::size_t rows) const {
        return {buffer<T>(rows * rule_.particles), buffer<T>(rows * rule_.particles)};
    }
    void compute(Head const& head, target_source<T> const& source) {
        auto const all = source.outputs.rows();
        matrix_view<T> const weights(mixture_weights_.data(), all, Head::components);
        matrix_view<T> const means(mixture_means_.data(), all, Head::components);
        matrix_view<T> const deviations(mixture_deviations_.data(), all, Head::components);
        head.distribution(source.outputs, weights, means, deviations);
        rule_(source.steps, targets::gaussian_source<T>{weights, means, deviations}, source.streams,
              targets::gaussian_particles<T>{{means_.data(), rows_, rule_.particles},
                                             {deviations_.data(), rows_, rule_.particles}},
              source.tasks);
    }
    [[nodiscard]] targets::gaussian_particles<T const> take(std::span<std::uint32_t const> rows,
                                                            batch& to) const noexcept {
        gather(rows, means_.data(), rule_.particles, to.means.data());
        gather(rows, deviations_.data(), rule_.particles, to.deviations.data());
        return {{to.means.data(), rows.size(), rule_.particles}, {to.deviations.data(), rows.size(), rule_.particles}};
    }

private:
    targets::sr_lambda rule_;
    std::size_t rows_;
    buffer<T> means_, deviations_;
    buffer<T> mixture_weights_, mixture_means_, mixture_deviations_;
};

} // namespace gmac::detail
