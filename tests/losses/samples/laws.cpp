// SPDX-License-Identifier: Apache-2.0
// Laws of the losses between samples, by RapidCheck.
#include "support/laws.hpp"
#include "losses/samples/ways.hpp"
#include "support/numbers.hpp"

#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace gmac;

namespace {

using numbers = std::vector<double>;
using testing::energy_by;
using testing::huber_by;
using testing::law;
using testing::midpoints;
using testing::near;
using testing::points;
using testing::way;

struct outcome {
    double value;
    numbers gradient;
};

template <class Loss>
outcome run(Loss const& loss, numbers const& x, numbers const& y, numbers const& fractions) {
    heads::implicit_quantile const head{.samples_per_state = x.size()};
    numbers gradient(x.size());
    double const value = loss.value_and_gradient(head,
                                                 quantile_outputs<double const>{{x.data(), 1, x.size()},
                                                                                {fractions.data(), 1, x.size()}},
                                                 targets::dirac_particles<double const>{{y.data(), 1, y.size()}, {}},
                                                 matrix_view<double>(gradient.data(), 1, x.size()));
    return {value, gradient};
}

energy_by full(way how) {
    return {how, {.target_term = true}};
}
double energy_between(numbers const& x, numbers const& y, way how = way::lanes) {
    return run(full(how), x, y, midpoints(x.size())).value;
}

way any_way() {
    return *rc::gen::elementOf(testing::all_ways);
}

/// The same multiset up to repetition: equal distributions of equally likely points.
bool same_distribution(numbers const& x, numbers const& y) {
    dirac_mixture<double> const a(x);
    dirac_mixture<double> const b(y);
    numbers places = x;
    places.insert(places.end(), y.begin(), y.end());
    return std::ranges::all_of(places, [&](double p) { return std::abs(a.cdf(p) - b.cdf(p)) < 1e-9; });
}

} // namespace

TEST_CASE("Laws of the sample energy") {
    law("is never negative", [] { RC_ASSERT(energy_between(*points(24), *points(24), any_way()) > -1e-13); });
    law("is zero exactly for equal distributions", [] {
        numbers const x = *points(6);
        numbers y = *rc::gen::oneOf(points(6), rc::gen::just(x));
        if (*rc::gen::arbitrary<bool>()) { // every point twice is the same distribution
            numbers const once = y;
            y.insert(y.end(), once.begin(), once.end());
        }
        RC_CLASSIFY(same_distribution(x, y));
        RC_ASSERT((energy_between(x, y) < 1e-13) == same_distribution(x, y));
    });
    law("is symmetric", [] {
        numbers const x = *points(16);
        numbers const y = *points(16);
        RC_ASSERT(near(energy_between(x, y), energy_between(y, x)));
    });
    law("its root obeys the triangle inequality", [] {
        numbers const x = *points(8);
        numbers const y = *points(8);
        numbers const z = *points(8);
        auto const root = [](numbers const& a, numbers const& b) {
            return std::sqrt((std::max)(0.0, energy_between(a, b)));
        };
        RC_ASSERT(root(x, z) <= root(x, y) + root(y, z) + 1e-6);
    });
    law("is the same after a translation and grows with the scale, exactly for powers of two", [] {
        numbers x = *points(16);
        numbers y = *points(16);
        way const how = any_way();
        double const shift = *rc::gen::inRange(-1000, 1000);
        double const scale = std::ldexp(*rc::gen::element(1.0, -1.0), *rc::gen::inRange(-20, 20));
        energy_by const loss{how};
        outcome const before = run(loss, x, y, midpoints(x.size()));
        for (numbers* all : {&x, &y})
            for (double& number : *all)
                number = (number + shift) * scale;
        outcome const after = run(loss, x, y, midpoints(x.size()));
        RC_ASSERT(near(after.value, std::abs(scale) * before.value, std::abs(scale)));
        for (std::size_t i = 0; i < x.size(); ++i)
            RC_ASSERT(near(after.gradient[i], scale > 0.0 ? before.gradient[i] : -before.gradient[i]));
    });
    law("does not depend on the order of samples and particles", [] {
        numbers const x = *points(16);
        numbers const y = *points(16);
        way const how = any_way();
        energy_by const loss{how};
        outcome const before = run(loss, x, y, midpoints(x.size()));
        numbers x_reversed(x.rbegin(), x.rend());
        numbers y_sorted = y;
        std::ranges::sort(y_sorted);
        outcome const after = run(loss, x_reversed, y_sorted, midpoints(x.size()));
        RC_ASSERT(near(before.value, after.value));
        for (std::size_t i = 0; i < x.size(); ++i)
            RC_ASSERT(near(before.gradient[i], after.gradient[x.size() - 1 - i]));
    });
    law("has a gradient that moves all samples together by what the targets pull", [] {
        // Under a common shift of the samples only the cross term changes: Σ_i g_i = 2/(N m) Σ sign(x − y).
        numbers const x = *points(16);
        numbers const y = *points(16);
        double pull = 0.0;
        for (double a : x)
            for (double b : y)
                pull += (a > b ? 1.0 : a < b ? -1.0 : 0.0);
        outcome const found = run(energy_by{any_way()}, x, y, midpoints(x.size()));
        double sum = 0.0;
        for (double g : found.gradient)
            sum += g;
        RC_ASSERT(near(sum, 2.0 * pull / static_cast<double>(x.size() * y.size())));
    });
    law("a particle with twice the weight is two particles", [] {
        numbers const x = *points(12);
        numbers const y = *points(12);
        numbers doubled = y;
        doubled.push_back(y.front());
        numbers weights(y.size(), 1.0 / static_cast<double>(doubled.size()));
        weights.front() *= 2.0;
        heads::implicit_quantile const head{.samples_per_state = x.size()};
        numbers const fractions = midpoints(x.size());
        quantile_outputs<double const> const outputs{{x.data(), 1, x.size()}, {fractions.data(), 1, x.size()}};
        targets::dirac_particles<double const> const weighted{{y.data(), 1, y.size()}, {weights.data(), 1, y.size()}};
        targets::dirac_particles<double const> const repeated{{doubled.data(), 1, doubled.size()}, {}};
        way const how = any_way();
        RC_ASSERT(near(full(how).value(head, outputs, weighted), full(how).value(head, outputs, repeated)));
        huber_by const huber{how};
        RC_ASSERT(near(huber.value(head, outputs, weighted), huber.value(head, outputs, repeated)));
        RC_ASSERT(near(losses::expectile{}.value(head, outputs, weighted),
                       losses::expectile{}.value(head, outputs, repeated)));
    });
}

