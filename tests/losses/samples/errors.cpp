// SPDX-License-Identifier: Apache-2.0
// What is refused, and in which words; on plain vectors and on Eigen.
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <fmt/format.h>
#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

using namespace gmac;
using gmac::testing::says;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Two states of three samples against four particles, in plain vectors.
struct plain {
    std::vector<double> outputs = std::vector<double>(6, 1.0);
    std::vector<double> fractions = std::vector<double>(6, 0.5);
    std::vector<double> targets = std::vector<double>(8, 2.0);
    std::vector<double> weights = std::vector<double>(8, 0.25);
    std::vector<double> gradient = std::vector<double>(6);

    matrix_view<double> output_view() { return {outputs.data(), 2, 3}; }
    matrix_view<double> fraction_view() { return {fractions.data(), 2, 3}; }
    targets::dirac_particles<double> target_view() { return {{targets.data(), 2, 4}, {weights.data(), 2, 4}}; }
    matrix_view<double> gradient_view() { return {gradient.data(), 2, 3}; }
};

using matrix = Eigen::MatrixXd;

/// Calls check(name, loss) for each loss.
template <class Check>
void each_loss(Check&& check) {
    check("huber_quantile", losses::huber_quantile{});
    check("expectile", losses::expectile{});
    check("sample_energy", losses::sample_energy{});
}

} // namespace

TEST_CASE("Shapes that do not match are named, both of them") {
    heads::dirac<3> const head;
    each_loss([&](std::string const& name, auto const& loss) {
        plain p;
        auto const dirac = [&](auto outputs, auto targets, auto gradient) {
            return loss.value_and_gradient(head, outputs, targets, gradient);
        };
        CHECK_THROWS_WITH(dirac(matrix_view<double>(p.outputs.data(), 3, 2), p.target_view(), p.gradient_view()),
                          "dirac head: outputs is 3 x 2, but must be 3 x 3");
        CHECK_THROWS_WITH(dirac(p.output_view(), targets::dirac_particles<double>{{p.targets.data(), 4, 2}, {}},
                                p.gradient_view()),
                          name + ": the matrix of target values is 4 x 2, but must be 2 x 2");
        CHECK_THROWS_WITH(dirac(p.output_view(),
                                targets::dirac_particles<double>{{p.targets.data(), 2, 4}, {p.weights.data(), 2, 3}},
                                p.gradient_view()),
                          name + ": the matrix of target weights is 2 x 3, but must be 2 x 4");
        CHECK_THROWS_WITH(dirac(p.output_view(), p.target_view(), matrix_view<double>(p.gradient.data(), 3, 2)),
                          name + ": the gradient is 3 x 2, but must be 2 x 3");

        matrix outputs = matrix::Ones(2, 3), particles = matrix::Ones(3, 4), gradient(2, 3);
        CHECK_THROWS_WITH(loss.value_and_gradient(head, outputs, targets::dirac_particles<double>{particles, {}},
                                                  gradient),
                          name + ": the matrix of target values is 3 x 4, but must be 2 x 4");

        heads::implicit_quantile const implicit{.samples_per_state = 3};
        CHECK_THROWS_WITH(loss.value(heads::implicit_quantile{},
                                     quantile_outputs<double>{p.output_view(), p.fraction_view()}, p.target_view()),
                          "implicit_quantile head: the matrix of quantiles is 2 x 3, but must be 2 x 64");
        if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(loss)>, losses::sample_energy>)
            CHECK_THROWS_WITH(loss.value(implicit,
                                         quantile_outputs<double>{p.output_view(), {p.fractions.data(), 3, 2}},
                                         p.target_view()),
                              "implicit_quantile head: the matrix of fractions is 3 x 2, but must be 2 x 3");
    });
}

TEST_CASE("Empty batches, heads and targets are refused") {
    each_loss([&](std::string const& name, auto const& loss) {
        plain p;
        CHECK_THROWS_WITH(loss.value(heads::dirac<3>{}, matrix_view<double>(p.outputs.data(), 0, 3),
                                     targets::dirac_particles<double>{{p.targets.data(), 0, 4}, {}}),
                          name + ": the batch is empty, but must have at least one state");
        CHECK_THROWS_WITH(loss.value(heads::dirac<3>{}, p.output_view(),
                                     targets::dirac_particles<double>{{p.targets.data(), 2, 0}, {}}),
                          name + ": the targets have no particles");
        CHECK_THROWS_WITH(loss.value(heads::implicit_quantile{.samples_per_state = 0},
                                     quantile_outputs<double>{{p.outputs.data(), 2, 0}, {p.fractions.data(), 2, 0}},
                                     p.target_view()),
                          name + ": the head predicts no samples, but must predict at least one");
        matrix outputs = matrix::Ones(2, 3), particles(2, 0), gradient(2, 3);
        CHECK_THROWS_WITH(loss.value_and_gradient(heads::dirac<3>{}, outputs,
                                                  targets::dirac_particles<double>{particles, {}}, gradient),
                          name + ": the targets have no particles");
    });
}

