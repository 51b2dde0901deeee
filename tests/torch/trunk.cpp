// SPDX-License-Identifier: Apache-2.0
#include "torch/judges.hpp"

#include "agent/worlds.hpp"
#include "support/memory_archive.hpp"
#include "support/numbers.hpp"

#include <gmac/actors/categorical.hpp>
#include <gmac/agent/actor_critic.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/torch/trunk.hpp>

#include <fmt/format.h>

#include <ATen/Parallel.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = torch::nn;
using gmac::testing::check_refused;
using gmac::testing::largest_difference;
using gmac::testing::message_of;

nn::Sequential tanh_network(at::ScalarType type = at::kFloat) {
    at::manual_seed(1);
    nn::Sequential network(nn::Linear(2, 16), nn::Tanh(), nn::Linear(16, 8), nn::Tanh());
    network->to(type);
    return network;
}

template <class T>
std::vector<T> normal_numbers(std::size_t count, std::uint64_t seed) {
    gmac::random_stream random(seed);
    std::vector<T> numbers(count);
    for (T& number : numbers)
        number = random.normal<T>();
    return numbers;
}

/// What a module of ours computes: output, gradient of the parameters, gradient of the input.
template <class T, class Module>
std::vector<std::vector<T>> passes(Module const& module, std::vector<T> const& parameters) {
    std::size_t constexpr rows = 5;
    auto const input = normal_numbers<T>(rows * module.inputs(), 2);
    auto const slope = normal_numbers<T>(rows * module.outputs(), 3);
    gmac::matrix_view<T const> const states(input.data(), rows, module.inputs());
    std::vector<T> output(slope.size()), gradient(parameters.size(), T(7)), input_gradient(input.size(), T(7));
    auto workspace = module.make_workspace(rows + 2);
    auto const features = module.forward(parameters, states, workspace);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < module.outputs(); ++j)
            output[i * module.outputs() + j] = features(i, j);
    for (int repeat = 0; repeat < 2; ++repeat) // a second time gives the same, and not the sum
        module.backward(parameters, states, workspace, {slope.data(), rows, module.outputs()}, gradient,
                        {input_gradient.data(), rows, module.inputs()});
    return {output, gradient, input_gradient};
}

/// Weights of layers 2 → 16 → 8 as nn::mlp has them, [inputs, outputs], from libtorch's [outputs, inputs].
template <class T>
std::vector<T> transposed_weights(std::vector<T> const& torch_order) {
    std::vector<T> ours(torch_order.size());
    std::size_t offset = 0;
    for (auto const& [inputs, outputs] : {std::pair<std::size_t, std::size_t>(2, 16), {16, 8}}) {
        for (std::size_t i = 0; i < inputs; ++i)
            for (std::size_t j = 0; j < outputs; ++j)
                ours[offset + i * outputs + j] = torch_order[offset + j * inputs + i];
        for (std::size_t j = 0; j < outputs; ++j)
            ours[offset + inputs * outputs + j] = torch_order[offset + inputs * outputs + j];
        offset += (inputs + 1) * outputs;
    }
    return ours;
}

/// As tutorials write them: it cannot be cloned.
struct plain_module : nn::Module {
    nn::Linear first{nullptr}, unused{nullptr};
    explicit plain_module(std::int64_t features = 3)
        : first(register_module("first", nn::Linear(2, features))),
          unused(register_module("unused", nn::Linear(2, 2))) {}
    at::Tensor forward(at::Tensor x) { return first(x).relu(); }
};

/// One weight under two names, and one that does not learn.
struct tied_module : nn::Cloneable<tied_module> {
    at::Tensor weight, again, fixed;
    tied_module() { reset(); }
    void reset() override {
        weight = register_parameter("weight", at::full({2, 2}, 0.5));
        again = register_parameter("again", weight);
        fixed = register_parameter("fixed", at::full({2}, 2.0), /*requires_grad*/ false);
    }
    at::Tensor forward(at::Tensor x) { return x.matmul(weight).matmul(again) * fixed; }
};

/// Scales bytes itself.
struct byte_module : nn::Module {
    nn::Linear layer{nullptr};
    byte_module() : layer(register_module("layer", nn::Linear(2, 3))) {}
    at::Tensor forward(at::Tensor x) { return layer(x.to(at::kFloat) / 255); }
};

std::vector<std::string> names_of(gmac::torch::trunk<float> const& trunk) {
    std::vector<std::string> names;
    trunk.describe([&](std::string_view name, std::size_t offset, std::size_t rows, std::size_t cols) {
        names.push_back(fmt::format("{} {} {}x{}", name, offset, rows, cols));
    });
    return names;
}

using agent_type =
    gmac::actor_critic<gmac::actors::categorical, gmac::heads::gaussian_mixture<5>,
                       gmac::losses::gaussian_mixture_energy, gmac::backends::simd<float>, gmac::torch::trunk<float>>;

