// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/distributions/detail/mixture_quantile.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

/// Where the density of a mixture turns from rising to falling and back: all sign changes of its derivative.
///
/// With z = (x − μ)/σ, a component adds (−1)ⁿ w φ(z) Heₙ(z) / σⁿ⁺¹ to the n-th derivative, where Heₙ is the Hermite polynomial.
/// Between the roots of He₁ … He₅ of all components every such term, n ≤ 4, is monotone and keeps its sign, so that its values at
/// the ends of an interval bound it there. The line from the least to the greatest mean, outside of which the density only
/// rises or only falls, is cut at these roots, and each stretch is halved until one of these is certain of the piece, for
/// bounds that are widened by what rounding may have done to them:
///   - the derivative has one sign;
///   - it is monotone, so that the signs at the ends tell whether there is one root or none;
///   - it is nowhere larger than 1000 roundings of the sum of its terms' magnitudes: nobody can say which sign it has. The
///     next pieces on both sides tell whether the density turned.
/// So no turn is overlooked, but a pair of them with so little between them. Two kinds of bounds are needed. Sums of the terms' own
/// bounds, whose exponentials are compared by their logarithms, are right far out, where everything underflows; bounds of the
/// fourth derivative, integrated from both ends, are right where terms cancel, and leave few pieces around a root of several
/// derivatives at once.
namespace gmac::inline GMAC_ABI::kernels {

/// The search, with its memory. Components of deviation 0 are points: limits of components that become narrower and narrower.
template <std::floating_point R>
class turning_points {
public:
    /// Whether floating-point numbers are too coarse for this component where it is, so that it must be given as a point.
    [[nodiscard]] static bool too_narrow(normal_component<R> const& c) noexcept {
        return c.deviation < 16 * resolution(c.mean);
    }

    /// The turns in ascending order: the modes are the first, the third, …, the last. The weights need not sum to one; if
    /// none is positive there is no turn.
    [[nodiscard]] std::span<boundary<R> const> find(component_span<R> components) {
        prepare(components);
        turns_.clear();
        if (cuts_.empty())
            return turns_;
        sign_ = 1;
        reached_ = cuts_.front();
        auto point = points_.begin();
        for (std::size_t i = 0; i < cuts_.size(); ++i) {
            R const x = cuts_[i];
            if (i > 0 && !parts_.empty())
                resolve(cuts_[i - 1], x);
            if (point != points_.end() && *point == x) {
                ++point;
                see(x, x, 1, false); // what turned before the point did so on its left
                see(x, x, -1);
            }
        }
        see(cuts_.back(), cuts_.back(), -1);
        return turns_;
    }

private:
    static constexpr R infinity = std::numeric_limits<R>::infinity();
    static constexpr R epsilon = std::numeric_limits<R>::epsilon();
    static constexpr std::size_t orders = 4;
    /// The positive roots of He₂ to He₅.
    static constexpr std::array<R, 6> hermite_roots{R(0.74196378430272585765L), R(1),
                                                    R(1.35562617997426586584L), R(1.73205080756887729353L),
                                                    R(2.33441421833897723932L), R(2.85697001387280565416L)};

    /// A component that is no point, and how far rounding may move the logarithm of a term of it where z = 0. At a cut, which
    /// is rounded, a term misses its extremum by the square of what z misses.
    struct part {
        R mean, deviation, log_weight, log_deviation, rounding;
    };
    /// Of one part at one end of an interval: log(w φ(z) / σ), how far rounding may have moved it, and (−1)ⁿ Heₙ(z).
    struct end_value {
        R exponent, rounding;
        std::array<R, orders + 1> factor;
    };
    struct term {
        R deviation, log_deviation;
        R ratio; ///< of the exponentials at the ends, left by right
        end_value left, right;
    };
    struct range {
        R low = 0, high = 0;
    };

    [[nodiscard]] static R resolution(R x) noexcept {
        return (std::max)(epsilon * std::abs(x), std::numeric_limits<R>::denorm_min());
    }

    void prepare(component_span<R> components) {
        parts_.clear();
        points_.clear();
        cuts_.clear();
        R low = infinity;
        R high = -infinity;
        for (auto const& c : components) {
            if (c.weight == R(0))
                continue;
            low = (std::min)(low, c.mean);
            high = (std::max)(high, c.mean);
            cuts_.push_back(c.mean);
            if (c.deviation == R(0)) {
                points_.push_back(c.mean);
                continue;
            }
            R const log_weight = std::log(c.weight);
            R const log_deviation = std::log(c.deviation);
            R const coarse = resolution(c.mean) / c.deviation;
            parts_.push_back(
                {c.mean, c.deviation, log_weight, log_deviation,
                 epsilon * (8 + 2 * (std::abs(log_weight) + 5 * std::abs(log_deviation))) + 4 * coarse * coarse});
            for (R const root : hermite_roots) {
                cuts_.push_back(c.mean - root * c.deviation);
                cuts_.push_back(c.mean + root * c.deviation);
            }
        }
        std::erase_if(cuts_, [&](R x) { return x < low || x > high; });
        for (auto* const places : {&points_, &cuts_}) {
            std::sort(places->begin(), places->end());
            places->erase(std::unique(places->begin(), places->end()), places->end());
        }
    }

