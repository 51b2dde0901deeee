// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/catch.hpp"

#include <gmac/core/error.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T>
double textbook(nn::activation f, T x) {
    auto const y = static_cast<double>(x);
    return f == nn::activation::tanh ? std::tanh(y) : f == nn::activation::relu && y < 0 ? 0 : y;
}

/// Distance in units of the last place of T at the exact value.
template <class T>
double ulps(T value, long double exact) {
    T const nearest = static_cast<T>(exact);
    T const next = std::nextafter(std::abs(nearest), std::numeric_limits<T>::infinity());
    return static_cast<double>(std::abs(static_cast<long double>(value) - exact) /
                               static_cast<long double>(next - std::abs(nearest)));
}

constexpr std::initializer_list<nn::activation> functions{nn::activation::none, nn::activation::tanh,
                                                          nn::activation::relu};

} // namespace

TEMPLATE_TEST_CASE("Activations and their derivatives, in every layout", "[nn][maps]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    random_stream random(1);
    for (nn::activation f : functions)
        for (layout a : layouts)
            for (layout b : layouts) {
                strided_matrix<T> x(7, 37, a), y(7, 37, b), g(7, 37, a), d(7, 37, b);
                x.fill(random, T(3));
                g.fill(random);
                TestType::activate(f, x.view(), y.view());
                TestType::activate_backward(f, y.view(), g.view(), d.view());
                CHECK(y.touched() == 7 * 37);
                CHECK(d.touched() == 7 * 37);
                for (std::size_t i = 0; i < 7; ++i)
                    for (std::size_t j = 0; j < 37; ++j) {
                        double const exact = textbook(f, x.view()(i, j));
                        double const slope = f == nn::activation::tanh   ? 1 - exact * exact
                                             : f == nn::activation::relu ? (x.view()(i, j) > 0 ? 1 : 0)
                                                                         : 1;
                        CHECK(std::abs(static_cast<double>(y.view()(i, j)) - exact) <=
                              4 * std::numeric_limits<T>::epsilon());
                        CHECK(std::abs(static_cast<double>(d.view()(i, j)) -
                                       slope * static_cast<double>(g.view()(i, j))) <=
                              10 * std::numeric_limits<T>::epsilon());
                    }
            }
}

TEMPLATE_TEST_CASE("tanh over the whole range of its argument", "[nn][maps]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    std::vector<T> x;
    for (T size = std::numeric_limits<T>::denorm_min(); size < T(30); size *= T(1.0009765625)) {
        x.push_back(size);
        if (size < std::numeric_limits<T>::epsilon())
            size *= T(1.5);
    }
    std::vector<T> y(x.size());
    TestType::activate(nn::activation::tanh, {x.data(), 1, x.size()}, {y.data(), 1, y.size()});
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        worst = (std::max)(worst, ulps(y[i], std::tanh(static_cast<long double>(x[i]))));
        worst = y[i] <= 1 ? worst : 1e9;
    }
    CHECK(x.size() > 5000);
    CHECK(worst < 7);
    // Odd to the bit.
    std::vector<T> minus = x;
    for (T& v : minus)
        v = -v;
    TestType::activate(nn::activation::tanh, {minus.data(), 1, x.size()}, {minus.data(), 1, x.size()});
    bool odd = true;
    for (std::size_t i = 0; i < x.size(); ++i)
        odd = odd && minus[i] == -y[i];
    CHECK(odd);
}

TEMPLATE_TEST_CASE("Activations keep NaN and infinity", "[nn][maps]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    T const infinity = std::numeric_limits<T>::infinity();
    T const nan = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t size : {5u, 40u}) { // in a padded register and in a whole one
        std::vector<T> x(size, T(0.5));
        x[0] = nan;
        x[1] = infinity;
        x[2] = -infinity;
        std::vector<T> y(size), d(size);
        std::vector<T> const g(size, T(2));
        matrix_view<T> const input(x.data(), 1, size), output(y.data(), 1, size), gradient(d.data(), 1, size);
        TestType::activate(nn::activation::tanh, input, output);
        CHECK(std::isnan(y[0]));
        CHECK(y[1] == Approx(1));
        CHECK(y[2] == Approx(-1));
        TestType::activate_backward(nn::activation::tanh, output, {g.data(), 1, size}, gradient);
        CHECK(std::isnan(d[0]));
        TestType::activate(nn::activation::relu, input, output);
        CHECK(std::isnan(y[0]));
        CHECK(y[1] == infinity);
        CHECK(y[2] == 0);
        std::vector<T> const bad(size, nan);
        TestType::activate_backward(nn::activation::relu, output, {bad.data(), 1, size}, gradient);
        CHECK(std::isnan(d[1]));
        CHECK(d[2] == 0); // no gradient flows where the unit is off
    }
}

TEMPLATE_TEST_CASE("Maps work in place, and refuse memory that half overlaps", "[nn][maps]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    for (nn::activation f : functions) {
        random_stream random(2);
        strided_matrix<T> x(5, 19, layout::padded_rows), y(5, 19, layout::row_major);
        x.fill(random);
        TestType::activate(f, x.view(), y.view());
        TestType::activate(f, x.view(), x.view());
        bool same = true;
        for (std::size_t i = 0; i < 5; ++i)
            for (std::size_t j = 0; j < 19; ++j)
                same = same && x.view()(i, j) == y.view()(i, j);
        CHECK(same);
    }
    std::vector<T> memory(40);
    matrix_view<T> const first(memory.data(), 3, 10), second(memory.data() + 5, 3, 10);
    CHECK_THROWS_WITH(TestType::activate(nn::activation::relu, first, second),
                      "activate: the result overlaps an operand in memory; it must be the same view or apart");
    CHECK_THROWS_AS(TestType::activate_backward(nn::activation::relu, first, first, second), error);
    CHECK_THROWS_WITH(TestType::activate(nn::activation::relu, first, first.middle_cols(0, 9)),
                      "activate: the input is 3 x 10, but must be 3 x 9");
}

TEMPLATE_TEST_CASE("Column sums, in every layout", "[nn][maps]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    random_stream random(3);
    for (layout l : layouts)
        for (std::size_t cols : {1u, 4u, 16u, 67u, 130u})
            for (std::size_t rows : {0u, 1u, 33u}) {
                strided_matrix<T> m(rows, cols, l);
                m.fill(random);
                std::vector<T> memory(2 * cols, T(9));
                TestType::column_sums(m.cview(), vector_view<T>(memory.data(), cols, 2));
                for (std::size_t j = 0; j < cols; ++j) {
                    double sum = 0;
                    double size = 0;
                    for (std::size_t i = 0; i < rows; ++i) {
                        sum += static_cast<double>(m.view()(i, j));
                        size += std::abs(static_cast<double>(m.view()(i, j)));
                    }
                    double const rounding = std::numeric_limits<T>::epsilon() / 2 * static_cast<double>(rows) * size;
                    CHECK(std::abs(static_cast<double>(memory[2 * j]) - sum) <= rounding);
                    CHECK(memory[2 * j + 1] == 9);
                }
            }
}
