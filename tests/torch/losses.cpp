// SPDX-License-Identifier: Apache-2.0
#include "torch/judges.hpp"

#include <gmac/torch/losses.hpp>

#include <torch/csrc/autograd/autograd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

using gmac::testing::check_refused;
using gmac::testing::distance;
using gmac::testing::message_of;
using gmac::testing::rows_of;
using gmac::testing::rows_to;

constexpr std::int64_t states = 5, samples = 6, particles = 9, components = 3;
gmac::heads::gaussian_mixture<3> const head{.scale = 0.5, .floor = 0.1};

/// A loss as a function of its outputs, and outputs to begin with.
struct problem {
    std::string name;
    at::Tensor outputs;
    std::function<at::Tensor(at::Tensor const&)> loss;
};

std::vector<problem> problems(at::ScalarType type) {
    at::manual_seed(3);
    auto const normal = [type](std::int64_t cols) { return at::randn({states, cols}, at::kDouble).to(type); };
    at::Tensor const returns = normal(1).squeeze(1), old_values = normal(1).squeeze(1);
    at::Tensor const values = normal(particles), deviations = normal(particles).abs();
    at::Tensor const weights = normal(particles).softmax(1);
    at::Tensor const fractions = normal(samples).sigmoid();
    at::Tensor const midpoints = (at::arange(samples, at::kDouble).to(type) + 0.5) / samples;
    namespace loss = gmac::torch;
    return {
        {"squared_error", normal(1), [=](auto const& x) { return loss::squared_error(x, returns); }},
        {"squared_error of a vector", normal(1).squeeze(1),
         [=](auto const& x) { return loss::squared_error(x, returns.unsqueeze(1)); }},
        {"clipped_squared_error", normal(1),
         [=](auto const& x) {
             return loss::clipped_squared_error(x, {returns, old_values}, {.clip = 0.3});
         }},
        {"huber_quantile", normal(samples),
         [=](auto const& x) { return loss::huber_quantile(x, fractions, {values}, {.kappa = 0.7}); }},
        {"huber_quantile, shared fractions, weights", normal(samples),
         [=](auto const& x) {
             return loss::huber_quantile(x, midpoints, {values, weights});
         }},
        {"expectile", normal(samples), [=](auto const& x) { return loss::expectile(x, fractions, {values}); }},
        {"sample_energy", normal(samples),
         [=](auto const& x) { return loss::sample_energy(x, {values}, {.target_term = true}); }},
        {"sample_energy, weights", normal(samples),
         [=](auto const& x) {
             return loss::sample_energy(x, {values, weights});
         }},
        {"gaussian_mixture_energy", normal(3 * components),
         [=](auto const& x) {
             return loss::gaussian_mixture_energy(head, x, {values, deviations});
         }},
        {"gaussian_mixture_energy, weights", normal(3 * components),
         [=](auto const& x) {
             return loss::gaussian_mixture_energy(head, x, {values, deviations, weights}, {.target_term = true});
         }},
    };
}

at::Tensor gradient_of(at::Tensor const& value, at::Tensor const& with_respect_to) {
    return torch::autograd::grad({value}, {with_respect_to})[0];
}

/// By central differences, element by element.
at::Tensor slope_of(problem const& p) {
    at::Tensor slope = at::empty(p.outputs.sizes(), p.outputs.options());
    double constexpr step = 1e-5;
    for (std::int64_t i = 0; i < p.outputs.numel(); ++i) {
        auto const at_distance = [&](double distance) {
            at::Tensor moved = p.outputs.clone();
            moved.flatten()[i] += distance;
            return p.loss(moved).item<double>();
        };
        slope.flatten()[i] = (at_distance(step) - at_distance(-step)) / (2.0 * step);
    }
    return slope;
}

} // namespace

TEST_CASE("a loss of tensors has the gradient that its values have") {
    for (problem const& p : problems(at::kDouble)) {
        INFO(p.name);
        at::Tensor const outputs = p.outputs.clone().requires_grad_();
        at::Tensor const value = p.loss(outputs);
        CHECK(value.dim() == 0);
        CHECK(distance(gradient_of(value, outputs), slope_of(p)) < 1e-9);
        // Through what comes after the loss, and what comes before it.
        at::Tensor const before = p.outputs.clone().requires_grad_();
        CHECK(distance(gradient_of(-3.0 * p.loss(2.0 * (before / 2.0)), before), -3.0 * slope_of(p)) < 3e-9);
    }
}

