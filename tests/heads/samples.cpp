// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <gmac/heads/dirac.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/detail/sample_batch.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

using namespace gmac;

TEST_CASE("A Dirac head's outputs are its points, at the midpoints of N equal parts") {
    heads::dirac<4> const head;
    CHECK(head.output_size() == 4);
    CHECK(head.support_size() == 4);
    CHECK(heads::dirac<4>::midpoints<double> == std::array<double, 4>{0.125, 0.375, 0.625, 0.875});
    CHECK(heads::dirac<3>::midpoints<float>[1] == 0.5f);

    std::vector<double> const outputs{3.0, -1.0, 2.0, 8.0, 1.0, 1.0, 1.0, 2.0};
    matrix_view<double const> const view(outputs.data(), 2, 4);
    std::vector<double> values(2), points(8);
    head.mean(view, values);
    CHECK(values == std::vector<double>{3.0, 1.25});
    head.support(view, matrix_view<double>(points.data(), 2, 4));
    CHECK(points == outputs);
    auto const quantiles = head.quantiles(view);
    CHECK(quantiles.values.data() == outputs.data());
    CHECK(quantiles.fractions.row_stride() == 0);
    CHECK(quantiles.fractions(1, 2) == 0.625);
    CHECK(quantiles.rows() == 2);
    CHECK(quantiles.quantiles() == 4);
    CHECK(head.samples(view).data() == outputs.data());
}

TEST_CASE("An implicit-quantile head draws fractions, for every state or once") {
    heads::implicit_quantile const head{.samples_per_state = 1000};
    CHECK(heads::implicit_quantile{}.output_size() == 64);
    CHECK(heads::implicit_quantile{}.embedding == 64);
    CHECK(heads::implicit_quantile{}.hidden == 256);
    CHECK(head.fraction_rows(5) == 5);
    CHECK(heads::implicit_quantile{.shared = true}.fraction_rows(5) == 1);

    std::vector<float> fractions(3000);
    random_stream random(1, 2);
    head.draw(random, matrix_view<float>(fractions.data(), 3, 1000));
    CHECK(random.position() == 3000);
    CHECK(std::ranges::all_of(fractions, [](float tau) { return tau >= 0.0f && tau < 1.0f; }));
    CHECK(testing::kolmogorov(fractions, [](double tau) { return tau; }) < 2.23); // passed once in 10,000 times

    std::vector<double> values{1.0, 2.0, 3.0, 6.0, 5.0, 4.0}, taus(6, 0.5), means(2), points(6);
    heads::implicit_quantile const three{.samples_per_state = 3};
    quantile_outputs<double> const outputs{{values.data(), 2, 3}, {taus.data(), 2, 3}};
    three.mean(outputs, means);
    CHECK(means == std::vector<double>{2.0, 5.0});
    means = {0.0, 0.0};
    three.mean(outputs.values, means);
    CHECK(means == std::vector<double>{2.0, 5.0});
    three.support(outputs.values, matrix_view<double>(points.data(), 2, 3));
    CHECK(points == values);
    CHECK(three.quantiles(outputs).fractions.data() == taus.data());
    CHECK(outputs.middle_rows(1, 1).values(0, 0) == 6.0);
}

TEST_CASE("Quantiles are samples with their fractions and without, and may be changed before they are read") {
    heads::implicit_quantile const head{.samples_per_state = 2};
    std::vector<float> values{1.0f, 3.0f, 5.0f, 9.0f};
    std::vector<float> const fractions{0.25f, 0.75f};
    matrix_view<float> const matrix(values.data(), 2, 2);
    quantile_outputs<float const> quantiles{matrix, shared_fractions(vector_view<float const>(fractions), 2)};
    std::vector<float> means(2);
    head.mean(quantiles, means);
    CHECK(means == std::vector{2.0f, 7.0f});
    CHECK(head.samples(quantiles).data() == values.data());
    CHECK(head.samples(matrix).data() == values.data());
    CHECK_THROWS_WITH(head.samples(matrix.middle_cols(0, 1)),
                      "implicit_quantile head: the matrix of quantiles is 2 x 1, but must be 2 x 2");
}

TEST_CASE("Means in float do not lose what many samples add") {
    heads::implicit_quantile const head{.samples_per_state = 100'000};
    std::vector<float> values(100'000, 0.1f), means(1);
    head.mean(matrix_view<float const>(values.data(), 1, values.size()), means);
    CHECK(means[0] == 0.1f);
}

static_assert(losses::sample_head<heads::dirac<5>> && losses::quantile_head<heads::dirac<5>>);
static_assert(losses::sample_head<heads::implicit_quantile> && losses::quantile_head<heads::implicit_quantile>);

TEST_CASE("Heads check what they are given") {
    std::vector<double> numbers(6), values(3);
    matrix_view<double> const outputs(numbers.data(), 2, 3);
    CHECK_THROWS_WITH(heads::dirac<3>{}.mean(outputs, values),
                      "dirac head: there are 3 values, but must be 2, one for each row of the outputs");
    CHECK_THROWS_WITH(heads::dirac<4>{}.support(outputs, outputs), "dirac head: outputs is 2 x 3, but must be 2 x 4");
    CHECK_THROWS_WITH(heads::dirac<3>{}.support(outputs, matrix_view<double>(numbers.data(), 3, 2)),
                      "dirac head: the matrix of points is 3 x 2, but must be 2 x 3");
    CHECK_THROWS_WITH(heads::implicit_quantile{}.mean(outputs, values),
                      "implicit_quantile head: there are 3 values, but must be 2, one for each row of the outputs");
    values.resize(2);
    CHECK_THROWS_WITH(heads::implicit_quantile{}.mean(outputs, values),
                      "implicit_quantile head: outputs is 2 x 3, but must be 2 x 64");
    CHECK_THROWS_WITH(heads::dirac<4>{}.mean(outputs, values), "dirac head: outputs is 2 x 3, but must be 2 x 4");
    random_stream random(1);
    CHECK_THROWS_WITH(heads::implicit_quantile{}.draw(random, outputs),
                      "implicit_quantile head: fractions is 2 x 3, but must have 64 columns");
}
