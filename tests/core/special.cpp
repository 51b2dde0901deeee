// SPDX-License-Identifier: Apache-2.0
// exp, log, log1p, erf and their relations over every lane type, against the standard library in twice the precision.
#include <gmac/core/counted.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/special.hpp>
#include <gmac/losses/detail/erf_table.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

namespace {

namespace lanes = gmac::lanes;
using gmac::losses::detail::erf_by_table;

template <class T>
using reference = std::conditional_t<std::same_as<T, float>, double, long double>;

/// The error of `computed` in units of the last place of the exact result. Beyond the largest number the unit is that of
/// the largest binade, and infinity counts as the first number there.
template <class T>
double error_in_ulp(T computed, reference<T> exact) {
    using R = reference<T>;
    using limits = std::numeric_limits<T>;
    if (std::isnan(exact))
        return std::isnan(computed) ? 0.0 : 1e30;
    if (std::isnan(computed))
        return 1e30;
    if (std::isinf(exact))
        return static_cast<R>(computed) == exact ? 0.0 : 1e30;
    int exponent = 0;
    std::frexp(exact, &exponent);
    exponent = std::min(std::max(exponent, limits::min_exponent), limits::max_exponent);
    R const unit = std::ldexp(R(1), exponent - limits::digits);
    R const value = std::isinf(computed) ? std::copysign(std::ldexp(R(1), limits::max_exponent), R(computed))
                                         : static_cast<R>(computed);
    R const bounded = std::abs(exact) > std::ldexp(R(1), limits::max_exponent)
                          ? std::copysign(std::ldexp(R(1), limits::max_exponent), exact)
                          : exact;
    return static_cast<double>(std::abs(value - bounded) / unit);
}

/// The largest error of `function` over the inputs, against `exact`.
template <class V, class T, class F, class E>
double largest_error(std::vector<T> const& inputs, F function, E exact) {
    constexpr std::size_t width = lanes::width_of<V>;
    double largest = 0.0;
    for (std::size_t i = 0; i < inputs.size(); i += width) {
        std::size_t const first = std::min(i, inputs.size() - width);
        std::array<T, width> results;
        gmac::matrix_view<T const> const column(inputs.data() + first, width, 1, 1, 1);
        gmac::matrix_view<T> const to(results.data(), width, 1, 1, 1);
        lanes::store_rows(V(function(lanes::load_rows<V>(column, 0, 0))), to, 0, 0);
        for (std::size_t j = 0; j < width; ++j)
            largest =
                std::max(largest, error_in_ulp<T>(results[j], exact(static_cast<reference<T>>(inputs[first + j]))));
    }
    return largest;
}

/// Floats: every 1,009th of the 2^32 bit patterns, NaN and infinities among them.
std::vector<float> inputs(float) {
    std::vector<float> all;
    for (std::uint64_t bits = 0; bits < (std::uint64_t(1) << 32u); bits += 1009)
        all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    return all;
}
/// Doubles: dense where the functions bend, and random bit patterns.
std::vector<double> inputs(double) {
    std::mt19937_64 random(7);
    std::vector<double> all;
    for (double const scale : {1e-3, 1.0, 2.0, 4.0, 8.0, 28.0, 760.0}) {
        std::uniform_real_distribution<double> uniform(-scale, scale);
        for (int i = 0; i < 60000; ++i)
            all.push_back(uniform(random));
    }
    for (int i = 0; i < 400000; ++i)
        all.push_back(std::bit_cast<double>(random()));
    return all;
}
template <class T>
std::vector<T> all_inputs() {
    using limits = std::numeric_limits<T>;
    std::vector<T> all = inputs(T());
    for (T const x : {T(0), T(0.5), T(1), T(2), limits::min(), limits::max(), limits::denorm_min(), limits::infinity(),
                      limits::quiet_NaN(), std::nextafter(T(1), T(2)), std::nextafter(T(1), T(0)), T(88.72283),
                      T(103.97), T(709.7827), T(745.1332), limits::epsilon()}) {
        all.push_back(x);
        all.push_back(-x);
    }
    return all;
}

/// φ, Φ and Φ⁻¹, whose bounds are relative.
template <class V>
void check_normal() {
    using T = lanes::scalar_of<V>;
    using R = reference<T>;
    constexpr bool single = std::same_as<T, float>;
    constexpr auto epsilon = static_cast<R>(std::numeric_limits<T>::epsilon());
    R const root = std::sqrt(R(2));
    auto const one = [](auto const& function, T x) {
        std::array<T, lanes::width_of<V>> results;
        lanes::store_rows(V(function(V(x))), gmac::matrix_view<T>(results.data(), results.size(), 1, 1, 1), 0, 0);
        return static_cast<R>(results.back());
    };
    for (int i = -1250; i <= 1250; ++i) {
        T const z = static_cast<T>(i) / T(100);
        R const size = static_cast<R>(std::abs(z));
        R const tail = std::erfc(size / root) / 2;
        R const bound = (single ? R(3e-7) : R(1e-14)) + size * size * epsilon;
        R const below = one([](V const& x) { return lanes::normal_at(x).below; }, z);
        R const above = one([](V const& x) { return lanes::normal_at(x).above; }, z);
        REQUIRE(std::abs((z < 0 ? below : above) / tail - 1) < bound);
        REQUIRE(std::abs((z < 0 ? above : below) - (1 - tail)) < bound);
        R const density = std::exp(-size * size / 2) / std::sqrt(2 * std::numbers::pi_v<R>);
        REQUIRE(std::abs(one([](V const& x) { return lanes::normal_at(x).density; }, z) / density - 1) < bound);
    }
    auto const quantile = [&](T p) { return one([](V const& x) { return lanes::normal_quantile(x); }, p); };
    std::mt19937_64 random(5);
    for (int i = 0; i < 20000; ++i) {
        // Of all sizes from the least normal number on, and close to one.
        double const size = std::uniform_real_distribution<double>(single ? -37.0 : -300.0, 0.0)(random);
        double const small = std::pow(10.0, i % 2 == 0 ? size : size / (single ? 6.0 : 20.0));
        T const p = static_cast<T>(i % 4 == 0 ? 1.0 - small : small);
        R const exact = static_cast<R>(gmac::standard_normal_quantile(static_cast<double>(p)));
        if (p > T(0) && p < T(1))
            REQUIRE(std::abs(quantile(p) - exact) <= (single ? R(2e-6) : R(4e-15)) * (std::abs(exact) + R(0.1)));
    }
    constexpr T infinity = std::numeric_limits<T>::infinity();
    CHECK(quantile(T(0)) == -infinity);
    CHECK(quantile(T(1)) == infinity);
    CHECK(quantile(T(0.5)) == 0);
    CHECK(std::isnan(quantile(T(-0.1))));
    CHECK(std::isnan(quantile(T(1.1))));
    CHECK(std::isnan(quantile(std::numeric_limits<T>::quiet_NaN())));
    auto const below = [&](T z) { return one([](V const& x) { return lanes::normal_at(x).below; }, z); };
    CHECK(below(infinity) == 1);
    CHECK(below(-infinity) == 0);
    CHECK(std::isnan(below(std::numeric_limits<T>::quiet_NaN())));
}

template <class V>
void check_accuracy() {
    using T = lanes::scalar_of<V>;
    using R = reference<T>;
    static std::vector<T> const all = all_inputs<T>();

    // The docstring of special.hpp states these bounds.
    CHECK(largest_error<V>(all, lanes::exp, [](R x) { return std::exp(x); }) < 1.2);
    CHECK(largest_error<V>(all, lanes::log, [](R x) { return std::log(x); }) < 0.9);
    CHECK(largest_error<V>(all, lanes::log1p, [](R x) { return std::log1p(x); }) < 1.5);
    CHECK(largest_error<V>(all, lanes::erf, [](R x) { return std::erf(x); }) < 1.4);
    CHECK(largest_error<V>(
              all, [](V const& x) { return lanes::softplus_sigmoid(x).value; },
              [](R x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }) < 2.1);
    CHECK(largest_error<V>(
              all, [](V const& x) { return lanes::softplus_sigmoid(x).derivative; },
              [](R x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }) < 2.9);
    // exp(−z²) is that of the rounded square, and zero where it would be subnormal.
    CHECK(largest_error<V>(
              all, [](V const& z) { return lanes::exp_erf(z).exp; },
              [](R z) {
                  R const square = static_cast<R>(static_cast<T>(static_cast<T>(z) * static_cast<T>(z)));
                  R const result = std::exp(-square);
                  return result < R(std::numeric_limits<T>::min()) ? R(0) : result;
              }) < 1.0 + std::ldexp(1.0, std::numeric_limits<T>::digits - 1));
    std::vector<T> ordinary;
    T const end = std::sqrt(-std::log(std::numeric_limits<T>::min()));
    std::copy_if(all.begin(), all.end(), std::back_inserter(ordinary), [&](T z) { return std::abs(z) < end; });
    CHECK(largest_error<V>(
              ordinary, [](V const& z) { return lanes::exp_erf(z).exp; },
              [](R z) { return std::exp(-static_cast<R>(static_cast<T>(static_cast<T>(z) * static_cast<T>(z)))); }) <
          1.2);
    std::vector<T> normal;
    T const largest = std::numeric_limits<T>::max();
    std::copy_if(all.begin(), all.end(), std::back_inserter(normal),
                 [&](T x) { return x >= std::numeric_limits<T>::min() && x <= largest; });
    V const cap = V(largest);
    CHECK(largest_error<V>(
              normal, [&](V const& x) { return lanes::inverse_sqrt(x, cap); }, [](R x) { return 1 / std::sqrt(x); }) <
          2.0);
}

/// The largest errors of erf_by_table: of erf(z) and exp(−z²) in absolute terms, and of erf(z) in relative terms near 0.
template <class V>
void check_erf_table() {
    double erf_error = 0.0, exponential_error = 0.0, relative_error = 0.0;
    for (double start = 0.0; start < 20.0; start += 0x1p-11) {
        auto const x = static_cast<float>(start);
        for (float const sign : {1.0F, -1.0F}) {
            auto const found = erf_by_table(std::array{V(sign * x)})[0];
            double const erf = static_cast<double>(lanes::sum_lanes(found.erf, 1));
            double const exponential = static_cast<double>(lanes::sum_lanes(found.slope, 1)) * 3.2;
            double const z = static_cast<double>(sign * x) * gmac::losses::detail::erf_step;
            erf_error = std::max(erf_error, std::abs(erf - std::erf(z)));
            exponential_error = std::max(exponential_error, std::abs(exponential - std::exp(-z * z)));
            if (x > 0 && x < 0.5F)
                relative_error = std::max(relative_error, std::abs(erf / std::erf(z) - 1.0));
        }
    }
    // The docstring states these bounds.
    CHECK(erf_error < 1.2e-7);
    CHECK(exponential_error < 1.4e-7);
    CHECK(relative_error < 1.2e-7);

    auto const check_end = [](float x, float erf) {
        auto const found = erf_by_table(std::array{V(x)})[0];
        CHECK(lanes::sum_lanes(found.erf, 1) == erf);
        CHECK(lanes::sum_lanes(found.slope, 1) == 0.0F);
    };
    using limits = std::numeric_limits<float>;
    for (float const x : {14.51F, 15.0F, 100.0F, limits::max(), limits::infinity()}) {
        check_end(x, 1.0F);
        check_end(-x, -1.0F);
    }
    auto const nothing = erf_by_table(std::array{V(limits::quiet_NaN())})[0];
    CHECK(std::isnan(lanes::sum_lanes(nothing.erf, 1)));
    CHECK(std::isnan(lanes::sum_lanes(nothing.slope, 1)));
}

/// The last unit in which two results of different lane types may differ.
template <class V>
void check_agreement_with_scalars() {
    using T = lanes::scalar_of<V>;
    constexpr std::size_t width = lanes::width_of<V>;
    std::vector<T> const all = all_inputs<T>();
    double largest = 0.0;
    for (std::size_t i = 0; i + width <= all.size(); i += width) {
        gmac::matrix_view<T const> const column(all.data() + i, width, 1, 1, 1);
        std::array<T, width> exponentials, errors;
        auto const both = lanes::exp_erf(lanes::load_rows<V>(column, 0, 0));
        lanes::store_rows(both.exp, gmac::matrix_view<T>(exponentials.data(), width, 1, 1, 1), 0, 0);
        lanes::store_rows(both.erf, gmac::matrix_view<T>(errors.data(), width, 1, 1, 1), 0, 0);
        for (std::size_t j = 0; j < width; ++j) {
            auto const alone = lanes::exp_erf(all[i + j]);
            if (!std::isnan(alone.exp) || !std::isnan(exponentials[j]))
                largest = std::max(largest, error_in_ulp<T>(exponentials[j], alone.exp));
            if (!std::isnan(alone.erf) || !std::isnan(errors[j]))
                largest = std::max(largest, error_in_ulp<T>(errors[j], alone.erf));
        }
    }
    CHECK(largest <= 2.0);
}

} // namespace

