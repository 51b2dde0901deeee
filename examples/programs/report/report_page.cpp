// SPDX-License-Identifier: Apache-2.0
#include "report_page.hpp"

#include "page_files.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <string_view>
#include <utility>

namespace gmac::examples::report {

namespace {

/// JSON that can stand in a script of an HTML file: no "</script>" and no "<!--" ends it, and where a program takes it for
/// JavaScript, no line ends in the middle of a text.
[[nodiscard]] std::string embeddable(nlohmann::ordered_json const& data) {
    std::string const text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    std::string result;
    result.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '<') {
            result += "\\u003c";
        } else if (std::string_view const three = std::string_view(text).substr(i, 3);
                   three == "\u2028" || three == "\u2029") {
            result += three == "\u2028" ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            result += text[i];
        }
    return result;
}

/// A page with its parts in the places that are marked for them, in this order, so that nothing is looked for in what was put in.
[[nodiscard]] std::string assemble(page_files const& files, nlohmann::ordered_json const& data, bool live) {
    std::pair<std::string_view, std::string> const parts[]{{"@style@", files.style},
                                                           {"@scripts@", files.scripts},
                                                           {"@live@", live ? "true" : "false"},
                                                           {"@data@", embeddable(data)}};
    std::string page = files.html;
    std::size_t at = 0;
    for (auto const& [mark, part] : parts)
        if (std::size_t const found = page.find(mark, at); found != page.npos) {
            page.replace(found, mark.size(), part);
            at = found + part.size();
        }
    return page;
}

} // namespace

std::string report_page(nlohmann::ordered_json const& data, bool live) {
    return assemble(report_files, data, live);
}

std::string play_page(nlohmann::ordered_json const& data) {
    return assemble(play_files, data, false);
}

std::string comparison_page(nlohmann::ordered_json const& data) {
    return assemble(comparison_files, data, false);
}

void require_replaceable(std::filesystem::path const& file, std::string_view mark, std::string_view what) {
    if (!std::filesystem::exists(file))
        return;
    auto const bytes = read_file(file);
    std::string_view const text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    require(text.find(mark) != text.npos,
            "{} is there, and is no page {}, which would be lost: give another file by --out", file.string(), what);
}

} // namespace gmac::examples::report
