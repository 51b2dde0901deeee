// SPDX-License-Identifier: Apache-2.0
// What is not finite comes out of every algorithm, value and gradient; thresholds beyond a type's range do no harm.
#include "losses/samples/ways.hpp"
#include "support/catch.hpp"

#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

constexpr std::size_t states = 3, quantiles = 5, particles = 4;

template <class T>
struct batch {
    std::vector<T> values, fractions, targets, gradient = std::vector<T>(states * quantiles, T(-7));
    double value = 0.0;

    batch() {
        for (std::size_t i = 0; i < states * quantiles; ++i) {
            values.push_back(static_cast<T>(std::sin(1.0 + static_cast<double>(i))));
            fractions.push_back(static_cast<T>((static_cast<double>(i % quantiles) + 0.5) / quantiles));
        }
        for (std::size_t j = 0; j < states * particles; ++j)
            targets.push_back(static_cast<T>(std::cos(2.0 * static_cast<double>(j))));
    }

    template <class Loss>
    void evaluate(Loss const& loss) {
        heads::implicit_quantile const head{.samples_per_state = quantiles};
        quantile_outputs<T const> const outputs{{values.data(), states, quantiles},
                                                {fractions.data(), states, quantiles}};
        value = static_cast<double>(
            loss.value_and_gradient(head, outputs,
                                    targets::dirac_particles<T const>{{targets.data(), states, particles}, {}},
                                    matrix_view<T>(gradient.data(), states, quantiles)));
    }
    /// Whether all slopes of a state are NaN, or none.
    [[nodiscard]] bool all_nan(std::size_t state) const {
        auto const* const first = gradient.data() + state * quantiles;
        return std::all_of(first, first + quantiles, [](T x) { return std::isnan(x); });
    }
    [[nodiscard]] bool all_finite(std::size_t state) const {
        auto const* const first = gradient.data() + state * quantiles;
        return std::all_of(first, first + quantiles, [](T x) { return std::isfinite(x); });
    }
};

/// Each loss in each of its ways.
template <class Check>
void for_each_loss(Check&& check) {
    for (way const how : all_ways) {
        CAPTURE(static_cast<int>(how));
        check(energy_by{how});
        for (double const kappa : {0.0, 1.0}) {
            CAPTURE(kappa);
            check(huber_by{how, kappa});
        }
    }
    check(losses::expectile{});
}

} // namespace

TEMPLATE_TEST_CASE("what is not finite makes the loss and its state's gradient NaN, and no other state's", "[samples]",
                   float, double) {
    for (TestType const bad : {std::numeric_limits<TestType>::quiet_NaN(), std::numeric_limits<TestType>::infinity()})
        for_each_loss([bad](auto const& loss) {
            for (std::size_t const state : {0u, 2u}) {
                batch<TestType> sample, target;
                sample.values[state * quantiles + 3] = bad;
                target.targets[state * particles + 1] = bad;
                target.evaluate(loss);
                CHECK_FALSE(std::isfinite(target.value));
                CHECK(target.all_nan(state));
                CHECK(target.all_finite(1));
                sample.evaluate(loss);
                CHECK_FALSE(std::isfinite(sample.value));
                CHECK(std::isnan(sample.gradient[state * quantiles + 3]));
                CHECK(sample.all_finite(1));
            }
        });
}

TEST_CASE("a threshold of the Huber loss beyond float's range leaves a loss of zero, not NaN", "[samples]") {
    for (way const how : all_ways)
        for (double const kappa : {1e39, 1e300}) {
            CAPTURE(static_cast<int>(how), kappa);
            batch<float> all;
            all.evaluate(huber_by{how, kappa});
            // δ² / (2 κ) and δ / κ are below float's least number that is not zero, or next to it.
            CHECK(std::abs(all.value) < 1e-37);
            for (float const slope : all.gradient)
                CHECK(std::abs(slope) < 1e-37f);
        }
}
