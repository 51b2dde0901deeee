// SPDX-License-Identifier: Apache-2.0
// Policies with outputs of any size: log probability, entropy and gradients against their formulas in long double.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/actors/diagonal_gaussian.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

/// A batch of one state in the middle of a lane's width of others, which must not be spoilt by it.
template <class T>
struct answers {
    T log_probability, entropy;
    std::vector<T> gradient, free_gradient;

    template <class Actor>
    answers(Actor const& actor, std::vector<T> const& outputs, std::vector<T> const& free, std::vector<T> const& action,
            T weight, T bonus)
        : gradient(outputs.size()), free_gradient(free.size()) {
        constexpr std::size_t rows = 5;
        constexpr std::size_t row = 3;
        std::vector<T> all_outputs(rows * outputs.size()), all_actions(rows * action.size());
        std::ranges::copy(outputs, all_outputs.begin() + static_cast<std::ptrdiff_t>(row * outputs.size()));
        std::ranges::copy(action, all_actions.begin() + static_cast<std::ptrdiff_t>(row * action.size()));
        matrix_view<T const> const states(all_outputs.data(), rows, outputs.size());
        matrix_view<T const> const actions(all_actions.data(), rows, action.size());
        std::array<T, rows> log_probabilities, entropies, weights{}, bonuses{};
        weights[row] = weight;
        bonuses[row] = bonus;
        actor.log_probability_and_entropy(states, free, actions, log_probabilities, entropies);
        log_probability = log_probabilities[row];
        entropy = entropies[row];
        std::vector<T> gradients(all_outputs.size());
        actor.gradient(states, free, actions, weights, bonuses, matrix_view<T>(gradients.data(), rows, outputs.size()),
                       free_gradient);
        std::copy_n(gradients.begin() + static_cast<std::ptrdiff_t>(row * outputs.size()), outputs.size(),
                    gradient.begin());
        others_finite = std::isfinite(log_probabilities[0]) || !free.empty();
    }
    bool others_finite;
};

} // namespace

