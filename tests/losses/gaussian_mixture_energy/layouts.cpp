// SPDX-License-Identifier: Apache-2.0
// One answer in every layout, tensor library and lane type; nothing allocated; the result in place.
#include <gmac/core/detail/transpose.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/squared_error.hpp>

#include "losses/gaussian_mixture_energy/case.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using gmac::matrix_view;
using gmac::losses::gaussian_mixture_energy;
using gmac::testing::random_case;
using gmac::testing::table;

constexpr std::size_t K = 3;

/// A matrix in memory in an order and with gaps of its own.
template <class T>
struct arranged {
    std::vector<T> memory;
    matrix_view<T> view;

    arranged(table<T> const& from, std::ptrdiff_t row_stride, std::ptrdiff_t col_stride) {
        auto const rows = static_cast<std::ptrdiff_t>(from.rows), cols = static_cast<std::ptrdiff_t>(from.cols);
        memory.assign(static_cast<std::size_t>((rows - 1) * std::abs(row_stride) + (cols - 1) * std::abs(col_stride) +
                                               1),
                      T(-77));
        T* const first = memory.data() + (row_stride < 0 ? -(rows - 1) * row_stride : 0) +
                         (col_stride < 0 ? -(cols - 1) * col_stride : 0);
        view = {first, from.rows, from.cols, row_stride, col_stride};
        for (std::size_t i = 0; i < from.rows; ++i)
            for (std::size_t j = 0; j < from.cols; ++j)
                view(i, j) = from(i, j);
    }
};

/// Row-major, column-major, with gaps, and backwards.
template <class T>
arranged<T> arrange(table<T> const& from, int layout) {
    auto const rows = static_cast<std::ptrdiff_t>(from.rows), cols = static_cast<std::ptrdiff_t>(from.cols);
    switch (layout) {
    case 0:
        return {from, cols, 1};
    case 1:
        return {from, 1, rows};
    case 2:
        return {from, 2 * cols + 3, 2};
    case 3:
        return {from, 1, rows + 5};
    case 4:
        return {from, -cols, 1};
    default:
        return {from, cols + 2, -1};
    }
}

template <class T>
void check_layouts() {
    std::mt19937_64 random(21);
    for (std::size_t const states : std::vector<std::size_t>{1, 3, 16, 37, 64}) {
        auto const given = random_case<K>(random, states, 70);
        auto const outputs = given.outputs.template as<T>(), means = given.means.template as<T>(),
                   deviations = given.deviations.template as<T>();
        table<T> expected(states, 3 * K);
        T const loss =
            gaussian_mixture_energy{}.value_and_gradient(given.head, outputs.view(),
                                                         gmac::targets::gaussian_particles<T const>{means.view(),
                                                                                                    deviations.view()},
                                                         expected.view());
        for (int layout = 0; layout < 6; ++layout) {
            auto const o = arrange(outputs, layout), m = arrange(means, (layout + 1) % 6),
                       d = arrange(deviations, (layout + 2) % 6);
            auto const gradient = arrange(table<T>(states, 3 * K), (layout + 3) % 6);
            gmac::targets::gaussian_particles<T> const targets{m.view, d.view};
            CHECK(gaussian_mixture_energy{}.value_and_gradient(given.head, o.view, targets, gradient.view) == loss);
            CHECK(gaussian_mixture_energy{}.value(given.head, o.view, targets) == loss);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < states; ++i)
                for (std::size_t j = 0; j < 3 * K; ++j)
                    wrong += gradient.view(i, j) == expected(i, j) ? 0U : 1U;
            CHECK(wrong == 0);
        }
        // A state by itself has the gradient that it has in the batch, times the batch.
        for (std::size_t i = 0; i < states; i += 7) {
            table<T> alone(1, 3 * K);
            gaussian_mixture_energy{}.value_and_gradient(given.head, outputs.view().middle_rows(i, 1),
                                                         gmac::targets::gaussian_particles<T const>{means.view(),
                                                                                                    deviations.view()}
                                                             .middle_rows(i, 1),
                                                         alone.view());
            for (std::size_t j = 0; j < 3 * K; ++j)
                CHECK(alone(0, j) / static_cast<T>(states) == Approx(expected(i, j)).epsilon(1e-5).margin(1e-37));
        }
    }
}

/// The largest difference of the gradients in lanes of V and of Reference, relative to the largest entry.
template <class V, class Reference>
double lane_difference(bool weighted) {
    std::mt19937_64 random(22);
    double largest = 0.0;
    for (int step = 0; step < 20; ++step) {
        auto const given = random_case<K>(random, 19, 70);
        auto const evaluate = [&]<class Lane>(std::type_identity<Lane>) {
            using T = gmac::lanes::scalar_of<Lane>;
            auto const outputs = given.outputs.template as<T>(), means = given.means.template as<T>(),
                       deviations = given.deviations.template as<T>(), weights = given.weights.template as<T>();
            gmac::targets::gaussian_particles<T const> const targets{means.view(), deviations.view(),
                                                                     weighted ? weights.view()
                                                                              : matrix_view<T const>{}};
            table<T> gradient(19, 3 * K);
            T const value = gaussian_mixture_energy{}.value_and_gradient_in_lanes<Lane>(given.head, outputs.view(),
                                                                                        targets, gradient.view());
            return std::pair(static_cast<double>(value), gradient.template as<double>());
        };
        auto const [a, lanes] = evaluate(std::type_identity<V>{});
        auto const [b, reference] = evaluate(std::type_identity<Reference>{});
        auto const relative = [](double x, double y, double size) { return x == y ? 0.0 : std::abs(x - y) / size; };
        largest = std::max(largest, relative(a, b, std::abs(b)));
        for (std::size_t part = 0; part < 3; ++part) {
            double size = 0;
            for (std::size_t i = 0; i < 19; ++i)
                for (std::size_t k = 0; k < K; ++k)
                    size = std::max(size, std::abs(reference(i, part * K + k)));
            for (std::size_t i = 0; i < 19; ++i)
                for (std::size_t k = 0; k < K; ++k)
                    largest = std::max(largest, relative(lanes(i, part * K + k), reference(i, part * K + k), size));
        }
    }
    return largest;
}

} // namespace

