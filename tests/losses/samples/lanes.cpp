// SPDX-License-Identifier: Apache-2.0
// Losses between samples in lanes of any width; compiled once for each instruction set.
#include "losses/samples/outcomes.hpp"
#include "losses/samples/problems.hpp"
#include "support/catch.hpp"

#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <xsimd/xsimd.hpp>

#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class V, class T, class Loss>
void same_in(Loss const& loss, problem<T> const& p, outcome<T> const& wanted, double bound) {
    CAPTURE(lanes::width_of<V>, sizeof(T), p.samples, p.particles);
    CHECK(difference(wanted, run_in_lanes<V>(loss, p)) < bound);
}

template <class T>
void same_in_all_widths() {
    random_stream random(5);
    double const bound = 64.0 * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (shape const& s : std::vector<shape>{{35, 6, 5}, {17, 33, 40}, {5, 100, 70}}) {
        auto const p = random_problem<T>(random, s.states, s.samples, s.particles, {.weighted = true});
        auto const look = [&](auto const& loss) {
            auto const wanted = run_in_lanes<T>(loss, p);
            same_in<lanes::widest<T>>(loss, p, wanted, bound);
            same_in<xsimd::make_sized_batch_t<T, 16 / sizeof(T)>>(loss, p, wanted, bound);
#if defined(__AVX__)
            same_in<xsimd::make_sized_batch_t<T, 32 / sizeof(T)>>(loss, p, wanted, bound);
#endif
        };
        look(losses::huber_quantile{.kappa = 0.5});
        look(losses::huber_quantile{.kappa = 0.0});
        look(losses::expectile{});
        look(losses::sample_energy{}); // by pairs where samples are few, else sorted
    }
}

} // namespace

TEST_CASE("The lane width changes nothing beyond rounding") {
    same_in_all_widths<float>();
    same_in_all_widths<double>();
}
