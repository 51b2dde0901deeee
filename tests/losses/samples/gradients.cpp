// SPDX-License-Identifier: Apache-2.0
// Values and gradients of the losses between samples, against their definitions on dual numbers.
#include "losses/samples/problems.hpp"
#include "losses/samples/ways.hpp"
#include "support/catch.hpp"

#include <gmac/heads/dirac.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

constexpr std::size_t most = 9;
using variable = dual<double, most>;

/// How far a batch's value and gradient are from the definition, relative to the largest term of a state.
struct distance {
    double value = 0.0;
    double gradient = 0.0;

    /// `unit` is the size of a term's derivative with respect to a sample.
    template <class Judge, class T>
    void look(problem<T> const& p, T value_found, std::vector<T> const& gradient_found, double unit, Judge&& judge) {
        double sum = 0.0;
        double largest = 0.0;
        auto const states = static_cast<double>(p.states);
        for (std::size_t s = 0; s < p.states; ++s) {
            std::vector<variable> const x = variables<most>(p.row_of(p.values, s));
            judged<variable> const wanted = judge(std::span<variable const>(x), s);
            sum += wanted.sum.value / states;
            largest = (std::max)(largest, wanted.largest);
            for (std::size_t i = 0; i < p.samples; ++i) {
                double const found = static_cast<double>(gradient_found[s * p.samples + i]) * states;
                gradient = (std::max)(gradient, std::abs(found - wanted.sum.slope[i]) / unit);
            }
        }
        double const off = std::abs(static_cast<double>(value_found) - sum);
        value = (std::max)(value, largest > 0.0 ? off / largest : off);
    }
};

double log_uniform(random_stream& random, double low, double high) {
    return low * std::pow(high / low, random.uniform<double>());
}

struct setting {
    problem<double> p;
    double scale;
};

setting random_setting(random_stream& random) {
    double const scale = log_uniform(random, 1e-8, 1e8);
    double const offset = random.below(3) == 0 ? 100.0 * scale * random.normal<double>() : 0.0;
    std::size_t const states = 1 + random.below(24);
    std::size_t const samples = 1 + random.below(most);
    std::size_t const particles = 1 + random.below(most);
    return {random_problem<double>(random, states, samples, particles,
                                   {.scale = scale, .offset = offset, .weighted = random.below(2) == 0}),
            scale};
}

/// Some multiple of the scale, often one that is exactly a difference of crowded points.
double random_kappa(random_stream& random, double scale) {
    switch (random.below(5)) {
    case 0:
        return 0.0;
    case 1:
        return scale * static_cast<double>(1 + random.below(3));
    default:
        return log_uniform(random, 1e-4 * scale, 1e4 * scale);
    }
}

/// With and without a gradient, the compiler may fuse operations differently.
bool same(double a, double b, double scale) {
    return std::abs(a - b) <= 1e-13 * scale;
}

} // namespace

TEST_CASE("Huber quantile, expectile and sample energy equal their definitions, and gradients equal dual numbers") {
    random_stream random(1);
    std::size_t cases = 0;
    std::array<distance, all_ways.size()> huber, energy;
    distance expectile;
    while (cases < 100'000) {
        setting const drawn = random_setting(random);
        problem<double> const& p = drawn.p; // clang 14 captures no structured bindings
        double const scale = drawn.scale;
        cases += p.states;
        heads::implicit_quantile const head{.samples_per_state = p.samples};
        std::vector<double> gradient(p.values.size());
        matrix_view<double> const to(gradient.data(), p.states, p.samples);
        double const kappa = random_kappa(random, scale);
        bool const unbiased = p.samples > 1 && random.below(2) == 0;
        bool const target_term = random.below(2) == 0 && !(unbiased && (!p.weights.empty() || p.particles < 2));

        for (std::size_t a = 0; a < all_ways.size(); ++a) {
            huber_by const loss{all_ways[a], kappa};
            double const value = loss.value_and_gradient(head, p.outputs(), p.target_view(), to);
            REQUIRE(same(value, loss.value(head, p.outputs(), p.target_view()), value));
            huber[a].look(p, value, gradient, 1.0 / static_cast<double>(p.particles),
                          [&](std::span<variable const> x, std::size_t s) {
                              return huber_by_definition(x, p.row_of(p.fractions, s), p.row_of(p.targets, s),
                                                         p.row_of(p.weights, s), kappa);
                          });

            energy_by const distance{all_ways[a],
                                     {.statistic = unbiased ? losses::energy_statistic::u : losses::energy_statistic::v,
                                      .target_term = target_term}};
            double const found = distance.value_and_gradient(head, p.outputs(), p.target_view(), to);
            REQUIRE(same(found, distance.value(head, p.outputs(), p.target_view()), 100.0 * scale));
            double const unit = 1.0 / static_cast<double>(p.samples * (std::max)(p.particles, p.samples));
            energy[a].look(p, found, gradient, unit, [&](std::span<variable const> x, std::size_t s) {
                return energy_by_definition(x, p.row_of(p.targets, s), p.row_of(p.weights, s), unbiased, target_term);
            });
        }

        losses::expectile const square;
        double const value = square.value_and_gradient(head, p.outputs(), p.target_view(), to);
        REQUIRE(same(value, square.value(head, p.outputs(), p.target_view()), value));
        expectile.look(p, value, gradient, scale / static_cast<double>(p.particles),
                       [&](std::span<variable const> x, std::size_t s) {
                           return expectile_by_definition(x, p.row_of(p.fractions, s), p.row_of(p.targets, s),
                                                          p.row_of(p.weights, s));
                       });
    }
    for (distance const& d : {huber[0], huber[1], huber[2], energy[0], energy[1], energy[2], expectile}) {
        CHECK(d.value < 1e-12);
        CHECK(d.gradient < 1e-12);
    }
}

