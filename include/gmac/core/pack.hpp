// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/lanes.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

// A namespace of its own, for lanes::select and its like are objects and look here for functions of these names.
namespace gmac::lanes::packs {

/// N lane vectors that go through a kernel in step. A long chain of dependent operations leaves most of the machine idle:
/// with several chains side by side, one computes while the others wait.
template <class V, std::size_t N>
struct pack {
    std::array<V, N> parts;

    pack() noexcept = default;
    explicit pack(V const& value) noexcept : pack(value, std::make_index_sequence<N>{}) {}
    explicit pack(scalar_of<V> value) noexcept
        requires(!std::same_as<V, scalar_of<V>>)
        : pack(V(value)) {}

private:
    template <std::size_t... I>
    pack(V const& value, std::index_sequence<I...>) noexcept : parts{((void)I, value)...} {}
};

/// f(0), …, f(N − 1), each with its place as a constant.
template <std::size_t N, class F>
[[nodiscard, gnu::always_inline]] inline auto make_pack(F&& f) noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
        pack<decltype(f(std::integral_constant<std::size_t, 0>{})), N> result;
        ((result.parts[I] = f(std::integral_constant<std::size_t, I>{})), ...);
        return result;
    }
    (std::make_index_sequence<N>{});
}

/// f of the parts of each place, as a pack.
template <class F, std::size_t N, class... V>
    requires(sizeof...(V) > 0)
[[nodiscard, gnu::always_inline]] inline auto map(F f, pack<V, N> const&... x) noexcept {
    return make_pack<N>([&](auto place)
                            __attribute__((always_inline)) { return f(x.parts[decltype(place)::value]...); });
}

template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> operator+(pack<V, N> const& a, pack<V, N> const& b) noexcept {
    return map(
        [](V const& x, V const& y) __attribute__((always_inline)) { return V(x + y); }, a, b);
}
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> operator-(pack<V, N> const& a, pack<V, N> const& b) noexcept {
    return map(
        [](V const& x, V const& y) __attribute__((always_inline)) { return V(x - y); }, a, b);
}
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> operator*(pack<V, N> const& a, pack<V, N> const& b) noexcept {
    return map(
        [](V const& x, V const& y) __attribute__((always_inline)) { return V(x * y); }, a, b);
}
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> operator/(pack<V, N> const& a, pack<V, N> const& b) noexcept {
    return map(
        [](V const& x, V const& y) __attribute__((always_inline)) { return V(x / y); }, a, b);
}
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline auto operator<(pack<V, N> const& a, pack<V, N> const& b) noexcept {
    return map(
        [](V const& x, V const& y) __attribute__((always_inline)) { return x < y; }, a, b);
}
template <class Mask, class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> select(pack<Mask, N> const& mask, pack<V, N> const& a,
                                                           pack<V, N> const& b) noexcept {
    return map(
        [](Mask const& m, V const& x, V const& y) __attribute__((always_inline)) { return lanes::select(m, x, y); },
        mask, a, b);
}
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> abs(pack<V, N> const& x) noexcept {
    return map(
        [](V const& y) __attribute__((always_inline)) { return V(lanes::abs(y)); }, x);
}
template <class V, std::size_t N>
[[nodiscard, gnu::always_inline]] inline pack<V, N> sqrt(pack<V, N> const& x) noexcept {
    return map(
        [](V const& y) __attribute__((always_inline)) { return V(lanes::sqrt(y)); }, x);
}

} // namespace gmac::lanes::packs

namespace gmac::lanes {

using packs::make_pack;
using packs::map;
using packs::pack;

template <class V, std::size_t N>
struct lane_traits<pack<V, N>> {
    using scalar = scalar_of<V>;
    static constexpr std::size_t width = N * width_of<V>;
};
template <class V>
inline constexpr bool is_pack = false;
template <class V, std::size_t N>
inline constexpr bool is_pack<pack<V, N>> = true;
/// What a pack is made of; any other lane type is its own part.
template <class V>
struct part {
    using type = V;
};
template <class V, std::size_t N>
struct part<pack<V, N>> {
    using type = V;
};
template <class V>
using part_of = typename part<V>::type;
template <class V>
inline constexpr bool is_batch = false;
template <class T, class A>
inline constexpr bool is_batch<xsimd::batch<T, A>> = true;

} // namespace gmac::lanes