TEST_CASE("Laws of the quantile losses") {
    law("Huber quantile is never negative, and zero where every particle is at every quantile", [] {
        numbers const x = *points(16);
        numbers const y = *points(16);
        double const kappa = *rc::gen::element(0.0, 0.25, 1.0, 10.0);
        outcome const found = run(huber_by{any_way(), kappa}, x, y, midpoints(x.size()));
        RC_ASSERT(found.value >= 0.0);
        bool const one_place =
            std::ranges::all_of(x, [&](double a) { return std::ranges::all_of(y, [&](double b) { return a == b; }); });
        RC_ASSERT((found.value == 0.0) == one_place);
    });
    law("translation, and scale together with kappa", [] {
        numbers x = *points(16);
        numbers y = *points(16);
        double const kappa = *rc::gen::element(0.0, 0.25, 1.0, 10.0);
        way const how = any_way();
        double const shift = *rc::gen::inRange(-1000, 1000);
        double const scale = std::ldexp(1.0, *rc::gen::inRange(-20, 20));
        outcome const before = run(huber_by{how, kappa}, x, y, midpoints(x.size()));
        outcome const square = run(losses::expectile{}, x, y, midpoints(x.size()));
        for (numbers* all : {&x, &y})
            for (double& number : *all)
                number = (number + shift) * scale;
        outcome const after = run(huber_by{how, kappa * scale}, x, y, midpoints(x.size()));
        RC_ASSERT(near(after.value, scale * before.value, scale));
        outcome const square_after = run(losses::expectile{}, x, y, midpoints(x.size()));
        RC_ASSERT(near(square_after.value, scale * scale * square.value, scale * scale));
        for (std::size_t i = 0; i < x.size(); ++i) {
            RC_ASSERT(near(after.gradient[i], before.gradient[i]));
            RC_ASSERT(near(square_after.gradient[i], scale * square.gradient[i], scale));
        }
    });
    law("reflection exchanges τ and 1 − τ", [] {
        numbers x = *points(16);
        numbers y = *points(16);
        way const how = any_way();
        numbers fractions = midpoints(x.size());
        huber_by const loss{how, 0.5};
        outcome const before = run(loss, x, y, fractions);
        for (numbers* all : {&x, &y})
            for (double& number : *all)
                number = -number;
        for (double& tau : fractions)
            tau = 1.0 - tau;
        outcome const after = run(loss, x, y, fractions);
        RC_ASSERT(near(before.value, after.value));
        for (std::size_t i = 0; i < x.size(); ++i)
            RC_ASSERT(near(before.gradient[i], -after.gradient[i]));
    });
    law("each quantile is learned for itself", [] {
        numbers const x = *points(16);
        numbers const y = *points(16);
        numbers const fractions = midpoints(x.size());
        huber_by const loss{any_way()};
        outcome const all = run(loss, x, y, fractions);
        double sum = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            outcome const one = run(loss, {x[i]}, y, {fractions[i]});
            RC_ASSERT(near(one.gradient[0], all.gradient[i]));
            sum += one.value;
        }
        RC_ASSERT(near(sum, all.value));
    });
}