struct run {
    gmac::vector_environment<gmac::testing::line> worlds;
    agent_type agent;

    explicit run(std::uint64_t seed, gmac::executor* tasks = nullptr, bool shared = true)
        : worlds(5, 3, tasks),
          agent(worlds, gmac::torch::trunk<float>(tanh_network(), 2), options(shared), {.seed = seed, .tasks = tasks}) {
    }
    static gmac::agent_options options(bool shared) {
        auto made = gmac::testing::small_options();
        made.shared_trunk = shared;
        return made;
    }
    std::vector<float> parameters() const { return {agent.parameters().begin(), agent.parameters().end()}; }
    std::vector<float> after(int updates) {
        for (int i = 0; i < updates; ++i)
            static_cast<void>(agent.update());
        return parameters();
    }
};

} // namespace

static_assert(gmac::nn::module<gmac::torch::trunk<float>, float>);
static_assert(gmac::nn::module<gmac::torch::trunk<double>, double>);

TEST_CASE("a trunk of libtorch computes what nn::mlp computes") {
    auto const check = [&]<class T>(T, at::ScalarType type, double tolerance) {
        gmac::torch::trunk<T> const theirs(tanh_network(type), 2);
        gmac::nn::mlp<gmac::backends::simd<T>> const ours({2, 16, 8});
        CHECK(theirs.outputs() == 8);
        REQUIRE(theirs.parameter_count() == ours.parameter_count());
        auto const weights = normal_numbers<T>(ours.parameter_count(), 1);
        auto const a = passes<T>(theirs, weights);
        auto const b = passes<T>(ours, transposed_weights(weights));
        CHECK(largest_difference(a[0], b[0]) < tolerance);
        CHECK(largest_difference(transposed_weights(a[1]), b[1]) < tolerance);
        CHECK(largest_difference(a[2], b[2]) < tolerance);
    };
    check(double(), at::kDouble, 1e-13);
    check(float(), at::kFloat, 2e-5);
}

TEST_CASE("a trunk starts with the module's parameters, or from the agent's seed") {
    auto const network = tanh_network();
    gmac::torch::trunk<float> const kept(network, 2);
    gmac::random_stream random(1);
    std::vector<float> parameters(kept.parameter_count());
    kept.initialize(parameters, random);
    CHECK(names_of(kept) ==
          std::vector<std::string>{"0.weight 0 16x2", "0.bias 32 1x16", "2.weight 48 8x16", "2.bias 176 1x8"});
    std::size_t offset = 0;
    for (auto const& tensor : network->parameters())
        for (std::int64_t i = 0; i < tensor.numel(); ++i, ++offset)
            CHECK(tensor.flatten()[i].item<float>() == parameters[offset]);

    gmac::torch::trunk<float> const fresh(network, 2, {.orthogonal_gain = 2.0});
    fresh.initialize(parameters, random);
    auto const weight = at::from_blob(parameters.data() + 48, {8, 16});
    CHECK(gmac::testing::distance(weight.matmul(weight.t()), 4.0 * at::eye(8)) < 1e-5);
    CHECK(at::from_blob(parameters.data() + 176, {8}).abs().max().item<float>() == 0.0f);
    auto const module = std::dynamic_pointer_cast<nn::SequentialImpl>(fresh.module_with(parameters));
    REQUIRE(module);
    CHECK(module->parameters()[2].equal(weight));
}

TEST_CASE("parameters that are tied, do not learn, or are not used") {
    gmac::torch::trunk<float> const tied(nn::ModuleHolder<tied_module>(), 2);
    CHECK(names_of(tied).size() == 2);
    std::vector<float> parameters(tied.parameter_count());
    gmac::random_stream random(1);
    tied.initialize(parameters, random);
    CHECK(parameters == std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f, 2.0f, 2.0f});
    // With all weights w the features of (x, y) are 4 w² (x + y), so the slopes of their sum add to 16 w (x + y).
    auto workspace = tied.make_workspace(1);
    std::vector<float> const input{1.0f, 2.0f}, ones{1.0f, 1.0f};
    auto const features = tied.forward(parameters, {input.data(), 1, 2}, workspace);
    CHECK(features(0, 0) == 3.0f);
    std::vector<float> gradient(6, 9.0f);
    tied.backward(parameters, {input.data(), 1, 2}, workspace, {ones.data(), 1, 2}, gradient, {});
    CHECK(gradient[0] + gradient[1] + gradient[2] + gradient[3] == 24.0f);
    CHECK(gradient[4] == 0.0f);

    auto const network = tanh_network();
    network->parameters()[0].set_requires_grad(false);
    gmac::torch::trunk<float> const frozen(network, 2);
    auto const of_frozen = passes<float>(frozen, normal_numbers<float>(frozen.parameter_count(), 1))[1];
    for (std::size_t i = 0; i < 48; ++i)
        CHECK((of_frozen[i] == 0.0f) == (i < 32));

    gmac::torch::trunk<float> const plain([] { return std::make_shared<plain_module>(); }, 2);
    CHECK(plain.outputs() == 3);
    auto const numbers = normal_numbers<float>(plain.parameter_count(), 1);
    auto const results = passes<float>(plain, numbers);
    for (std::size_t i = 9; i < numbers.size(); ++i)
        CHECK(results[1][i] == 0.0f);
}

