// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/split.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// Names and values in the order of the columns.
using metrics_row = std::vector<std::pair<std::string, double>>;

/// A CSV file of numbers, read back.
struct csv_table {
    std::vector<std::string> columns;
    std::vector<std::vector<double>> values; ///< one vector a column

    [[nodiscard]] std::size_t rows() const noexcept { return values.empty() ? 0 : values.front().size(); }
    /// Throws gmac::error that names the columns there are.
    [[nodiscard]] std::vector<double> const& column(std::string_view name) const {
        for (std::size_t i = 0; i < columns.size(); ++i)
            if (columns[i] == name)
                return values[i];
        gmac::fail("there is no column {}, only {}", name, fmt::join(columns, ", "));
    }
};

namespace detail {

/// Calls `visit(number of the line, from 1; line without its end; byte after its end)` for each whole line. What comes
/// after the last end of a line was cut off by a kill or a full disk.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
    std::size_t begin = 0;
    for (std::size_t number = 1;; ++number) {
        std::size_t const end = text.find('\n', begin);
        if (end == std::string_view::npos || !visit(number, text.substr(begin, end - begin), end + 1))
            return;
        begin = end + 1;
    }
}

[[nodiscard]] inline double parse_cell(std::string_view cell, std::size_t line, std::filesystem::path const& path) {
    double value = 0.0;
    auto const [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    gmac::require(problem == std::errc() && end == cell.data() + cell.size(), "{}, line {}: \"{}\" is not a number",
                  path.string(), line, cell);
    return value;
}

} // namespace detail

/// Reads a CSV file of numbers with a header; a last line that was cut off is left out. Throws gmac::error that names
/// the file and the line.
[[nodiscard]] inline csv_table read_csv(std::filesystem::path const& path) {
    auto const bytes = gmac::read_file(path);
    std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    csv_table table;
    detail::for_each_line(text, [&](std::size_t number, std::string_view line, std::size_t) {
        auto const cells = split(line, ',');
        if (number == 1) {
            table.columns.assign(cells.begin(), cells.end());
            table.values.resize(cells.size());
            return true;
        }
        gmac::require(cells.size() == table.columns.size(), "{}, line {}: {} cells, but the header has {}",
                      path.string(), number, cells.size(), table.columns.size());
        for (std::size_t i = 0; i < cells.size(); ++i)
            table.values[i].push_back(detail::parse_cell(cells[i], number, path));
        return true;
    });
    return table;
}

/// What a CSV file holds up to some row.
struct csv_extent {
    std::string header{};
    std::size_t size = 0; ///< bytes, up to the end of the last whole row
    std::size_t rows = 0;
    crc32c sum{}; ///< of these bytes

    /// Tells whether rows were removed or changed.
    [[nodiscard]] std::string fingerprint() const { return fmt::format("{} rows, checksum {:08x}", rows, sum.value()); }
};

/// The rows of a file whose key, in the first column, is at most `last`; nothing if there is no such file. Throws
/// gmac::error that names the line which is none of metrics_table; the file is left as it is.
[[nodiscard]] inline csv_extent measure_csv(std::filesystem::path const& path, double last) {
    csv_extent extent;
    if (std::error_code missing; !std::filesystem::exists(path, missing))
        return extent;
    auto const bytes = gmac::read_file(path);
    std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    detail::for_each_line(text, [&](std::size_t number, std::string_view line, std::size_t end) {
        gmac::require(!line.ends_with('\r'),
                      "{}, line {}: it ends with a carriage return, so another program wrote it: give it back its line "
                      "ends, or move the file away to begin a new one",
                      path.string(), number);
        if (number == 1)
            extent.header = line;
        else if (detail::parse_cell(split(line, ',').front(), number, path) > last)
            return false;
        else
            ++extent.rows;
        extent.size = end;
        return true;
    });
    extent.sum.add(std::span(bytes).first(extent.size));
    return extent;
}

