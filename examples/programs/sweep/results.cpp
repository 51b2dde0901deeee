// SPDX-License-Identifier: Apache-2.0
#include "results.hpp"

#include "train/output/gnuplot.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace gmac::examples::sweep {

namespace {

[[nodiscard]] std::size_t scored(result const& one) {
    return static_cast<std::size_t>(
        std::ranges::count_if(one.scores, [](auto const& score) { return score.has_value(); }));
}

/// A cell of a CSV file, in quotes if it has to be.
[[nodiscard]] std::string cell(std::string const& text) {
    if (text.find_first_of(",\"\n") == text.npos)
        return text;
    std::string quoted = "\"";
    for (char const letter : text)
        quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return quoted + '"';
}

/// A value in a file for --config, which has quotes around what has blanks or a comment's sign in it.
[[nodiscard]] std::string config_value(std::string const& text) {
    if (text.find_first_of(" \t#\"'[") == text.npos)
        return text;
    return text.find('"') == text.npos ? '"' + text + '"' : '\'' + text + '\'';
}

} // namespace

void summarize(result& one) {
    std::vector<double> scores;
    for (auto const& score : one.scores)
        if (score)
            scores.push_back(*score);
    one.found.reset();
    if (!scores.empty() && scores.size() == one.scores.size())
        one.found = train::summarize(scores).interquartile_mean;
}

void sort_best_first(std::vector<result>& results) {
    auto const key = [](result const& one) {
        return std::tuple(one.rung, one.found.has_value(), one.found ? one.found->value : 0.0);
    };
    std::stable_sort(results.begin(), results.end(), [&](result const& a, result const& b) { return key(a) > key(b); });
}

std::string table_of(std::vector<result> const& results) {
    std::string head = "| # | algorithm |", line = "| ---: | --- |";
    for (setting const& one : results.front().what->varied) {
        head += fmt::format(" {} |", one.name);
        line += " ---: |";
    }
    std::string text = fmt::format(
        "{} interquartile mean | 95 % interval | runs | frames | seconds |\n{} ---: | ---: | "
        "---: | ---: | ---: |\n",
        head, line);
    for (result const& one : results) {
        text += fmt::format("| {} | {} |", one.what->number, one.what->algorithm);
        for (setting const& each : one.what->varied)
            text += fmt::format(" {} |", each.value);
        if (!one.found)
            text += " | |";
        else if (one.scores.size() == 1) // which says nothing of how runs differ
            text += fmt::format(" {:.4g} | – |", one.found->value);
        else
            text += fmt::format(" {:.4g} | {:.4g} … {:.4g} |", one.found->value, one.found->low, one.found->high);
        text +=
            fmt::format(" {}{} |", scored(one), one.found ? std::string() : fmt::format(" of {}", one.scores.size()));
        text += scored(one) == 0 ? std::string(" | |\n") : fmt::format(" {:.0f} | {:.1f} |\n", one.frames, one.seconds);
    }
    return text;
}

std::string csv_of(std::vector<result> const& results) {
    std::string text = "number,algorithm";
    for (setting const& one : results.front().what->varied)
        text += "," + cell(one.name);
    text += ",interquartile_mean,low,high,runs,frames,seconds,scores\n";
    for (result const& one : results) {
        text += fmt::format("{},{}", one.what->number, cell(one.what->algorithm));
        for (setting const& each : one.what->varied)
            text += "," + cell(each.value);
        text += one.found ? fmt::format(",{},{},{}", one.found->value, one.found->low, one.found->high)
                          : std::string(",nan,nan,nan");
        std::vector<std::string> scores;
        for (auto const& score : one.scores)
            scores.push_back(score ? fmt::format("{}", *score) : std::string("nan"));
        text += fmt::format(",{},{},{},{}\n", scored(one), one.frames, one.seconds, fmt::join(scores, " "));
    }
    return text;
}

void plot_results(std::filesystem::path const& stem, std::vector<result> const& results) {
    namespace gnuplot = train::gnuplot;
    std::vector<std::string> algorithms;
    std::vector<result const*> shown;
    for (result const& one : results)
        if (one.found && shown.size() < 30) {
            shown.push_back(&one);
            if (std::ranges::find(algorithms, one.what->algorithm) == algorithms.end())
                algorithms.push_back(one.what->algorithm);
        }
    require(!shown.empty(), "no settings have a score in all of their runs");
    std::string names;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        auto const& what = *shown[i]->what;
        std::string const text =
            fmt::format("{}: {}{}", what.number, text_of_settings(what),
                        shown[i]->rung == shown[0]->rung ? std::string()
                                                         : fmt::format(", after {:.0f} frames", shown[i]->frames));
        longest = (std::max)(longest, text.size());
        names += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot::literal(text), i);
    }
    gnuplot::picture what;
    what.width = 720 + 11 * static_cast<int>(longest); // of a letter
    what.height = 200 + 26 * static_cast<int>(shown.size());
    what.plot = fmt::format(
        "{}set title {}\nset xlabel 'return: interquartile mean over the seeds with 95 % interval'\n"
        "set yrange [{}:-0.5]\nset ytics ({})\nset offsets graph 0.03, 0.03, 0, 0\n"
        "set lmargin {:.0f}\nset rmargin 4\nset bmargin 6\nset key bmargin center horizontal Left reverse width 2\nplot ",
        gnuplot::style, gnuplot::literal(fmt::format("The best {} of {} settings", shown.size(), results.size())),
        static_cast<double>(shown.size()) - 0.5, names, 4.0 + static_cast<double>(longest));
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
        std::array<std::vector<double>, 4> columns;
        for (std::size_t i = 0; i < shown.size(); ++i)
            if (shown[i]->what->algorithm == algorithms[a]) {
                columns[0].push_back(shown[i]->found->value);
                columns[1].push_back(static_cast<double>(i));
                columns[2].push_back(shown[i]->found->low);
                columns[3].push_back(shown[i]->found->high);
            }
        std::string const block = fmt::format("results{}", a);
        what.data += gnuplot::data_block(block, columns);
        what.plot +=
            fmt::format("{}${} using 1:2:3:4 with xerrorbars pointtype 7 linewidth 2 linecolor rgb '{}' title {}",
                        a == 0 ? "" : ", ", block, gnuplot::colours[a % gnuplot::colours.size()],
                        gnuplot::literal(algorithms[a]));
    }
    gnuplot::draw(stem, what);
}

std::string config_of(sweep_file const& sweep, result const& best) {
    std::string text = fmt::format(
        "# The best settings that gmac-sweep found for {}, those of number {}: interquartile mean {:.4g} "
        "({:.4g} … {:.4g}) over {} seed{}.\n",
        best.what->algorithm, best.what->number, best.found->value, best.found->low, best.found->high,
        best.scores.size(), best.scores.size() == 1 ? "" : "s");
    std::vector<setting> all = sweep.options;
    all.push_back({"algorithm", best.what->algorithm});
    all.insert(all.end(), best.what->varied.begin(), best.what->varied.end());
    std::size_t of_environment = 0;
    for (setting const& one : all)
        if (std::size_t const colon = one.name.find(':'); colon == one.name.npos)
            text += fmt::format("{} = {}\n", one.name, config_value(one.value));
        else // a file can hold one of them
            text +=
                fmt::format("{}env-option = {}\n", of_environment++ == 0 ? "" : "# to be given on the command line: ",
                            config_value(one.name.substr(colon + 1) + "=" + one.value));
    return text;
}

} // namespace gmac::examples::sweep
