// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <array>

/// Minimax polynomials of our own, made with Sollya (remez and fpminimax; erfc by Chebyshev's), lowest coefficient first. The errors named are
/// those of the polynomial before rounding, in units of the last place of a result in [1/2, 1).
namespace gmac::inline GMAC_ABI::lanes::detail {

template <class T>
struct coefficients;

template <>
struct coefficients<float> {
    // exp(−r) for |r| ≤ ln 2 / 2; 0.05 ulp. ln 2 in two parts: a multiple of the first by n < 2^8 is exact.
    static constexpr std::array<double, 7> exp{1.0,          -1.0,           0x1.fffffcp-2, -0x1.55549p-3,
                                               0x1.5558ap-5, -0x1.123abep-7, 0x1.6a6016p-10};
    static constexpr double ln2_high = 0x1.62e4p-1, ln2_low = 0x1.7f7d1cp-20;
    static constexpr double exp_lowest = -104.0, exp_highest = 89.0; // exp is 0 and infinity there

    // erf(a) = a + a P(a²) for a < split; 0.36 ulp. 1 + exp(−a²) Q(a − split) above; 0.34 ulp.
    static constexpr double erf_split = 0x1.ep-1;
    static constexpr double erf_end = 9.38; // exp(−a²) is 2^-127 there: between 126.5 and 127.5 powers of two
    static constexpr std::array<double, 6> erf_low{0x1.06eba6p-3,  -0x1.8126e2p-2, 0x1.ce196p-4,
                                                   -0x1.b677ecp-6, 0x1.46b886p-8,  -0x1.37cd6cp-11};
    static constexpr std::array<double, 8> erf_high{-0x1.c7f81p-2,  0x1.2c832p-2,  -0x1.5c3d2p-3,  0x1.6ab23cp-4,
                                                    -0x1.4dc344p-5, 0x1.f04946p-7, -0x1.efea8ap-9, 0x1.d2d14p-12};

    // log((1 + s) / (1 − s)) = 2 s + s³ R(s²) for |s| ≤ 0.172
    static constexpr std::array<double, 3> log{0x1.55555cp-1, 0x1.997b92p-2, 0x1.2ef818p-2};

    // (1 + 2a) exp(a²) erfc(a) for a ≥ 0, as a polynomial in (a − 3) / (a + 3); 7e-8 relative
    static constexpr std::array<double, 11> erfc{0x1.40c522p0,   -0x1.15c01p-3,   -0x1.85a112p-5, 0x1.097a26p-3,
                                                 -0x1.e88d3p-4,  0x1.1834a6p-4,   -0x1.8557aap-6, 0x1.2bb2acp-9,
                                                 0x1.eb8a6ep-10, -0x1.0d67dap-11, -0x1.84299ep-14};
};

template <>
struct coefficients<double> {
    // exp(−r) for |r| ≤ ln 2 / 2; 0.05 ulp. ln 2 in two parts: a multiple of the first by n < 2^11 is exact.
    static constexpr std::array<double, 12> exp{1.0,
                                                -1.0,
                                                0x1.000000000000ap-1,
                                                -0x1.55555555554fep-3,
                                                0x1.55555555506cp-5,
                                                -0x1.1111111126b38p-7,
                                                0x1.6c16c18475a3dp-10,
                                                -0x1.a01a012febad3p-13,
                                                0x1.a0199963bc64dp-16,
                                                -0x1.71df18fd11ab6p-19,
                                                0x1.28adf7b45a45dp-22,
                                                -0x1.ad92c5ce1dd2ap-26};
    static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    static constexpr double exp_lowest = -746.0, exp_highest = 710.0;

    // erf(a) = a + a P(a²) for a < split; 0.08 ulp. 1 + exp(−a²) Q(a − split) above; 0.09 ulp.
    static constexpr double erf_split = 1.0, erf_end = 26.63; // 2^-1023
    static constexpr std::array<double, 12> erf_low{0x1.06eba8214db68p-3,  -0x1.812746b0379b5p-2,
                                                    0x1.ce2f21a040b02p-4,  -0x1.b82ce311f7069p-6,
                                                    0x1.565bccf908894p-8,  -0x1.c02db03ff6859p-11,
                                                    0x1.f9a2bb4bba0e4p-14, -0x1.f4ca5bb2856d7p-17,
                                                    0x1.b9807f233887fp-20, -0x1.5c0bc3130e26fp-23,
                                                    0x1.d73d744d56d18p-27, -0x1.ac1a4196e3b8fp-31};
    static constexpr std::array<double, 21> erf_high{-0x1.b5d8780f956b2p-2,  0x1.17c4e3f17bf81p-2,
                                                     -0x1.3c27283c2bb81p-3,  0x1.44837f8784961p-4,
                                                     -0x1.33cad0c475581p-5,  0x1.10fceed62d1f9p-6,
                                                     -0x1.c8cb54d2b124ep-8,  0x1.6af068f6e9987p-9,
                                                     -0x1.134711bae90acp-10, 0x1.9021bb9500ac3p-12,
                                                     -0x1.17161130253b5p-13, 0x1.747fbcafd41d5p-15,
                                                     -0x1.d65f0924ea8c7p-17, 0x1.12b09d60bceedp-18,
                                                     -0x1.1edbea97bb412p-20, 0x1.00bd4e23f135ap-22,
                                                     -0x1.772b2830ab8c2p-25, 0x1.a6b1887614f62p-28,
                                                     -0x1.54483aaa04e18p-31, 0x1.59622a962dafdp-35,
                                                     -0x1.4a0a5e9f434cfp-40};

    static constexpr std::array<double, 8> log{0x1.5555555555555p-1, 0x1.9999999999d58p-2, 0x1.249249242f0ap-2,
                                               0x1.c71c725c1a961p-3, 0x1.745cdb8fdb8c7p-3, 0x1.3b2153e77202fp-3,
                                               0x1.0f4a99b645efap-3, 0x1.101ea8cd72d77p-3};

    // as above; 7e-15 relative
    static constexpr std::array<double, 21> erfc{0x1.40c522d7e498p0,     -0x1.15c084bb9d2a5p-3,  -0x1.85a15c589c611p-5,
                                                 0x1.098366a54d7b6p-3,   -0x1.e88b803b65073p-4,  0x1.17ca2889755e8p-4,
                                                 -0x1.8574c3c5658fcp-6,  0x1.4b88385a59668p-9,   0x1.ef1bb953013d5p-10,
                                                 -0x1.98d96d8e59539p-11, -0x1.b907b22794a0ep-14, 0x1.06411055823a5p-13,
                                                 0x1.4a1ffd133505ap-18,  -0x1.4f94f19e1a529p-16, -0x1.68f1b1cdcc67ep-21,
                                                 0x1.c05ed97a1c2cep-19,  0x1.2da406a54579bp-22,  -0x1.0fb9a8d9c155ep-21,
                                                 -0x1.533cec5ad48bep-24, 0x1.985a4ac7ff6aep-25,  0x1.638037adb0b74p-27};
};

} // namespace gmac::inline GMAC_ABI::lanes::detail
