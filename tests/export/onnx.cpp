// SPDX-License-Identifier: Apache-2.0
// What gmac-export --onnx writes is a model to ONNX's own checker, and acts as the library in another runtime.
#include "export/policies.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

using namespace gmac;
using namespace gmac::testing;
using json = nlohmann::json;

namespace {

/// A name, an element type and the sizes behind the batch's.
[[nodiscard]] json border(std::string const& name, std::string const& element, std::vector<std::size_t> const& sizes) {
    json shape{"batch"};
    for (std::size_t const size : sizes)
        shape.push_back(size);
    return {name, element, shape};
}

struct expected {
    std::vector<std::size_t> observation;
    json inputs, plain, with_distribution, space;
};

/// Of the kinds in `policies`, in their order.
[[nodiscard]] std::vector<expected> all_expected() {
    auto const input = [](std::vector<std::size_t> const& sizes) {
        return json::array({border("observation", sizes.size() == 1 ? "float" : "uint8", sizes)});
    };
    auto const real = [&](std::vector<std::size_t> const& observation, std::size_t size, json const& space) {
        json const action = border("action", "float", {size});
        return expected{observation, input(observation), json::array({action}),
                        json::array({action, border("mean", "float", {size}), border("deviation", "float", {size})}),
                        space};
    };
    auto const discrete = [&](std::vector<std::size_t> const& observation, std::size_t actions) {
        json const action = border("action", "int64", {});
        return expected{observation, input(observation), json::array({action}),
                        json::array({action, border("log_probabilities", "float", {actions})}),
                        json{{"kind", "discrete"}, {"actions", actions}}};
    };
    return {real({11}, 3, {{"kind", "box"}, {"low", {-1.0, -1.0, -1.0}}, {"high", {1.0, 1.0, 1.0}}}),
            real({5}, 3, {{"kind", "box"}, {"low", {-0.5, nullptr, 0.0}}, {"high", {0.25, nullptr, nullptr}}}),
            discrete({4}, 5),
            discrete({2}, 3),
            discrete({3, 20, 18}, 4),
            real({10, 10, 4}, 2, {{"kind", "box"}, {"low", {-1.0, -1.0}}, {"high", {2.0, 2.0}}})};
}

/// The log probabilities of logits, or the actor's deviations, in double precision.
[[nodiscard]] std::vector<float> log_probabilities(answers const& wanted) {
    std::vector<float> all;
    for (std::size_t i = 0; i < wanted.output.size(); i += wanted.outputs) {
        double const highest = *std::max_element(&wanted.output[i], &wanted.output[i] + wanted.outputs);
        double sum = 0.0;
        for (std::size_t j = 0; j < wanted.outputs; ++j)
            sum += std::exp(wanted.output[i + j] - highest);
        for (std::size_t j = 0; j < wanted.outputs; ++j)
            all.push_back(static_cast<float>(wanted.output[i + j] - highest - std::log(sum)));
    }
    return all;
}

/// The largest difference of numbers, the same count for each observation, in parts of the largest output there or of 1.
[[nodiscard]] double apart(std::vector<float> const& got, std::vector<float> const& wanted, answers const& all) {
    REQUIRE(got.size() == wanted.size());
    std::size_t const rows = all.output.size() / all.outputs;
    double most = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        double largest = 1.0;
        for (std::size_t j = 0; j < all.outputs; ++j)
            largest =
                std::max(largest, std::abs(static_cast<double>(all.output[i * rows / got.size() * all.outputs + j])));
        double const part = std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])) / largest;
        most = part <= most ? most : part; // also if it is a NaN
    }
    return most;
}

/// Names and shapes are the expected ones, of two models of each kind.
void check_models(std::string const& models, std::vector<expected> const& all) {
    auto const checked = run_program(fmt::format("'{}' '{}/check.py' {} 2>&1", GMAC_PYTHON, GMAC_EXPORT_TESTS, models));
    INFO(checked.text);
    REQUIRE(checked.status == 0);
    std::istringstream lines(checked.text);
    for (std::size_t k = 0; k < 2 * all.size(); ++k) {
        std::string line;
        REQUIRE(std::getline(lines, line));
        auto const model = json::parse(line);
        expected const& one = all[k / 2];
        CHECK(model["inputs"] == one.inputs);
        CHECK(model["outputs"] == (k % 2 == 0 ? one.plain : one.with_distribution));
        CHECK(model["opset"] == json::array({json{"", 13}}));
        CHECK(json::parse(model["metadata"]["action_space"].get<std::string>()) == one.space);
        CHECK(model["metadata"]["environment"] == "a/world");
        CHECK(model["metadata"]["algorithm"] == "gmac");
        CHECK(model["metadata"]["gmac_version"] ==
              fmt::format("{}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH));
    }
}

/// What the runtime has computed for the observations in the folder.
void check_results(subject const& one, std::filesystem::path const& folder, answers const& right) {
    INFO(one.name);
    auto const read = [&](char const* name) { return read_floats(folder / name); };
    auto const action = read("action");
    if (right.discrete_actions) {
        CHECK(differences(right, right.output, action) == "");
        CHECK(apart(read("log_probabilities"), log_probabilities(right), right) <= 1e-5);
    } else {
        CHECK(apart(action, right.action, right) <= 1e-5);
        std::vector<float> mean, deviation;
        for (std::size_t i = 0; i < right.action.size(); ++i) {
            mean.push_back(right.output[i / right.actions * right.outputs + i % right.actions]);
            deviation.push_back(deviation_of(one, right, i));
        }
        CHECK(apart(read("mean"), mean, right) <= 1e-5);
        CHECK(apart(read("deviation"), deviation, right) <= 1e-5);
    }
    // A batch of one gives the same.
    auto const first = read("action.first");
    REQUIRE(first.size() == right.actions);
    for (std::size_t j = 0; j < right.actions; ++j)
        CHECK(std::abs(first[j] - action[j]) <= 1e-5f);
}

} // namespace

TEST_CASE("A policy in ONNX is a model to ONNX's checker, and acts as the library in onnxruntime", "[export]") {
    auto const kinds = policies();
    auto const all = all_expected();
    scratch_folder scratch;
    std::string plain, models, folders;
    std::vector<answers> wanted;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        auto const folder = scratch / kinds[k].name;
        std::filesystem::create_directory(folder);
        save(kinds[k], folder / "policy.safetensors");
        spit(folder / "config.json", R"({"env": "a/world", "algorithm": "gmac"})");
        wanted.push_back(observe(kinds[k], 10'000, folder / "observations"));
        spit(folder / "shape.json", json(all[k].observation).dump());
        auto const written =
            run_export(fmt::format("'{0}' --onnx '{0}/plain.onnx' && '{1}' '{0}' --onnx "
                                   "'{0}/model.onnx' --distribution",
                                   folder.string(), GMAC_EXPORT));
        INFO(written.text);
        REQUIRE(written.status == 0);
        models += fmt::format(" '{0}/plain.onnx' '{0}/model.onnx'", folder.string());
        folders += fmt::format(" '{}'", folder.string());
    }

    check_models(models, all);

    auto const ran = run_program(
        fmt::format("cd '{}' && '{}' '{}/run.mjs' {} 2>&1", GMAC_NODE_FOLDER, GMAC_NODE, GMAC_EXPORT_TESTS, folders));
    INFO(ran.text);
    REQUIRE(ran.status == 0);
    for (std::size_t k = 0; k < kinds.size(); ++k)
        check_results(kinds[k], scratch / kinds[k].name, wanted[k]);
}
