// SPDX-License-Identifier: Apache-2.0
// What the targets are on the atoms: the projection and the Gaussian histogram, against their definitions.
#include "losses/categorical/problems.hpp"
#include "support/catch.hpp"
#include "support/quadrature.hpp"

#include <gmac/losses/categorical_cross_entropy.hpp>
#include <gmac/losses/categorical_energy.hpp>
#include <gmac/losses/hl_gauss.hpp>

#include <numbers>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T, class Loss, std::size_t N>
std::vector<T> masses_of(Loss const& loss, heads::categorical<N> const& head, atom_problem<T> const& p) {
    std::vector<T> masses(p.states * N, T(-1));
    loss.target_masses(head, p.targets(), matrix_view<T>(masses.data(), p.states, N));
    return masses;
}

/// How far the masses are from the definition, and how far their sum and their mean are from those of the particles; the
/// last one in gaps.
struct distances {
    double masses = 0.0, sum = 0.0, mean = 0.0;
};

template <class T, std::size_t N>
void look_at_projection(random_stream& random, bool beyond, distances& worst) {
    auto const head = random_head<N>(random);
    auto const p =
        random_problem<T>(random, head, 1 + random.below(20), 1 + random.below(80), random.below(2) == 0, beyond);
    auto const atoms = atoms_of(head);
    auto const found = masses_of<T>(losses::categorical_cross_entropy{}, head, p);
    REQUIRE(found == masses_of<T>(losses::categorical_energy{}, head, p));
    long double widest = 0.0L;
    for (std::size_t i = 0; i + 1 < N; ++i)
        widest = (std::max)(widest, atoms[i + 1] - atoms[i]);
    for (std::size_t s = 0; s < p.states; ++s) {
        auto const wanted = projected(atoms, p, s);
        long double sum = 0.0L, mean = 0.0L, total = 0.0L, wanted_mean = 0.0L;
        for (std::size_t i = 0; i < N; ++i) {
            auto const mass = static_cast<long double>(found[s * N + i]);
            REQUIRE(mass >= 0.0L);
            sum += mass;
            mean += mass * atoms[i];
            worst.masses = (std::max)(worst.masses, static_cast<double>(std::abs(mass - wanted[i])));
        }
        for (std::size_t j = 0; j < p.particles; ++j) {
            total += p.weight(s, j);
            wanted_mean += p.weight(s, j) * p.point(s, j);
        }
        worst.sum = (std::max)(worst.sum, static_cast<double>(std::abs(sum - total)));
        if (!beyond)
            worst.mean = (std::max)(worst.mean, static_cast<double>(std::abs(mean - wanted_mean) / widest));
    }
}

template <class T>
distances projections(std::size_t repeats) {
    random_stream random(1);
    distances worst;
    for (std::size_t i = 0; i < repeats; ++i) {
        bool const beyond = i % 2 == 0;
        look_at_projection<T, 2>(random, beyond, worst);
        look_at_projection<T, 3>(random, beyond, worst);
        look_at_projection<T, 51>(random, beyond, worst);
    }
    for (int i = 0; i < 10; ++i) // more than are computed in lanes
        look_at_projection<T, 300>(random, i % 2 == 0, worst);
    return worst;
}

} // namespace

TEST_CASE("Atoms are evenly spaced, or so in symlog, from the minimum to the maximum") {
    random_stream random(3);
    for (int repeat = 0; repeat < 200; ++repeat) {
        auto const head = random_head<21>(random);
        auto const grid = head.grid<double>();
        auto const wanted = atoms_of(head);
        long double const size = (std::max)(std::abs(wanted.front()), std::abs(wanted.back()));
        CHECK(grid.atoms.front() == head.minimum);
        CHECK(grid.atoms.back() == head.maximum);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            REQUIRE(std::abs(static_cast<long double>(grid.atoms[i]) - wanted[i]) <= 1e-15L * size);
            REQUIRE(grid.place(grid.atoms[i]) == Approx(static_cast<double>(i)).margin(1e-12));
        }
        CHECK(grid.place(head.minimum - 1.0) == 0.0);
        CHECK(grid.place(head.maximum + 1.0) == 20.0);
    }
    auto const symlog = heads::categorical<5>{.minimum = -std::expm1(2.0), .maximum = std::expm1(2.0), .symlog = true};
    auto const grid = symlog.grid<float>();
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(static_cast<double>(grid.atoms[i]) ==
              Approx(std::copysign(std::expm1(std::abs(static_cast<double>(i) - 2.0)), static_cast<double>(i) - 2.0)));
}

