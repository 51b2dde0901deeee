// SPDX-License-Identifier: Apache-2.0
// Mixtures with means and deviations of any size, against the closed forms in long double.
#include "support/extremes.hpp"
#include "support/catch.hpp"

#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/energy.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using real = long double;
constexpr real root_half = std::numbers::sqrt2_v<real> / 2;

template <class T>
[[nodiscard]] real wide(T x) {
    return static_cast<real>(x);
}

/// E|X − Y| of two components.
template <class T>
[[nodiscard]] real difference(normal_component<T> const& a, normal_component<T> const& b) {
    real const d = wide(a.mean) - wide(b.mean);
    real const s = std::hypot(wide(a.deviation), wide(b.deviation));
    if (s == 0)
        return std::abs(d);
    real const z = d / s;
    return s * (2 * std::numbers::inv_sqrtpi_v<real> * root_half) * std::exp(-z * z / 2) + d * std::erf(z * root_half);
}
template <class U, class V>
[[nodiscard]] real difference_of(U const& u, V const& v) {
    real sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i)
        for (std::size_t j = 0; j < v.size(); ++j)
            sum +=
                wide(u.component(i).weight) * wide(v.component(j).weight) * difference(u.component(i), v.component(j));
    return sum;
}

template <class T>
struct judge {
    gaussian_mixture<T> const& mixture;

    [[nodiscard]] real sum(auto&& of) const {
        real total = 0;
        for (auto const& c : mixture.components())
            if (c.weight > T(0))
                total += wide(c.weight) * of(c);
        return total;
    }
    [[nodiscard]] real mean() const {
        return sum([](auto const& c) { return wide(c.mean); });
    }
    [[nodiscard]] real variance() const {
        return sum([&](auto const& c) {
            return wide(c.deviation) * wide(c.deviation) + (wide(c.mean) - mean()) * (wide(c.mean) - mean());
        });
    }
    [[nodiscard]] real cdf(real x) const {
        return sum([&](auto const& c) -> real {
            if (c.deviation == T(0))
                return x >= wide(c.mean) ? 1 : 0;
            return std::erfc((wide(c.mean) - x) / wide(c.deviation) * root_half) / 2;
        });
    }
    [[nodiscard]] real pdf(real x) const {
        return sum([&](auto const& c) -> real {
            real const z = (x - wide(c.mean)) / wide(c.deviation);
            if (c.deviation == T(0))
                return x == wide(c.mean) ? infinity<real> : 0;
            return std::exp(-z * z / 2) / wide(c.deviation) * std::numbers::inv_sqrtpi_v<real> * root_half;
        });
    }
    /// By bisection, where T has no number for it.
    [[nodiscard]] real quantile(real p) const {
        real low = -64 * wide((std::numeric_limits<T>::max)()), high = -low;
        for (int step = 0; step < 200; ++step) {
            real const middle = (low + high) / 2;
            (cdf(middle) < p ? low : high) = middle;
        }
        return high;
    }
    /// E max(x − X, 0)
    [[nodiscard]] real shortfall(real x) const {
        return sum([&](auto const& c) -> real {
            real const d = x - wide(c.mean);
            if (c.deviation == T(0))
                return std::fmax(d, real(0));
            real const z = d / wide(c.deviation);
            return d * std::erfc(-z * root_half) / 2 +
                   wide(c.deviation) * std::exp(-z * z / 2) * std::numbers::inv_sqrtpi_v<real> * root_half;
        });
    }
};

/// Mixtures of one and of two components, some of them with nearly no weight.
template <class T>
[[nodiscard]] std::vector<gaussian_mixture<T>> mixtures() {
    using limits = std::numeric_limits<T>;
    T const most = (limits::max)();
    T const root = std::sqrt(most);
    std::vector<normal_component<T>> components;
    for (T const mean : {T(0), T(-1), root, most, -most})
        for (T const deviation : {T(0), limits::denorm_min(), T(1), root * 4, most})
            components.push_back({T(1), mean, deviation});
    std::vector<gaussian_mixture<T>> all;
    for (auto a : components) {
        all.push_back(gaussian_mixture<T>({a}));
        for (auto b : components)
            for (T const weight : {T(0.25), (limits::min)(), T(0)}) {
                a.weight = weight;
                b.weight = T(1) - weight;
                all.push_back(gaussian_mixture<T>({a, b}));
            }
    }
    return all;
}

template <class T>
[[nodiscard]] std::string text(gaussian_mixture<T> const& mixture) {
    std::string all;
    for (auto const& c : mixture.components())
        all += fmt::format("({} {} {})", c.weight, c.mean, c.deviation);
    return all;
}

} // namespace

