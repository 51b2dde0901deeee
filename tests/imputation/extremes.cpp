// SPDX-License-Identifier: Apache-2.0
// Imputed samples of statistics of any size: a change of unit by a power of two changes nothing but the unit.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/imputation/expectiles.hpp>
#include <gmac/imputation/huber_quantiles.hpp>
#include <gmac/imputation/quantiles.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T>
std::vector<T> const fractions{T(0.1), T(0.3), T(0.5), T(0.7), T(0.9)};

/// `impute(statistics, unit, samples)` for statistics in units from the smallest that T has to the largest.
template <class T, class Impute>
void check_units(std::vector<T> const& statistics, Impute&& impute) {
    std::vector<T> samples(statistics.size());
    auto const reference = impute(statistics, 1.0, samples);
    using limits = std::numeric_limits<T>;
    for (int const exponent : {limits::min_exponent + 8, limits::min_exponent / 2, -1, 1, limits::max_exponent / 2,
                               limits::max_exponent - 4}) {
        CAPTURE(exponent);
        std::vector<T> scaled, found(statistics.size());
        for (T const x : statistics)
            scaled.push_back(std::ldexp(x, exponent));
        auto const result = impute(scaled, std::ldexp(1.0, exponent), found);
        CHECK(result.met == reference.met);
        CHECK(result.error == std::ldexp(reference.error, exponent));
        for (std::size_t i = 0; i < samples.size(); ++i)
            CHECK(agrees(found[i], std::ldexp(static_cast<long double>(samples[i]), exponent), 1.0));
    }
}

} // namespace

TEMPLATE_TEST_CASE("samples of expectiles in any unit", "[extremes]", float, double) {
    using T = TestType;
    check_units<T>({T(-1), T(-0.25), T(0.25), T(0.75), T(2)}, [](auto const& given, double, auto& samples) {
        return imputation::from_expectiles{}(vector_view<T const>(given), vector_view<T const>(fractions<T>),
                                             vector_view<T>(samples));
    });
}

TEMPLATE_TEST_CASE("samples of Huber quantiles in any unit", "[extremes]", float, double) {
    using T = TestType;
    check_units<T>({T(-1), T(-0.25), T(0.25), T(0.75), T(2)}, [](auto const& given, double unit, auto& samples) {
        imputation::from_huber_quantiles const method{.kappa = 0.5 * unit};
        return method(vector_view<T const>(given), vector_view<T const>(fractions<T>), vector_view<T>(samples));
    });
}

TEST_CASE("samples lie further out than their expectiles, up to the end of the number line", "[extremes]") {
    // Of the points -z, 0 and z the expectile at 1/4 is e if 1/4 (z + 2 |e|) = 3/4 (z - |e|), so z is 5/2 |e|.
    double const largest = (std::numeric_limits<double>::max)();
    std::vector<double> const at{0.25, 0.5, 0.75};
    for (double const e : {largest / 4, largest}) {
        std::vector<double> const given{-e, 0.0, e};
        std::vector<double> samples(3);
        auto const result = imputation::from_expectiles{}(vector_view<double const>(given),
                                                          vector_view<double const>(at), vector_view<double>(samples));
        CAPTURE(e);
        CHECK(result.met);
        CHECK(agrees(samples[0], -2.5L * static_cast<long double>(e)));
        CHECK(samples[1] == Approx(0.0).margin(1e-12 * e));
        CHECK(agrees(samples[2], 2.5L * static_cast<long double>(e)));
    }
}

TEST_CASE("a small threshold makes small conditions, which are met no sooner", "[extremes]") {
    std::vector<double> samples(2);
    auto const impute = [&](double kappa, std::vector<double> const& at) {
        std::vector<double> const given{0.0, 1.0};
        return imputation::from_huber_quantiles{.kappa = kappa}(vector_view<double const>(given), at, samples);
    };
    for (double const kappa : {1e-3, 1e-9, 1e-12, 1e-100, 1e-320}) {
        CAPTURE(kappa);
        CHECK_FALSE(impute(kappa, {0.75, 0.25}).met); // Huber quantiles rise with the fraction
    }
    // At the first, 1/4 κ for the point above and 3/4 of the distance to the one below: κ/3.
    CHECK(impute(1e-3, {0.25, 0.75}).met);
    CHECK(samples[0] == Approx(-1e-3 / 3).epsilon(1e-6));
    CHECK(samples[1] == Approx(1.0 + 1e-3 / 3).epsilon(1e-9));
}

TEST_CASE("statistics may be a vector, a view that may be written to, or Eigen's") {
    std::vector<double> const given{-1.0, 0.0, 2.0}, at{0.25, 0.5, 0.75};
    std::vector<double> copy = given, wanted(3), samples(3);
    vector_view<double> const view(copy);
    Eigen::Vector3d const of_eigen(-1.0, 0.0, 2.0);
    auto const check = [&](auto const& method) {
        method(vector_view<double const>(given), at, wanted);
        method(given, at, samples);
        CHECK(samples == wanted);
        samples.assign(3, 0.0);
        method(of_eigen, at, samples);
        CHECK(samples == wanted);
        method(view, at, view); // in place
        CHECK(copy == wanted);
        copy = given;
    };
    check(imputation::from_expectiles{});
    check(imputation::from_huber_quantiles{});
    check([](auto const& quantiles, auto const&, auto&& to) { imputation::from_quantiles(quantiles, to); });
}
