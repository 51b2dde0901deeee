// SPDX-License-Identifier: Apache-2.0
// The counter-based generator against its published answers, and the laws of what is drawn with it.
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"

#include <gmac/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

using gmac::random_stream;
using gmac::testing::kolmogorov;

namespace {

using block = std::array<std::uint32_t, 4>;

/// By how many of its own deviations chi-square is away from its mean.
double surprise(std::vector<int> const& counts) {
    auto const freedom = static_cast<double>(counts.size() - 1);
    return std::abs(gmac::testing::chi_square(counts) - freedom) / std::sqrt(2.0 * freedom);
}

constexpr std::size_t many = 100'000;

} // namespace

TEST_CASE("Philox 4x32-10 gives the answers that its authors publish", "[core]") {
    // The three lines "philox4x32 10" of tests/kat_vectors in Random123 (DEShawResearch/random123, commit 9545ff6).
    CHECK(random_stream::philox({0, 0, 0, 0}, {0, 0}) == block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(random_stream::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
          block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(random_stream::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is that of std::philox4x32", "[core]") {
    // C++26, [rand.predef]: the 10000th number of a default-constructed std::philox4x32, whose seed is 20111115.
    random_stream random(20111115);
    for (int i = 1; i < 10'000; ++i)
        static_cast<void>(random());
    CHECK(random() == 1955073260u);
    CHECK(random.position() == 10'000);
}

TEST_CASE("seed, stream and position are key and counter", "[core]") {
    random_stream random(0x299f31d0a4093822, 0x0370734413198a2e);
    random.seek(std::uint64_t{0x05a308d3243f6a88} * 4);
    block words;
    for (std::uint32_t& word : words)
        word = random();
    CHECK(words == random_stream::philox({0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}));
    CHECK(random_stream(1, 2)() != random_stream(1, 3)());
    CHECK(random_stream(1, 2)() != random_stream(2, 2)());
    CHECK(gmac::stream_for(5, gmac::stream_purpose::action, 7).stream() == (std::uint64_t{3} << 48u | 7u));
}

TEST_CASE("words by the vector, from any place, are the words one by one", "[core]") {
    random_stream one(3, 4);
    std::vector<std::uint32_t> expected(600);
    for (std::uint32_t& word : expected)
        word = one();
    for (std::size_t first = 0; first < 9; ++first)
        for (std::size_t const count : {0u, 1u, 3u, 16u, 64u, 131u, 513u}) {
            random_stream random(3, 4);
            random.seek(first);
            std::vector<std::uint32_t> words(count);
            random.fill(words);
            CAPTURE(first, count);
            CHECK(std::ranges::equal(words, std::span(expected).subspan(first, count)));
            CHECK(random.position() == first + count);
            CHECK(random() == expected[first + count]);
        }
    // Where the lower half of the block's number carries into the upper.
    random_stream far(1), also_far(1);
    far.seek((std::uint64_t{1} << 34u) - 64);
    also_far.seek((std::uint64_t{1} << 34u) - 64);
    std::vector<std::uint32_t> words(256);
    far.fill(words);
    CHECK(std::ranges::all_of(words, [&](std::uint32_t word) { return word == also_far(); }));
}

TEST_CASE("a stream that was stored goes on where it was", "[core]") {
    random_stream random(7, 9);
    for (int i = 0; i < 6; ++i)
        static_cast<void>(random());
    gmac::testing::memory_archive file;
    random.persist(file, "stream");
    file.rewind();
    random_stream other;
    other.persist(file, "stream");
    for (int i = 0; i < 10; ++i)
        CHECK(other() == random());
}

TEMPLATE_TEST_CASE("uniform numbers", "[core]", float, double) {
    using T = TestType;
    random_stream random(11), open(12);
    std::vector<T> values(many), open_values(many);
    std::ranges::generate(values, [&] { return random.uniform<T>(); });
    std::ranges::generate(open_values, [&] { return open.open_uniform<T>(); });
    auto const identity = [](double x) { return x; };
    CHECK(kolmogorov(values, identity) < 1.95);
    CHECK(kolmogorov(open_values, identity) < 1.95);
    CHECK(std::ranges::all_of(values, [](T x) { return x >= T(0) && x < T(1); }));
    CHECK(std::ranges::all_of(open_values, [](T x) { return x > T(0) && x < T(1); }));
    // All bits of the mantissa: multiples of 2^-24 and 2^-53, and odd ones among them.
    T const cells = std::same_as<T, float> ? T(0x1p24) : T(0x1p53);
    CHECK(std::ranges::all_of(values, [&](T x) { return std::floor(x * cells) == x * cells; }));
    CHECK(std::ranges::any_of(values, [&](T x) { return std::fmod(x * cells, T(2)) == T(1); }));
}

TEMPLATE_TEST_CASE("normal numbers", "[core]", float, double) {
    using T = TestType;
    random_stream random(13);
    std::vector<T> values(many);
    std::ranges::generate(values, [&] { return random.normal<T>(); });
    CHECK(kolmogorov(values, gmac::testing::standard_normal_cdf) < 1.95);
}

namespace {

/// Mean and variance of many draws, in standard errors of them from those of the law.
template <class Draw>
std::array<double, 2> errors_of_moments(Draw&& draw, double mean, double variance, double fourth_moment) {
    double sum = 0.0, squares = 0.0;
    for (std::size_t i = 0; i < many; ++i) {
        double const x = static_cast<double>(draw()) - mean;
        sum += x;
        squares += x * x;
    }
    auto const n = static_cast<double>(many);
    return {sum / std::sqrt(variance * n),
            (squares - variance * n) / std::sqrt((fourth_moment - variance * variance) * n)};
}

void check_moments(std::array<double, 2> const& errors) {
    CHECK(std::abs(errors[0]) < 3.3); // one in a thousand
    CHECK(std::abs(errors[1]) < 3.3);
}

} // namespace

TEMPLATE_TEST_CASE("mean and variance of uniform, normal and whole numbers", "[core]", float, double) {
    using T = TestType;
    random_stream random(16);
    check_moments(errors_of_moments([&] { return random.uniform<T>(); }, 0.5, 1.0 / 12.0, 1.0 / 80.0));
    check_moments(errors_of_moments([&] { return random.open_uniform<T>(); }, 0.5, 1.0 / 12.0, 1.0 / 80.0));
    check_moments(errors_of_moments([&] { return random.normal<T>(); }, 0.0, 1.0, 3.0));
    for (double const count : {3.0, 7.0, 1e6})
        check_moments(errors_of_moments([&] { return random.below(static_cast<std::uint32_t>(count)); },
                                        (count - 1) / 2, (count * count - 1) / 12,
                                        (count * count - 1) * (3 * count * count - 7) / 240));
}

TEST_CASE("numbers that follow each other, in a stream, in its neighbour or with the next seed, are independent",
          "[core]") {
    random_stream one(17), stream(17, 1), seed(18);
    std::vector<int> inside(256), across_streams(256), across_seeds(256);
    auto const cell = [](double x, double y) {
        return static_cast<std::size_t>(16.0 * x) * 16 + static_cast<std::size_t>(16.0 * y);
    };
    double before = one.uniform<double>();
    for (std::size_t i = 0; i < many; ++i) {
        auto const now = one.uniform<double>();
        ++inside[cell(before, now)];
        ++across_streams[cell(now, stream.uniform<double>())];
        ++across_seeds[cell(now, seed.uniform<double>())];
        before = now;
    }
    CHECK(surprise(inside) < 3.3);
    CHECK(surprise(across_streams) < 3.3);
    CHECK(surprise(across_seeds) < 3.3);
}

TEST_CASE("whole numbers below a bound are equally likely, also where words have to be thrown away", "[core]") {
    random_stream random(14);
    CHECK(random.below(1) == 0);
    for (std::uint32_t const count : {2u, 3u, 10u, 1000u}) {
        std::vector<int> counts(count);
        for (std::size_t i = 0; i < many; ++i)
            ++counts[random.below(count)];
        CAPTURE(count);
        CHECK(surprise(counts) < 3.3);
    }
    // Three quarters of the words: without Lemire's rejection two of four words would give a multiple of three.
    constexpr std::uint32_t large = 3u << 30u;
    std::vector<int> thirds(3);
    for (std::size_t i = 0; i < many; ++i)
        ++thirds[random.below(large) % 3];
    CHECK(surprise(thirds) < 3.3);
}

TEST_CASE("a shuffle gives every order with the same probability", "[core]") {
    random_stream random(15);
    for (std::size_t size = 2, orders = 2; size <= 5; orders *= ++size) {
        std::vector<int> counts(orders);
        for (std::size_t i = 0; i < many; ++i) {
            std::array<int, 5> items{0, 1, 2, 3, 4};
            auto const shuffled = std::span(items).first(size);
            random.shuffle(shuffled);
            std::size_t rank = 0; // of the permutation among all
            while (std::ranges::prev_permutation(shuffled).found)
                ++rank;
            ++counts[rank];
        }
        CAPTURE(size);
        CHECK(surprise(counts) < 3.3);
    }
    std::vector<int> all(1000);
    std::iota(all.begin(), all.end(), 0);
    auto shuffled = all;
    random.shuffle(std::span<int>(shuffled));
    CHECK(shuffled != all);
    CHECK(std::ranges::is_permutation(shuffled, all));
    auto const position = random.position();
    random.shuffle(std::span<int>());
    CHECK(random.position() == position);
}

TEST_CASE("the normal quantile", "[core]") {
    using gmac::standard_normal_quantile;
    // The answers by which Wichura 1988 (AS 241) has an implementation checked.
    CHECK(standard_normal_quantile(0.25) == Approx(-0.6744897501960817).epsilon(1e-15));
    CHECK(standard_normal_quantile(0.001) == Approx(-3.090232306167814).epsilon(1e-15));
    CHECK(standard_normal_quantile(1e-20) == Approx(-9.262340089798408).epsilon(1e-15));
    CHECK(standard_normal_quantile(0.5) == 0.0);
    // Elsewhere by bisection of the distribution function in long double.
    auto const by_bisection = [](long double p) {
        long double low = -40, high = 0;
        while (true) {
            long double const middle = (low + high) / 2;
            if (middle == low || middle == high)
                return middle;
            (std::erfc(-middle / std::numbers::sqrt2_v<long double>) / 2 < p ? low : high) = middle;
        }
    };
    double worst = 0.0;
    double previous = -40.0;
    for (double log_p = -700.0; log_p < -0.694; log_p += log_p < -5.0 ? 0.5 : 0.001) {
        double const p = std::exp(log_p);
        double const x = standard_normal_quantile(p);
        CHECK(x > previous);
        previous = x;
        auto const exact = by_bisection(static_cast<long double>(p));
        worst = std::max(worst, static_cast<double>(std::abs(static_cast<long double>(x) / exact - 1)));
    }
    CHECK(worst < 1e-15);
    // The upper half is the lower one mirrored: where 1 - p is exact, to the bit.
    for (int k = 1; k <= 53; ++k) {
        double const p = std::ldexp(1.0, -k);
        CHECK(standard_normal_quantile(1.0 - p) == -standard_normal_quantile(p));
        if (k <= 24)
            CHECK(standard_normal_quantile(static_cast<float>(p)) == static_cast<float>(standard_normal_quantile(p)));
    }
}

TEMPLATE_TEST_CASE("a normal number is the quantile of the open uniform one", "[core]", float, double) {
    using T = TestType;
    random_stream normal(21), uniform(21);
    for (int i = 0; i < 100; ++i)
        CHECK(normal.normal<T>() == gmac::standard_normal_quantile(uniform.open_uniform<T>()));
    CHECK(normal.position() == uniform.position());
}