    /// The density rises (sign 1) or falls (−1) from one place to the other. A turn at `from` itself has what lies there on its
    /// left if it is closed.
    void see(R from, R to, int sign, bool closed = true) {
        if (sign != sign_) {
            R const turn = std::midpoint(reached_, from);
            turns_.push_back({turn, closed || turn < from});
        }
        sign_ = sign;
        reached_ = to;
    }

    /// Sees what the density does in [a, b], where every term is monotone.
    void resolve(R a, R b) {
        if (!evaluate(a, b))
            return;
        for (int const sign : {1, -1})
            if (has_sign(1, sign))
                return see(a, b, sign);
        if (has_sign(2, 1) || has_sign(2, -1))
            return follow(a, b);
        auto const [first, second, magnitude] = refined(b - a);
        if (first.low > R(0) || first.high < R(0))
            return see(a, b, first.low > R(0) ? 1 : -1);
        if (second.low > R(0) || second.high < R(0))
            return follow(a, b);
        if (first.high <= magnitude && -first.low <= magnitude)
            return;
        R const middle = std::midpoint(a, b);
        if (middle > a && middle < b) {
            resolve(a, middle);
            resolve(middle, b);
        }
    }

    /// Where the derivative is monotone.
    void follow(R a, R b) {
        int const left = sign_at(a);
        int const right = sign_at(b);
        if (left * right < 0) {
            R const x = solve(a, b, left);
            see(a, x, left);
            see(x, b, right);
        } else if (left + right != 0) {
            see(a, b, left + right > 0 ? 1 : -1);
        }
    }

    /// Makes the terms of the interval; false if no exponential there is a number.
    [[nodiscard]] bool evaluate(R a, R b) {
        terms_.clear();
        for (part const& p : parts_) {
            term const t{p.deviation, p.log_deviation, R(0), value_at(p, a), value_at(p, b)};
            if (t.left.exponent == -infinity && t.right.exponent == -infinity)
                continue;
            terms_.push_back(t);
            terms_.back().ratio = std::exp(t.left.exponent - t.right.exponent);
        }
        return !terms_.empty();
    }
    [[nodiscard]] static end_value value_at(part const& p, R x) noexcept {
        R const z = standard_score(normal_component<R>{R(1), p.mean, p.deviation}, x);
        end_value value{p.log_weight - p.log_deviation - z * z / 2, p.rounding + 2 * epsilon * z * z, {}};
        if (value.exponent == -infinity)
            return value;
        value.factor[0] = 1;
        value.factor[1] = -z;
        for (std::size_t n = 1; n < orders; ++n)
            value.factor[n + 1] = -z * value.factor[n] - static_cast<R>(n) * value.factor[n - 1];
        return value;
    }

    /// A number, up to a power of e.
    struct scaled {
        R factor, exponent;
    };
    /// The least value of sign times the n-th derivative of a term.
    [[nodiscard]] static scaled least(term const& t, std::size_t n, int sign) noexcept {
        R const left = static_cast<R>(sign) * t.left.factor[n];
        R const right = static_cast<R>(sign) * t.right.factor[n];
        bool const left_is_less = left == R(0) ? right > R(0) : left * t.ratio < right;
        R const factor = left_is_less ? left : right;
        end_value const& end = left_is_less ? t.left : t.right;
        return {factor,
                end.exponent - static_cast<R>(n) * t.log_deviation + (factor < R(0) ? end.rounding : -end.rounding)};
    }
    /// Whether the n-th derivative has this sign in the whole interval, or is 0, by the terms' own bounds.
    [[nodiscard]] bool has_sign(std::size_t n, int sign) const noexcept {
        bool opposed = false;
        R largest = -infinity;
        for (term const& t : terms_) {
            scaled const value = least(t, n, sign);
            opposed = opposed || value.factor < R(0);
            if (value.factor != R(0))
                largest = (std::max)(largest, value.exponent);
        }
        if (!opposed)
            return true;
        R sum = 0;
        for (term const& t : terms_)
            if (scaled const value = least(t, n, sign); value.factor != R(0))
                sum += value.factor * std::exp(value.exponent - largest);
        return sum > R(0);
    }

