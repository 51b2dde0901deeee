// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/counted.hpp>
#include <gmac/core/error.hpp>
#include <gmac/heads/categorical.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/losses/squared_error.hpp>
#include <gmac/targets/particles.hpp>

#include <cstddef>
#include <vector>

/// What one more state in the batch costs, in operations: the library's own kernels run on numbers that count. Heads are
/// included where they compute something (the Gaussian mixture's softmax and softplus, and their pull-back).
namespace gmac::flops {

using number = counted<double>;

/// Numbers that count, as a matrix. They are all different, so that nothing is decided by a tie.
class numbers {
public:
    numbers(std::size_t rows, std::size_t cols, double first, double last, operation_counts& counter)
        : rows_(rows), cols_(cols), data_(rows * cols) {
        double const size = static_cast<double>(data_.size());
        for (std::size_t i = 0; i < data_.size(); ++i) {
            // Multiples of an irrational number modulo one: evenly spread and in no order.
            double const turns = static_cast<double>(i + 1) * 0.6180339887498949;
            double const part = turns - static_cast<double>(static_cast<std::size_t>(turns));
            data_[i] = number(first + (last - first) * part + 1e-9 * static_cast<double>(i) / size, counter);
        }
    }
    [[nodiscard]] matrix_view<number const> view() const { return {data_.data(), rows_, cols_}; }

private:
    std::size_t rows_, cols_;
    std::vector<number> data_;
};

/// evaluate(states, counter) runs a loss on a batch; returns what the second state adds to the first.
template <class Evaluate>
[[nodiscard]] operation_counts per_state(Evaluate&& evaluate) {
    operation_counts one, two;
    evaluate(std::size_t{1}, one);
    evaluate(std::size_t{2}, two);
    return two - one;
}

/// The value, or the value and the gradient, of one loss; `targets` are what it takes.
template <class Loss, class Head, class Outputs, class Targets>
void run(Loss const& loss, Head const& head, Outputs const& outputs, Targets const& targets, std::size_t states,
         std::size_t columns, bool gradient) {
    if (gradient) {
        std::vector<number> slopes(states * columns);
        loss.value_and_gradient(head, outputs, targets, matrix_view<number>(slopes.data(), states, columns));
    } else {
        static_cast<void>(loss.value(head, outputs, targets));
    }
}

/// PPO's clipped squared error, with the value as the head's only output.
[[nodiscard]] inline operation_counts count_clipped_squared_error(bool gradient) {
    struct returns_and_values {
        vector_view<number const> returns, old_values;
    };
    return per_state([&](std::size_t states, operation_counts& counter) {
        numbers const outputs(states, 1, -1.0, 1.0, counter), returns(states, 1, 0.0, 2.0, counter),
            old(states, 1, -2.0, 0.0, counter);
        run(losses::clipped_squared_error{}, heads::scalar{}, outputs.view(),
            returns_and_values{returns.view().col(0), old.view().col(0)}, states, 1, gradient);
    });
}
[[nodiscard]] inline operation_counts count_squared_error(bool gradient) {
    return per_state([&](std::size_t states, operation_counts& counter) {
        numbers const outputs(states, 1, -1.0, 1.0, counter), returns(states, 1, 0.0, 2.0, counter);
        run(losses::squared_error{}, heads::scalar{}, outputs.view(), returns.view().col(0), states, 1, gradient);
    });
}

/// A loss between N samples or quantiles and m target particles.
template <class Loss>
[[nodiscard]] operation_counts count_sample_loss(Loss const& loss, std::size_t samples, std::size_t particles,
                                                 bool gradient) {
    heads::implicit_quantile head;
    head.samples_per_state = samples;
    return per_state([&](std::size_t states, operation_counts& counter) {
        numbers const values(states, samples, -1.0, 1.0, counter), fractions(states, samples, 0.0, 1.0, counter),
            targets(states, particles, -1.5, 0.5, counter);
        run(loss, head, quantile_outputs<number const>{values.view(), fractions.view()},
            targets::dirac_particles<number const>{targets.view(), {}}, states, samples, gradient);
    });
}

/// The sample energy by pairs, as it is written, whichever way is quicker.
[[nodiscard]] inline operation_counts count_energy_pairs(std::size_t samples, std::size_t particles, bool target_term,
                                                         bool gradient) {
    auto const n = static_cast<double>(samples), m = static_cast<double>(particles);
    return per_state([&](std::size_t states, operation_counts& counter) {
        numbers const values(states, samples, -1.0, 1.0, counter), wanted(states, particles, -1.5, 0.5, counter);
        targets::dirac_particles<number const> const targets{wanted.view(), {}};
        std::vector<number> slopes(states * samples);
        matrix_view<number> const to(slopes.data(), states, samples);
        losses::detail::energy_terms const terms{1.0, target_term ? 1.0 : 0.0, 1.0 / n, 1.0 / m,
                                                 static_cast<double>(states)};
        static_cast<void>(losses::detail::mean_over_states<number>(states, [&](std::size_t first, std::size_t count) {
            return gradient ? losses::detail::energy_pairs<true, false, number>(values.view(), targets, to, terms,
                                                                                first, count)
                            : losses::detail::energy_pairs<false, false, number>(values.view(), targets, to, terms,
                                                                                 first, count);
        }));
    });
}

/// The energy between a mixture of K Gaussians and m Gaussian particles, the head's transform and pull-back included.
template <std::size_t K>
[[nodiscard]] operation_counts count_mixture_energy(std::size_t particles, bool target_term, bool gradient) {
    losses::gaussian_mixture_energy loss;
    loss.target_term = target_term;
    return per_state([&](std::size_t states, operation_counts& counter) {
        numbers const outputs(states, 3 * K, -1.0, 1.0, counter), means(states, particles, -1.5, 0.5, counter),
            deviations(states, particles, 0.1, 1.0, counter);
        run(loss, heads::gaussian_mixture<K>{}, outputs.view(),
            targets::gaussian_particles<number const>{means.view(), deviations.view(), {}}, states, 3 * K, gradient);
    });
}

/// A loss on N atoms and m particles.
template <std::size_t N, class Loss>
[[nodiscard]] operation_counts count_loss_on_atoms(Loss const& loss, std::size_t particles, bool gradient) {
    return per_state([&](std::size_t states, operation_counts& counter) {
        numbers const outputs(states, N, -1.0, 1.0, counter), targets(states, particles, -1.5, 0.5, counter);
        run(loss, heads::categorical<N>{}, outputs.view(), targets::dirac_particles<number const>{targets.view(), {}},
            states, N, gradient);
    });
}

} // namespace gmac::flops
