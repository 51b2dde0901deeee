// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include "commands.hpp"
#include "environments.hpp"
#include "output/shell_word.hpp"
#include "run_memory.hpp"
#include "support/config_file.hpp"
#include "support/local_ranks.hpp"
#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <sched.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gmac::examples::train {

namespace {

/// What has to be known before the defaults of the other options are.
struct choice {
    std::string environment, algorithm, preset;
    std::filesystem::path resume;
};

void add_choice(registry const& known, CLI::App& app, choice& chosen) {
    char const* const group = "What to train";
    add_option(app, "--env", chosen.environment,
               fmt::format("{}, or your own: a shared library as FILE.so, a program as ./FILE.py",
                           fmt::join(environment_names(known), ", ")))
        ->group(group);
    add_option(app, "--algorithm", chosen.algorithm,
               fmt::format("{}; {} {}", fmt::join(algorithm_names(known), ", "), known.methods.front().name,
                           known.presets.empty() ? "by default" : "unless the preset says otherwise"))
        ->group(group);
    if (!known.presets.empty())
        add_option(app, "--preset", chosen.preset,
                   fmt::format("named settings instead of those of --env: {}", fmt::join(preset_names(known), ", ")))
            ->group(group);
    add_option(
        app, "--resume", chosen.resume,
        "goes on with the run in this folder, bit for bit, or does what it lacks; --frames and --target-return may "
        "be raised")
        ->group(group);
    app.set_config("--config", "", "a file with one NAME = VALUE a line, names as on this page without the dashes")
        ->group(group);
}

/// Those that go with an environment of the program.
void add_settings(registry const& known, CLI::App& app, settings& all, std::vector<CLI::Option*>& added) {
    describe(all, [&](char const* group, std::string const& name, auto& field, char const* help) {
        if (group_fits_one(known, group))
            added.push_back(add_option(app, "--" + name, field, help)->group(group));
    });
}

/// Whatever its value is.
void refuse_for(std::string const& environment, CLI::Option& option) {
    std::string const sentence = fmt::format("{} is an option of {} and does not go with {}", option.get_name(),
                                             option.get_group(), environment);
    option.check([sentence](std::string const&) -> std::string { fail("{}", sentence); }, "");
}

/// The environment and preset that the first look at the command line found; an error here is found again, and told,
/// when the whole is read.
[[nodiscard]] choice look_ahead(registry const& known, int argc, char const* const* argv) {
    choice chosen;
    CLI::App app;
    app.allow_extras();
    app.allow_config_extras(true);
    app.set_help_flag();
    app.config_formatter(std::make_shared<config_file>());
    add_choice(known, app, chosen);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const&) {
    }
    return chosen;
}

/// What --env is without the option: the one environment that there is, or none.
[[nodiscard]] std::string only_environment(registry const& known) {
    bool const one = known.environments.size() == 1 && known.environments.front().rest.empty();
    return one ? known.environments.front().name : std::string();
}

/// The environment whose defaults --help shows without --env.
[[nodiscard]] std::string shown_environment(registry const& known) {
    return known.shown.empty() ? known.environments.front().name : known.shown;
}

/// What --help says of environments besides their names.
[[nodiscard]] std::string about_environments(registry const& known) {
    std::string text;
    for (auto const& entry : known.environments) {
        if (!entry.help.empty() || !entry.options.empty())
            text += fmt::format("  {:<27} {}\n", entry.name + entry.rest, entry.help);
        for (auto const& option : entry.options)
            text += fmt::format("    {:<25} {}\n",
                                fmt::format("--env-option {}={}", option.name, option_text(option.value)), option.help);
    }
    return text.empty() ? text : fmt::format("Environments:\n{}\n", text);
}

/// Reads NAME=VALUE of each --env-option into `values`.
void read_environment_options(std::vector<std::string> const& given, std::map<std::string, std::string>& values) {
    std::vector<std::string> names;
    for (std::string const& one : given) {
        std::size_t const equals = one.find('=');
        require(equals != one.npos && equals > 0, "--env-option is \"{}\", but must be NAME=VALUE", one);
        std::string const name = one.substr(0, equals);
        require(std::ranges::find(names, name) == names.end(), "--env-option {} is given twice", name);
        names.push_back(name);
        values[name] = one.substr(equals + 1);
    }
}

} // namespace

