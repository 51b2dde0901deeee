// SPDX-License-Identifier: Apache-2.0
#include "judges.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"

#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/nn/cosine_embedding.hpp>
#include <gmac/nn/implicit_quantile.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

constexpr std::size_t features = 7;
constexpr nn::implicit_quantile_options sizes{.samples = 5, .embedding = 11, .hidden = 9};

/// The value of one fraction, as the paper has it, for any number type.
template <class N>
N textbook_value(std::vector<N> const& parameters, std::vector<N> const& psi, double tau) {
    std::vector<N> cosines(sizes.embedding);
    for (std::size_t i = 0; i < cosines.size(); ++i)
        cosines[i] = N(std::cos(std::numbers::pi * static_cast<double>(i + 1) * tau));
    N const* p = parameters.data();
    std::vector<N> phi = textbook_layer<N>(cosines, p, features, nn::activation::relu);
    for (std::size_t j = 0; j < features; ++j)
        phi[j] = phi[j] * psi[j];
    p += (sizes.embedding + 1) * features;
    std::vector<N> const h = textbook_layer<N>(phi, p, sizes.hidden, nn::activation::relu);
    p += (features + 1) * sizes.hidden;
    return textbook_layer<N>(h, p, 1, nn::activation::none)[0];
}

template <class T>
std::vector<T> numbers_of(matrix_view<T const> m) {
    std::vector<T> result;
    for (std::size_t i = 0; i < m.rows(); ++i)
        for (std::size_t j = 0; j < m.cols(); ++j)
            result.push_back(m(i, j));
    return result;
}

} // namespace

TEMPLATE_TEST_CASE("The cosine embedding is cos(pi i tau), i from 1", "[nn][implicit_quantile]", float, double) {
    using T = TestType;
    for (std::size_t cols : {1u, 5u, 8u, 9u, 64u, 200u}) {
        std::vector<T> taus{T(0), T(0.5), T(1), T(1) / 3, T(0.999), T(1e-4)};
        strided_matrix<T> m(taus.size(), cols, layout::both_strided);
        nn::cosine_embedding<T>(taus, m.view());
        double worst = 0;
        for (std::size_t r = 0; r < taus.size(); ++r)
            for (std::size_t i = 0; i < cols; ++i) {
                double const angle = std::numbers::pi * static_cast<double>(i + 1) * static_cast<double>(taus[r]);
                worst = (std::max)(worst, std::abs(static_cast<double>(m.view()(r, i)) - std::cos(angle)));
            }
        CHECK(worst <= (std::max)(1e-11, static_cast<double>(std::numeric_limits<T>::epsilon())));
    }
}

TEMPLATE_TEST_CASE("Values and gradients of the implicit quantile network against dual numbers",
                   "[nn][implicit_quantile]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    using dual = gmac::testing::dual<double>;
    // 53 states are more than one chunk: 256 / 5 states.
    std::size_t const states = 53;
    nn::implicit_quantile_network<TestType> const net(features, sizes);
    random_stream random(1);
    std::vector<T> parameters = random_numbers<T>(net.parameter_count(), random, T(0.4));
    strided_matrix<T> psi(states, features, layout::column_major), psi_gradient(states, features, layout::padded_rows),
        output_gradient(states, sizes.samples, layout::both_strided);
    psi.fill(random);
    output_gradient.fill(random);
    auto workspace = net.make_workspace(states + 2);

    for (bool shared : {false, true}) {
        std::vector<T> taus(shared ? sizes.samples : states * sizes.samples);
        for (T& tau : taus)
            tau = random.template uniform<T>();
        matrix_view<T const> const fractions = shared ? shared_fractions(vector_view<T const>(taus), states)
                                                      : matrix_view<T const>(taus.data(), states, sizes.samples);
        auto const values = net.predict(parameters, psi.view(), fractions, workspace).values;
        REQUIRE(values.rows() == states);

        double worst = 0;
        std::vector<double> gradient(parameters.size());
        strided_matrix<double> feature_gradient(states, features, layout::row_major);
        std::vector<dual> p(parameters.begin(), parameters.end());
        for (std::size_t b = 0; b < states; ++b)
            for (std::size_t n = 0; n < sizes.samples; ++n) {
                std::vector<dual> x;
                for (std::size_t j = 0; j < features; ++j)
                    x.emplace_back(psi.view()(b, j));
                auto const tau = static_cast<double>(fractions(b, n));
                worst =
                    (std::max)(worst, std::abs(textbook_value(p, x, tau).value - static_cast<double>(values(b, n))));
                auto const weight = static_cast<double>(output_gradient.view()(b, n));
                auto const slope = [&](dual& variable) {
                    variable.slope[0] = weight;
                    double const result = textbook_value(p, x, tau).slope[0];
                    variable.slope[0] = 0;
                    return result;
                };
                if (n == 0)
                    for (std::size_t j = 0; j < features; ++j)
                        feature_gradient.view()(b, j) = 0;
                for (std::size_t j = 0; j < features; ++j)
                    feature_gradient.view()(b, j) += slope(x[j]);
                for (std::size_t i = 0; i < p.size(); ++i)
                    gradient[i] += slope(p[i]);
            }
        double const epsilon = std::numeric_limits<T>::epsilon();
        CHECK(worst <= 100 * epsilon);

        std::vector<T> found(parameters.size(), T(99));
        net.backward(parameters, psi.view(), workspace, output_gradient.view(), found, psi_gradient.view());
        double worst_gradient = 0;
        for (std::size_t i = 0; i < p.size(); ++i)
            worst_gradient = (std::max)(worst_gradient, std::abs(gradient[i] - static_cast<double>(found[i])));
        CHECK(worst_gradient <= 2000 * epsilon); // sums of 265 rows
        double worst_feature = 0;
        for (std::size_t b = 0; b < states; ++b)
            for (std::size_t j = 0; j < features; ++j)
                worst_feature = (std::max)(worst_feature, std::abs(feature_gradient.view()(b, j) -
                                                                   static_cast<double>(psi_gradient.view()(b, j))));
        CHECK(worst_feature <= 200 * epsilon);
        CHECK(psi_gradient.touched() == states * features);
    }
}