TEST_CASE("every layout gives the same bits", "[mixture]") {
    SECTION("float") {
        check_layouts<float>();
    }
    SECTION("double") {
        check_layouts<double>();
    }
}

TEST_CASE("the lane width changes nothing but rounding", "[mixture]") {
    using V = gmac::lanes::widest<float>;
    // Lanes of the same operations are rounded as scalars are; those that look erf up by themselves.
    using reference = std::conditional_t<gmac::losses::detail::looks_up_sixteen<V>, double, float>;
    for (bool const weighted : {false, true}) {
        CHECK(lane_difference<V, reference>(weighted) < 4e-6);
        CHECK(lane_difference<gmac::lanes::widest<double>, double>(weighted) < 1e-14);
    }
}

TEST_CASE("Eigen matrices and plain vectors give the same", "[mixture]") {
    std::mt19937_64 random(23);
    auto const given = random_case<K>(random, 20, 33);
    table<double> expected(20, 3 * K);
    double const loss = gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(), given.targets(),
                                                                     expected.view());
    Eigen::MatrixXd outputs(20, 9), gradient(20, 9), weights(20, 3), means(20, 3), deviations(20, 3);
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows(20, 9);
    for (Eigen::Index i = 0; i < 20; ++i)
        for (Eigen::Index j = 0; j < 9; ++j)
            outputs(i, j) = given.outputs(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
    CHECK(gaussian_mixture_energy{}.value_and_gradient(given.head, outputs, given.targets(), gradient) == loss);
    CHECK(gaussian_mixture_energy{}.value_and_gradient(given.head, outputs, given.targets(), by_rows) == loss);
    CHECK(gradient == by_rows);
    CHECK(gradient(7, 4) == expected(7, 4));

    // The head's batch functions, against one state at a time.
    std::vector<double> values(20);
    given.head.mean(outputs, values);
    given.head.distribution(outputs, weights, means, deviations);
    for (std::size_t i = 0; i < 20; ++i) {
        std::array<double, 9> raw;
        for (std::size_t j = 0; j < 9; ++j)
            raw[j] = given.outputs(i, j);
        auto const mixture = given.head.transform(raw);
        auto const row = static_cast<Eigen::Index>(i);
        double mean = 0.0;
        for (std::size_t k = 0; k < 3; ++k) {
            auto const col = static_cast<Eigen::Index>(k);
            CHECK(weights(row, col) == Approx(mixture.weights[k]).epsilon(1e-14));
            CHECK(means(row, col) == mixture.means[k]);
            CHECK(deviations(row, col) == Approx(mixture.deviations[k]).epsilon(1e-14));
            mean += mixture.weights[k] * mixture.means[k];
        }
        CHECK(values[i] == Approx(mean).epsilon(1e-12));
        CHECK(given.head.mean(raw) == Approx(mean).epsilon(1e-12));
    }
    std::vector<double> numbers(20);
    gmac::heads::scalar{}.mean(outputs.col(3), numbers);
    CHECK(numbers[5] == outputs(5, 3));
}

TEST_CASE("the gradient may be written over the outputs", "[mixture]") {
    std::mt19937_64 random(24);
    auto const given = random_case<K>(random, 37, 5);
    table<double> expected(37, 3 * K), in_place = given.outputs;
    gaussian_mixture_energy{}.value_and_gradient(given.head, given.outputs.view(), given.targets(), expected.view());
    gaussian_mixture_energy{}.value_and_gradient(given.head, in_place.view(), given.targets(), in_place.view());
    CHECK(in_place.data == expected.data);

    // Beside each other in one matrix is no overlap.
    table<double> wide(37, 6 * K);
    for (std::size_t i = 0; i < 37; ++i)
        std::copy_n(&given.outputs(i, 0), 3 * K, &wide(i, 3 * K));
    gaussian_mixture_energy{}.value_and_gradient(given.head, wide.view().middle_cols(3 * K, 3 * K), given.targets(),
                                                 wide.view().middle_cols(0, 3 * K));
    CHECK(wide(20, 4) == expected(20, 4));
}

TEST_CASE("the losses allocate nothing", "[mixture]") {
    std::mt19937_64 random(25);
    auto const given = random_case<K>(random, 37, 130);
    table<double> gradient(37, 3 * K);
    std::vector<double> outputs(37, 0.5), returns(37, 0.25), slopes(37);
    auto const allocations = gmac::testing::allocations_during([&] {
        gaussian_mixture_energy{true}.value_and_gradient(given.head, given.outputs.view(), given.targets(),
                                                         gradient.view());
        gmac::losses::squared_error{}.value_and_gradient(gmac::heads::scalar{},
                                                         matrix_view<double>(outputs.data(), 37, 1), returns,
                                                         matrix_view<double>(slopes.data(), 37, 1));
    });
    CHECK(allocations == 0);
    CHECK(slopes[36] == Approx(0.25 / 37.0));
}
