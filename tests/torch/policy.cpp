// SPDX-License-Identifier: Apache-2.0
// A policy file read into tensors of libtorch, as docs/export.md shows it.
#include "torch/judges.hpp"

#include "support/scratch_folder.hpp"

#include <gmac/actors/diagonal_gaussian.hpp>
#include <gmac/deploy/policy_file.hpp>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tanh.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace {

std::map<std::string, at::Tensor> tensors_of(std::filesystem::path const& path) {
    std::map<std::string, at::Tensor> all;
    gmac::checkpoint const file = gmac::read_checkpoint(path);
    for (auto const& [name, type, shape, data, resizable] : file.state.tensors()) {
        std::vector<std::int64_t> const sizes(shape.begin(), shape.end());
        auto const element = type == gmac::element_type::f64 ? at::kDouble : at::kFloat;
        all[name] = at::from_blob(const_cast<std::byte*>(data.data()), sizes, element).clone();
    }
    return all;
}

} // namespace

TEST_CASE("A policy file is read into tensors of libtorch, which act as the library", "[torch]") {
    std::size_t constexpr rows = 200, inputs = 7, actions = 3;
    using backend = gmac::backends::simd<float>;
    gmac::deployed_policy<> policy(gmac::nn::mlp<backend>({inputs, 24, 16}),
                                   {gmac::actors::diagonal_gaussian{}, gmac::box::uniform(actions, -0.5f, 0.5f), 5.0});
    gmac::random_stream random(3);
    for (float& parameter : policy.parameters())
        parameter = 0.3f * random.normal<float>();
    for (std::size_t j = 0; j < inputs; ++j) {
        policy.observation_means()[j] = 100.0 * random.normal<double>();
        policy.observation_scales()[j] = 0.5 + static_cast<double>(j);
    }
    gmac::testing::scratch_folder folder;
    auto const path = folder / "policy.safetensors";
    gmac::save_policy(path, policy);

    std::vector<float> observations, wanted(rows * actions);
    for (std::size_t i = 0; i < rows * inputs; ++i)
        observations.push_back(
            static_cast<float>(policy.observation_means()[i % inputs] + 2.0 * random.normal<double>()));
    auto memory = policy.make_memory(rows);
    policy.act({observations.data(), rows, inputs}, {wanted.data(), rows, actions}, memory);

    auto t = tensors_of(path);
    auto x = at::from_blob(observations.data(), {rows, inputs}, at::kFloat);
    x = ((x.to(at::kDouble) - t["observation.mean"]) * t["observation.scale"]).clamp(-5.0, 5.0).to(at::kFloat);
    for (std::string const layer : {"trunk.0", "trunk.1"})
        x = (x.matmul(t[layer + ".weight"]) + t[layer + ".bias"]).tanh();
    x = x.matmul(t["actor.weight"]) + t["actor.bias"];
    x = x.clamp(t["action.low"], t["action.high"]);

    auto const right = at::from_blob(wanted.data(), {rows, actions}, at::kFloat);
    CHECK(x.sizes() == right.sizes());
    CHECK((x - right).abs().max().item<double>() <= 1e-5);
    double const clipped = (right.abs() >= 0.5).to(at::kDouble).mean().item<double>();
    CHECK(clipped > 0.05); // some are at their bounds, and some are not
    CHECK(clipped < 0.95);
}
