// SPDX-License-Identifier: Apache-2.0
// Value heads with raw outputs of any size: their distribution, its mean, and the gradient that comes back.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;

} // namespace

TEMPLATE_TEST_CASE("the Gaussian-mixture head with raw outputs of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    for (auto const& [scale, floor] : {std::pair{0.0025, 1.0}, std::pair{0.25, 0.0}, std::pair{100.0, 1.0},
                                       std::pair{1e-30, 1e-6}, std::pair{1.0, 0.0}, std::pair{1e-46, 1e10}}) {
        heads::gaussian_mixture<2> const head{.scale = scale, .floor = floor};
        auto raws = extremes<T>();
        raws.insert(raws.end(), {T(-20), T(-50), T(-90), T(-105), T(-180)});
        for (T const a : raws)
            for (T const b : {T(0), T(-80), (std::numeric_limits<T>::max)(), std::numeric_limits<T>::lowest()}) {
                std::array const raw{a, b, b, a, a, b}; // logits, means, raw deviations
                auto const found = head.transform(raw);
                real const highest = std::fmax(static_cast<real>(a), static_cast<real>(b));
                real const sum = std::exp(static_cast<real>(a) - highest) + std::exp(static_cast<real>(b) - highest);
                real mean = 0;
                decltype(head.transform(raw)) ones;
                ones.weights.fill(T(0));
                ones.means.fill(T(0));
                ones.deviations.fill(T(1));
                std::array<T, 6> gradient;
                head.pull_back(raw, found, ones, gradient);
                for (std::size_t k = 0; k < 2; ++k) {
                    auto const x = static_cast<real>(raw[4 + k]);
                    real const weight = std::exp(static_cast<real>(raw[k]) - highest) / sum;
                    bool const tail = floor == 0.0 && x < -100;
                    real const spread =
                        std::fmax(x, real(0)) + std::log1p(std::exp(-std::abs(x))) + static_cast<real>(floor);
                    real const deviation =
                        std::sqrt(static_cast<real>(scale)) * (tail ? std::exp(x / 2) : std::sqrt(spread));
                    real const ratio = tail ? 1 : 1 / (1 + std::exp(-x)) / spread;
                    mean += weight * static_cast<real>(raw[2 + k]);
                    // An exponential has the error of its argument's rounding.
                    double const places = 8 + 2 * std::fmin(std::abs(static_cast<double>(x)), 800.0);
                    cases.expect("weight", found.weights[k], weight, 8, 0, a, b, k);
                    cases.expect("deviation", found.deviations[k], deviation, places, 0, scale, floor, raw[4 + k]);
                    cases.expect("gradient", gradient[4 + k], deviation * ratio / 2, places, 0, scale, floor,
                                 raw[4 + k]);
                }
                // Weights below the normal numbers have not all places.
                real const lost =
                    static_cast<real>((std::numeric_limits<T>::min)()) * (std::abs(static_cast<real>(a)) + 1);
                cases.expect("mean", head.mean(raw), mean, 8, lost, a, b);
            }
    }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("the mean of points of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    heads::dirac<3> const dirac;
    heads::implicit_quantile const quantiles{.samples_per_state = 3};
    auto const numbers = extremes<T>();
    for (T const a : numbers)
        for (T const b : numbers) {
            std::array const raw{a, b, a};
            auto const sizes = std::abs(static_cast<real>(a)) + std::abs(static_cast<real>(b));
            real const exact = (2 * static_cast<real>(a) + static_cast<real>(b)) / 3;
            std::array<T, 1> of_batch, of_quantiles;
            matrix_view<T const> const batch(raw.data(), 1, 3);
            dirac.mean(batch, of_batch);
            quantiles.mean(batch, of_quantiles);
            cases.expect("mean of a batch", of_batch[0], exact, 8, sizes, a, b);
            cases.expect("mean of quantiles", of_quantiles[0], exact, 8, sizes, a, b);
        }
    CHECK(cases.failed() == "");
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>}) {
        std::array const raw{T(0), bad, T(1)};
        std::array<T, 1> of_batch;
        dirac.mean(matrix_view<T const>(raw.data(), 1, 3), of_batch);
        CHECK_FALSE(std::isfinite(of_batch[0]));
    }
}

TEMPLATE_TEST_CASE("a NaN among the raw outputs of a mixture comes out", "[extremes]", float, double) {
    using T = TestType;
    for (double const floor : {0.0, 1.0}) {
        heads::gaussian_mixture<2> const head{.scale = 1.0, .floor = floor};
        for (std::size_t place = 0; place < 6; ++place) {
            std::array<T, 6> raw{T(0), T(0), T(1), T(2), T(-200), T(0)};
            raw[place] = quiet_nan<T>;
            auto const found = head.transform(raw);
            std::array<T, 6> gradient;
            head.pull_back(raw, found, found, gradient);
            CAPTURE(floor, place);
            if (place < 2)
                for (std::size_t k = 0; k < 2; ++k)
                    CHECK((std::isnan(found.weights[k]) && std::isnan(gradient[k])));
            else
                CHECK(std::isnan(place < 4 ? found.means[place - 2] : found.deviations[place - 4]));
            CHECK(std::isnan(gradient[place]));
            CHECK(std::isnan(head.mean(raw)) == (place < 4));
        }
    }
}