TEST_CASE("The projection is that of its definition and keeps the mass and, inside the atoms, the mean") {
    distances const exact = projections<double>(400);
    CAPTURE(exact.masses, exact.sum, exact.mean);
    CHECK(exact.masses < 1e-12);
    CHECK(exact.sum < 1e-13);
    CHECK(exact.mean < 1e-12);
    distances const rounded = projections<float>(200);
    CAPTURE(rounded.masses, rounded.sum, rounded.mean);
    CHECK(rounded.masses < 2e-5); // a particle far from zero has no more digits
    CHECK(rounded.sum < 2e-6);
}

TEST_CASE("Each particle's mass is at the two atoms beside it") {
    heads::categorical<5> const head{.minimum = -2.0, .maximum = 2.0};
    auto const masses = [&](double x) {
        atom_problem<double> const p{1, 5, 1, {}, {x}, {}};
        return masses_of<double>(losses::categorical_cross_entropy{}, head, p);
    };
    CHECK(masses(0.0) == std::vector<double>{0.0, 0.0, 1.0, 0.0, 0.0});
    CHECK(masses(0.25) == std::vector<double>{0.0, 0.0, 0.75, 0.25, 0.0});
    CHECK(masses(-2.0) == std::vector<double>{1.0, 0.0, 0.0, 0.0, 0.0});
    CHECK(masses(-1e300) == std::vector<double>{1.0, 0.0, 0.0, 0.0, 0.0});
    CHECK(masses(1.5) == std::vector<double>{0.0, 0.0, 0.0, 0.5, 0.5});
    CHECK(masses(2.0) == std::vector<double>{0.0, 0.0, 0.0, 0.0, 1.0});
    CHECK(masses(7.0) == std::vector<double>{0.0, 0.0, 0.0, 0.0, 1.0});
}

namespace {

template <class T, std::size_t N>
double worst_histogram(random_stream& random) {
    auto const head = random_head<N>(random);
    auto const p = random_problem<T>(random, head, 1 + random.below(20), 1 + random.below(20), random.below(2) == 0);
    // From bins that are wide for σ to bins that are narrow for it.
    losses::hl_gauss const loss{.deviation = std::pow(10.0, 4.0 * random.uniform<double>() - 2.0)};
    auto const found = masses_of<T>(loss, head, p);
    double worst = 0.0;
    for (std::size_t s = 0; s < p.states; ++s) {
        auto const wanted = gaussian_histogram(head, p, s, static_cast<long double>(loss.deviation));
        long double sum = 0.0L;
        for (std::size_t i = 0; i < N; ++i) {
            auto const mass = static_cast<long double>(found[s * N + i]);
            sum += mass;
            worst = (std::max)(worst, static_cast<double>(std::abs(mass - wanted[i])));
        }
        worst = (std::max)(worst, static_cast<double>(std::abs(sum - 1.0L)));
    }
    return worst;
}

} // namespace

TEST_CASE("The Gaussian histogram is that of its definition") {
    random_stream random(2);
    double exact = 0.0, rounded = 0.0;
    for (int repeat = 0; repeat < 300; ++repeat) {
        exact = (std::max)({exact, worst_histogram<double, 2>(random), worst_histogram<double, 7>(random),
                            worst_histogram<double, 51>(random)});
        rounded = (std::max)({rounded, worst_histogram<float, 7>(random), worst_histogram<float, 51>(random)});
    }
    exact = (std::max)(exact, worst_histogram<double, 300>(random));
    CAPTURE(exact, rounded);
    CHECK(exact < 1e-12);
    CHECK(rounded < 5e-4); // of bins a hundred times as wide as σ
}

TEST_CASE("The Gaussian histogram is the integral of the density over the bins") {
    heads::categorical<9> const head{.minimum = -4.0, .maximum = 4.0}; // bins of width 1
    for (double const x : {-4.0, -3.3, 0.0, 0.49, 2.5, 4.0})
        for (double const deviation : {0.3, 0.75, 2.0}) {
            atom_problem<double> const p{1, 9, 1, {}, {x}, {}};
            auto const found = masses_of<double>(losses::hl_gauss{.deviation = deviation}, head, p);
            auto const density = [&](double y) {
                double const z = (y - x) / deviation;
                return std::exp(-0.5 * z * z) / (deviation * std::sqrt(2.0 * std::numbers::pi));
            };
            auto const mass = [&](double from, double to) { return integrate(density, from, to, 1e-13); };
            double all = 0.0;
            for (int i = 0; i < 9; ++i)
                all += mass(i - 4.5, i - 3.5);
            for (std::size_t i = 0; i < 9; ++i) {
                auto const edge = static_cast<double>(i) - 4.5;
                CHECK(found[i] == Approx(mass(edge, edge + 1.0) / all).margin(1e-12));
            }
        }
}