TEST_CASE("Weights that are no distribution are refused") {
    each_loss([&](std::string const& name, auto const& loss) {
        heads::dirac<3> const head;
        plain p;
        p.weights[5] = -0.25;
        CHECK_THROWS_WITH(loss.value(head, p.output_view(), p.target_view()),
                          name + ": the target weight of state 1, particle 1 is -0.25, but must be in [0, 1]");
        p.weights[5] = not_a_number;
        CHECK_THROWS_WITH(loss.value(head, p.output_view(), p.target_view()),
                          name + ": the target weight of state 1, particle 1 is nan, but must be in [0, 1]");
        p.weights[5] = 0.3;
        CHECK_THROWS_WITH(loss.value(head, p.output_view(), p.target_view()),
                          says(name + ": the target weights of state 1 sum to 1.05, but must sum to 1"));
        p.weights[5] = 0.25 + 1e-7;
        CHECK_NOTHROW(loss.value(head, p.output_view(), p.target_view()));
        matrix outputs = matrix::Ones(2, 3), particles = matrix::Ones(2, 2), weights = matrix::Constant(2, 2, 0.5);
        weights(0, 0) = 0.4;
        CHECK_THROWS_WITH(loss.value(head, outputs, targets::dirac_particles<double>{particles, weights}),
                          says(name + ": the target weights of state 0 sum to 0.9, but must sum to 1"));
    });
}

TEST_CASE("Fractions outside [0, 1] are refused by losses that look at them") {
    heads::implicit_quantile const head{.samples_per_state = 3};
    plain p;
    quantile_outputs<double> const outputs{p.output_view(), p.fraction_view()};
    for (double bad : {-0.001, 1.001, not_a_number, std::numeric_limits<double>::infinity()}) {
        std::ranges::fill(p.fractions, 0.5);
        p.fractions[4] = bad;
        auto const message = fmt::format(": the fraction of state 1, quantile 1 is {}, but must be in [0, 1]", bad);
        CHECK_THROWS_WITH(losses::huber_quantile{}.value(head, outputs, p.target_view()), "huber_quantile" + message);
        CHECK_THROWS_WITH(losses::expectile{}.value(head, outputs, p.target_view()), "expectile" + message);
        CHECK_NOTHROW(losses::sample_energy{}.value(head, outputs, p.target_view()));
    }
    p.fractions = {0.0, 1.0, 0.0, 1.0, 0.0, 1.0};
    CHECK_NOTHROW(losses::huber_quantile{}.value(head, outputs, p.target_view()));
    p.fractions[1] = 2.0;
    quantile_outputs<double> const shared{p.output_view(), {p.fractions.data(), 2, 3, 0, 1}};
    CHECK_THROWS_WITH(losses::huber_quantile{}.value(head, shared, p.target_view()),
                      "huber_quantile: the fraction of state 0, quantile 1 is 2, but must be in [0, 1]");
}

TEST_CASE("One bad number is found wherever it stands in a row") {
    constexpr std::size_t n = 37;
    heads::implicit_quantile const head{.samples_per_state = n};
    std::vector<float> outputs(2 * n, 1.0f), fractions(2 * n, 0.25f), weights(2 * n, 1.0f / 37.0f);
    matrix_view<float const> const values(outputs.data(), 2, n);
    for (std::size_t i = 0; i < 2 * n; ++i)
        for (double bad : {-1e-6, 1.5, not_a_number}) {
            fractions[i] = static_cast<float>(bad);
            weights[i] = static_cast<float>(bad == 1.5 ? 2.5 : bad);
            auto const at = [&](char const* unit, float value) {
                return fmt::format("of state {}, {} {} is {}, but must be in [0, 1]", i / n, unit, i % n,
                                   static_cast<double>(value));
            };
            CHECK_THROWS_WITH(losses::huber_quantile{}.value(head,
                                                             quantile_outputs<float const>{values,
                                                                                           {fractions.data(), 2, n}},
                                                             targets::dirac_particles<float const>{values, {}}),
                              "huber_quantile: the fraction " + at("quantile", fractions[i]));
            fractions[i] = 0.25f;
            CHECK_THROWS_WITH(losses::huber_quantile{}
                                  .value(head, quantile_outputs<float const>{values, {fractions.data(), 2, n}},
                                         targets::dirac_particles<float const>{values, {weights.data(), 2, n}}),
                              "huber_quantile: the target weight " + at("particle", weights[i]));
            weights[i] = 1.0f / 37.0f;
        }
}