TEMPLATE_TEST_CASE("a categorical policy with logits of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    actors::categorical const actor;
    auto logits = extremes<T>();
    logits.push_back(-infinity<T>); // a forbidden action
    for (T const a : logits)
        for (T const b : logits)
            for (T const c : {T(0), (std::numeric_limits<T>::max)(), T(-80)})
                for (std::size_t const action : {0u, 2u}) {
                    std::array const z{static_cast<real>(a), static_cast<real>(b), static_cast<real>(c)};
                    answers<T> const found(actor, {a, b, c}, {}, {static_cast<T>(action)}, T(0.5), T(0.25));
                    real const highest = std::max({z[0], z[1], z[2]});
                    real sum = 0, entropy = 0;
                    for (real const logit : z)
                        sum += std::exp(logit - highest);
                    std::array<real, 3> log_probability;
                    for (std::size_t j = 0; j < 3; ++j) {
                        log_probability[j] = z[j] - highest - std::log(sum);
                        real const p = std::exp(log_probability[j]);
                        entropy -= p == 0 ? 0 : p * log_probability[j];
                    }
                    cases.expect("log probability", found.log_probability, log_probability[action], 8, 2, a, b, c,
                                 action);
                    cases.expect("entropy", found.entropy, entropy, 8, 2, a, b, c);
                    for (std::size_t j = 0; j < 3; ++j) {
                        real const p = std::exp(log_probability[j]);
                        real const surprise = p == 0 ? 0 : p * (log_probability[j] + entropy);
                        cases.expect("gradient", found.gradient[j], ((j == action ? 1 : 0) - p) / 2 - surprise / 4, 8,
                                     2, a, b, c, action, j);
                    }
                }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("a Gaussian policy with means, actions and deviations of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    actors::diagonal_gaussian const actor;
    for (T const log : {T(0), T(-20), T(20), T(-90), T(90), T(-170), T(300), T(-700), T(700), T(-1e4), T(-1e30)})
        for (T const mean : extremes<T>())
            for (T const action : {mean, T(0), -mean, mean + 1}) {
                real const distance = static_cast<real>(action) - static_cast<real>(mean);
                auto const l = static_cast<real>(log);
                if (distance != 0 && std::abs(l) > 5000)
                    continue; // beyond long double
                real const score = distance == 0 ? 0 : distance * std::exp(-l);
                if (distance != 0 && std::abs(score) < static_cast<real>((std::numeric_limits<T>::min)()))
                    continue; // of which T has not all places
                real const slope = distance == 0 ? 0 : score * std::exp(-l);
                real const entropy = 0.91893853320467274178L + l + 0.5L;
                for (T const weight : {T(1), T(0), T(-1e-3)}) {
                    answers<T> const found(actor, {mean}, {log}, {action}, weight, T(0.25));
                    auto const w = static_cast<real>(weight);
                    cases.expect("log probability", found.log_probability, 0.5L - score * score / 2 - entropy, 16,
                                 score * score * std::abs(l), log, mean, action);
                    cases.expect("entropy", found.entropy, entropy, 8, std::abs(l), log);
                    real const spread = 8 + 4 * std::abs(l); // the exponential's error is that of its argument
                    cases.expect("gradient", found.gradient[0], w == 0 ? 0 : w * slope, static_cast<double>(spread), 0,
                                 log, mean, action, weight);
                    cases.expect("free gradient", found.free_gradient[0],
                                 (w == 0 ? 0 : w * (score * score - 1)) + 0.25L, static_cast<double>(spread),
                                 std::abs(w), log, mean, action, weight);
                }
            }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("a Gaussian policy whose network gives the deviation, raw outputs of any size", "[extremes]", float,
                   double) {
    using T = TestType;
    sweep cases;
    for (double const floor : {0.0, 0.25})
        for (T const raw : {T(0), T(1), T(-30), T(-90), T(-105), T(-200), T(-710), T(-5000), T(100), T(1e30),
                            (std::numeric_limits<T>::max)() / 2, T(-1e30)})
            for (T const mean : {T(0), T(1), T(-1e10)}) {
                actors::diagonal_gaussian const actor{.deviations = actors::deviation_model::state_dependent,
                                                      .floor = floor};
                auto const x = static_cast<real>(raw);
                real const soft = std::fmax(x, real(0)) + std::log1p(std::exp(-std::abs(x)));
                real const square = soft + static_cast<real>(floor) * static_cast<real>(floor);
                bool const tail = floor == 0.0 && x < -100;
                real const log = tail ? x / 2 : std::log(square) / 2;
                real const log_derivative = tail ? 0.5L : 1 / (1 + std::exp(-x)) / square / 2;
                real const entropy = 0.91893853320467274178L + log + 0.5L;
                answers<T> const found(actor, {mean, raw}, {}, {mean}, T(0.5), T(0.25));
                cases.expect("log probability", found.log_probability, 0.5L - entropy, 8, 1, floor, raw, mean);
                cases.expect("entropy", found.entropy, entropy, 8, 1, floor, raw, mean);
                cases.expect("gradient", found.gradient[0], 0, 8, 0, floor, raw, mean);
                cases.expect("deviation gradient", found.gradient[1], -0.25L * log_derivative, 16, 0, floor, raw, mean);
            }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("what is not finite comes out of a policy, and only where it belongs", "[extremes]", float, double) {
    using T = TestType;
    auto const poisoned = [](answers<T> const& found, bool entropy = true) {
        CHECK_FALSE(std::isfinite(found.log_probability));
        CHECK(std::isfinite(found.entropy) != entropy);
        CHECK(found.others_finite);
        bool finite = true;
        for (auto const* const slopes : {&found.gradient, &found.free_gradient})
            for (T const slope : *slopes)
                finite = finite && std::isfinite(slope);
        // A deviation may tend to infinity, and the gradient to a number.
        CHECK((std::isinf(found.entropy) || !finite));
    };
    actors::categorical const choice;
    actors::diagonal_gaussian const free;
    actors::diagonal_gaussian const network{.deviations = actors::deviation_model::state_dependent, .floor = 0.0};
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>}) {
        if (!(bad < T(0)))
            poisoned(answers<T>(choice, {T(0), bad}, {}, {T(0)}, T(1), T(1)));
        poisoned(answers<T>(free, {bad}, {T(0)}, {T(0)}, T(1), T(1)), false);
        poisoned(answers<T>(free, {bad}, {T(-90)}, {T(0)}, T(1), T(1)), false);
        poisoned(answers<T>(free, {T(0)}, {T(-90)}, {bad}, T(1), T(1)), false);
        poisoned(answers<T>(free, {T(0)}, {bad}, {T(0)}, T(1), T(1)));
        poisoned(answers<T>(network, {bad, T(-200)}, {}, {T(0)}, T(1), T(1)), false);
        poisoned(answers<T>(network, {T(0), bad}, {}, {T(0)}, T(1), T(1)));
    }
    for (T const log : {T(0), T(-90)}) {
        answers<T> const found(free, {T(1)}, {log}, {T(1)}, quiet_nan<T>, T(0));
        CHECK(std::isnan(found.gradient[0]));
        CHECK(std::isnan(found.free_gradient[0]));
        CHECK(std::isnan(answers<T>(free, {T(1)}, {log}, {T(1)}, T(1), quiet_nan<T>).free_gradient[0]));
    }
}
