// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lane_bits.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/special.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

/// Characteristic functions of many Gaussians at evenly spaced frequencies, in float: each is the wave of the one before
/// times a number, so no sine, cosine or exponential is computed after the first.
namespace gmac::losses::detail {

/// v exp(i n θ − n² a) for n = 1, 3, 5, …
template <class V>
struct damped_wave {
    V real, imaginary;           ///< at n
    V step_real, step_imaginary; ///< from n to n + 2
    V loss;                      ///< by how much the next step is shorter, as a share of it

    /// At n = 1, for θ in [−π/2, π/2] and a in [0, 0.2].
    [[nodiscard, gnu::always_inline]] static damped_wave first(V const& angle, V const& damping,
                                                               V const& amplitude) noexcept {
        // Minimax polynomials of our own, made with Sollya, of sin θ / θ and cos θ in θ² and of (1 − exp(−a)) / a: 6e-9.
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
        V const square = angle * angle;
        V const sine = angle * lanes::detail::polynomial(square, sine_of);
        V const cosine = lanes::detail::polynomial(square, cosine_of);
        V loss = damping * lanes::detail::polynomial(damping, loss_of); // 1 − exp(−a)
        V const kept = amplitude * V(one - loss);
        for (int doubling = 0; doubling < 3; ++doubling)
            loss = lanes::mul_sub(loss, loss, V(loss + loss));
        V const step = one - loss; // exp(−8 a), since (n + 2)² − n² = 4 n + 4 is 8 and grows by 8
        V const twice = V(sine + sine) * step;
        return {kept * cosine, kept * sine, lanes::mul_sub(twice, sine, step), twice * cosine, loss};
    }

    [[gnu::always_inline]] void advance() noexcept {
        // Something too small to change anything keeps subnormal numbers away, on which machines take ten times as long.
        V const tiny = lanes::constant<V>(1e-25);
        V const next = lanes::mul_sub(imaginary, step_imaginary, lanes::mul_add(real, step_real, tiny));
        imaginary = lanes::mul_add(imaginary, step_real, lanes::mul_add(real, step_imaginary, tiny));
        real = next;
        step_real = lanes::mul_sub(loss, step_real, step_real);
        step_imaginary = lanes::mul_sub(loss, step_imaginary, step_imaginary);
    }
};

/// The most waves that are kept.
inline constexpr std::size_t most_waves = 256;
/// Terms n that are summed in one go, and in registers.
inline constexpr std::size_t terms_in_step = 8;
inline constexpr std::size_t terms_in_registers = 4;
/// Waves that are added up one by one: such sums are added up, which rounds less.
inline constexpr std::size_t waves_in_sum = 16;

/// Waves and their sums over the first of them, which are still large enough.
template <class V>
struct wave_sums {
    std::array<damped_wave<V>, most_waves> waves;
    std::array<V, terms_in_step> real, imaginary;
    std::size_t count = 0;

    /// The sums at the next terms.
    [[gnu::noinline]] void next() noexcept {
        real.fill(lanes::constant<V>(0.0));
        imaginary.fill(lanes::constant<V>(0.0));
        for (std::size_t term = 0; term < terms_in_step; term += terms_in_registers)
            for (std::size_t start = 0; start < count; start += waves_in_sum)
                add(start, (std::min)(start + waves_in_sum, count), &real[term], &imaginary[term]);
    }
    /// Σ |wave| at most over the waves from `start` on, at the first term that is not summed yet.
    [[nodiscard]] V rest(std::size_t start = 0) const noexcept {
        V sum = lanes::constant<V>(0.0);
        for (std::size_t j = start; j < count; ++j)
            sum = sum + (lanes::abs(waves[j].real) + lanes::abs(waves[j].imaginary));
        return sum;
    }
    /// Leaves out the last waves, sum by sum, while negligible(Σ |wave| at most) says so.
    template <class Negligible>
    void drop(Negligible&& negligible) noexcept {
        while (count > 0) {
            std::size_t const start = (count - 1) / waves_in_sum * waves_in_sum;
            if (!negligible(rest(start)))
                return;
            count = start;
        }
    }

private:
    [[gnu::always_inline]] void add(std::size_t start, std::size_t end, V* real_sums, V* imaginary_sums) noexcept {
        std::array<V, terms_in_registers> re, im;
        re.fill(lanes::constant<V>(0.0));
        im.fill(lanes::constant<V>(0.0));
        for (std::size_t j = start; j < end; ++j) {
            damped_wave<V> wave = waves[j];
#pragma GCC unroll 4
            for (std::size_t term = 0; term < terms_in_registers; ++term) {
                re[term] = re[term] + wave.real;
                im[term] = im[term] + wave.imaginary;
                wave.advance();
            }
            waves[j] = wave;
        }
        for (std::size_t term = 0; term < terms_in_registers; ++term) {
            real_sums[term] = real_sums[term] + re[term];
            imaginary_sums[term] = imaginary_sums[term] + im[term];
        }
    }
};

} // namespace gmac::losses::detail
