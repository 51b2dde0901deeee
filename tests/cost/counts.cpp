// SPDX-License-Identifier: Apache-2.0
// What the losses cost: the kernels' own counts against closed forms.
#include "flops/closed_forms.hpp"
#include "flops/count_losses.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ostream>

namespace gmac {

static std::ostream& operator<<(std::ostream& out, operation_counts const& counts) {
    counts.for_each([&](auto name, std::uint64_t count) { out << name << " = " << count << ", "; });
    return out;
}

} // namespace gmac

namespace {

namespace flops = gmac::flops;
namespace closed = gmac::flops::closed;
namespace losses = gmac::losses;
using sizes = std::initializer_list<std::size_t>;

template <std::size_t K>
void check_mixture(std::size_t m, bool target_term, bool gradient) {
    CAPTURE(K, m, target_term, gradient);
    CHECK(flops::count_mixture_energy<K>(m, target_term, gradient) ==
          closed::mixture_energy(K, m, target_term, gradient));
}

} // namespace

TEST_CASE("the squared errors cost what their closed forms say", "[cost]") {
    for (bool const gradient : {false, true}) {
        CAPTURE(gradient);
        CHECK(flops::count_squared_error(gradient) == closed::squared_error(gradient));
        CHECK(flops::count_clipped_squared_error(gradient) == closed::clipped_squared_error(gradient));
    }
}

TEST_CASE("the quantile losses cost what their closed forms say", "[cost]") {
    losses::huber_quantile huber, pinball;
    pinball.kappa = 0.0;
    for (bool const gradient : {false, true})
        for (auto const n : sizes{1, 3, 8, 64, 65, 130})
            for (auto const m : sizes{1, 2, 64, 100}) {
                CAPTURE(n, m, gradient);
                CHECK(flops::count_sample_loss(huber, n, m, gradient) == closed::huber_quantile(n, m, gradient));
                CHECK(flops::count_sample_loss(pinball, n, m, gradient) == closed::pinball(n, m, gradient));
                CHECK(flops::count_sample_loss(losses::expectile{}, n, m, gradient) ==
                      closed::expectile(n, m, gradient));
            }
}

TEST_CASE("the sample energy by pairs costs what its closed form says", "[cost]") {
    for (bool const gradient : {false, true})
        for (bool const target_term : {false, true})
            for (auto const n : sizes{1, 3, 32, 64, 65})
                for (auto const m : sizes{1, 2, 64, 100}) {
                    CAPTURE(n, m, gradient, target_term);
                    CHECK(flops::count_energy_pairs(n, m, target_term, gradient) ==
                          closed::sample_energy_pairs(n, m, target_term, gradient));
                }
    // That is what few samples are computed by.
    CHECK(flops::count_sample_loss(losses::sample_energy{}, 8, 30, true) ==
          closed::sample_energy_pairs(8, 30, false, true));
}

TEST_CASE("the sample energy by sorting costs what its closed form says", "[cost]") {
    losses::sample_energy energy;
    for (bool const gradient : {false, true})
        for (bool const target_term : {false, true})
            for (auto const n : sizes{16, 64, 128}) {
                CAPTURE(n, gradient, target_term);
                energy.target_term = target_term; // it costs nothing but a factor
                CHECK(flops::count_sample_loss(energy, n, n, gradient) == closed::sample_energy_sorted(n, gradient));
            }
    // From 64 points on, a quarter of the comparisons of the pairs, and the share falls.
    CHECK(4 * closed::sample_energy_sorted(64, true).comparisons <
          closed::sample_energy_pairs(64, 64, false, true).comparisons);
}

TEST_CASE("the mixture energy costs what its closed form says", "[cost]") {
    for (bool const gradient : {false, true})
        for (bool const target_term : {false, true})
            for (auto const m : sizes{2, 5, 64, 65, 128, 150}) {
                check_mixture<1>(m, target_term, gradient);
                check_mixture<3>(m, target_term, gradient);
                check_mixture<5>(m, target_term, gradient);
            }
}

TEST_CASE("leaving out the target term saves 16,384 of the authors' 17,049 pairs", "[cost]") {
    std::size_t const k = 5, m = 128;
    CHECK(k * m + k * k + m * m == 17049);
    auto const without = flops::count_mixture_energy<5>(m, false, true);
    auto const with = flops::count_mixture_energy<5>(m, true, true);
    // An error function is a pair; those equal by symmetry, and those of a component with itself, have none.
    CHECK(without.error_functions == k * m + k * (k - 1) / 2);
    CHECK(with.error_functions - without.error_functions == m * (m - 1) / 2);
    CHECK(static_cast<double>(without.total()) / static_cast<double>(with.total()) == Approx(0.08891).margin(5e-6));
}