TEST_CASE("float agrees with double") {
    auto const exact = problems(at::kDouble);
    auto const rounded = problems(at::kFloat);
    for (std::size_t i = 0; i < exact.size(); ++i) {
        INFO(exact[i].name);
        at::Tensor const a = exact[i].outputs.clone().requires_grad_();
        at::Tensor const b = rounded[i].outputs.clone().requires_grad_();
        at::Tensor const value = rounded[i].loss(b);
        CHECK(value.scalar_type() == at::kFloat);
        CHECK(distance(exact[i].loss(a), value.to(at::kDouble)) < 3e-6);
        CHECK(distance(gradient_of(exact[i].loss(a), a), gradient_of(value, b).to(at::kDouble)) < 3e-6);
    }
}

TEST_CASE("strides do not matter, and the gradient has the outputs' shape") {
    for (problem const& p : problems(at::kDouble)) {
        INFO(p.name);
        at::Tensor const dense = p.outputs.clone().requires_grad_();
        at::Tensor const expected = gradient_of(p.loss(dense), dense);
        auto const every = [&](std::int64_t nth) {
            return at::zeros({nth * p.outputs.numel()}, at::kDouble).slice(0, 0, c10::nullopt, nth).view(dense.sizes());
        };
        bool const vector = p.outputs.dim() == 1;
        at::Tensor const turned = vector ? every(3) : at::zeros({p.outputs.size(1), states}, at::kDouble).t();
        for (at::Tensor const& layout : {every(2), turned}) {
            at::Tensor const outputs = layout.copy_(p.outputs).requires_grad_();
            CHECK(distance(p.loss(outputs), p.loss(dense)) < 1e-14);
            CHECK(distance(gradient_of(p.loss(outputs), outputs), expected) < 1e-14);
        }
    }
}

TEST_CASE("a loss of tensors is the library's loss on the same memory, bit for bit") {
    at::manual_seed(5);
    auto const same = [&]<class T>(T, at::ScalarType type) {
        at::Tensor const outputs = at::randn({states, 3 * components}, type).requires_grad_();
        at::Tensor const means = at::randn({states, particles}, type);
        at::Tensor const deviations = at::rand({states, particles}, type);
        at::Tensor const gradient = at::empty_like(outputs);
        T const value = gmac::losses::gaussian_mixture_energy()
                            .value_and_gradient(head, rows_of<T>(outputs),
                                                gmac::targets::gaussian_particles<T const>{rows_of<T>(means),
                                                                                           rows_of<T>(deviations)},
                                                rows_to<T>(gradient));
        at::Tensor const ours = gmac::torch::gaussian_mixture_energy(head, outputs, {means, deviations});
        CHECK(ours.item<T>() == value);
        CHECK(gradient_of(ours, outputs).equal(gradient.detach()));
    };
    same(float(), at::kFloat);
    same(double(), at::kDouble);
}

TEST_CASE("values are what broadcasting over all pairs gives") {
    at::manual_seed(7);
    at::Tensor const x = at::randn({states, samples}, at::kDouble), y = at::randn({states, particles}, at::kDouble);
    at::Tensor const tau = at::rand({states, samples}, at::kDouble);
    at::Tensor const delta = y.unsqueeze(1) - x.unsqueeze(2); // [B, N, m]
    at::Tensor const side = (tau.unsqueeze(2) - (delta < 0).to(at::kDouble)).abs();

    at::Tensor const huber = (side * at::huber_loss(delta, at::zeros_like(delta), at::Reduction::None, 0.7) / 0.7);
    CHECK(distance(gmac::torch::huber_quantile(x, tau, {y}, {.kappa = 0.7}), huber.mean(2).sum(1).mean()) < 1e-14);
    at::Tensor const expectile = side * delta.square();
    CHECK(distance(gmac::torch::expectile(x, tau, {y}), expectile.mean(2).sum(1).mean()) < 1e-14);
    auto const distances = [](at::Tensor const& a, at::Tensor const& b) {
        return (a.unsqueeze(1) - b.unsqueeze(2)).abs().mean({1, 2});
    };
    at::Tensor const energy = 2 * distances(x, y) - distances(x, x) - distances(y, y);
    CHECK(distance(gmac::torch::sample_energy(x, {y}, {.target_term = true}), energy.mean()) < 1e-14);
    CHECK(distance(gmac::torch::squared_error(x.select(1, 0), y.select(1, 0)),
                   at::mse_loss(x.select(1, 0), y.select(1, 0)) / 2) < 1e-14);
}

