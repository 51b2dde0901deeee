// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include "train/output/folder_lock.hpp"
#include "train/output/json_value.hpp"
#include "train/output/metrics_table.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string_view>

namespace gmac::examples::sweep {

namespace {

/// Options that are no settings of a run, so that one that goes on is given them again.
constexpr std::array<std::string_view, 3> not_stored{"checkpoint-seconds", "keep-checkpoints", "evaluation-episodes"};

[[nodiscard]] bool is_stored(setting const& one) {
    return std::ranges::find(not_stored, one.name) == not_stored.end();
}

/// "env-option:wind" is the option wind of the environment.
[[nodiscard]] std::string word(setting const& one) {
    std::size_t const colon = one.name.find(':');
    return colon == one.name.npos
               ? fmt::format("--{}={}", one.name, one.value)
               : fmt::format("--{}={}={}", one.name.substr(0, colon), one.name.substr(colon + 1), one.value);
}

[[nodiscard]] std::vector<setting> settings_of(sweep_file const& sweep, configuration const& one) {
    std::vector<setting> all = sweep.options;
    if (!one.algorithm.empty())
        all.push_back({"algorithm", one.algorithm});
    all.insert(all.end(), one.varied.begin(), one.varied.end());
    if (std::ranges::find(all, "evaluation-episodes", &setting::name) == all.end())
        all.push_back({"evaluation-episodes", sweep.score == score_kind::last ? "0" : "20"});
    return all;
}

/// Whether a message has this name of an option, as a word of its own; the library writes it with underscores.
[[nodiscard]] bool has_name(std::string_view message, std::string name) {
    auto const is_letter = [](char one) {
        return one == '_' || one == '-' || std::isalnum(static_cast<unsigned char>(one));
    };
    for (int turn = 0; turn < 2; ++turn, std::ranges::replace(name, '-', '_'))
        for (std::size_t at = message.find(name); at != message.npos; at = message.find(name, at + 1)) {
            std::size_t const end = at + name.size();
            if ((at == 0 || message.substr(0, at).ends_with("--") || !is_letter(message[at - 1])) &&
                (end == message.size() || !is_letter(message[end])))
                return true;
        }
    return false;
}

/// The places in the file of the options that a message names, or of which it has the value in quotes.
[[nodiscard]] std::string places_in(std::string const& message, sweep_file const& sweep, configuration const& one) {
    std::vector<std::string> places;
    auto const look = [&](std::vector<setting> const& settings, char const* object) {
        for (setting const& each : settings)
            if (has_name(message, each.name.substr(0, each.name.find(':'))) ||
                message.find('"' + each.value + '"') != message.npos)
                places.push_back(fmt::format("/{}/{}", object, each.name));
    };
    look(sweep.options, "options");
    look(one.varied, sweep.random ? "random" : "grid");
    return places.empty()
               ? fmt::format("{}{}", one.algorithm.empty() ? "" : one.algorithm + ", ", text_of_settings(one))
               : fmt::format("{}", fmt::join(places, ", "));
}

} // namespace

asked_settings trainer::check(configuration const& one, std::string const& where) const {
    command words{program.string()};
    for (setting const& each : settings_of(*sweep, one)) {
        require(sweep->score == score_kind::last || each.name != "evaluation-episodes" || each.value != "0",
                "{}: {}: \"score\" is \"evaluation\", so evaluation-episodes must not be 0", where,
                places_in(each.name, *sweep, one));
        words.push_back(word(each));
    }
    words.push_back("--print-settings");
    answer const said = ask(words);
    std::string problem = said.errors;
    while (!problem.empty() && problem.back() == '\n')
        problem.pop_back();
    require(problem.find("no option --print-settings") == problem.npos,
            "{} has no option --print-settings, so it is no gmac::train::program of this version: build it anew",
            program.string());
    require(said.end.well(), "{}: {}: {}", where, places_in(problem, *sweep, one),
            problem.empty() ? fmt::format("{} {}", program.string(), said.end.text()) : problem);
    auto const settings = parse_json(said.output, fmt::format("what {} --print-settings says", program.string()));
    return {.environment = train::json_value<std::string>(settings, "/env", "--print-settings"),
            .algorithm = train::json_value<std::string>(settings, "/algorithm", "--print-settings"),
            .frames = train::json_value<std::uint64_t>(settings, "/frames", "--print-settings"),
            .has_target = settings.contains("target-return") && !settings["target-return"].is_null()};
}

bool run::in_use() const {
    return train::is_locked(folder);
}

bool run::reached(std::optional<std::uint64_t> frames) const {
    if (std::filesystem::exists(folder / "summary.json"))
        return true;
    std::filesystem::path const metrics = folder / "metrics.csv";
    if (!frames || !std::filesystem::exists(folder / "checkpoint.safetensors") || !std::filesystem::exists(metrics))
        return false;
    // The last whole row, whose first cell is the number of frames.
    gmac::detail::open_file const file(metrics);
    std::size_t const most = 65536, begin = file.size() - (std::min)(file.size(), most);
    auto const bytes = file.read(begin, file.size() - begin);
    std::string_view text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    text = text.substr(0, text.rfind('\n') == text.npos ? 0 : text.rfind('\n'));
    std::size_t const end_before = text.rfind('\n');
    if (end_before == text.npos) // the header alone
        return false;
    std::string_view const cell = text.substr(end_before + 1, text.find(',', end_before) - end_before - 1);
    double trained = 0.0;
    read_value(fmt::format("the last row of {}", metrics.string()), cell, trained);
    return trained >= static_cast<double>(*frames);
}

command run::next_command(trainer const& by) const {
    command words{by.program.string()};
    bool const goes_on = std::filesystem::exists(folder / "checkpoint.safetensors");
    auto const settings = settings_of(*by.sweep, *what);
    if (goes_on) {
        words.push_back("--resume=" + folder.string());
    } else {
        for (setting const& each : settings)
            if (is_stored(each))
                words.push_back(word(each));
        words.push_back(fmt::format("--seed={}", seed));
        words.push_back("--out=" + folder.string());
        if (std::filesystem::exists(folder / "config.json"))
            words.push_back("--overwrite");
    }
    for (setting const& each : settings)
        if (!is_stored(each))
            words.push_back(word(each));
    words.push_back(fmt::format("--threads={}", by.threads));
    words.push_back("--no-pictures");
    words.push_back("--no-report");
    return words;
}

outcome outcome_of(run const& one, std::optional<std::uint64_t> frames, score_kind kind) {
    auto const table = train::read_csv(one.folder / "metrics.csv");
    require(table.rows() > 0, "{} has no row", (one.folder / "metrics.csv").string());
    auto const& trained = table.column("frames");
    std::size_t row = 0;
    while (row + 1 < table.rows() && (!frames || trained[row] < static_cast<double>(*frames)))
        ++row;
    double score = table.column("mean_return")[row];
    if (kind == score_kind::evaluation) {
        std::filesystem::path const path = one.folder / "summary.json";
        auto const summary = read_json(path);
        score = summary.contains("evaluation") ? train::json_value<double>(summary, "/evaluation/mean", path)
                                               : std::nan(""); // begun by an older version
    }
    return {std::isfinite(score) ? std::optional(score) : std::nullopt, trained[row], table.column("seconds")[row]};
}

} // namespace gmac::examples::sweep
