// SPDX-License-Identifier: Apache-2.0
// Losses on atoms with logits, targets and atoms of any size.
#include "support/extremes.hpp"
#include "losses/categorical/problems.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

} // namespace

TEMPLATE_TEST_CASE("losses on atoms for logits and targets of any size", "[extremes]", float, double) {
    using T = TestType;
    using limits = std::numeric_limits<T>;
    auto const numbers = extremes<T>();
    sweep cases;
    for (heads::categorical<3> const& head :
         {heads::categorical<3>{.minimum = -10.0, .maximum = 10.0}, heads::categorical<3>{.symlog = true},
          heads::categorical<3>{.minimum = -1.0, .maximum = 1e30},
          heads::categorical<3>{.minimum = -1e-30, .maximum = 1e-30}}) {
        auto const atoms = atoms_of(head);
        for (T const a : numbers)
            for (T const b : numbers)
                for (T const c : {T(0), T(-80), limits::max(), limits::lowest()})
                    for (T const z : numbers) {
                        atom_problem<T> const p{1, 3, 1, {a, b, c}, {z}, {}};
                        std::vector<T> gradient(3);
                        auto const evaluate = [&](auto const& loss) {
                            return loss.value_and_gradient(head, p.outputs(), p.targets(),
                                                           matrix_view<T>(gradient.data(), 1, 3));
                        };
                        distribution_on_atoms<real> const predicted(
                            std::vector<real>(p.logits.begin(), p.logits.end()));
                        auto const largest =
                            std::fmax(std::abs(static_cast<real>(a)),
                                      std::fmax(std::abs(static_cast<real>(b)), std::abs(static_cast<real>(c))));
                        auto const check_entropy = [&](auto const& loss, std::vector<real> const& masses) {
                            T const value = evaluate(loss);
                            real exact = 0;
                            for (std::size_t i = 0; i < 3; ++i)
                                exact -= masses[i] > 0 ? masses[i] * predicted.logarithms[i] : 0;
                            // A mass is exact to a rounding of one, and is multiplied by the logits.
                            cases.expect(loss.name, value, exact, 64, largest + 1, a, b, c, z, head.maximum,
                                         head.symlog);
                            for (std::size_t i = 0; i < 3; ++i)
                                cases.expect("slope", gradient[i], predicted.probabilities[i] - masses[i], 512, 1, a, b,
                                             c, z, head.maximum, head.symlog, i);
                        };
                        check_entropy(losses::categorical_cross_entropy{}, projected(atoms, p, 0));
                        check_entropy(losses::hl_gauss{}, gaussian_histogram(head, p, 0, 0.75L));
                        auto const masses = projected(atoms, p, 0);
                        real exact = 0;
                        for (std::size_t i = 0; i < 3; ++i)
                            for (std::size_t j = 0; j < 3; ++j)
                                exact +=
                                    std::abs(atoms[i] - atoms[j]) *
                                    (2 * predicted.probabilities[i] * masses[j] -
                                     predicted.probabilities[i] * predicted.probabilities[j] - masses[i] * masses[j]);
                        real const size = atoms[2] - atoms[0];
                        cases.expect("energy", evaluate(losses::categorical_energy{}), exact, 256, size, a, b, c, z,
                                     head.maximum, head.symlog);
                        for (std::size_t i = 0; i < 3;
                             ++i) { // p_i times what the energy's slope by p_i has above the mean
                            real mean = 0, own = 0;
                            for (std::size_t k = 0; k < 3; ++k) {
                                real slope = 0;
                                for (std::size_t j = 0; j < 3; ++j)
                                    slope +=
                                        2 * std::abs(atoms[k] - atoms[j]) * (masses[j] - predicted.probabilities[j]);
                                mean += predicted.probabilities[k] * slope;
                                own = k == i ? slope : own;
                            }
                            cases.expect("energy's slope", gradient[i], predicted.probabilities[i] * (own - mean), 512,
                                         size, a, b, c, z, head.maximum, head.symlog, i);
                        }
                    }
    }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("an atom without mass adds nothing, a NaN comes out", "[extremes]", float, double) {
    using T = TestType;
    heads::categorical<3> const head{.minimum = -1.0, .maximum = 1.0};
    std::array<T, 3> gradient{};
    auto const evaluate = [&](std::array<T, 3> const& logits) {
        T const particle = -1; // all mass is at the first atom
        return losses::categorical_cross_entropy{}.value_and_gradient(head, matrix_view<T const>(logits.data(), 1, 3),
                                                                      targets::dirac_particles<T const>{{&particle, 1,
                                                                                                         1},
                                                                                                        {}},
                                                                      matrix_view<T>(gradient.data(), 1, 3));
    };
    constexpr T largest = std::numeric_limits<T>::max();
    CHECK(evaluate({largest, -largest, -infinity<T>}) == 0);
    CHECK(gradient == std::array<T, 3>{0, 0, 0});
    CHECK(evaluate({T(0), T(0), -infinity<T>}) == Approx(std::log(2.0)));
    CHECK(gradient == std::array<T, 3>{T(-0.5), T(0.5), T(0)});
    CHECK(evaluate({-infinity<T>, T(0), T(0)}) == infinity<T>);
    for (std::size_t place = 0; place < 3; ++place) {
        std::array<T, 3> logits{T(0), T(1), T(2)};
        logits[place] = quiet_nan<T>;
        CHECK(std::isnan(evaluate(logits)));
        CHECK(std::ranges::all_of(gradient, [](T x) { return std::isnan(x); }));
    }
}

TEMPLATE_TEST_CASE("atoms so far apart that sums of distances overflow are refused", "[extremes]", float, double) {
    using T = TestType;
    auto const largest = static_cast<double>(std::numeric_limits<T>::max());
    CHECK_NOTHROW(heads::categorical<51>{.minimum = -largest / 64, .maximum = largest / 64}.template grid<T>());
    CHECK_THROWS_WITH((heads::categorical<51>{.minimum = -largest, .maximum = largest}.template grid<T>()),
                      Catch::Matchers::Contains("which is too far apart for sums of distances in this type"));
}

TEMPLATE_TEST_CASE("atoms so near each other that the inverse of a distance overflows are refused", "[extremes]", float,
                   double) {
    using T = TestType;
    auto const least = static_cast<double>((std::numeric_limits<T>::min)());
    CHECK_NOTHROW(heads::categorical<3>{.minimum = 0.0, .maximum = least}.template grid<T>());
    CHECK_THROWS_WITH((heads::categorical<3>{.minimum = 0.0, .maximum = least / 4}.template grid<T>()),
                      says("are too near each other for the inverse of a distance in this type"));
}

TEMPLATE_TEST_CASE("HL-Gauss with the least and the greatest deviation", "[extremes]", float, double) {
    using T = TestType;
    heads::categorical<3> const head{.minimum = 0.0, .maximum = 2.0};
    for (double const deviation : {1e-30, 1e30})
        for (T const z : {T(0), T(0.5), T(0.75), T(1), T(1.5), T(2)}) { // some on the edge of a bin
            atom_problem<T> const p{1, 3, 1, {T(0), T(1), T(2)}, {z}, {}};
            std::array<T, 3> masses{};
            losses::hl_gauss{.deviation = deviation}.target_masses(head, p.targets(),
                                                                   matrix_view<T>(masses.data(), 1, 3));
            CAPTURE(deviation, z);
            for (std::size_t i = 0; i < 3; ++i) {
                real const distance = std::abs(static_cast<real>(z) - static_cast<real>(i));
                real const alone = distance < 0.5L ? 1 : distance > 0.5L ? 0 : 0.5L;
                CHECK(agrees(masses[i], deviation < 1 ? alone : real(1) / 3));
            }
        }
}
