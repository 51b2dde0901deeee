// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/samples/problems.hpp"

#include <gmac/core/view.hpp>
#include <gmac/heads/implicit_quantile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace gmac::testing {

/// What a loss makes of a problem.
template <class T>
struct outcome {
    T value;
    std::vector<T> gradient;
};

template <class T, class Loss>
outcome<T> run(Loss const& loss, problem<T> const& p) {
    outcome<T> result{T(0), std::vector<T>(p.values.size(), T(77))};
    matrix_view<T> const to(result.gradient.data(), p.states, p.samples);
    heads::implicit_quantile const head{.samples_per_state = p.samples};
    result.value = loss.value_and_gradient(head, p.outputs(), p.target_view(), to);
    return result;
}

template <class V, class T, class Loss>
outcome<T> run_in_lanes(Loss const& loss, problem<T> const& p) {
    outcome<T> result{T(0), std::vector<T>(p.values.size(), T(77))};
    matrix_view<T> const to(result.gradient.data(), p.states, p.samples);
    heads::implicit_quantile const head{.samples_per_state = p.samples};
    result.value = loss.template value_and_gradient_in_lanes<V>(head, p.outputs(), p.target_view(), to);
    return result;
}

/// The largest difference, relative to the value and to the largest slope.
template <class T, class U>
double difference(outcome<T> const& a, outcome<U> const& b) {
    double largest = std::numeric_limits<double>::min();
    double off = 0.0;
    for (std::size_t i = 0; i < a.gradient.size(); ++i) {
        largest = (std::max)(largest, std::abs(static_cast<double>(a.gradient[i])));
        off = (std::max)(off, std::abs(static_cast<double>(a.gradient[i]) - static_cast<double>(b.gradient[i])));
    }
    double const value = static_cast<double>(a.value);
    double const by_value = std::abs(value - static_cast<double>(b.value)) /
                            (std::max)(std::abs(value), std::numeric_limits<double>::min());
    return (std::max)(off / largest, by_value);
}

struct shape {
    std::size_t states, samples, particles;
};

} // namespace gmac::testing
