// SPDX-License-Identifier: Apache-2.0
// gmac-export: writes a trained policy for other programs.
//
//     gmac-train --env classic/cart_pole --out runs/pole
//     gmac-export runs/pole --c policy.h
//     gmac-export runs/pole --onnx policy.onnx
#include "c_header.hpp"
#include "evaluation.hpp"
#include "onnx_model.hpp"
#include "policy_layers.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/deploy/policy_file.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace {

namespace fs = std::filesystem;
namespace exporting = gmac::examples::exporting;

[[nodiscard]] fs::path file_in(fs::path const& run, char const* name) {
    fs::path const file = run / name;
    gmac::require(fs::exists(file), "the folder {} has no {}, which gmac-train leaves in its run's", run.string(),
                  name);
    return file;
}
[[nodiscard]] fs::path policy_file(fs::path const& run) {
    return fs::is_directory(run) ? file_in(run, "policy.safetensors") : run;
}

/// Nothing unless it is wanted.
[[nodiscard]] std::optional<exporting::value_layers> value_of(fs::path const& run, bool wanted) {
    if (!wanted)
        return {};
    gmac::require(fs::is_directory(run), "--value needs the folder of a run, but {} is a file", run.string());
    return exporting::layers_of(gmac::load_value(file_in(run, "value.safetensors")));
}

/// What the folder of a run says of the training; nothing of a policy by itself.
[[nodiscard]] std::map<std::string, std::string> notes_of(fs::path const& run) {
    std::map<std::string, std::string> notes;
    fs::path const config = run / "config.json";
    if (!fs::is_directory(run) || !fs::exists(config))
        return notes;
    auto const json = gmac::read_json(config);
    for (auto const& [name, place] : {std::pair("environment", "env"), std::pair("algorithm", "algorithm")})
        if (json.is_object() && json.contains(place) && json[place].is_string())
            notes.emplace(name, json[place].get<std::string>());
    return notes;
}

void write_c(exporting::c_header const& header, fs::path const& file) {
    gmac::replace_file(file, header.text);
    fmt::print("{}: flash {} bytes of numbers beside the code, RAM {} bytes\n", file.string(), header.constant_bytes,
               header.memory_bytes);
}

void write_onnx(std::string const& model, fs::path const& file) {
    gmac::replace_file(file, model);
    fmt::print("{}: {} bytes, operators of version {}\n", file.string(), model.size(), exporting::onnx_opset);
}

void print(exporting::difference const& error, bool real) {
    if (real)
        fmt::print("--int8: the largest difference of an action's element on {} random observations is {:.3g}\n",
                   error.observations, error.largest);
    else
        fmt::print("--int8: {:.2f} % of {} random observations have another action\n", 100.0 * error.other,
                   error.observations);
}

void print(exporting::returns const& mean) {
    fmt::print(
        "--int8: mean return of {} episodes {:.1f} ± {:.1f}, with exact weights {:.1f} ± {:.1f}; by rounding the same "
        "episodes lose {:.1f} ± {:.1f} (standard errors)\n",
        mean.episodes, mean.rounded.value, mean.rounded.error, mean.exact.value, mean.exact.error, mean.loss.value,
        mean.loss.error);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-export", [&] {
        fs::path run, c_file, onnx_file;
        std::string name = "policy";
        std::size_t episodes = 0;
        bool int8 = false, distribution = false, with_value = false;
        CLI::App app("Writes a policy of gmac-train for other programs. docs/export.md says what is written.",
                     "gmac-export");
        app.add_option("run", run, "the folder of a run, or a policy.safetensors")->required();
        auto* const c_option = gmac::examples::add_option(app, "--c", c_file, "write a header in C99 to this file");
        auto* const c_name = gmac::examples::add_option(app, "--name", name, "with which all names in C begin");
        auto* const rounding = gmac::examples::add_flag(app, "--int8", int8, "C with weights rounded to bytes");
        gmac::examples::add_option(app, "--evaluate", episodes,
                                   "episodes of the run's environment to play with exact and with rounded weights, "
                                   "which tell what the return loses",
                                   2)
            ->needs(rounding);
        for (auto* const option : {c_name, rounding})
            option->needs(c_option);
        auto* const onnx_option =
            gmac::examples::add_option(app, "--onnx", onnx_file, "write a model of ONNX to this file");
        gmac::examples::add_flag(app, "--distribution", distribution,
                                 "ONNX with log probabilities too, or with mean and deviation")
            ->needs(onnx_option);
        gmac::examples::add_flag(app, "--value", with_value, "ONNX with the distribution of the return too")
            ->needs(onnx_option);
        gmac::examples::parse_options(app, argc, argv);
        gmac::require(!c_file.empty() || !onnx_file.empty(), "nothing to write: give --c FILE or --onnx FILE");
        gmac::require(c_file != onnx_file, "--c and --onnx are one file, {}", c_file.string());

        auto const policy = gmac::load_any_policy(policy_file(run));
        auto layers = exporting::layers_of(policy);
        layers.notes = notes_of(run);
        if (auto const& range = std::visit([](auto const& one) { return one.description().range; }, policy))
            layers.notes.emplace("statistic",
                                 fmt::format("{}:{}..{}", gmac::name_of(range->kind), range->low, range->high));
        auto const value = value_of(run, with_value);
        gmac::require(episodes == 0 || fs::is_directory(run), "--evaluate needs the folder of a run, but {} is a file",
                      run.string());
        // Both are made before either is written: what is refused takes nothing away.
        std::string const model =
            onnx_file.empty() ? std::string() : exporting::write_onnx(layers, distribution, value ? &*value : nullptr);
        if (!c_file.empty()) {
            if (int8)
                exporting::round_weights(layers);
            auto const header = exporting::write_c(layers, name);
            auto const rounded = exporting::with_weights(layers, policy);
            std::optional<exporting::returns> played;
            if (episodes > 0)
                played = exporting::play(run, episodes, policy, rounded);
            write_c(header, c_file);
            if (int8)
                print(exporting::compare(rounded, policy), std::holds_alternative<gmac::box>(layers.action_space));
            if (played)
                print(*played);
        }
        if (!onnx_file.empty())
            write_onnx(model, onnx_file);
    });
}