TEST_CASE("the special functions are exact to about one unit in the last place", "[mixture]") {
    SECTION("float") {
        check_accuracy<float>();
    }
    SECTION("double") {
        check_accuracy<double>();
    }
    SECTION("lanes of float") {
        check_accuracy<lanes::widest<float>>();
    }
    SECTION("lanes of double") {
        check_accuracy<lanes::widest<double>>();
    }
}

TEST_CASE("the normal distribution and its quantile function over lanes keep what is small") {
    check_normal<float>();
    check_normal<double>();
    check_normal<lanes::widest<float>>();
    check_normal<lanes::widest<double>>();
}

TEST_CASE("erf and its slope from a table are exact to about one unit in the last place of 1", "[mixture]") {
    check_erf_table<float>();
    if constexpr (gmac::losses::detail::looks_up_sixteen<lanes::widest<float>>)
        check_erf_table<lanes::widest<float>>();
}

TEST_CASE("a lane gives what a scalar gives, to rounding", "[mixture]") {
    check_agreement_with_scalars<lanes::widest<float>>();
    check_agreement_with_scalars<lanes::widest<double>>();
}

TEST_CASE("NaN in one lane stays there, and reaches the result", "[mixture]") {
    using V = lanes::widest<float>;
    std::array<float, lanes::width_of<V>> in{}, out{};
    in.back() = std::numeric_limits<float>::quiet_NaN();
    V const x = V::load_unaligned(in.data());
    for (V const& result : {V(lanes::exp(x)), V(lanes::erf(x)), V(lanes::exp_erf(x).exp), V(lanes::log1p(x)),
                            V(lanes::softplus(x)), V(lanes::at_most(V(1.0F), x)), V(lanes::at_least(V(-1.0F), x))}) {
        result.store_unaligned(out.data());
        CHECK(std::isnan(out.back()));
        CHECK_FALSE(std::isnan(out.front()));
    }
    // A payload other than the default must not turn into a number either.
    CHECK(std::isnan(lanes::exp(std::bit_cast<float>(0x7fc12345U))));
    CHECK(std::isnan(lanes::exp_erf(std::bit_cast<float>(0xffc12345U)).exp));
    CHECK(std::isnan(lanes::exp(std::bit_cast<double>(std::uint64_t(0x7ff8000000012345U)))));
}

TEST_CASE("the inverse root is finite at zero", "[mixture]") {
    using V = lanes::widest<float>;
    CHECK(lanes::inverse_sqrt(0.0F, 100.0F) == 100.0F);
    float const at_zero = lanes::sum_lanes(lanes::inverse_sqrt(V(0.0F), V(100.0F)), 1);
    CHECK(at_zero >= 100.0F);
    CHECK(at_zero <= 300.0F);
}