/// A CSV file that grows by one whole row at a time. The first row given makes the header; its first column is the key,
/// which never falls. Numbers are written such that they read back as they were; what is not a number is `nan`.
class metrics_table {
public:
    /// Begins a new file. Throws gmac::error if it cannot be made.
    explicit metrics_table(std::filesystem::path path) : metrics_table(std::move(path), O_TRUNC) {}

    /// Goes on with a file: rows whose key is above `last`, and a last row that was cut off, are removed, so that no
    /// row comes twice. Starts a new file if there is none.
    [[nodiscard]] static metrics_table resume(std::filesystem::path path, double last) {
        csv_extent const extent = measure_csv(path, last);
        metrics_table table(std::move(path), 0);
        table.extent_ = extent;
        if (::ftruncate(table.file_.get(), static_cast<::off_t>(extent.size)) != 0)
            table.give_up("cut", errno);
        return table;
    }

    /// Writes one row. Throws gmac::error if the names are not those of the header, or if the file cannot be written;
    /// it then ends with the row before.
    void append(metrics_row const& row) {
        std::string const header = header_of(row, path_);
        std::string line;
        for (auto const& [name, value] : row)
            (line += line.empty() ? "" : ",") += format(value);
        require_columns(extent_, row, path_);
        bool const first = extent_.header.empty();
        std::string const text = first ? header + '\n' + line + '\n' : line + '\n';
        // One call, so a kill leaves whole rows, and whoever reads the file meanwhile sees them.
        if (int const problem = gmac::detail::write_all(file_.get(), std::as_bytes(std::span(text))); problem != 0) {
            // The old end must come back, or the next row would follow half of this one.
            if (::ftruncate(file_.get(), static_cast<::off_t>(extent_.size)) != 0)
                give_up("write and cut", problem);
            give_up("write", problem);
        }
        extent_.header = header;
        extent_.size += text.size();
        ++extent_.rows;
        extent_.sum.add(std::as_bytes(std::span(text)));
    }

    /// Throws gmac::error unless such rows can follow what the file at `path` holds.
    static void require_columns(csv_extent const& extent, metrics_row const& row, std::filesystem::path const& path) {
        std::string const header = header_of(row, path);
        gmac::require(extent.header.empty() || header == extent.header,
                      "{}: the row has the columns {}, but the file has {}", path.string(), header, extent.header);
    }

    /// Waits until the rows are on the disk: before a checkpoint, so that a crash of the machine loses none that the
    /// checkpoint has seen.
    void sync() {
        if (::fsync(file_.get()) != 0)
            give_up("sync", errno);
    }

    [[nodiscard]] std::size_t rows() const noexcept { return extent_.rows; }
    [[nodiscard]] csv_extent const& extent() const noexcept { return extent_; }
    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

private:
    metrics_table(std::filesystem::path path, int flags)
        : path_(std::move(path)), file_(gmac::detail::open_regular(path_, O_WRONLY | O_CREAT | O_APPEND | flags)) {}

    [[nodiscard]] static std::string header_of(metrics_row const& row, std::filesystem::path const& path) {
        gmac::require(!row.empty(), "{}: a row must have at least one column", path.string());
        std::string header;
        for (auto const& [name, value] : row) {
            gmac::require(!name.empty() && name.find_first_of(",\"\n\r") == std::string::npos,
                          "{}: the column name \"{}\" is empty or has a comma, a quote or a line end", path.string(),
                          name);
            (header += header.empty() ? "" : ",") += name;
        }
        return header;
    }

    [[nodiscard]] static std::string format(double value) {
        return value != value ? "nan" : fmt::format("{}", value); // the sign of a NaN says nothing
    }
    [[noreturn]] void give_up(std::string_view action, int number) const {
        gmac::fail("cannot {} {}: {}", action, path_.string(), gmac::detail::system_message(number));
    }

    std::filesystem::path path_;
    gmac::detail::descriptor file_;
    csv_extent extent_;
};

} // namespace gmac::examples::train