    struct refined_bounds {
        range first, second; ///< of the derivatives, for the interval's length as the unit
        R magnitude;         ///< what the first one must exceed for its sign to be certain
    };
    [[nodiscard]] refined_bounds refined(R length) const noexcept {
        R largest = -infinity;
        for (term const& t : terms_)
            largest = (std::max)({largest, t.left.exponent, t.right.exponent});
        std::array<range, orders + 1> left{}, right{}, inside{};
        R magnitude = 0;
        for (term const& t : terms_) {
            R const left_exponential = std::exp(t.left.exponent - largest);
            R const right_exponential = std::exp(t.right.exponent - largest);
            R unit = 1;
            for (std::size_t n = 1; n <= orders; ++n) {
                unit *= length / t.deviation;
                R const a = unit * t.left.factor[n] * left_exponential;
                R const b = unit * t.right.factor[n] * right_exponential;
                range const at_left = widened(a, t.left.rounding);
                range const at_right = widened(b, t.right.rounding);
                add(left[n], at_left);
                add(right[n], at_right);
                add(inside[n], {(std::min)(at_left.low, at_right.low), (std::max)(at_left.high, at_right.high)});
                if (n == 1)
                    magnitude += (std::max)(std::abs(a) * (1000 * epsilon + 4 * t.left.rounding),
                                            std::abs(b) * (1000 * epsilon + 4 * t.right.rounding));
            }
        }
        for (std::size_t n = orders - 1; n > 0; --n) {
            range const slope = inside[n + 1];
            R const low = least_between(left[n].low, right[n].low, slope);
            R const high = -least_between(-left[n].high, -right[n].high, {-slope.high, -slope.low});
            inside[n] = {std::fmax(inside[n].low, low), std::fmin(inside[n].high, high)}; // a NaN gives nothing
        }
        return {inside[1], inside[2], magnitude};
    }
    [[nodiscard]] static range widened(R value, R rounding) noexcept {
        return {value - std::abs(value) * rounding, value + std::abs(value) * rounding};
    }
    static void add(range& sum, range const& other) noexcept {
        sum.low += other.low;
        sum.high += other.high;
    }
    /// The least that a function on [0, 1] can be that has these values at the ends, and whose derivative is in this range.
    [[nodiscard]] static R least_between(R left, R right, range const& slope) noexcept {
        if (slope.low >= R(0))
            return left;
        if (slope.high <= R(0))
            return right;
        return (slope.high * left - slope.low * right + slope.low * slope.high) / (slope.high - slope.low);
    }

    /// The first two derivatives at a place, and what rounding may have added to the first, all times one positive number.
    struct derivatives {
        R first = 0, second = 0, rounding = 0;
    };
    [[nodiscard]] derivatives derivatives_at(R x) const noexcept {
        auto const exponent = [](part const& p, R z) { return p.log_weight - 2 * p.log_deviation - z * z / 2; };
        auto const score = [x](part const& p) {
            return standard_score(normal_component<R>{R(1), p.mean, p.deviation}, x);
        };
        R largest = -infinity;
        for (part const& p : parts_)
            largest = (std::max)(largest, exponent(p, score(p)));
        derivatives result;
        for (part const& p : parts_) {
            R const z = score(p);
            R const exponential = std::exp(exponent(p, z) - largest);
            if (!(exponential > R(0)))
                continue;
            result.first -= z * exponential;
            result.second += (z * z - R(1)) * exponential / p.deviation;
            // Far out rounding moves logarithms by more than that, but then it does not matter for the place.
            result.rounding += std::abs(z) * exponential * (std::min)(p.rounding + 2 * epsilon * z * z, R(1e-3));
        }
        return result;
    }
    [[nodiscard]] int sign_at(R x) const noexcept {
        derivatives const at = derivatives_at(x);
        return at.first > at.rounding ? 1 : at.first < -at.rounding ? -1 : 0;
    }

    /// The root of the derivative in [low, high], where it is monotone; its sign at `low` is given and the other at `high`.
    /// Newton's steps, or a bisection where one leaves the bracket or gains too little.
    [[nodiscard]] R solve(R low, R high, int sign) const noexcept {
        R x = std::midpoint(low, high);
        R width = high - low;
        for (int step = 1; x > low && x < high; ++step) {
            derivatives const at = derivatives_at(x);
            if (std::abs(at.first) <= at.rounding)
                break;
            ((at.first > R(0)) == (sign > 0) ? low : high) = x;
            R const next = x - at.first / at.second;
            bool const slow = step % 4 == 0 && high - low > width / 4;
            if (step % 4 == 0)
                width = high - low;
            x = next > low && next < high && !slow ? next : std::midpoint(low, high);
        }
        return x;
    }

    std::vector<part> parts_;
    std::vector<term> terms_;
    std::vector<R> points_, cuts_;
    std::vector<boundary<R>> turns_;
    int sign_ = 1;     ///< of the derivative where it was last known
    R reached_ = R(0); ///< up to where that is
};

} // namespace gmac::inline GMAC_ABI::kernels
