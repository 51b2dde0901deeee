// SPDX-License-Identifier: Apache-2.0
// Values and gradients of the losses on atoms, against their definitions on dual numbers.
#include "losses/categorical/problems.hpp"
#include "support/catch.hpp"
#include "support/dual.hpp"

#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>

#include <array>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T>
struct outcome {
    T value;
    std::vector<T> gradient;
};
template <class Loss, std::size_t N, class T>
outcome<T> run(Loss const& loss, heads::categorical<N> const& head, atom_problem<T> const& p) {
    outcome<T> result{T(0), std::vector<T>(p.states * N, T(77))};
    result.value =
        loss.value_and_gradient(head, p.outputs(), p.targets(), matrix_view<T>(result.gradient.data(), p.states, N));
    return result;
}

/// The largest error of value and gradient, relative to `unit` of a loss.
template <class Loss, std::size_t N, class Judge>
double worst_error(Loss const& loss, heads::categorical<N> const& head, atom_problem<double> const& p, double unit,
                   Judge&& judge) {
    using variable = dual<double, N>;
    auto const found = run(loss, head, p);
    double worst = std::abs(found.value - loss.value(head, p.outputs(), p.targets())) / unit;
    double value = 0.0;
    for (std::size_t s = 0; s < p.states; ++s) {
        std::vector<variable> logits;
        for (std::size_t i = 0; i < N; ++i)
            logits.push_back(variable::variable(p.logits[s * N + i], i));
        variable const wanted = judge(logits, s);
        value += wanted.value / static_cast<double>(p.states);
        for (std::size_t i = 0; i < N; ++i)
            worst = (std::max)(worst,
                               std::abs(found.gradient[s * N + i] * static_cast<double>(p.states) - wanted.slope[i]) /
                                   unit);
    }
    return (std::max)(worst, std::abs(found.value - value) / unit / (1.0 + std::abs(value) / unit));
}

template <std::size_t N>
void look(random_stream& random, std::array<double, 3>& worst) {
    auto const head = random_head<N>(random);
    auto const p =
        random_problem<double>(random, head, 1 + random.below(20), 1 + random.below(20), random.below(2) == 0);
    auto const atoms = atoms_of(head);
    auto const keep = [](double& to, double error) { to = (std::max)(to, error); };
    keep(worst[0],
         worst_error(losses::categorical_cross_entropy{}, head, p, 1.0,
                     [&](auto const& logits, std::size_t s) { return cross_entropy(projected(atoms, p, s), logits); }));
    losses::hl_gauss const smooth{.deviation = 0.2 + 2.0 * random.uniform<double>()};
    keep(worst[1], worst_error(smooth, head, p, 1.0, [&](auto const& logits, std::size_t s) {
             return cross_entropy(gaussian_histogram(head, p, s, static_cast<long double>(smooth.deviation)), logits);
         }));
    keep(worst[2], worst_error(losses::categorical_energy{}, head, p, head.maximum - head.minimum,
                               [&](auto const& logits, std::size_t s) {
                                   return energy_by_definition(atoms, logits, std::span<long double const>(atoms),
                                                               std::span<long double const>(projected(atoms, p, s)));
                               }));
}

} // namespace

TEST_CASE("The losses on atoms equal their definitions, and gradients equal dual numbers") {
    random_stream random(1);
    std::array<double, 3> worst{};
    for (int repeat = 0; repeat < 400; ++repeat) {
        look<2>(random, worst);
        look<7>(random, worst);
        if (repeat < 40)
            look<33>(random, worst);
    }
    CAPTURE(worst[0], worst[1], worst[2]);
    CHECK(worst[0] < 1e-12);
    CHECK(worst[1] < 1e-12);
    CHECK(worst[2] < 1e-12);
}

TEST_CASE("The energy on atoms is that to the particles themselves, but for a term without the prediction") {
    random_stream random(2);
    using number = dual<double, 1>;
    double worst = 0.0;
    for (int repeat = 0; repeat < 200; ++repeat) {
        auto const head = random_head<7>(random);
        auto const one = random_problem<double>(random, head, 1, 9, repeat % 2 == 0);
        auto other = one;
        for (double& l : other.logits)
            l = random.normal<double>();
        std::vector<long double> points, weights;
        for (std::size_t j = 0; j < one.particles; ++j) {
            points.push_back(one.point(0, j));
            weights.push_back(one.weight(0, j));
        }
        auto const exact = [&](atom_problem<double> const& p) {
            std::vector<number> const logits(p.logits.begin(), p.logits.end());
            return energy_by_definition(atoms_of(head), logits, std::span<long double const>(points),
                                        std::span<long double const>(weights))
                .value;
        };
        losses::categorical_energy const loss;
        double const by_loss =
            loss.value(head, one.outputs(), one.targets()) - loss.value(head, other.outputs(), other.targets());
        worst = (std::max)(worst, std::abs(by_loss - (exact(one) - exact(other))) / (head.maximum - head.minimum));
    }
    CHECK(worst < 1e-12);
}

TEST_CASE("The target itself has energy zero, and the cross-entropy its entropy, with no gradient") {
    heads::categorical<4> const head{.minimum = 0.0, .maximum = 3.0};
    // Masses 0.25, 0.25, 0.375, 0.125.
    std::vector<double> const points{0.0, 1.0, 2.0, 2.5}, logits{std::log(2.0), std::log(2.0), std::log(3.0), 0.0};
    atom_problem<double> const p{1, 4, 4, logits, points, {}};
    auto const energy = run(losses::categorical_energy{}, head, p);
    auto const entropy = run(losses::categorical_cross_entropy{}, head, p);
    CHECK(energy.value == Approx(0.0).margin(1e-30));
    CHECK(entropy.value == Approx(0.5 * std::log(4.0) + 0.375 * std::log(8.0 / 3.0) + 0.125 * std::log(8.0)));
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(energy.gradient[i] == Approx(0.0).margin(1e-15));
        CHECK(entropy.gradient[i] == Approx(0.0).margin(1e-15));
    }
}

