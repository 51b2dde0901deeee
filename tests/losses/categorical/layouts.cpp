// SPDX-License-Identifier: Apache-2.0
// The same answer from every layout, container and lane width; what is refused; and no allocation. Compiled once for each
// instruction set.
#include "losses/categorical/problems.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/matrices.hpp"

#include <gmac/core/counted.hpp>
#include <gmac/core/error.hpp>
#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>

#include <Eigen/Core>
#include <xsimd/xsimd.hpp>

#include <string>

using namespace gmac;
using namespace gmac::testing;

namespace {

constexpr std::size_t N = 21;
heads::categorical<N> const straight{.minimum = -3.0, .maximum = 5.0};
heads::categorical<N> const bent{.minimum = -30.0, .maximum = 50.0, .symlog = true};

/// Calls check(name, loss, head) for each loss on each grid.
template <class Check>
void each_case(Check&& check) {
    for (auto const& head : {straight, bent}) {
        check(std::string("categorical_cross_entropy"), losses::categorical_cross_entropy{}, head);
        check(std::string("hl_gauss"), losses::hl_gauss{.deviation = 1.5}, head);
        check(std::string("categorical_energy"), losses::categorical_energy{}, head);
    }
}

template <class T>
void same_in_every_layout(std::size_t states, std::size_t particles, bool weighted) {
    random_stream random(7);
    each_case([&](std::string const& name, auto const& loss, auto const& head) {
        CAPTURE(name, states, particles);
        auto const p = random_problem<T>(random, head, states, particles, weighted);
        std::vector<T> wanted(states * N);
        T const value =
            loss.value_and_gradient(head, p.outputs(), p.targets(), matrix_view<T>(wanted.data(), states, N));
        auto const same = [&](matrix_view<T const> const& gradient) {
            for (std::size_t i = 0; i < states; ++i)
                for (std::size_t j = 0; j < N; ++j)
                    if (gradient(i, j) != wanted[i * N + j])
                        return false;
            return true;
        };
        auto const targets = p.targets();
        strided<T> const outputs(p.outputs()), points(targets.values);
        strided<T> const weights(weighted ? targets.weights : targets.values);
        strided<T> to(p.outputs());
        targets::dirac_particles<T const> const spread{points.view,
                                                       weighted ? matrix_view<T const>(weights.view) : targets.weights};
        CHECK(loss.value_and_gradient(head, outputs.view, spread, to.view) == value);
        CHECK(same(to.view));
        auto const eigen_outputs = eigen_copy(p.outputs());
        auto const eigen_points = eigen_copy(targets.values);
        auto const eigen_weights = eigen_copy(weighted ? targets.weights : targets.values);
        column_major<T> gradient(eigen_outputs.rows(), eigen_outputs.cols());
        targets::dirac_particles<T const> eigen_targets{eigen_points};
        if (weighted)
            eigen_targets.weights = eigen_weights;
        CHECK(loss.value_and_gradient(head, eigen_outputs, eigen_targets, gradient) == value);
        CHECK(same(matrix_view<T const>(gradient)));

        // A batch is the mean of its states.
        double sum = 0.0;
        for (std::size_t s = 0; s < states; ++s)
            sum += static_cast<double>(loss.value(head, p.outputs().middle_rows(s, 1), targets.middle_rows(s, 1)));
        CHECK(static_cast<double>(value) == Approx(sum / static_cast<double>(states)).epsilon(1e-5));
    });
}

template <class V, class T>
void same_in(double bound) {
    random_stream random(8);
    each_case([&](std::string const& name, auto const& loss, auto const& head) {
        CAPTURE(name, lanes::width_of<V>);
        auto const p = random_problem<T>(random, head, 35, 70, true);
        std::vector<T> wanted(35 * N), found(35 * N);
        T const value = loss.template value_and_gradient_in_lanes<T>(head, p.outputs(), p.targets(),
                                                                     matrix_view<T>(wanted.data(), 35, N));
        CHECK(loss.template value_and_gradient_in_lanes<V>(head, p.outputs(), p.targets(),
                                                           matrix_view<T>(found.data(), 35, N)) ==
              Approx(value).epsilon(bound));
        double worst = 0.0;
        for (std::size_t i = 0; i < wanted.size(); ++i)
            worst = (std::max)(worst, std::abs(static_cast<double>(wanted[i]) - static_cast<double>(found[i])));
        CHECK(worst < bound);
    });
}

template <class T>
void same_in_all_widths() {
    double const bound = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    same_in<lanes::widest<T>, T>(bound);
    same_in<xsimd::make_sized_batch_t<T, 16 / sizeof(T)>, T>(bound);
#if defined(__AVX__)
    same_in<xsimd::make_sized_batch_t<T, 32 / sizeof(T)>, T>(bound);
#endif
}

} // namespace

TEST_CASE("Any strides and any container give the same, bit for bit") {
    for (bool const weighted : {false, true}) {
        same_in_every_layout<float>(1, 1, weighted);
        same_in_every_layout<float>(37, 65, weighted);
        same_in_every_layout<double>(9, 130, weighted);
    }
}

