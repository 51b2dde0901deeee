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

/// The value that goes with each kind in `policies`, what the model gives of it, and what the metadata say.
struct value_kind {
    value_outputs head;
    bool shared; ///< trunk
    json outputs, told;
};
[[nodiscard]] std::vector<value_kind> value_kinds() {
    json const value = border("value", "float", {});
    auto const quantiles = [&](std::size_t count) { return json{value, border("value_quantiles", "float", {count})}; };
    heads::implicit_quantile const implicit{.samples_per_state = 4, .embedding = 7, .hidden = 12};
    auto sixteenths = json::array();
    for (int i = 1; i < 32; i += 2)
        sixteenths.push_back(i / 32.0);
    json const quarters{{"kind", "quantiles"}, {"fractions", {0.125, 0.375, 0.625, 0.875}}, {"discount", 0.99}};
    return {{mixture_outputs{3, 0.4, 0.1},
             true,
             {value, border("value_weights", "float", {3}), border("value_means", "float", {3}),
              border("value_deviations", "float", {3})},
             {{"kind", "gaussian_mixture"}, {"discount", 0.99}}},
            {implicit, false, quantiles(4), quarters},
            {atom_outputs{{-2.0, -0.5, 0.0, 3.0}},
             false,
             {value, border("value_probabilities", "float", {4})},
             {{"kind", "categorical"}, {"atoms", {-5.0, -1.25, 0.0, 7.5}}, {"discount", 0.99}}},
            {heads::scalar{}, false, json::array({value}), {{"kind", "scalar"}, {"discount", 0.99}}},
            {implicit, false, quantiles(4), quarters},
            {point_outputs{16},
             true,
             quantiles(16),
             {{"kind", "quantiles"}, {"fractions", sixteenths}, {"discount", 0.99}}},
            {heads::scalar{}, true, json::array({value}), {{"kind", "scalar"}, {"discount", 0.99}}},
            {heads::scalar{}, true, json::array({value}), {{"kind", "scalar"}, {"discount", 0.99}}}};
}

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
            real({10, 10, 4}, 2, {{"kind", "box"}, {"low", {-1.0, -1.0}}, {"high", {2.0, 2.0}}}),
            expected{{6},
                     input({6}),
                     json::array({border("action", "int64", {4})}),
                     json::array({border("action", "int64", {4}), border("log_probabilities", "float", {11})}),
                     {{"kind", "multi_discrete"}, {"actions", {3, 1, 5, 2}}}},
            real({5}, 2, {{"kind", "box"}, {"low", {-2.0, -2.0}}, {"high", {1.0, 1.0}}})};
}

