// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#include "support/split.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <system_error>

namespace gmac::examples::report {

namespace {

using json = nlohmann::ordered_json;

[[nodiscard]] std::size_t find_column(train::csv_table const& table, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin());
}

/// The cells of a line, or what is wrong with it.
[[nodiscard]] std::optional<std::string> read_row(std::string_view line, std::size_t number,
                                                  std::filesystem::path const& path, std::vector<double>& row) {
    auto const cells = split(line, ',');
    if (cells.size() != row.size())
        return fmt::format("line {} has {} cells, but the header has {}", number, cells.size(), row.size());
    try {
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = train::detail::parse_cell(cells[i], number, path);
    } catch (error const&) {
        return fmt::format("line {} has a cell that is not a number", number);
    }
    return std::nullopt;
}

/// Mean and range of the finite values of some rows, or nothing.
struct summary {
    double mean = std::numeric_limits<double>::quiet_NaN(), low = mean, high = mean;
};
[[nodiscard]] summary summarize(std::span<double const> values) {
    summary found;
    double sum = 0.0;
    std::size_t count = 0;
    for (double const value : values)
        if (std::isfinite(value)) {
            sum += value;
            found.low = std::fmin(found.low, value);
            found.high = std::fmax(found.high, value);
            ++count;
        }
    if (count > 0)
        found.mean = sum / static_cast<double>(count);
    return found;
}

} // namespace

train::csv_table read_table(std::filesystem::path const& path, std::vector<problem>& problems) {
    train::csv_table table;
    std::string const name = path.filename().string();
    if (std::error_code none; !std::filesystem::exists(path, none))
        return table;
    try {
        auto const bytes = read_file(path);
        std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
        std::size_t bad = 0;
        std::string first;
        std::vector<double> row;
        train::detail::for_each_line(text, [&](std::size_t number, std::string_view line, std::size_t) {
            if (line.ends_with('\r'))
                line.remove_suffix(1);
            if (number == 1) {
                auto const cells = split(line, ',');
                table.columns.assign(cells.begin(), cells.end());
                table.values.resize(cells.size());
                row.resize(cells.size());
            } else if (auto const wrong = read_row(line, number, path, row)) {
                if (bad++ == 0)
                    first = *wrong;
            } else {
                for (std::size_t i = 0; i < row.size(); ++i)
                    table.values[i].push_back(row[i]);
            }
            return true;
        });
        if (bad == 1)
            problems.push_back({name, first + ": it is left out"});
        else if (bad > 1)
            problems.push_back(
                {name, fmt::format("{}, and {} more cannot be read: they are left out", first, bad - 1)});
        if (!text.empty() && text.back() != '\n')
            problems.push_back({name, "the last line is cut off, and left out"});
    } catch (error const& unreadable) {
        problems.push_back({name, unreadable.what()});
    }
    return table;
}

json json_number(double value) {
    if (!std::isfinite(value))
        return nullptr;
    if (value == std::floor(value) && std::abs(value) < 1e15)
        return static_cast<std::int64_t>(value);
    double const digits = std::pow(10.0, 4.0 - std::floor(std::log10(std::abs(value))));
    double const rounded = std::round(value * digits) / digits;
    return std::isfinite(rounded) ? rounded : value;
}

json json_numbers(std::span<double const> values) {
    json all = json::array();
    for (double const value : values)
        all.push_back(json_number(value));
    return all;
}

json thinned(train::csv_table const& table, std::string_view key, std::size_t most) {
    std::size_t const rows = table.rows(), of_key = find_column(table, key);
    std::size_t const each = (std::max)(std::size_t{1}, (rows + most - 1) / most);
    json all{{"rows", rows}, {"each", each}, {"x", json::array()}, {"columns", json::object()}};
    auto const for_each_part = [&](std::vector<double> const& values, auto const& visit) {
        for (std::size_t begin = 0; begin < rows; begin += each)
            visit(summarize(std::span(values).subspan(begin, (std::min)(each, rows - begin))));
    };
    if (of_key == table.columns.size())
        return all;
    for_each_part(table.values[of_key], [&](summary const& part) { all["x"].push_back(json_number(part.mean)); });
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        if (i == of_key)
            continue;
        json column{{"mean", json::array()}};
        for_each_part(table.values[i], [&](summary const& part) {
            column["mean"].push_back(json_number(part.mean));
            if (each > 1) {
                column["low"].push_back(json_number(part.low));
                column["high"].push_back(json_number(part.high));
            }
        });
        all["columns"][table.columns[i]] = std::move(column);
    }
    return all;
}

json sampled_episodes(train::csv_table const& table, std::size_t most) {
    std::size_t const rows = table.rows();
    bool const all_fit = rows <= most;
    std::size_t const each = all_fit ? 1 : (3 * rows + most - 1) / most;
    json result{{"rows", rows}, {"each", each}};
    std::size_t const of_return = find_column(table, "return");
    std::vector<std::size_t> chosen;
    if (all_fit || of_return == table.columns.size()) {
        chosen.resize((std::min)(rows, most));
        std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    } else {
        auto const& returns = table.values[of_return];
        for (std::size_t begin = 0; begin < rows; begin += each) {
            std::vector<std::size_t> part((std::min)(each, rows - begin));
            std::iota(part.begin(), part.end(), begin);
            std::ranges::stable_sort(part, {}, [&](std::size_t i) { return returns[i]; });
            std::vector<std::size_t> three{part.front(), part[part.size() / 2], part.back()};
            std::ranges::sort(three);
            chosen.insert(chosen.end(), three.begin(), std::unique(three.begin(), three.end()));
        }
    }
    for (std::string_view const name : {"frames", "return", "length"}) {
        json column = json::array();
        if (std::size_t const i = find_column(table, name); i < table.columns.size())
            for (std::size_t const row : chosen)
                column.push_back(json_number(table.values[i][row]));
        result[std::string(name)] = std::move(column);
    }
    return result;
}

} // namespace gmac::examples::report
