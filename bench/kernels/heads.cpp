// SPDX-License-Identifier: Apache-2.0
// Each head's pull-back, from the gradient of its parameters to that of its raw outputs, and the mean that is the value.
#include "harness.hpp"

#include <gmac/core/lanes.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/scalar.hpp>

#include <array>
#include <memory>

namespace gmac::bench {

namespace {

constexpr std::size_t states = 512;

template <class T, class Head>
struct problem {
    table<T> outputs{states, Head::outputs, 1, normal};
    table<T> gradient{states, Head::outputs};
    std::vector<T> values = std::vector<T>(states);
};

/// transform and pull_back with all slopes one, in the lanes of the machine.
template <class Head, class T>
void pull_back_all(Head const& head, problem<T, Head>& p) {
    using V = lanes::lane_for_t<T>;
    static_assert(states % lanes::width_of<V> == 0);
    auto const raw_view = std::as_const(p.outputs).view();
    auto const gradient = p.gradient.view();
    for (std::size_t first = 0; first < states; first += lanes::width_of<V>) {
        std::array<V, Head::outputs> raw, result;
        for (std::size_t j = 0; j < Head::outputs; ++j)
            raw[j] = lanes::load_rows<V>(raw_view, first, j);
        auto const parameters = head.transform(raw);
        head.pull_back(raw, parameters, parameters, result);
        for (std::size_t j = 0; j < Head::outputs; ++j)
            lanes::store_rows(result[j], gradient, first, j);
    }
    benchmark::ClobberMemory();
}

template <class Head>
[[nodiscard]] double pull_back_operations(Head const& head) {
    operation_counts counter;
    std::array<counted<double>, Head::outputs> raw, result;
    for (std::size_t j = 0; j < Head::outputs; ++j)
        raw[j] = counted<double>(0.1 * static_cast<double>(j), counter);
    auto const parameters = head.transform(raw);
    head.pull_back(raw, parameters, parameters, result);
    return static_cast<double>(counter.total());
}

template <class T, class Head>
void add_head(std::string const& name, Head head) {
    add<T>("pull_back/" + name, [head] {
        auto const p = std::make_shared<problem<T, Head>>();
        return std::pair([p, head] { pull_back_all(head, *p); },
                         work{states, pull_back_operations(head), p->outputs.bytes() + p->gradient.bytes()});
    });
    add<T>("head_mean/" + name, [head] {
        auto const p = std::make_shared<problem<T, Head>>();
        return std::pair(
            [p, head] {
                head.mean(std::as_const(p->outputs).view(), vector_view<T>(p->values));
                benchmark::ClobberMemory();
            },
            work{states, 0.0, p->outputs.bytes() + states * sizeof(T)});
    });
}

template <class T>
void add_all() {
    add_head<T>("scalar", heads::scalar{});
    add_head<T>("dirac_64", heads::dirac<64>{});
    add_head<T>("gaussian_mixture_5", heads::gaussian_mixture<5>{});
}

} // namespace

void register_heads() {
    add_all<float>();
    add_all<double>();
}

} // namespace gmac::bench
