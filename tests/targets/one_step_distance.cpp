// SPDX-License-Identifier: Apache-2.0
// The distance of a value distribution from its one-step target, against quadrature and against all pairs of points.
#include <gmac/targets/one_step_distance.hpp>

#include <gmac/heads.hpp>

#include "support/catch.hpp"
#include "support/says.hpp"
#include "targets/rollouts.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace {

using gmac::testing::random_rollout;
namespace heads = gmac::heads;

constexpr double discount = 0.9;

/// A rollout of ends of both kinds, and outputs of a head for its states.
template <class T>
struct predicted_rollout : random_rollout<T> {
    std::size_t outputs_of_state;
    std::vector<T> outputs;

    explicit predicted_rollout(std::size_t outputs_of_state_)
        : random_rollout<T>(7, 3, 1, 5, 11), outputs_of_state(outputs_of_state_) {
        gmac::random_stream random(3);
        for (std::size_t i = 0; i < this->rows() * outputs_of_state; ++i)
            outputs.push_back(static_cast<T>(2.0 * random.normal<double>()));
    }
    [[nodiscard]] gmac::matrix_view<T const> of_states() const {
        return {outputs.data(), this->rows(), outputs_of_state};
    }
};

template <class T, class Head>
std::vector<T> distances_of(Head const& head, predicted_rollout<T> const& rollout) {
    std::vector<T> result(rollout.rewards.size());
    gmac::targets::one_step_distance{discount}(head, rollout.view(), rollout.of_states(), result);
    return result;
}

using points = std::vector<std::pair<double, double>>; ///< weight, place

/// What one transition compares: the points of its state, and those of its target.
template <class T>
std::pair<points, points> compared(predicted_rollout<T> const& rollout, std::vector<points> const& of_states,
                                   std::size_t t, std::size_t e) {
    std::size_t const here = t * rollout.environments + e;
    auto const reward = static_cast<double>(rollout.rewards[here]);
    if (rollout.terminated[here])
        return {of_states[here], points{{1.0, reward}}};
    points target = of_states[rollout.row_after(t, e)];
    for (auto& [weight, place] : target)
        place = reward + discount * place;
    return {of_states[here], target};
}

double mean_difference(points const& a, points const& b) {
    double sum = 0.0;
    for (auto const& [weight, place] : a)
        for (auto const& [other_weight, other] : b)
            sum += weight * other_weight * std::abs(place - other);
    return sum;
}

template <class T, class Head>
void check_points(Head const& head, std::size_t outputs, auto const& points_of) {
    predicted_rollout<T> const rollout(outputs);
    std::vector<points> of_states;
    for (std::size_t s = 0; s < rollout.rows(); ++s)
        of_states.push_back(points_of(rollout.of_states().row(s)));
    auto const found = distances_of(head, rollout);
    for (std::size_t t = 0; t < rollout.steps; ++t)
        for (std::size_t e = 0; e < rollout.environments; ++e) {
            auto const [a, b] = compared(rollout, of_states, t, e);
            double const wanted = 2.0 * mean_difference(a, b) - mean_difference(a, a) - mean_difference(b, b);
            double const scale = mean_difference(a, b) + mean_difference(a, a) + mean_difference(b, b);
            INFO("step " << t << ", environment " << e);
            CHECK(std::abs(static_cast<double>(found[t * rollout.environments + e]) - wanted) <=
                  8.0 * static_cast<double>(std::numeric_limits<T>::epsilon()) * scale);
        }
}

} // namespace

