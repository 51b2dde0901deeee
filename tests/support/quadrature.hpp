// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

/// Numerical integration, the judge of closed forms.
namespace gmac::testing {

/// Gauss-Legendre with N points on [-1, 1]: the roots of the Legendre polynomial by Newton's method.
template <std::size_t N>
class gauss_legendre {
public:
    gauss_legendre() {
        for (std::size_t i = 0; i < N; ++i) {
            double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(N) + 0.5));
            double slope = 0.0;
            for (int step = 0; step < 20; ++step) {
                double before = 1.0;
                double value = x;
                for (std::size_t k = 2; k <= N; ++k) {
                    auto const degree = static_cast<double>(k);
                    double const next = ((2.0 * degree - 1.0) * x * value - (degree - 1.0) * before) / degree;
                    before = value;
                    value = next;
                }
                slope = static_cast<double>(N) * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            points_[i] = x;
            weights_[i] = 2.0 / ((1.0 - x * x) * slope * slope);
        }
    }

    template <class F>
    [[nodiscard]] double operator()(F&& f, double from, double to) const {
        double const half = 0.5 * (to - from);
        double const middle = 0.5 * (to + from);
        double sum = 0.0;
        for (std::size_t i = 0; i < N; ++i)
            sum += weights_[i] * f(middle + half * points_[i]);
        return half * sum;
    }

private:
    std::array<double, N> points_{}, weights_{};
};

/// ∫ f over [from, to], halving the interval until both halves agree with the whole to `tolerance` times its part.
template <class F>
[[nodiscard]] double integrate(F&& f, double from, double to, double tolerance, int depth = 30) {
    static gauss_legendre<20> const rule;
    double const middle = 0.5 * (from + to);
    double const whole = rule(f, from, to);
    double const halves = rule(f, from, middle) + rule(f, middle, to);
    if (depth == 0 || std::abs(whole - halves) <= tolerance)
        return halves;
    return integrate(f, from, middle, 0.5 * tolerance, depth - 1) +
           integrate(f, middle, to, 0.5 * tolerance, depth - 1);
}

/// The same from the first to the last of the points; f may jump at each of them and nowhere else.
template <class F>
[[nodiscard]] double integrate_between(F&& f, std::vector<double> points, double tolerance) {
    std::sort(points.begin(), points.end());
    double sum = 0.0;
    for (std::size_t i = 1; i < points.size(); ++i)
        if (points[i] > points[i - 1])
            sum += integrate(f, points[i - 1], points[i], tolerance);
    return sum;
}

/// The same in long double, by five points on each of `pieces` equal parts of [from, from + length].
template <class F>
[[nodiscard]] long double integrate_long(F&& f, long double from, long double length, int pieces) {
    constexpr std::array<long double, 5> points{-0.906179845938663992797626878299L, -0.538469310105683091036314420700L,
                                                0.0L, 0.538469310105683091036314420700L,
                                                0.906179845938663992797626878299L};
    constexpr std::array<long double, 5> weights{0.236926885056189087514264040720L, 0.478628670499366468041291514836L,
                                                 0.568888888888888888888888888889L, 0.478628670499366468041291514836L,
                                                 0.236926885056189087514264040720L};
    long double const half = length / static_cast<long double>(2 * pieces);
    long double sum = 0.0L;
    for (int i = 0; i < pieces; ++i)
        for (std::size_t k = 0; k < points.size(); ++k)
            sum += half * weights[k] * f(from + half * (static_cast<long double>(2 * i + 1) + points[k]));
    return sum;
}

} // namespace gmac::testing