std::size_t threads_by_default() {
    std::size_t const cores = std::max(1u, std::thread::hardware_concurrency());
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (::sched_getaffinity(0, sizeof mine, &mine) == 0)
        if (auto const bound = static_cast<std::size_t>(CPU_COUNT(&mine)); bound > 0 && bound < cores)
            return bound;
    return std::max<std::size_t>(1, cores / local_ranks());
}

request parse(registry const& known, int argc, char const* const* argv) {
    choice chosen = look_ahead(known, argc, argv);
    if (is_file(chosen.environment)) // a run may go on from another folder
        chosen.environment = std::filesystem::absolute(chosen.environment).lexically_normal().string();
    request asked;
    asked.resume = chosen.resume;
    if (!chosen.preset.empty())
        asked.settings = preset_settings(known, chosen.preset);
    else
        asked.settings =
            default_settings(known, chosen.environment.empty() ? shown_environment(known) : chosen.environment,
                             chosen.algorithm.empty() ? known.methods.front().name : chosen.algorithm);

    std::string const only = only_environment(known);
    CLI::App
        app(fmt::format("{0} trains an actor-critic agent with a distributional value.\n"
                        "Begin with:  {0}{1}\n"
                        "The defaults below are those of the --env or --preset given before --help; without one they "
                        "are those\nof {2}.",
                        known.program,
                        only.empty() ? fmt::format(" --env {}", known.environments.front().name) : std::string(),
                        shown_environment(known)),
            known.program);
    app.footer(about_environments(known) + about_commands(known.program));
    app.set_version_flag("--version",
                         fmt::format("gmac {}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH));
    app.config_formatter(std::make_shared<config_file>(&app));
    add_choice(known, app, chosen);
    add_option(app, "--out", asked.out, "folder of the run; by default runs/ENV-ALGORITHM-SEED")->group("Run");
    add_flag(app, "--overwrite", asked.overwrite, "replaces a run that is in the folder already")->group("Run");
    add_option(app, "--threads", asked.threads, "the numbers of a run do not depend on it", 1)->group("Run");
    add_option(app, "--checkpoint-seconds", asked.checkpoint_seconds,
               "a checkpoint is written this often, and at the end", 0.0)
        ->group("Run");
    add_option(app, "--keep-checkpoints", asked.keep_checkpoints,
               "keeps as many checkpoints evenly over the run, besides the latest")
        ->default_str("0")
        ->group("Run");
    add_option(app, "--evaluation-episodes", asked.evaluation_episodes,
               "played at the end with the most likely actions")
        ->default_str(sees_images(asked.settings) ? "0" : "20")
        ->group("Run");
    add_flag(app, "--watch", asked.watch,
             "draws the mean return and the value distribution in the terminal while it trains")
        ->group("Run");
    add_option(
        app, "--serve", asked.serve,
        "shows the report in browsers on this machine while it trains, at http://127.0.0.1:PORT/; 0 is a port that "
        "is free")
        ->type_name("PORT")
        ->group("Run");
    bool no_pictures = false;
    add_flag(app, "--no-pictures", no_pictures, "draws nothing at the end")->group("Run");
    bool no_report = false;
    add_flag(app, "--no-report", no_report, "writes no report.html at the end, and plays nothing for it")->group("Run");
    add_flag(app, "--check-environment", asked.check,
             "plays the environment by random actions, says what is wrong with it, and trains nothing")
        ->group("Run");
    add_flag(app, "--print-settings", asked.print_settings,
             "checks all settings, prints them as they would be in config.json, and trains nothing")
        ->group("Run");
    std::string roms;
    if (group_fits_one(known, "Atari games"))
        add_option(app, "--roms", roms, "folder of ROMs, among them that of the game, instead of --rom")
            ->group("Atari games");
    std::vector<CLI::Option*> fields;
    add_settings(known, app, asked.settings, fields);
    std::vector<std::string> given_values;
    if (std::ranges::any_of(known.environments, [](auto const& entry) { return !entry.options.empty(); }))
        fields.push_back(app.add_option("--env-option", given_values,
                                        "an option of the environment; again for each of them. They are listed below")
                             ->type_name("NAME=VALUE")
                             ->expected(1, 1000)
                             ->allow_extra_args(false)
                             ->group("Environment"));
    if (chosen.resume.empty())
        for (CLI::Option* const option : app.get_options())
            if (!group_fits(known, option->get_group(), asked.settings.environment))
                refuse_for(asked.settings.environment, *option);
    parse_options(app, argc, argv);
    asked.pictures = !no_pictures;
    asked.report = !no_report;
    if (asked.evaluation_episodes) // each in an environment of its own
        require_memory(std::array{memory_of_environments("--evaluation-episodes", *asked.evaluation_episodes)});

    if (asked.settings.eval_every > 0)
        require_memory(std::array{memory_of_environments("--eval-episodes", asked.settings.eval_episodes)});

    if (!chosen.resume.empty()) {
        require(
            chosen.environment.empty() && chosen.algorithm.empty() && chosen.preset.empty() && asked.out.empty(),
            "--resume goes on with the settings of the run: --env, --algorithm, --preset and --out do not go with it");
        require(!asked.check, "--check-environment trains nothing, so it does not go with --resume");
        require(!asked.print_settings, "--print-settings does not go with --resume: the settings of the run are in {}",
                (chosen.resume / "config.json").string());
        for (CLI::Option const* field : fields)
            if (field->count() > 0 && field->get_name() == "--rom") {
                asked.rom = asked.settings.rom;
            } else if (field->count() > 0) {
                require(field->get_name() == "--frames" || field->get_name() == "--target-return",
                        "--resume goes on with the settings of the run: {} does not go with it, only --frames and "
                        "--target-return do",
                        field->get_name());
                if (field->get_name() == "--frames")
                    asked.frames = asked.settings.frames;
                else
                    asked.target_return = asked.settings.target_return;
            }
        return asked;
    }
    require(!chosen.environment.empty() || !chosen.preset.empty() || !only.empty(),
            "say what to train by --env NAME, {}--resume FOLDER; environments are {}{}",
            known.presets.empty() ? "or " : "--preset NAME or ", fmt::join(environment_names(known), ", "),
            known.presets.empty() ? std::string()
                                  : fmt::format("; presets are {}", fmt::join(preset_names(known), ", ")));
    require(chosen.environment.empty() || chosen.preset.empty() || chosen.environment == asked.settings.environment,
            "the preset {} is for {}, not for {}", chosen.preset, asked.settings.environment, chosen.environment);
    if (!chosen.algorithm.empty())
        asked.settings.algorithm = chosen.algorithm;
    auto const methods = algorithm_names(known);
    require_known("algorithm", asked.settings.algorithm, methods);
    for (std::string const& name : critics_of(asked.settings))
        require_known("method in --critics", name, methods);
    read_environment_options(given_values, asked.settings.environment_values);
    if (auto const& entry = find_environment(known, asked.settings.environment); entry.prepare)
        entry.prepare(asked.settings, roms);
    complete(known, asked.settings);
    validate(known, asked.settings);
    require(!asked.check || !sees_images(asked.settings),
            "--check-environment looks at environments with real observations, and {} shows images",
            asked.settings.environment);
    if (asked.out.empty()) {
        std::string name = asked.settings.environment;
        if (is_file(name))
            name = std::filesystem::path(name).stem().string();
        for (char const separator : {'/', ':'})
            std::ranges::replace(name, separator, '-');
        asked.out = fmt::format("runs/{}-{}-{}", name, asked.settings.algorithm, asked.settings.seed);
    }
    return asked;
}

std::string resume_command(registry const& known, request const& asked, std::filesystem::path const& folder) {
    std::string line = known.program + " --resume " + shell_word(folder.string());
    if (asked.threads != request().threads)
        line += fmt::format(" --threads {}", asked.threads);
    if (asked.checkpoint_seconds != request().checkpoint_seconds)
        line += fmt::format(" --checkpoint-seconds {}", asked.checkpoint_seconds);
    if (asked.keep_checkpoints.value_or(0) > 0)
        line += fmt::format(" --keep-checkpoints {}", *asked.keep_checkpoints);
    if (asked.evaluation_episodes)
        line += fmt::format(" --evaluation-episodes {}", *asked.evaluation_episodes);
    if (!asked.pictures)
        line += " --no-pictures";
    if (!asked.report)
        line += " --no-report";
    if (asked.watch)
        line += " --watch";
    if (asked.serve)
        line += fmt::format(" --serve {}", *asked.serve);
    return line;
}

} // namespace gmac::examples::train
