// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/dual.hpp"
#include "support/extremes.hpp"
#include "support/says.hpp"

#include <gmac/core/counted.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/squared_error.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

template <class T>
struct clipped_target {
    vector_view<T const> returns, old_values;
};

} // namespace

TEST_CASE("the gradients of the squared errors are those of dual numbers") {
    using D = testing::dual<double>;
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    gmac::heads::scalar const head;
    gmac::losses::squared_error const plain;
    gmac::losses::clipped_squared_error const clipped{.clip = 0.3};
    for (int step = 0; step < 1000; ++step) {
        double const output = uniform(random), target = uniform(random), before = uniform(random);
        D const moving = D::variable(output, 0);
        D const dual_target(target), dual_before(before);
        double gradient = 0.0;
        matrix_view<double> const to(&gradient, 1, 1);
        struct clipped_targets {
            vector_view<double const> returns, old_values;
        };
        struct dual_targets {
            vector_view<D const> returns, old_values;
        };
        matrix_view<double const> const from(&output, 1, 1);
        matrix_view<D const> const dual_from(&moving, 1, 1);
        vector_view<double const> const returns(&target, 1);
        double const value = plain.value_and_gradient(head, from, returns, to);
        CHECK(value == Approx(0.5 * (output - target) * (output - target)));
        CHECK(gradient == Approx(plain.value(head, dual_from, vector_view<D const>(&dual_target, 1)).slope[0]));

        double const capped = before + std::clamp(output - before, -0.3, 0.3);
        double const clipped_value =
            clipped.value_and_gradient(head, from, clipped_targets{returns, vector_view<double const>(&before, 1)}, to);
        CHECK(clipped_value == Approx(0.5 * std::max(std::pow(output - target, 2), std::pow(capped - target, 2))));
        D const dual_value = clipped.value(head, dual_from, dual_targets{{&dual_target, 1}, {&dual_before, 1}});
        CHECK(gradient == Approx(dual_value.slope[0]).margin(1e-15));
    }
}

TEST_CASE("squared errors refuse what does not fit") {
    gmac::losses::squared_error const plain;
    gmac::losses::clipped_squared_error clipped;
    gmac::heads::scalar const head;
    Eigen::MatrixXd outputs = Eigen::MatrixXd::Zero(3, 1), two_columns(3, 2), gradient(3, 1);
    std::vector<double> three(3), four(4);
    struct {
        std::vector<double> returns, old_values;
    } targets{three, four};
    CHECK_THROWS_WITH(plain.value(head, outputs, four), says("squared_error: returns has 4 elements, but must have 3"));
    CHECK_THROWS_WITH(plain.value(head, two_columns, three), says("outputs is 3 x 2, but must be 3 x 1"));
    CHECK_THROWS_WITH(plain.value_and_gradient(head, outputs, three, two_columns), says("the gradient is 3 x 2"));
    CHECK_THROWS_WITH(plain.value_and_gradient(head, outputs, four, two_columns),
                      says("squared_error: returns has 4 elements, but must have 3"));
    CHECK_THROWS_WITH(clipped.value_and_gradient(head, outputs, targets, two_columns),
                      says("clipped_squared_error: old_values has 4 elements, but must have 3"));
    CHECK_THROWS_WITH(plain.value(head, outputs.topRows(0), std::vector<double>{}), says("the batch is empty"));
    CHECK_THROWS_WITH(clipped.value(head, outputs, targets),
                      says("clipped_squared_error: old_values has 4 elements, but must have 3"));
    clipped.clip = -0.1;
    targets.old_values = three;
    CHECK_THROWS_WITH(clipped.value(head, outputs, targets), says("clip is -0.1, but must not be negative"));
    clipped.clip = quiet_nan<double>;
    CHECK_THROWS_WITH(clipped.value(head, outputs, targets), says("clip is nan"));
    std::vector<double> shared(6, 0.5);
    matrix_view<double> const first(shared.data(), 5, 1), second(shared.data() + 1, 5, 1);
    vector_view<double> const five(shared.data(), 5);
    std::vector<double> const others(5, 0.25);
    CHECK_THROWS_WITH(plain.value_and_gradient(head, first, others, second),
                      says("squared_error: the gradient overlaps the outputs"));
    CHECK_THROWS_WITH(plain.value_and_gradient(head, matrix_view<double const>(others.data(), 5, 1), five, second),
                      says("squared_error: the gradient overlaps the targets"));
    CHECK(plain.value_and_gradient(head, first, others, first) == 0.03125); // in place
    CHECK(shared[4] == 0.05);
    CHECK(shared[5] == 0.5);
    // NaN anywhere comes out.
    clipped.clip = 0.2;
    for (int which = 0; which < 3; ++which) {
        outputs(1, 0) = which == 0 ? quiet_nan<double> : 0.0;
        targets.returns[1] = which == 1 ? quiet_nan<double> : 0.5;
        targets.old_values[1] = which == 2 ? quiet_nan<double> : 0.25;
        CHECK(std::isnan(clipped.value_and_gradient(head, outputs, targets, gradient)));
        CHECK(std::isnan(clipped.value(head, outputs, targets)));
    }
}