TEST_CASE("without gradients there are none, and targets may be anything") {
    at::Tensor const outputs = at::randn({states, samples}).requires_grad_();
    at::Tensor const values = at::randn({states, particles}).requires_grad_();
    at::NoGradGuard const unrecorded;
    CHECK_FALSE(gmac::torch::sample_energy(outputs, {values}).requires_grad());
}

TEST_CASE("a second derivative is refused, not zero") {
    at::Tensor const outputs = at::randn({states, samples}).requires_grad_();
    at::Tensor const loss = gmac::torch::sample_energy(outputs, {at::randn({states, particles})}).square();
    at::Tensor const first = torch::autograd::grad({loss}, {outputs}, {}, c10::nullopt, /*create_graph*/ true)[0];
    check_refused(message_of([&] { gradient_of(first.sum(), outputs); }), "second derivative");
}

TEST_CASE("tensors that cannot be read are refused by name") {
    at::Tensor const outputs = at::randn({states, samples}), values = at::randn({states, particles});
    auto const of = [&](at::Tensor const& x, at::Tensor const& y) {
        return message_of([&] { static_cast<void>(gmac::torch::sample_energy(x, {y})); });
    };
    CHECK(of(outputs, values) == "");
    check_refused(of({}, values), "sample_energy: samples is an undefined tensor");
    check_refused(of(outputs, {}), "sample_energy: values is an undefined tensor");
    check_refused(of(outputs.to(at::kHalf), values), "samples has elements of type Half");
    check_refused(of(outputs.to(at::kLong), values), "samples has elements of type Long");
    check_refused(of(outputs, values.to(at::kDouble)), "values has elements of type Double, but must have Float");
    check_refused(of(at::empty({states, samples}, at::device(at::kMeta)), values), "samples is on the device meta");
    check_refused(of(outputs, at::empty({states, particles}, at::device(at::kMeta))), "values is on the device meta");
    check_refused(of(outputs.to_sparse(), values), "samples is not an ordinary strided tensor");
    check_refused(of(at::imag(at::randn({states, samples}, at::kComplexFloat).conj()), values), ".resolve_neg()");
    check_refused(of(outputs, values.clone().requires_grad_()), "values requires a gradient");
    check_refused(of(outputs.flatten(), values), "samples has 1 dimensions");
    check_refused(of(outputs.unsqueeze(0), values), "samples has 3 dimensions");
    check_refused(of(outputs, values.narrow(0, 0, 1)), "1 x 9, but must be 5 x 9");
    check_refused(of(outputs.narrow(0, 0, 0), values.narrow(0, 0, 0)), "batch is empty");
}

TEST_CASE("nothing is broadcast") {
    at::Tensor const values = at::randn({states, 1}), returns = at::randn({states});
    auto const of = [](at::Tensor const& x, at::Tensor const& y) {
        return message_of([&] { static_cast<void>(gmac::torch::squared_error(x, y)); });
    };
    CHECK(of(values, returns) == "");
    check_refused(of(values, returns.narrow(0, 0, 1)), "returns has 1 elements, but must have 5");
    check_refused(of(values.expand({states, states}), returns), "values must have one number a state");
    check_refused(of(values, returns.unsqueeze(0)), "returns must have one number a state");
    check_refused(message_of([&] {
                      static_cast<void>(gmac::torch::huber_quantile(at::randn({states, samples}),
                                                                    at::rand({1, samples}),
                                                                    {at::randn({states, particles})}));
                  }),
                  "fractions");
    check_refused(message_of([&] {
                      static_cast<void>(
                          gmac::torch::gaussian_mixture_energy(head, at::randn({states, 10}), {values, values.abs()}));
                  }),
                  "outputs is 5 x 10, but must be 5 x 9");
}