TEST_CASE("The lane width changes nothing beyond rounding") {
    same_in_all_widths<float>();
    same_in_all_widths<double>();
}

TEST_CASE("The losses on atoms allocate nothing") {
    random_stream random(9);
    each_case([&](std::string const& name, auto const& loss, auto const& head) {
        CAPTURE(name);
        auto const p = random_problem<float>(random, head, 40, 130, true);
        std::vector<float> gradient(40 * N), masses(40 * N);
        CHECK(gmac::testing::allocations_during([&] {
                  loss.value_and_gradient(head, p.outputs(), p.targets(), matrix_view<float>(gradient.data(), 40, N));
                  loss.target_masses(head, p.targets(), matrix_view<float>(masses.data(), 40, N));
              }) == 0);
    });
}

TEST_CASE("The cost of the losses on atoms is linear in the particles") {
    using number = counted<float>;
    random_stream random(10);
    auto const cost = [&](auto const& loss, std::size_t particles) {
        operation_counts counts;
        auto const p = random_problem<float>(random, straight, 1, particles, false);
        std::vector<number> logits, points, gradient(N);
        for (float const l : p.logits)
            logits.emplace_back(l, counts);
        for (float const x : p.points)
            points.emplace_back(x, counts);
        static_cast<void>(loss.value_and_gradient(straight, matrix_view<number const>(logits.data(), 1, N),
                                                  targets::dirac_particles<number const>{{points.data(), 1, particles}},
                                                  matrix_view<number>(gradient.data(), 1, N)));
        return counts;
    };
    each_case([&](std::string const& name, auto const& loss, auto const&) {
        CAPTURE(name);
        auto const few = cost(loss, 2), many = cost(loss, 102);
        CHECK(many.exponentials == N);
        CHECK(many.logarithms == 1);
        CHECK(few.logarithms == 1);
        bool const smooth = name == "hl_gauss";
        // σ of 1.5 bins reaches 9 bins and one more to each side: 21 bins, all there are, with 22 edges and the last one first.
        CHECK(many.error_functions - few.error_functions == (smooth ? 100u * 23u : 0u));
        CHECK(many.total() - few.total() < (smooth ? 15'000u : 2'500u));
    });
}

TEST_CASE("What does not fit is refused, in words") {
    each_case([&](std::string const& name, auto const& loss, auto const& head) {
        std::vector<double> logits(2 * N), points(8, 0.0), weights(8, 0.25), gradient(2 * N);
        matrix_view<double> const outputs(logits.data(), 2, N), to(gradient.data(), 2, N);
        targets::dirac_particles<double> const targets{{points.data(), 2, 4}, {weights.data(), 2, 4}};
        CHECK_NOTHROW(loss.value_and_gradient(head, outputs, targets, to));
        CHECK_THROWS_WITH(loss.value(head, matrix_view<double>(logits.data(), N, 2), targets),
                          name + ": outputs is 21 x 2, but must be 21 x 21");
        CHECK_THROWS_WITH(loss.value(head, outputs.middle_rows(0, 0), targets),
                          name + ": the batch is empty, but must have at least one state");
        CHECK_THROWS_WITH(loss.value(head, outputs, targets.middle_rows(0, 1)),
                          name + ": the matrix of target values is 1 x 4, but must be 2 x 4");
        CHECK_THROWS_WITH(loss.value(head, outputs, targets.middle_cols(0, 0)),
                          name + ": the targets have no particles");
        CHECK_THROWS_WITH(loss.value_and_gradient(head, outputs, targets, matrix_view<double>(gradient.data(), N, 2)),
                          name + ": the gradient is 21 x 2, but must be 2 x 21");
        CHECK_THROWS_WITH(loss.value_and_gradient(head, outputs, targets, outputs),
                          name + ": the gradient overlaps the outputs in memory, but must have memory of its own");
        CHECK_THROWS_WITH(loss.target_masses(head, targets, matrix_view<double>(gradient.data(), 2, N - 1)),
                          name + ": the matrix of masses is 2 x 20, but must be 2 x 21");
        CHECK_THROWS_AS(loss.value(heads::categorical<N>{.minimum = 2.0, .maximum = 1.0}, outputs, targets), error);
        weights[5] = 0.5;
        CHECK_THROWS_WITH(loss.value(head, outputs, targets),
                          name + ": the target weights of state 1 sum to 1.25, but must sum to 1");
        CHECK_THROWS_WITH(loss.target_masses(head, targets, to),
                          name + ": the target weights of state 1 sum to 1.25, but must sum to 1");
    });
    std::vector<double> logits(N), points(1);
    for (double const bad : {0.0, -1.0, 1e-40, 1e40, std::nan(""), std::numeric_limits<double>::infinity()})
        CHECK_THROWS_WITH(losses::hl_gauss{.deviation = bad}.value(straight, matrix_view<double>(logits.data(), 1, N),
                                                                   targets::dirac_particles<double>{
                                                                       {points.data(), 1, 1}}),
                          fmt::format("hl_gauss: deviation is {}, but must be from 1e-30 to 1e+30", bad));
}
