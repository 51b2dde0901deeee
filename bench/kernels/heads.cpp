// SPDX-License-Identifier: Apache-2.0
// The pull-back of heads that have one, from the gradient of its parameters to that of its raw outputs, and the mean that is
// the value; and the implicit quantile network, whose pull-back is its backward pass.
#include "harness.hpp"

#include "flops/network_cost.hpp"

#include <gmac/backends/simd.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/nn/implicit_quantile.hpp>

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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

/// The mean of one state: a softmax, of which all but the last is a sum of exponentials, and a sum of products; or a sum.
template <class Head>
[[nodiscard]] double mean_operations(Head const&) {
    constexpr auto n = static_cast<double>(Head::outputs);
    if constexpr (requires { Head::components; })
        return n / 3.0 * (1.0 + 1.0 + 1.0 + 1.0 + 1.0 + 1.0); // comparison, difference, exponential, sum, product, sum
    else
        return n == 1.0 ? 0.0 : n;
}

/// The libtorch version takes the raw outputs; heads that compute nothing have none.
template <class Head>
[[nodiscard]] naive::job torch_pull_back([[maybe_unused]] float const* raw) {
#if defined(GMAC_BENCH_TORCH)
    if constexpr (requires { Head::components; })
        return naive::mixture_pull_back(raw, states, Head::components);
#endif
    return {};
}
template <class Head>
[[nodiscard]] naive::job torch_mean([[maybe_unused]] float const* raw) {
#if defined(GMAC_BENCH_TORCH)
    if constexpr (requires { Head::components; })
        return naive::mixture_mean(raw, states, Head::components);
    else if constexpr (Head::outputs > 1)
        return naive::row_means(raw, states, Head::outputs);
#endif
    return {};
}

template <class T, class Head>
void add_pull_back(std::string const& name, Head head) {
    add<T>("pull_back/" + name, [head] {
        auto const p = std::make_shared<problem<T, Head>>();
        return std::pair([p, head] { pull_back_all(head, *p); },
                         work{states, pull_back_operations(head), p->outputs.bytes() + p->gradient.bytes(),
                              in_torch<T>([&] { return torch_pull_back<Head>(floats(p->outputs)); })});
    });
}

template <class T, class Head>
void add_mean(std::string const& name, Head head) {
    add<T>("head_mean/" + name, [head] {
        auto const p = std::make_shared<problem<T, Head>>();
        return std::pair(
            [p, head] {
                head.mean(std::as_const(p->outputs).view(), vector_view<T>(p->values));
                benchmark::ClobberMemory();
            },
            work{states, mean_operations(head), p->outputs.bytes() + states * sizeof(T),
                 in_torch<T>([&] { return torch_mean<Head>(floats(p->outputs)); })});
    });
}

/// The network of the implicit quantile head behind a trunk of 64 units, with the paper's 64 fractions and 64 cosines: a
/// prediction alone, and with the backward pass to the parameters and the features.
template <class T>
struct quantile_problem {
    static constexpr std::size_t width = 64;
    static constexpr nn::implicit_quantile_options options{.samples = 64, .embedding = 64, .hidden = 256};
    using network_type = nn::implicit_quantile_network<backends::simd<T>>;

    network_type network{width, options};
    table<T> features{states, width, 1, normal}, slopes{states, options.samples, 2, normal},
        feature_gradient{states, width};
    std::vector<T> parameters = std::vector<T>(network.parameter_count()), gradient = parameters;
    typename network_type::workspace workspace = network.make_workspace(states);
    random_stream random{3};

    quantile_problem() { network.initialize(std::span<T>(parameters), random); }
    [[nodiscard]] std::size_t bytes() const {
        return features.bytes() + slopes.bytes() + parameters.size() * sizeof(T);
    }
    void predict() {
        static_cast<void>(
            network.predict(std::span<T const>(parameters), std::as_const(features).view(), random, workspace));
        benchmark::ClobberMemory();
    }
    void backward() {
        network.backward(std::span<T const>(parameters), std::as_const(features).view(), workspace,
                         std::as_const(slopes).view(), std::span<T>(gradient), feature_gradient.view());
        benchmark::ClobberMemory();
    }
};

template <class T>
void add_quantile_network() {
    using problem_type = quantile_problem<T>;
    auto const operations = [] {
        auto const cost = flops::implicit_quantile_cost(problem_type::width, problem_type::options);
        return static_cast<double>(cost.products + cost.others);
    };
    add<T>("predict/implicit_quantile_64", [operations] {
        auto const p = std::make_shared<problem_type>();
        return std::pair([p] { p->predict(); }, work{states, operations(), p->bytes() + p->slopes.bytes()});
    });
    add<T>("pull_back/implicit_quantile_64", [operations] {
        auto const p = std::make_shared<problem_type>();
        p->predict();
        return std::pair([p] { p->backward(); }, work{states, 2.0 * operations(), 2 * p->bytes()});
    });
    add<T>("predict_and_pull_back/implicit_quantile_64", [operations] {
        auto const p = std::make_shared<problem_type>();
        p->predict();
        return std::pair(
            [p] {
                p->predict();
                p->backward();
            },
            work{states, 3.0 * operations(), 3 * p->bytes(), in_torch<T>([&] {
                     return naive::implicit_quantile(floats(p->features), states, problem_type::width, 64, 64, 256);
                 }),
                 3.0});
    });
}

template <class T>
void add_all() {
    add_pull_back<T>("scalar", heads::scalar{});
    add_pull_back<T>("gaussian_mixture_5", heads::gaussian_mixture<5>{});
    add_mean<T>("scalar", heads::scalar{});
    add_mean<T>("dirac_64", heads::dirac<64>{});
    add_mean<T>("gaussian_mixture_5", heads::gaussian_mixture<5>{});
    add_quantile_network<T>();
}

} // namespace

void register_heads() {
    add_all<float>();
    add_all<double>();
}

} // namespace gmac::bench