/// The log probabilities of the logits of each discrete action, in double precision.
[[nodiscard]] std::vector<float> log_probabilities(answers const& wanted) {
    std::vector<float> all;
    for (std::size_t i = 0; i < wanted.output.size();)
        for (std::size_t const count : wanted.counts) {
            double const highest = *std::max_element(&wanted.output[i], &wanted.output[i] + count);
            double sum = 0.0;
            for (std::size_t j = 0; j < count; ++j)
                sum += std::exp(wanted.output[i + j] - highest);
            for (std::size_t j = 0; j < count; ++j)
                all.push_back(static_cast<float>(wanted.output[i + j] - highest - std::log(sum)));
            i += count;
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
void check_models(std::string const& models, std::vector<expected> const& all, std::vector<value_kind> const& values) {
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
        auto outputs = k % 2 == 0 ? one.plain : one.with_distribution;
        if (k % 2 == 1) {
            outputs.insert(outputs.end(), values[k / 2].outputs.begin(), values[k / 2].outputs.end());
            CHECK(json::parse(model["metadata"]["value_distribution"].get<std::string>()) == values[k / 2].told);
            // Layers that both networks begin with are there once.
            CHECK((model["constants"].dump().find("\"value_layer_1_weight\"") == std::string::npos) ==
                  values[k / 2].shared);
        }
        CHECK(model["outputs"] == outputs);
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
    if (!right.counts.empty()) {
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

/// Numbers, so many for each observation, are the wanted ones to 1e-5 of the largest mean there, or of 1.
[[nodiscard]] double apart(std::vector<float> const& got, std::vector<double> const& wanted,
                           std::vector<normal_component<double>> const& parts, std::size_t rows) {
    REQUIRE(got.size() == wanted.size());
    double most = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        std::size_t const row = i * rows / got.size(), count = parts.size() / rows;
        double largest = 1.0;
        for (std::size_t k = 0; k < count; ++k)
            largest = std::max(largest, std::abs(parts[row * count + k].mean));
        double const part = std::abs(static_cast<double>(got[i]) - wanted[i]) / largest;
        most = part <= most ? most : part; // also if it is a NaN
    }
    return most;
}

void check_value(subject const& one, value_kind const& kind, std::filesystem::path const& folder,
                 std::vector<normal_component<double>> const& parts) {
    INFO(one.name);
    auto const value = read_floats(folder / "value");
    std::size_t const rows = value.size(), count = parts.size() / rows;
    REQUIRE(rows == 10'000);
    std::vector<double> weights, means, deviations, values(rows);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        weights.push_back(parts[i].weight);
        means.push_back(parts[i].mean);
        deviations.push_back(parts[i].deviation);
        values[i / count] += parts[i].weight * parts[i].mean;
    }
    CHECK(apart(value, values, parts, rows) <= 1e-5);
    CHECK(read_floats(folder / "value.first").size() == 1);
    auto const check = [&](char const* name, std::vector<double> const& wanted) {
        INFO(name);
        CHECK(apart(read_floats(folder / name), wanted, parts, rows) <= 1e-5);
    };
    if (std::holds_alternative<mixture_outputs>(kind.head)) {
        check("value_weights", weights);
        check("value_means", means);
        check("value_deviations", deviations);
    } else if (std::holds_alternative<atom_outputs>(kind.head)) {
        check("value_probabilities", weights);
    } else if (!std::holds_alternative<heads::scalar>(kind.head)) {
        check("value_quantiles", means);
    }
}

} // namespace

TEST_CASE("A policy in ONNX is a model to ONNX's checker, and acts and expects as the library in onnxruntime",
          "[export]") {
    auto const kinds = policies();
    auto const all = all_expected();
    auto const heads_of_values = value_kinds();
    REQUIRE(all.size() == kinds.size());
    REQUIRE(heads_of_values.size() == kinds.size());
    std::vector<any_value<>> values;
    scratch_folder scratch;
    std::string plain, models, folders;
    std::vector<answers> wanted;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        auto const folder = scratch / kinds[k].name;
        std::filesystem::create_directory(folder);
        save(kinds[k], folder / "policy.safetensors");
        values.push_back(value_for(kinds[k], heads_of_values[k].head, heads_of_values[k].shared));
        std::visit([&](auto const& value) { save_value(folder / "value.safetensors", value); }, values.back());
        spit(folder / "config.json", R"({"env": "a/world", "algorithm": "gmac"})");
        wanted.push_back(observe(kinds[k], 10'000, folder / "observations"));
        spit(folder / "shape.json", json(all[k].observation).dump());
        auto const written =
            run_export(fmt::format("'{0}' --onnx '{0}/plain.onnx' && '{1}' '{0}' --onnx "
                                   "'{0}/model.onnx' --distribution --value",
                                   folder.string(), GMAC_EXPORT));
        INFO(written.text);
        REQUIRE(written.status == 0);
        models += fmt::format(" '{0}/plain.onnx' '{0}/model.onnx'", folder.string());
        folders += fmt::format(" '{}'", folder.string());
    }

    check_models(models, all, heads_of_values);

    auto const ran = run_program(
        fmt::format("cd '{}' && '{}' '{}/run.mjs' {} 2>&1", GMAC_NODE_FOLDER, GMAC_NODE, GMAC_EXPORT_TESTS, folders));
    INFO(ran.text);
    REQUIRE(ran.status == 0);
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        auto const folder = scratch / kinds[k].name;
        check_results(kinds[k], folder, wanted[k]);
        check_value(kinds[k], heads_of_values[k], folder, expect(values[k], folder / "observations"));
    }
}
