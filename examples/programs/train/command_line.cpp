// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include "environments.hpp"
#include "option_checks.hpp"
#include "trainer.hpp"

#include <gmac/core/error.hpp>
#include <gmac/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <concepts>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gmac::examples::train {

namespace {

/// What has to be known before the defaults of the other options are.
struct choice {
    std::string environment, algorithm, preset;
    std::filesystem::path resume;
};

void add_choice(CLI::App& app, choice& chosen) {
    app.add_option("--env", chosen.environment,
                   fmt::format("{}, or an Atari game as ale/GAME", fmt::join(environment_names(), ", ")))
        ->group("What to train");
    app.add_option("--algorithm", chosen.algorithm,
                   fmt::format("{}; gmac unless the preset says otherwise", fmt::join(algorithm_names(), ", ")))
        ->group("What to train");
    app.add_option("--preset", chosen.preset,
                   fmt::format("named settings instead of those of --env: {}", fmt::join(preset_names(), ", ")))
        ->group("What to train");
    app.add_option("--resume", chosen.resume,
                   "goes on with the run in this folder, bit for bit, or does what it lacks; --frames may be raised")
        ->group("What to train");
    app.set_config("--config", "", "a file with one NAME = VALUE a line, names as on this page without the dashes")
        ->group("What to train");
}

template <class Enum>
[[nodiscard]] std::map<std::string, Enum> names_of() {
    if constexpr (std::same_as<Enum, rate_schedule>)
        return {{"constant", rate_schedule::constant}, {"linear", rate_schedule::linear}};
    else if constexpr (std::same_as<Enum, optimiser_kind>)
        return {{"adam", optimiser_kind::adam}, {"rmsprop", optimiser_kind::rmsprop}};
    else
        return {{"tanh", nn::activation::tanh}, {"relu", nn::activation::relu}};
}

/// The number of a named value, in which form CLI11 reads an enumeration.
template <class Enum>
[[nodiscard]] std::string number_of(std::string const& text) {
    auto const names = names_of<Enum>();
    auto const found = names.find(CLI::detail::to_lower(text));
    if (found == names.end())
        throw CLI::ValidationError(
            fmt::format("unknown name \"{}\"; known are {}", text, fmt::join(std::views::keys(names), ", ")));
    return std::to_string(static_cast<int>(found->second));
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

void add_settings(CLI::App& app, settings& all, std::vector<CLI::Option*>& added) {
    all.describe([&](char const* group, std::string const& name, auto& field, char const* help) {
        using field_type = std::remove_cvref_t<decltype(field)>;
        CLI::Option* option = nullptr;
        if constexpr (std::is_enum_v<field_type>) {
            auto const names = names_of<field_type>();
            option = app.add_option("--" + name, field, help)->transform(number_of<field_type>, "")->type_name("NAME");
            for (auto const& [text, value] : names)
                if (value == field)
                    option->default_str(text);
        } else {
            option = app.add_option("--" + name, field, help);
            if constexpr (!is_optional<field_type>)
                option->capture_default_str();
            if constexpr (std::same_as<field_type, std::vector<std::size_t>>)
                option->delimiter(',')
                    ->default_str(fmt::format("{}", fmt::join(field, ",")))
                    ->type_name("N,N")
                    ->check(refuse_negative);
            if constexpr (std::same_as<field_type, bool>)
                option->default_str(field ? "true" : "false");
            else if constexpr (std::unsigned_integral<field_type>)
                option->check(refuse_negative);
        }
        added.push_back(option->group(group));
    });
}

/// The environment and preset that the first look at the command line found; an error here is found again, and told,
/// when the whole is read.
[[nodiscard]] choice look_ahead(int argc, char const* const* argv) {
    choice chosen;
    CLI::App app;
    app.allow_extras();
    app.allow_config_extras(true);
    app.set_help_flag();
    add_choice(app, chosen);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const&) {
    }
    return chosen;
}

} // namespace