TEST_CASE("Kappa must be finite and not negative") {
    plain p;
    for (double bad : {-1.0, -1e-300, not_a_number, std::numeric_limits<double>::infinity()})
        CHECK_THROWS_WITH(losses::huber_quantile{.kappa = bad}.value(heads::dirac<3>{}, p.output_view(),
                                                                     p.target_view()),
                          says("huber_quantile: kappa is ") && says(", but must be finite and not negative"));
}

TEST_CASE("The U-statistic says what it needs") {
    plain p;
    losses::sample_energy const u{.statistic = losses::energy_statistic::u};
    CHECK_THROWS_WITH(u.value(heads::dirac<1>{}, matrix_view<double>(p.outputs.data(), 2, 1), p.target_view()),
                      "sample_energy: the U-statistic needs at least two samples, but the head gives one");
    losses::sample_energy const full{.statistic = losses::energy_statistic::u, .target_term = true};
    CHECK_THROWS_WITH(full.value(heads::dirac<3>{}, p.output_view(),
                                 targets::dirac_particles<double>{{p.targets.data(), 2, 1}, {}}),
                      "sample_energy: the U-statistic of the targets needs at least two particles, but there is one");
    CHECK_THROWS_WITH(full.value(heads::dirac<3>{}, p.output_view(), p.target_view()),
                      "sample_energy: the U-statistic of the targets needs particles without weights");
}

TEST_CASE("A gradient over memory that is read is refused; beside it, it is right") {
    heads::dirac<3> const head;
    each_loss([&](std::string const& name, auto const& loss) {
        plain p;
        std::vector<double> wanted(6);
        loss.value_and_gradient(head, p.output_view(), p.target_view(), matrix_view<double>(wanted.data(), 2, 3));

        CHECK_THROWS_WITH(loss.value_and_gradient(head, p.output_view(), p.target_view(), p.output_view()),
                          name + ": the gradient overlaps the outputs in memory, but must have memory of its own");
        CHECK_THROWS_WITH(loss.value_and_gradient(head, p.output_view(), p.target_view(),
                                                  matrix_view<double>(p.targets.data() + 2, 2, 3)),
                          name + ": the gradient overlaps the targets in memory, but must have memory of its own");
        CHECK_THROWS_WITH(loss.value_and_gradient(head, p.output_view(), p.target_view(),
                                                  matrix_view<double>(p.weights.data(), 2, 3)),
                          name + ": the gradient overlaps the targets in memory, but must have memory of its own");
        CHECK(p.outputs == std::vector<double>(6, 1.0));

        // Left and right halves of one matrix.
        std::vector<double> both(12, 1.0);
        loss.value_and_gradient(head, matrix_view<double>(both.data(), 2, 3, 6, 1), p.target_view(),
                                matrix_view<double>(both.data() + 3, 2, 3, 6, 1));
        for (std::size_t i = 0; i < 2; ++i)
            for (std::size_t j = 0; j < 3; ++j) {
                CHECK(both[6 * i + j] == 1.0);
                CHECK(both[6 * i + 3 + j] == wanted[3 * i + j]);
            }

        matrix outputs = matrix::Ones(2, 3), particles = matrix::Ones(2, 4);
        CHECK_THROWS_WITH(loss.value_and_gradient(head, outputs, targets::dirac_particles<double>{particles, {}},
                                                  outputs),
                          says("overlaps the outputs"));
    });
    heads::implicit_quantile const implicit{.samples_per_state = 3};
    plain p;
    CHECK_THROWS_WITH(losses::huber_quantile{}.value_and_gradient(implicit,
                                                                  quantile_outputs<double>{p.output_view(),
                                                                                           p.fraction_view()},
                                                                  p.target_view(), p.fraction_view()),
                      "huber_quantile: the gradient overlaps the fractions in memory, but must have memory of its own");
}