TEST_CASE("a trunk of libtorch reads bytes where they lie") {
    gmac::torch::trunk<float, std::uint8_t> const bytes([] { return std::make_shared<byte_module>(); }, 2);
    gmac::torch::trunk<float> const plain(nn::Sequential(nn::Linear(2, 3)), 2);
    auto const parameters = normal_numbers<float>(plain.parameter_count(), 1);
    std::vector<std::uint8_t> const frame{0, 255, 51, 102};
    std::vector<float> const scaled{0.0f, 1.0f, 0.2f, 0.4f}, slope{1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
    std::vector<float> a(parameters.size()), b(parameters.size());
    auto of_bytes = bytes.make_workspace(2);
    auto of_floats = plain.make_workspace(2);
    auto const x = bytes.forward(parameters, {frame.data(), 2, 2}, of_bytes);
    auto const y = plain.forward(parameters, {scaled.data(), 2, 2}, of_floats);
    CHECK(std::abs(x(1, 2) - y(1, 2)) < 1e-6f);
    bytes.backward(parameters, {frame.data(), 2, 2}, of_bytes, {slope.data(), 2, 3}, a, {});
    plain.backward(parameters, {scaled.data(), 2, 2}, of_floats, {slope.data(), 2, 3}, b, {});
    CHECK(largest_difference(a, b) < 1e-6);
}

TEST_CASE("modules that are no function of their input, or do not fit, are refused") {
    using gmac::torch::trunk;
    auto const of = [](auto module, std::size_t inputs = 2) {
        return message_of([&] { trunk<float> const made(std::move(module), inputs); });
    };
    check_refused(of(nn::Sequential(nn::Linear(2, 4), nn::Dropout(0.5))), "draws random numbers");
    check_refused(of(nn::Sequential(nn::Linear(2, 4), nn::BatchNorm1d(4))), "changes its buffers");
    nn::Sequential settled(nn::Linear(2, 4), nn::BatchNorm1d(4), nn::Dropout(0.5));
    settled->eval();
    CHECK(of(settled) == "");
    check_refused(of(tanh_network(at::kDouble)), "0.weight has elements of type Double, but must have Float");
    check_refused(of(nn::Sequential(nn::Linear(2, 4), nn::Flatten(nn::FlattenOptions().start_dim(0)))),
                  "must make [2, features]");
    check_refused(of(tanh_network(), 0), "inputs is 0");
    check_refused(of(std::shared_ptr<nn::SequentialImpl>()), "null pointer");
    CHECK(of([shared = std::make_shared<plain_module>()] { return shared; }) == "");
    trunk<float> const shared([one = std::make_shared<plain_module>()] { return one; }, 2);
    check_refused(message_of([&] { static_cast<void>(shared.make_workspace(1)); }),
                  "a copy of the module is not like the module");

    trunk<float> const fits(tanh_network(), 2);
    auto const parameters = normal_numbers<float>(fits.parameter_count(), 1);
    std::vector<float> input(6), other(6), slope(24), gradient(parameters.size());
    auto workspace = fits.make_workspace(2);
    check_refused(message_of([&] { fits.forward(parameters, {input.data(), 3, 2}, workspace); }), "made for 2");
    static_cast<void>(fits.forward(parameters, {input.data(), 2, 2}, workspace));
    check_refused(message_of([&] {
                      fits.backward(parameters, {other.data(), 2, 2}, workspace, {slope.data(), 2, 8}, gradient, {});
                  }),
                  "not those of the workspace's last forward pass");
}

TEST_CASE("an agent with a trunk of libtorch is the same for any number of threads") {
    at::set_num_threads(1);
    gmac::tbb_executor two(2);
    for (bool const shared : {true, false})
        CHECK(run(11, nullptr, shared).after(3) == run(11, &two, shared).after(3));
}

TEST_CASE("an agent with a trunk of libtorch resumes as if it had never stopped") {
    at::set_num_threads(1);
    run first(11), resumed(12);
    auto const start = first.parameters();
    CHECK(first.after(2) != start);
    gmac::testing::memory_archive file;
    first.agent.persist(file);
    CHECK(file.entries().count("parameters.trunk.2.weight") == 1);
    file.rewind();
    static_cast<void>(resumed.after(1));
    resumed.agent.persist(file);
    CHECK(first.parameters() == resumed.parameters());
    CHECK(first.after(2) == resumed.after(2));
}