TEST_CASE("The kernels take dual numbers as a lane type") {
    random_stream random(2);
    for (int repetition = 0; repetition < 200; ++repetition) {
        std::size_t const samples = 2 + random.below(most - 1);
        problem<double> const p = random_problem<double>(random, 1, samples, 1 + random.below(most),
                                                         {.weighted = random.below(2) == 0, .crowding = 0.0});
        problem<variable> lifted{1, p.samples, p.particles, variables<most>(p.row_of(p.values, 0)), {}, {}, {}};
        lifted.fractions.assign(p.fractions.begin(), p.fractions.end());
        lifted.targets.assign(p.targets.begin(), p.targets.end());
        lifted.weights.assign(p.weights.begin(), p.weights.end());
        heads::implicit_quantile const head{.samples_per_state = p.samples};
        std::vector<double> gradient(p.samples);
        matrix_view<double> const to(gradient.data(), 1, p.samples);

        auto const look = [&](auto const& loss) {
            double const value = loss.value_and_gradient(head, p.outputs(), p.target_view(), to);
            variable const wanted = loss.value(head, lifted.outputs(), lifted.target_view());
            CHECK(value == Approx(wanted.value).epsilon(1e-12).margin(1e-14));
            for (std::size_t i = 0; i < p.samples; ++i)
                CHECK(gradient[i] == Approx(wanted.slope[i]).epsilon(1e-12).margin(1e-14));
        };
        look(losses::huber_quantile{.kappa = 0.7});
        look(losses::huber_quantile{.kappa = 0.0});
        look(losses::expectile{});
        look(losses::sample_energy{});
        look(losses::sample_energy{.statistic = losses::energy_statistic::u});
    }
}

TEST_CASE("Where points coincide the gradient is the middle of the subgradients") {
    heads::dirac<2> const head;
    std::vector<double> const x{1.0, 1.0};
    std::vector<double> const y{1.0, 1.0, 1.0};
    std::vector<double> gradient(2, 7.0);
    matrix_view<double const> const outputs(x.data(), 1, 2);
    targets::dirac_particles<double const> const targets{{y.data(), 1, 3}, {}};
    matrix_view<double> const to(gradient.data(), 1, 2);
    for (way const how : all_ways) {
        energy_by const energy{how};
        CHECK(energy.value_and_gradient(head, outputs, targets, to) == 0.0);
        CHECK(gradient == std::vector<double>{0.0, 0.0});
        huber_by const pinball{how, 0.0};
        CHECK(pinball.value_and_gradient(head, outputs, targets, to) == 0.0);
        CHECK(gradient == std::vector<double>{0.0, 0.0});
    }
    CHECK(losses::expectile{}.value_and_gradient(head, outputs, targets, to) == 0.0);
    CHECK(gradient == std::vector<double>{0.0, 0.0});
}

TEST_CASE("A small kappa tends to the pinball loss and a large one to half of the expectile loss") {
    random_stream random(3);
    problem<double> const p = random_problem<double>(random, 5, 6, 7);
    heads::implicit_quantile const head{.samples_per_state = p.samples};
    auto const value = [&](double kappa) {
        return losses::huber_quantile{.kappa = kappa}.value(head, p.outputs(), p.target_view());
    };
    CHECK(value(1e-9) == Approx(value(0.0)).epsilon(1e-8));
    CHECK(value(1e-300) == Approx(value(0.0)).epsilon(1e-14));
    double const square = losses::expectile{}.value(head, p.outputs(), p.target_view());
    CHECK(1e6 * value(1e6) == Approx(0.5 * square).epsilon(1e-12));
}