namespace {

/// Calls check(loss) for each loss.
template <class Check>
void each_loss(Check&& check) {
    check(losses::categorical_cross_entropy{});
    check(losses::hl_gauss{});
    check(losses::categorical_energy{});
}

template <class T>
void survives_extremes() {
    heads::categorical<5> const head{.minimum = -1.0, .maximum = 1.0};
    // A certain prediction, right and wrong, and one of all atoms alike however large the logits are.
    std::vector<T> const logits{-1e30f, -1e30f, 1e30f, -1e30f, -1e30f, 1e30f, -1e30f, -1e30f,
                                -1e30f, -1e30f, 1e30f, 1e30f,  1e30f,  1e30f, 1e30f};
    atom_problem<T> const p{3, 5, 2, logits, std::vector<T>(6, T(0)), {}};
    auto const row = [&](auto const& loss, std::size_t s) {
        std::vector<T> const own(logits.begin() + static_cast<std::ptrdiff_t>(5 * s),
                                 logits.begin() + static_cast<std::ptrdiff_t>(5 * s + 5));
        return run(loss, head, atom_problem<T>{1, 5, 2, own, std::vector<T>(2, T(0)), {}});
    };
    each_loss([&](auto const& loss) {
        auto const found = run(loss, head, p);
        CHECK(std::isfinite(found.value));
        for (T const slope : found.gradient)
            CHECK(std::isfinite(slope));
    });
    CHECK(row(losses::categorical_cross_entropy{}, 0).value == T(0));
    CHECK(row(losses::categorical_cross_entropy{}, 1).value == T(2e30f));
    CHECK(row(losses::categorical_cross_entropy{}, 1).gradient == std::vector<T>{1, 0, -1, 0, 0});
    CHECK(static_cast<double>(row(losses::categorical_cross_entropy{}, 2).value) ==
          Approx(std::log(5.0)).epsilon(1e-6));
    CHECK(row(losses::categorical_energy{}, 0).value == T(0));
    CHECK(row(losses::categorical_energy{}, 1).value == T(2)); // 2 ∫ over [−1, 0]
    CHECK(static_cast<double>(row(losses::categorical_energy{}, 2).value) == Approx(0.4).epsilon(1e-6));
}

/// Of three states one is spoiled; the others' gradients are what they are without it.
template <class T>
void says_nan() {
    constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
    constexpr T infinity = std::numeric_limits<T>::infinity();
    random_stream random(5);
    for (bool const symlog : {false, true}) {
        heads::categorical<5> const head{.minimum = -1.0, .maximum = 1.0, .symlog = symlog};
        auto const whole = random_problem<T>(random, head, 3, 4, false);
        each_loss([&](auto const& loss) {
            auto const wanted = run(loss, head, whole);
            REQUIRE(std::isfinite(wanted.value));
            auto const look = [&](atom_problem<T> const& spoiled) {
                auto const found = run(loss, head, spoiled);
                CHECK(std::isnan(found.value));
                CHECK(std::isnan(loss.value(head, spoiled.outputs(), spoiled.targets())));
                for (std::size_t i = 0; i < 5; ++i) {
                    CHECK(found.gradient[i] == wanted.gradient[i]);
                    CHECK(std::isnan(found.gradient[5 + i]));
                    CHECK(found.gradient[10 + i] == wanted.gradient[10 + i]);
                }
            };
            for (T const bad : {not_a_number, infinity})
                for (std::size_t i = 0; i < 5; ++i) {
                    auto spoiled = whole;
                    spoiled.logits[5 + i] = bad;
                    look(spoiled);
                }
            for (T const bad : {not_a_number, infinity, -infinity})
                for (std::size_t j = 0; j < 4; ++j) {
                    auto spoiled = whole;
                    spoiled.points[4 + j] = bad;
                    look(spoiled);
                }
        });
    }
}

} // namespace

TEST_CASE("Logits as large as numbers may be give finite losses and gradients") {
    survives_extremes<float>();
    survives_extremes<double>();
}

TEST_CASE("What is not finite makes the loss NaN, and the gradient of its state") {
    says_nan<float>();
    says_nan<double>();
}

TEST_CASE("Float differs from double by rounding") {
    random_stream random(6);
    heads::categorical<51> const head;
    auto const rounded = random_problem<float>(random, head, 40, 64, false);
    atom_problem<double> const exact{40,
                                     51,
                                     64,
                                     {rounded.logits.begin(), rounded.logits.end()},
                                     {rounded.points.begin(), rounded.points.end()},
                                     {}};
    each_loss([&](auto const& loss) {
        auto const wanted = run(loss, head, exact);
        auto const found = run(loss, head, rounded);
        CHECK(static_cast<double>(found.value) == Approx(wanted.value).epsilon(1e-5));
        double worst = 0.0;
        for (std::size_t i = 0; i < wanted.gradient.size(); ++i)
            worst = (std::max)(worst, std::abs(static_cast<double>(found.gradient[i]) - wanted.gradient[i]));
        CHECK(worst < 1e-6);
    });
}
