// SPDX-License-Identifier: Apache-2.0
// The counting scalar: each kind of operation.
#include <gmac/core/counted.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>

#include "support/catch.hpp"

#include <cmath>

namespace {

using gmac::operation_counts;
using number = gmac::counted<double>;

} // namespace

TEST_CASE("every operation is counted as what it is", "[core]") {
    operation_counts counter;
    number const a(2.0, counter), b(3.0, counter);
    number const constant = 0.5;
    CHECK((a + b - constant).value() == 4.5);
    CHECK((a * b / constant).value() == 12.0);
    CHECK((-a).value() == -2.0);
    CHECK((constant * constant + constant).value() == 0.75);
    CHECK(a < b);
    CHECK_FALSE(a == b);
    CHECK(b >= constant);
    CHECK(abs(-a).value() == 2.0);
    CHECK(sqrt(a).value() == std::sqrt(2.0));
    CHECK(exp(a).value() == std::exp(2.0));
    CHECK((log(a) + log1p(a)).value() == std::log(2.0) + std::log1p(2.0));
    CHECK(erf(a).value() == std::erf(2.0));
    CHECK(tanh(a).value() == std::tanh(2.0));
    number sum = a;
    sum += b;
    sum *= b;
    CHECK(sum.value() == 15.0);
    CHECK(counter == operation_counts{.additions = 4,
                                      .multiplications = 2,
                                      .divisions = 1,
                                      .comparisons = 4,
                                      .square_roots = 1,
                                      .exponentials = 1,
                                      .logarithms = 2,
                                      .error_functions = 1,
                                      .other_functions = 1});
    CHECK(counter.total() == 17);
    CHECK(counter - counter == operation_counts{});
    CHECK((counter + counter).additions == 8);
    // Two counters do not meet.
    operation_counts other;
    CHECK((number(1.0, other) + number(1.0, other)).value() == 2.0);
    CHECK(other.additions == 1);
    CHECK(counter.additions == 4);
    // The functions of the kernels.
    operation_counts kernel;
    number const x(0.7, kernel);
    CHECK(gmac::lanes::exp_erf(x).erf.value() == std::erf(0.7));
    CHECK(gmac::lanes::select(x < constant, x, constant).value() == 0.5);
    CHECK(gmac::lanes::mul_add(x, x, x).value() == Approx(1.19));
    CHECK(kernel == operation_counts{.additions = 1,
                                     .multiplications = 2,
                                     .comparisons = 1,
                                     .exponentials = 1,
                                     .error_functions = 1});
}
