// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// Characteristic functions of many Gaussians at evenly spaced frequencies, in float: each is the wave of the one before
/// times a number, so no sine, cosine or exponential is computed after the first. What is kept is by how much a wave falls
/// short of its value at 0: so sums over many that are alike, and near 0, are as precise as they are small.
namespace gmac::losses::detail {

/// 1 − w with w = exp(i n θ − n² a) for n = 1, 3, 5, …
template <class V>
struct damped_wave {
    V real, imaginary;           ///< 1 − w at n
    V step_real, step_imaginary; ///< 1 − s, where s w is the wave at n + 2
    V loss;                      ///< 1 − exp(−8 a), by which s is shorter at each n

    /// At n = 1, for θ in [−π, π] and a in [0, 0.2].
    [[nodiscard, gnu::always_inline]] static damped_wave first(V const& angle, V const& damping) noexcept {
        // Minimax polynomials of our own, made with Sollya, of sin x / x and cos x in x² and of (1 − exp(−a)) / a: 6e-9.
        static constexpr std::array<double, 5> sine_of{1.0, -0x1.55554cp-3, 0x1.110eep-7, -0x1.9f728cp-13,
                                                       0x1.5de374p-19};
        static constexpr std::array<double, 6> cosine_of{1.0,
                                                         -0.5,
                                                         0x1.55555p-5,
                                                         -0x1.6c14bap-10,
                                                         0x1.9f939ep-16,
                                                         -0x1.1972dep-22};
        static constexpr std::array<double, 5> loss_of{1.0, -0x1.fffff4p-2, 0x1.55511ap-3, -0x1.5461acp-5,
                                                       0x1.f61fa4p-8};
        V const one = lanes::constant<V>(1.0);
        V const half = lanes::constant<V>(0.5) * angle;
        V const square = half * half;
        V const half_sine = half * lanes::detail::polynomial(square, sine_of);
        V const half_cosine = lanes::detail::polynomial(square, cosine_of);
        V const sine = V(half_sine + half_sine) * half_cosine;
        V const short_of_one = V(half_sine + half_sine) * half_sine; // 1 − cos θ
        V const cosine = one - short_of_one;
        V loss = damping * lanes::detail::polynomial(damping, loss_of); // 1 − exp(−a)
        V const real = lanes::mul_add(loss, cosine, short_of_one);
        V const imaginary = lanes::mul_add(loss, sine, V(-sine));
        for (int doubling = 0; doubling < 3; ++doubling)
            loss = lanes::mul_sub(loss, loss, V(loss + loss));
        // s at 1 is exp(2 i θ − 8 a), since (n + 2)² − n² = 4 n + 4 is 8 and grows by 8.
        V const twice_sine = sine + sine;
        V const step_short = twice_sine * sine; // 1 − cos 2 θ
        V const step_real = lanes::mul_add(loss, V(one - step_short), step_short);
        V const sine_of_step = twice_sine * cosine;
        return {real, imaginary, step_real, lanes::mul_add(loss, sine_of_step, V(-sine_of_step)), loss};
    }

    [[gnu::always_inline]] void advance() noexcept {
        V const one = lanes::constant<V>(1.0);
        V const left = one - real;
        V const next = lanes::mul_add(step_real, left, lanes::mul_add(step_imaginary, imaginary, real));
        imaginary = lanes::mul_add(step_imaginary, left, lanes::mul_sub(step_real, imaginary, imaginary));
        real = next;
        step_real = lanes::mul_add(loss, V(one - step_real), step_real);
        step_imaginary = lanes::mul_sub(loss, step_imaginary, step_imaginary);
    }
    /// Something too small to change anything keeps subnormal numbers away, on which machines take ten times as long: once
    /// in some terms is enough.
    [[gnu::always_inline]] void keep_normal() noexcept { step_imaginary = step_imaginary + lanes::constant<V>(1e-25); }
    /// |w| at most.
    [[nodiscard]] V rest() const noexcept {
        return lanes::abs(V(lanes::constant<V>(1.0) - real)) + lanes::abs(imaginary);
    }
};

/// The most waves that are kept.
inline constexpr std::size_t most_waves = 256;
/// Terms n that are summed in one go, in registers.
inline constexpr std::size_t terms_in_step = 4;
/// Waves that are added up one by one: such sums are added up, which rounds less.
inline constexpr std::size_t waves_in_sum = 16;

/// Waves and what the sum of v w, over the first of them, falls short of Σ v: those that are too small are left out.
template <class V>
struct wave_sums {
    std::array<damped_wave<V>, most_waves> waves;
    std::array<V, most_waves> weights; ///< v, unless they are all the same
    V share;                           ///< v, if they are
    bool weighted = false;
    std::size_t count = 0;
    V dropped = lanes::constant<V>(0.0); ///< Σ v over those that are left out, in units of the share
    std::array<V, terms_in_step> real, imaginary;

    /// The sums at the next terms.
    [[gnu::noinline]] void next() noexcept {
        real.fill(dropped);
        imaginary.fill(lanes::constant<V>(0.0));
        for (std::size_t start = 0; start < count; start += waves_in_sum) {
            std::size_t const end = (std::min)(start + waves_in_sum, count);
            if (weighted)
                add<true>(start, end);
            else
                add<false>(start, end);
        }
        if (!weighted)
            for (std::size_t term = 0; term < terms_in_step; ++term) {
                real[term] = real[term] * share;
                imaginary[term] = imaginary[term] * share;
            }
    }
    /// Σ v |w| at most over the waves from `start` on, at the first term that is not summed yet.
    [[nodiscard]] V rest(std::size_t start = 0) const noexcept {
        V sum = lanes::constant<V>(0.0);
        for (std::size_t j = start; j < count; ++j)
            sum = weighted ? lanes::mul_add(weights[j], waves[j].rest(), sum) : V(sum + waves[j].rest());
        return weighted ? sum : V(sum * share);
    }
    /// Leaves out the last waves, sum by sum, while negligible(Σ v |w| at most) says so.
    template <class Negligible>
    void drop(Negligible&& negligible) noexcept {
        while (count > 0) {
            std::size_t const start = (count - 1) / waves_in_sum * waves_in_sum;
            if (!negligible(rest(start)))
                return;
            for (std::size_t j = start; j < count; ++j)
                dropped = dropped + (weighted ? weights[j] : lanes::constant<V>(1.0));
            count = start;
        }
    }

private:
    template <bool Weighted>
    [[gnu::always_inline]] void add(std::size_t start, std::size_t end) noexcept {
        std::array<V, terms_in_step> re, im;
        re.fill(lanes::constant<V>(0.0));
        im.fill(lanes::constant<V>(0.0));
        for (std::size_t j = start; j < end; ++j) {
            damped_wave<V> wave = waves[j];
            wave.keep_normal();
#pragma GCC unroll 4
            for (std::size_t term = 0; term < terms_in_step; ++term) {
                if constexpr (Weighted) {
                    re[term] = lanes::mul_add(weights[j], wave.real, re[term]);
                    im[term] = lanes::mul_add(weights[j], wave.imaginary, im[term]);
                } else {
                    re[term] = re[term] + wave.real;
                    im[term] = im[term] + wave.imaginary;
                }
                wave.advance();
            }
            waves[j] = wave;
        }
        for (std::size_t term = 0; term < terms_in_step; ++term) {
            real[term] = real[term] + re[term];
            imaginary[term] = imaginary[term] + im[term];
        }
    }
};

} // namespace gmac::losses::detail