TEMPLATE_TEST_CASE("the distance of points from their target is that of all pairs", "", float, double) {
    using T = TestType;
    auto const equal = [](auto const& row) {
        points result;
        for (std::size_t j = 0; j < row.size(); ++j)
            result.emplace_back(1.0 / static_cast<double>(row.size()), static_cast<double>(row[j]));
        return result;
    };
    check_points<T>(heads::dirac<9>{}, 9, equal);
    check_points<T>(heads::implicit_quantile{.samples_per_state = 6}, 6, equal);
    check_points<T>(heads::scalar{}, 1, equal);
    heads::categorical<11> const atoms{.minimum = -3.0, .maximum = 3.0};
    check_points<T>(atoms, 11, [](auto const& row) {
        points result;
        double sum = 0.0;
        for (std::size_t j = 0; j < 11; ++j)
            sum += std::exp(static_cast<double>(row[j]));
        for (std::size_t j = 0; j < 11; ++j)
            result.emplace_back(std::exp(static_cast<double>(row[j])) / sum, -3.0 + 0.6 * static_cast<double>(j));
        return result;
    });
}

TEST_CASE("the distance of a mixture from its target is twice the squared difference of their distribution functions") {
    constexpr std::size_t K = 3;
    heads::gaussian_mixture<K> const head{.scale = 0.3, .floor = 0.1};
    predicted_rollout<double> const rollout(3 * K);
    std::vector<double> weights(rollout.rows() * K), means(weights.size()), deviations(weights.size());
    auto const view = [&](std::vector<double>& all) {
        return gmac::matrix_view<double>(all.data(), rollout.rows(), K);
    };
    head.distribution(rollout.of_states(), view(weights), view(means), view(deviations));
    // P(shift + factor Z ≤ x)
    auto const below = [&](double x, std::size_t state, double factor, double shift) {
        double sum = 0.0;
        for (std::size_t k = state * K; k < (state + 1) * K; ++k)
            sum += weights[k] * 0.5 *
                   std::erfc((shift + factor * means[k] - x) / (factor * deviations[k] * std::sqrt(2.0)));
        return sum;
    };
    auto const found = distances_of(head, rollout);
    for (std::size_t t = 0; t < rollout.steps; ++t)
        for (std::size_t e = 0; e < rollout.environments; ++e) {
            std::size_t const here = t * rollout.environments + e;
            double const reward = rollout.rewards[here];
            double sum = 0.0;
            constexpr double step = 1e-3;
            // The middles of steps to both sides of the reward, where a target of one point jumps.
            for (int i = -20'000; i < 20'000; ++i) {
                double const x = reward + (i + 0.5) * step;
                double const target = rollout.terminated[here] ? (x >= reward ? 1.0 : 0.0)
                                                               : below(x, rollout.row_after(t, e), discount, reward);
                double const difference = below(x, here, 1.0, 0.0) - target;
                sum += 2.0 * difference * difference * step;
            }
            INFO("step " << t << ", environment " << e);
            CHECK(std::abs(found[here] - sum) < 1e-6);
        }
}

TEST_CASE("a one-step distance is not swallowed where a number is none, and what does not fit is refused") {
    predicted_rollout<double> rollout(4);
    heads::dirac<4> const head;
    rollout.outputs[5] = std::numeric_limits<double>::quiet_NaN();
    auto const found = distances_of(head, rollout);
    CHECK(std::isnan(found[1]));
    CHECK(std::isfinite(found[0]));
    heads::gaussian_mixture<2> const mixture;
    predicted_rollout<double> other(6);
    other.rewards[4] = std::numeric_limits<double>::infinity();
    CHECK(!std::isfinite(distances_of(mixture, other)[4]));

    std::vector<double> result(rollout.rewards.size());
    gmac::matrix_view<double const> const fewer(rollout.outputs.data(), rollout.rows() - 1, 4);
    CHECK_THROWS_WITH(gmac::targets::one_step_distance{}(head, rollout.view(), fewer, result),
                      gmac::testing::says("one_step_distance: outputs has"));
    CHECK_THROWS_WITH(gmac::targets::one_step_distance{1.5}(head, rollout.view(), rollout.of_states(), result),
                      "one_step_distance: discount is 1.5, but must be in [0, 1]");
    CHECK_THROWS_WITH(gmac::targets::one_step_distance{}(head, rollout.view(), rollout.of_states(), rollout.rewards),
                      "one_step_distance: the distances overlap the rewards or the outputs in memory");
}
