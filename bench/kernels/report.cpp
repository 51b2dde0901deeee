// SPDX-License-Identifier: Apache-2.0
// gmac-bench-report <bench.json> <folder>: a Markdown table and a picture from the output of gmac-bench.
#include "support/run_main.hpp"
#include "train/output/gnuplot.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// One line of gmac-bench: "loss/sizes/type".
struct line {
    std::string name;
    std::map<std::string, double> counters{};

    [[nodiscard]] std::optional<double> find(std::string const& counter) const {
        auto const found = counters.find(counter);
        return found == counters.end() ? std::nullopt : std::optional(found->second);
    }
};

/// Without the suffixes that Google Benchmark appends.
std::string plain(std::string name) {
    for (std::string_view const suffix : {"/min_time", "/manual_time"})
        if (auto const at = name.find(suffix); at != std::string::npos)
            name.resize(at);
    return name;
}

std::vector<line> read(std::string const& path) {
    auto const json = gmac::read_json(path);
    std::vector<line> lines;
    for (auto const& entry : json.at("benchmarks")) {
        line next{plain(entry.at("name").get<std::string>())};
        for (auto const& [key, value] : entry.items())
            if (value.is_number_float())
                next.counters[key] = value.get<double>();
        lines.push_back(std::move(next));
    }
    return lines;
}

struct column {
    std::string title, counter;
    double scale;
    char const* unit;
};
std::array<column, 8> const columns{{{"us a call", "us", 1.0, ""},
                                     {"ns a state", "ns_per_state", 1.0, ""},
                                     {"Gop/s", "Gop_per_s", 1.0, ""},
                                     {"of peak", "of_peak", 100.0, " %"},
                                     {"GB/s", "GB_per_s", 1.0, ""},
                                     {"of memcpy", "of_memcpy", 100.0, " %"},
                                     {"libtorch, us", "torch_us", 1.0, ""},
                                     {"times libtorch", "times_torch", 1.0, ""}}};

void write_table(std::vector<line> const& lines, std::filesystem::path const& path) {
    std::ostringstream out;
    out << "| kernel |";
    for (column const& c : columns)
        out << ' ' << c.title << " |";
    out << "\n|---|";
    for (std::size_t i = 0; i < columns.size(); ++i)
        out << "---:|";
    out << '\n';
    for (line const& l : lines) {
        out << "| " << l.name << " |";
        for (column const& c : columns) {
            auto const value = l.find(c.counter);
            out << (value ? fmt::format(" {:.3g}{} |", c.scale * *value, c.unit) : std::string(" |"));
        }
        out << '\n';
    }
    gmac::replace_file(path, out.str());
}

/// Time a state over N for the losses between samples, on logarithmic axes, from names like "loss/N64_m64/float". Without
/// gnuplot there is no picture.
void write_plot(std::vector<line> const& lines, std::filesystem::path const& stem) {
    namespace gnuplot = gmac::examples::train::gnuplot;
    std::map<std::string, std::array<std::vector<double>, 2>> curves; // N, and the times
    for (line const& l : lines) {
        auto const size = l.name.find("/N");
        auto const time = l.find("ns_per_state");
        if (size == std::string::npos || !time || l.name.find("target_term") != std::string::npos)
            continue;
        std::string loss = l.name.substr(0, size) + l.name.substr(l.name.rfind('/'));
        for (char& c : loss)
            c = c == '_' || c == '/' ? ' ' : c;
        curves[loss][0].push_back(std::atof(l.name.c_str() + size + 2));
        curves[loss][1].push_back(*time);
    }
    gnuplot::picture picture{"", std::string(gnuplot::style)};
    picture.plot +=
        "set logscale xy\nset xlabel 'predicted samples N = target particles m'\n"
        "set ylabel 'ns a state, value and gradient'\nset key left top\nplot ";
    std::size_t count = 0;
    for (auto const& [loss, points] : curves) {
        picture.data += gnuplot::data_block(fmt::format("curve{}", count), points);
        picture.plot += fmt::format("{}$curve{} with linespoints linewidth 3 pointtype 7 linecolor rgb '{}' title {}",
                                    count == 0 ? "" : ", ", count, gnuplot::colours[count % gnuplot::colours.size()],
                                    gnuplot::literal(loss));
        ++count;
    }
    try {
        gmac::require(count > 0, "no picture was drawn: there are no sizes");
        gnuplot::draw(stem, picture);
    } catch (gnuplot::not_written const&) {
        throw;
    } catch (gmac::error const& problem) {
        fmt::print(stderr, "{}\n", problem.what());
    }
}

} // namespace

int main(int argument_count, char** arguments) {
    return gmac::examples::run_main("gmac-bench-report", [&] {
        gmac::require(argument_count == 3, "usage: gmac-bench-report <bench.json> <folder>");
        auto const lines = read(arguments[1]);
        std::filesystem::path const folder = arguments[2];
        std::filesystem::create_directories(folder);
        write_table(lines, folder / "table.md");
        write_plot(lines, folder / "sizes");
        fmt::print("{} kernels: {} and {}\n", lines.size(), (folder / "table.md").string(),
                   (folder / "sizes.svg").string());
    });
}