command_line parse(int argc, char const* const* argv) {
    choice chosen = look_ahead(argc, argv);
    request asked;
    asked.resume = chosen.resume;
    if (!chosen.preset.empty())
        asked.settings = preset_settings(chosen.preset);
    else
        asked.settings = default_settings(chosen.environment.empty() ? "bullet/hopper" : chosen.environment,
                                          chosen.algorithm.empty() ? "gmac" : chosen.algorithm);

    CLI::App app(
        "gmac-train trains an actor-critic agent with a distributional value.\n"
        "Begin with:  gmac-train --env classic/cart_pole\n"
        "The defaults below are those of the --env or --preset given before --help; without one they are those\n"
        "of the Bullet robots, which are the paper's.");
    app.set_version_flag("--version",
                         fmt::format("gmac {}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH));
    app.allow_config_extras(CLI::config_extras_mode::error); // or a mistyped name would be passed over
    add_choice(app, chosen);
    app.add_option("--out", asked.out, "folder of the run; by default runs/ENV-ALGORITHM-SEED")->group("Run");
    app.add_flag("--overwrite", asked.overwrite, "replaces a run that is in the folder already")->group("Run");
    app.add_option("--threads", asked.threads, "the numbers of a run do not depend on it")
        ->capture_default_str()
        ->check(refuse_zero)
        ->group("Run");
    app.add_option("--checkpoint-seconds", asked.checkpoint_seconds,
                   "a checkpoint is written this often, and at the end")
        ->capture_default_str()
        ->check(refuse_negative)
        ->group("Run");
    app.add_option("--keep-checkpoints", asked.keep_checkpoints,
                   "keeps as many checkpoints evenly over the run, besides the latest")
        ->default_str("0")
        ->check(refuse_negative)
        ->group("Run");
    app.add_option("--evaluation-episodes", asked.evaluation_episodes, "played at the end with the most likely actions")
        ->default_str(is_atari(asked.settings.environment) ? "0" : "20")
        ->check(refuse_negative)
        ->group("Run");
    bool no_pictures = false;
    app.add_flag("--no-pictures", no_pictures, "draws nothing at the end")->group("Run");
    std::string roms;
    app.add_option("--roms", roms, "folder of ROMs, among them that of the game, instead of --rom")
        ->group("Atari games");
    std::vector<CLI::Option*> fields;
    add_settings(app, asked.settings, fields);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& end) {
        return {std::nullopt, app.exit(end)};
    }
    asked.pictures = !no_pictures;
    require(asked.checkpoint_seconds >= 0.0, "--checkpoint-seconds is {}, but must be at least 0",
            asked.checkpoint_seconds);

    if (!chosen.resume.empty()) {
        require(
            chosen.environment.empty() && chosen.algorithm.empty() && chosen.preset.empty() && asked.out.empty(),
            "--resume goes on with the settings of the run: --env, --algorithm, --preset and --out do not go with it");
        for (CLI::Option const* field : fields)
            if (field->count() > 0 && field->get_name() == "--rom") {
                asked.rom = asked.settings.rom;
            } else if (field->count() > 0) {
                require(field->get_name() == "--frames",
                        "--resume goes on with the settings of the run: {} does not go with it, only --frames does",
                        field->get_name());
                asked.frames = asked.settings.frames;
            }
        return {asked};
    }
    require(!chosen.environment.empty() || !chosen.preset.empty(),
            "say what to train by --env NAME, --preset NAME or --resume FOLDER; environments are {}; presets are {}",
            fmt::join(environment_names(), ", "), fmt::join(preset_names(), ", "));
    require(chosen.environment.empty() || chosen.preset.empty() || chosen.environment == asked.settings.environment,
            "the preset {} is for {}, not for {}", chosen.preset, asked.settings.environment, chosen.environment);
    if (!chosen.algorithm.empty())
        asked.settings.algorithm = chosen.algorithm;
    require_known("algorithm", asked.settings.algorithm, algorithm_names());
    require(asked.settings.environments > 0, "--envs is 0, but there must be at least one environment");
    require(asked.settings.frames > 0, "--frames is 0, but must be at least 1");
    for (auto const& [name, size] : {std::pair("quantile-samples", asked.settings.quantile_samples),
                                     std::pair("quantile-embedding", asked.settings.quantile_embedding),
                                     std::pair("quantile-hidden", asked.settings.quantile_hidden)})
        require(size > 0, "--{} is 0, but must be at least 1", name);
    for (auto const& [name, value] : {std::pair("variance-scale", asked.settings.variance_scale),
                                      std::pair("initial-deviation", asked.settings.initial_deviation),
                                      std::pair("histogram-deviation", asked.settings.histogram_deviation)})
        require(value > 0.0 && std::isfinite(value), "--{} is {}, but must be positive and finite", name, value);
    for (auto const& [name, value] : {std::pair("variance-floor", asked.settings.variance_floor),
                                      std::pair("deviation-floor", asked.settings.deviation_floor)})
        require(value >= 0.0 && std::isfinite(value), "--{} is {}, but must be finite and not negative", name, value);
    require(std::isfinite(asked.settings.atom_minimum) && std::isfinite(asked.settings.atom_maximum) &&
                asked.settings.atom_minimum < asked.settings.atom_maximum,
            "--atom-minimum is {} and --atom-maximum {}, but both must be finite and the minimum the lower one",
            asked.settings.atom_minimum, asked.settings.atom_maximum);
    validate(asked.settings.agent);
    if (is_atari(asked.settings.environment))
        asked.settings.rom = find_game_rom(asked.settings.environment, asked.settings.rom, roms);
    else
        require(asked.settings.rom.empty() && roms.empty(), "--rom and --roms are for Atari games, not for {}",
                asked.settings.environment);
    if (asked.out.empty()) {
        std::string name = asked.settings.environment;
        std::ranges::replace(name, '/', '-');
        asked.out = fmt::format("runs/{}-{}-{}", name, asked.settings.algorithm, asked.settings.seed);
    }
    return {asked};
}

} // namespace gmac::examples::train