TEST_CASE("the cost of the squared error") {
    using number = counted<double>;
    operation_counts counter;
    number const output(0.5, counter), target(0.25, counter);
    number gradient;
    number const loss = gmac::losses::squared_error{}.value_and_gradient(gmac::heads::scalar{},
                                                                         gmac::matrix_view<number const>(&output, 1, 1),
                                                                         gmac::vector_view<number const>(&target, 1),
                                                                         gmac::matrix_view<number>(&gradient, 1, 1));
    CHECK(loss.value() == 0.03125);
    CHECK(gradient.value() == 0.25);
    // v - R, and the sum over states; ½ / B d d, and d times 1 / B.
    CHECK(counter == operation_counts{.additions = 2, .multiplications = 3, .divisions = 0});
}

TEMPLATE_TEST_CASE("a mean of squares that are too large themselves", "[extremes]", float, double) {
    using T = TestType;
    std::vector<T> values(100, T(0)), returns(100, T(1)), gradient(100);
    values[7] = 4 * std::sqrt(std::numeric_limits<T>::max());
    auto const largest = static_cast<real>(std::numeric_limits<T>::max());
    losses::squared_error const loss;
    T const mean = loss.value_and_gradient(heads::scalar{}, matrix_view<T const>(values.data(), 100, 1), returns,
                                           matrix_view<T>(gradient.data(), 100, 1));
    CHECK(agrees(mean, 8 * largest / 100, 8)); // half of 16 largest
    CHECK(gradient[7] == Approx(values[7] / 100));
}

TEMPLATE_TEST_CASE("squared errors of any size", "[extremes]", float, double) {
    using T = TestType;
    auto numbers = extremes<T>();
    for (T const factor : {T(1.2), T(1.4), T(2), T(3)}) // halves of squares end at the root of two
        numbers.push_back(factor * std::sqrt(std::numeric_limits<T>::max()));
    sweep cases;
    heads::scalar const head;
    for (T const v : numbers)
        for (T const wanted : numbers) {
            T gradient = 0;
            auto const one = [](T const& x) { return vector_view<T const>(&x, 1); };
            auto const evaluate = [&](auto const& loss, auto const& targets) {
                return loss.value_and_gradient(head, matrix_view<T const>(&v, 1, 1), targets,
                                               matrix_view<T>(&gradient, 1, 1));
            };
            auto const V = static_cast<real>(v), R = static_cast<real>(wanted);
            real const d = V - R, sizes = std::fmax(std::abs(V), std::abs(R));
            cases.expect("squared error", evaluate(losses::squared_error{}, one(wanted)), d * d / 2, 4, sizes * sizes,
                         v, wanted);
            cases.expect("slope", gradient, d, 1, sizes, v, wanted);
            for (T const old : numbers)
                for (double const clip : {0.0, 0.2, 1e30}) {
                    auto const O = static_cast<real>(old);
                    real const limit = static_cast<real>(static_cast<T>(clip));
                    bool const inside = std::abs(V - O) <= limit;
                    real const clipped = (inside ? V : O + std::copysign(limit, V - O)) - R;
                    real const all = std::fmax(sizes, std::abs(O));
                    // Where the two are told from each other by rounding alone, either may win.
                    bool const close = std::abs(std::abs(clipped) - std::abs(d)) <=
                                       4 * all * static_cast<real>(std::numeric_limits<T>::epsilon());
                    real const larger = std::fmax(std::abs(clipped), std::abs(d));
                    cases.expect("clipped squared error",
                                 evaluate(losses::clipped_squared_error{.clip = clip},
                                          clipped_target<T>{one(wanted), one(old)}),
                                 larger * larger / 2, 8, all * all, v, wanted, old, clip);
                    if (!close && std::fmax(larger, std::abs(V - O)) < std::numeric_limits<T>::max())
                        cases.expect("clipped slope", gradient,
                                     std::abs(clipped) > std::abs(d) && !inside ? real(0) : d, 1, sizes, v, wanted, old,
                                     clip);
                }
        }
    CHECK(cases.failed() == "");
}
