// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything of gmac lies in an inline namespace that is called after the vectors for which a file is compiled:
//     namespace gmac::inline GMAC_ABI::losses { … }
// Files of one program may then be compiled for different vectors, such as one for any x86 and one for AVX2, which is
// chosen at run time. The linker keeps one copy of an inline function for each name; with one name for both, the copy for
// AVX2 would be called on a machine without, or with lanes of another width than it was compiled for.
// A macro, since nothing else can name a namespace after what the compiler was told.
#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
#define GMAC_ABI_VECTORS avx512
#elif defined(__AVX512F__)
#define GMAC_ABI_VECTORS avx512f
#elif defined(__AVX2__)
#define GMAC_ABI_VECTORS avx2
#elif defined(__AVX__)
#define GMAC_ABI_VECTORS avx
#elif defined(__SSE4_2__)
#define GMAC_ABI_VECTORS sse4_2
#elif defined(__SSE4_1__)
#define GMAC_ABI_VECTORS sse4_1
#elif defined(__SSSE3__)
#define GMAC_ABI_VECTORS ssse3
#elif defined(__SSE3__)
#define GMAC_ABI_VECTORS sse3
#elif defined(__ARM_FEATURE_SVE)
#define GMAC_ABI_VECTORS sve
#else
#define GMAC_ABI_VECTORS baseline
#endif

#if defined(__FMA__) || defined(__FMA4__)
#define GMAC_ABI_FMA _fma
#else
#define GMAC_ABI_FMA
#endif

// gmac::fail throws or aborts.
#if defined(__cpp_exceptions)
#define GMAC_ABI_ERRORS
#else
#define GMAC_ABI_ERRORS _no_exceptions
#endif

#define GMAC_ABI_JOIN(vectors, fma, errors) vectors##fma##errors
#define GMAC_ABI_NAME(vectors, fma, errors) GMAC_ABI_JOIN(vectors, fma, errors)
#define GMAC_ABI GMAC_ABI_NAME(GMAC_ABI_VECTORS, GMAC_ABI_FMA, GMAC_ABI_ERRORS)
