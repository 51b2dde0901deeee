// SPDX-License-Identifier: Apache-2.0
#include "report_page.hpp"

#include "page_files.hpp"

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

} // namespace

std::string report_page(nlohmann::ordered_json const& data, bool live) {
    std::pair<std::string_view, std::string> const parts[]{{"@style@", page_files::style},
                                                           {"@scripts@", page_files::scripts},
                                                           {"@live@", live ? "true" : "false"},
                                                           {"@data@", embeddable(data)}};
    std::string page = page_files::html;
    std::size_t at = 0; // in their order, so that nothing is looked for in what was put in
    for (auto const& [mark, part] : parts) {
        at = page.find(mark, at);
        page.replace(at, mark.size(), part);
        at += part.size();
    }
    return page;
}

} // namespace gmac::examples::report