TEMPLATE_TEST_CASE("moments, densities and distribution functions of mixtures of any size", "[extremes]", float,
                   double) {
    using T = TestType;
    sweep cases;
    for (auto const& mixture : mixtures<T>()) {
        judge<T> const exact{mixture};
        std::string const name = text(mixture);
        cases.expect("mean", mixture.mean(), exact.mean(), 8, 0, name);
        cases.expect("variance", mixture.variance(), exact.variance(), 16, 0, name);
        for (T const x : extremes<T>()) {
            real const at = wide(x);
            cases.expect("cdf", mixture.cdf(x), exact.cdf(at), 64, 0, name, x);
            // An exponential has the rounding of its exponent, which may be as large as the logarithm of the largest number.
            real const density = exact.pdf(at);
            cases.expect("pdf", mixture.pdf(x), density, 8 + 4 * std::log((std::numeric_limits<T>::max)()), 0, name, x);
            cases.expect("log pdf", mixture.log_pdf(x), density > 0 ? std::log(density) : -infinity<real>, 16, 700,
                         name, x);
        }
    }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("quantiles and conditional values at risk of mixtures of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    real const most = wide((std::numeric_limits<T>::max)());
    for (auto const& mixture : mixtures<T>()) {
        judge<T> const exact{mixture};
        for (T const p : {T(1e-6), T(0.1), T(0.25), T(0.5), T(0.9), T(0.9999)}) {
            std::string const name = text(mixture);
            T const x = mixture.quantile(p);
            // The distribution function reaches p within some units in the last place of the quantile, or of p.
            real const step = 16 * std::fmax(std::abs(wide(x)) * wide(std::numeric_limits<T>::epsilon()),
                                             wide(std::numeric_limits<T>::denorm_min()));
            real const slack = 64 * wide(std::numeric_limits<T>::epsilon());
            real const below = std::isinf(x) && x < T(0) ? 0 : exact.cdf((std::isinf(x) ? most : wide(x)) - step);
            real const above = std::isinf(x) && x > T(0) ? 1 : exact.cdf((std::isinf(x) ? -most : wide(x)) + step);
            bool const found = below <= wide(p) * (1 + slack) && above >= wide(p) * (1 - slack);
            cases.expect("quantile", found ? T(1) : x, 1, 0, 0, name, p);
            real const end = std::isinf(x) ? exact.quantile(wide(p)) : wide(x);
            real const lost = exact.shortfall(end) / wide(p);
            cases.expect("cvar", mixture.cvar(p), end - lost, 64, std::fmax(std::abs(end), lost), name, p);
        }
    }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("energy distances of mixtures of any size", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    auto const all = mixtures<T>();
    for (std::size_t i = 0; i < all.size(); i += 3)
        for (std::size_t j = 0; j < all.size(); j += 19) {
            auto const& u = all[i];
            auto const& v = all[j];
            real const cross = difference_of(u, v);
            real const exact = 2 * cross - difference_of(u, u) - difference_of(v, v);
            cases.expect("energy", energy(u, v), exact, 32, 2 * cross, text(u), text(v));
            cases.expect("cramer", cramer(u, v), exact / 2, 32, cross, text(u), text(v));
        }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("points of any size: moments, risk and distances", "[extremes]", float, double) {
    using T = TestType;
    sweep cases;
    auto const numbers = extremes<T>();
    for (T const a : numbers)
        for (T const b : numbers)
            for (T const weight : {T(0.25), (std::numeric_limits<T>::min)()}) {
                dirac_mixture<T> const points{{weight, a}, {T(1) - weight, b}};
                gaussian_mixture<T> const same{{weight, a, T(0)}, {T(1) - weight, b, T(0)}};
                judge<T> const exact{same};
                cases.expect("mean", points.mean(), exact.mean(), 8, 0, weight, a, b);
                cases.expect("variance", points.variance(), exact.variance(), 16, 0, weight, a, b);
                for (T const p : {T(0.1), T(0.5), T(1)}) {
                    real const x = wide(points.quantile(p));
                    real const lost = exact.shortfall(x) / wide(p);
                    cases.expect("cvar", points.cvar(p), x - lost, 16, std::fmax(std::abs(x), lost), weight, a, b, p);
                }
                for (T const c : {T(0), T(1), (std::numeric_limits<T>::max)()}) {
                    dirac_mixture<T> const other{{T(1), c}};
                    real const cross = difference_of(points, other);
                    real const distance = cross - difference_of(points, points) / 2;
                    cases.expect("cramer", cramer(points, other), distance, 16, cross, weight, a, b, c);
                    cases.expect("energy", energy(points, other), 2 * distance, 16, 2 * cross, weight, a, b, c);
                    cases.expect("crps", crps(same, c), distance, 16, cross, weight, a, b, c);
                }
            }
    CHECK(cases.failed() == "");
}

TEMPLATE_TEST_CASE("a NaN given to a mixture comes out", "[extremes]", float, double) {
    using T = TestType;
    gaussian_mixture<T> const mixture{{T(0.5), T(0), T(1)}, {T(0.5), T(1), T(0)}};
    dirac_mixture<T> const points{{T(0.5), T(0)}, {T(0.5), T(1)}};
    for (T const number : {mixture.pdf(quiet_nan<T>), mixture.log_pdf(quiet_nan<T>), mixture.cdf(quiet_nan<T>),
                           crps(mixture, quiet_nan<T>), points.cdf(quiet_nan<T>), crps(points, quiet_nan<T>)})
        CHECK(std::isnan(number));
    for (T const bad : {quiet_nan<T>, infinity<T>, -infinity<T>}) {
        CHECK_FALSE(std::isfinite(crps(mixture, bad)));
        CHECK_FALSE(std::isfinite(crps(points, bad)));
        CHECK_THROWS_AS((gaussian_mixture<T>{{T(1), bad, T(1)}}), error);
        CHECK_THROWS_AS((gaussian_mixture<T>{{T(1), T(0), bad}}), error);
        CHECK_THROWS_AS((dirac_mixture<T>{{T(1), bad}}), error);
        CHECK_THROWS_AS(mixture.quantile(bad), error);
        CHECK_THROWS_AS(points.cvar(bad), error);
    }
    CHECK(mixture.cdf(infinity<T>) == T(1));
    CHECK(mixture.cdf(-infinity<T>) == T(0));
    CHECK(mixture.pdf(infinity<T>) == T(0));
}