TEMPLATE_TEST_CASE("The first backward pass, which takes the memory, changes no value and no gradient",
                   "[nn][implicit_quantile]", GMAC_TEST_BACKENDS) {
    using T = typename TestType::scalar;
    nn::implicit_quantile_network<TestType> const net(features, sizes);
    random_stream random(2);
    std::vector<T> const parameters = random_numbers<T>(net.parameter_count(), random);
    std::vector<T> const psi = random_numbers<T>(60 * features, random);
    std::vector<T> const output_gradient = random_numbers<T>(60 * sizes.samples, random);
    std::vector<T> first(parameters.size()), second(parameters.size());
    matrix_view<T const> const x(psi.data(), 60, features), d(output_gradient.data(), 60, sizes.samples);
    auto workspace = net.make_workspace(60);
    random_stream a(3), b(3);
    auto const values = numbers_of<T>(net.predict(parameters, x, a, workspace).values);
    net.backward(parameters, x, workspace, d, first, {});
    CHECK(numbers_of<T>(net.predict(parameters, x, b, workspace).values) == values);
    net.backward(parameters, x, workspace, d, second, {});
    CHECK(first == second);
    CHECK(std::any_of(first.begin(), first.end(), [](T g) { return g != 0; }));
}

TEST_CASE("A prediction draws its fractions from the stream it is given", "[nn][implicit_quantile]") {
    using network = nn::implicit_quantile_network<simd_double>;
    heads::implicit_quantile const head{.samples_per_state = 3, .embedding = 4, .hidden = 5};
    network const own(head, features, 1.0);
    heads::implicit_quantile shared_head = head;
    shared_head.shared = true;
    network const shared(shared_head, features, 1.0);
    random_stream random(4);
    std::vector<double> parameters(own.parameter_count());
    own.initialize(parameters, random);
    std::vector<double> const psi = random_numbers<double>(6 * features, random);
    matrix_view<double const> const x(psi.data(), 6, features);
    auto workspace = own.make_workspace(6);
    auto shared_workspace = shared.make_workspace(6);

    random_stream a(5), copy(5);
    auto const y = own.predict(parameters, x, a, workspace);
    for (double tau : numbers_of<double>(y.fractions))
        CHECK(tau == copy.uniform<double>());
    CHECK(a.position() == 6 * 3 * 2);
    CHECK(network::columns(y).data() == y.values.data());
    auto const values = numbers_of<double>(y.values);
    auto other_workspace = own.make_workspace(6);
    CHECK(numbers_of<double>(own.predict(parameters, x, y.fractions, other_workspace).values) == values);

    random_stream b(5);
    auto const z = shared.predict(parameters, x, b, shared_workspace);
    CHECK(z.fractions.row_stride() == 0);
    CHECK(b.position() == 3 * 2);
    CHECK(z.fractions(5, 2) == z.fractions(0, 2));
    // Shared or not, the same fraction gives the same value.
    std::vector<double> const taus = numbers_of<double>(z.fractions);
    auto const expected = numbers_of<double>(own.predict(parameters, x, {taus.data(), 6, 3}, other_workspace).values);
    CHECK(numbers_of<double>(z.values) == expected);
    // A single row of fractions is shared too.
    auto const shared_by_all = own.predict(parameters, x, {taus.data(), 1, 3}, other_workspace);
    CHECK(numbers_of<double>(shared_by_all.values) == expected);
    CHECK(numbers_of<double>(shared_by_all.fractions) == numbers_of<double>({taus.data(), 6, 3, 0, 1}));

    // No state, in memory for none.
    auto nothing = own.make_workspace(0), shared_nothing = shared.make_workspace(0);
    matrix_view<double const> const no_states(psi.data(), 0, features);
    for (std::size_t const rows : {0u, 1u})
        CHECK(own.predict(parameters, no_states, {taus.data(), rows, 3}, nothing).values.rows() == 0);
    CHECK(shared.predict(parameters, no_states, b, shared_nothing).values.rows() == 0);
}

TEST_CASE("The implicit quantile network names its tensors and refuses what does not fit", "[nn][implicit_quantile]") {
    using network = nn::implicit_quantile_network<simd_float>;
    network const net(2, {.samples = 3, .embedding = 4, .hidden = 5});
    using entry = std::tuple<std::string, std::size_t, std::size_t, std::size_t>;
    std::vector<entry> found;
    net.describe([&](auto const& name, std::size_t offset, std::size_t rows, std::size_t cols) {
        found.emplace_back(std::string(name), offset, rows, cols);
    });
    CHECK(found == std::vector<entry>{{"embedding.weight", 0, 4, 2},
                                      {"embedding.bias", 8, 1, 2},
                                      {"hidden.weight", 10, 2, 5},
                                      {"hidden.bias", 20, 1, 5},
                                      {"value.weight", 25, 5, 1},
                                      {"value.bias", 30, 1, 1}});
    CHECK(net.parameter_count() == 31);
    CHECK_THROWS_WITH(network(2, {.samples = 0}),
                      "implicit_quantile_network: samples is 0, but must be in [1, 16777216]");
    CHECK_THROWS_WITH(network(2, {.samples = 9223372036854775808u}),
                      "implicit_quantile_network: samples is 9223372036854775808, but must be in [1, 16777216]");
    CHECK_THROWS_AS(network(2, {.hidden = 0}), error);

    auto workspace = net.make_workspace(2);
    std::vector<float> parameters(31), memory(40);
    auto const rows = [&](std::size_t n, std::size_t m) { return matrix_view<float>(memory.data(), n, m); };
    CHECK_THROWS_WITH(net.predict(parameters, rows(3, 2), rows(3, 3), workspace),
                      "implicit_quantile_network: 3 states given, but the workspace was made for 2");
    CHECK_THROWS_WITH(net.predict(parameters, rows(2, 2), rows(2, 4), workspace),
                      "implicit_quantile_network::predict: the fractions are 2 x 4, but must be 2 x 3 or 1 x 3");
    CHECK_THROWS_WITH(net.predict(parameters, rows(2, 2), matrix_view<float>(memory.data(), 5, 3, 0, 1), workspace),
                      "implicit_quantile_network::predict: the fractions are 5 x 3, but must be 2 x 3 or 1 x 3");
    CHECK_THROWS_WITH(net.predict(parameters, rows(2, 3), rows(2, 3), workspace),
                      "implicit_quantile_network::predict: the feature matrix is 2 x 3, but must be 2 x 2");
    (void)net.predict(parameters, rows(2, 2), rows(2, 3), workspace);
    CHECK_THROWS_WITH(net.backward(parameters, rows(1, 2), workspace, rows(1, 3), parameters, {}),
                      "implicit_quantile_network::backward: 1 states given, but the last forward pass had 2");
    CHECK_THROWS_WITH(net.backward(parameters, rows(2, 2), workspace, rows(2, 2), parameters, {}),
                      "implicit_quantile_network::backward: the output gradient is 2 x 2, but must be 2 x 3");
}
