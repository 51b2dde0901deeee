// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parse_options.hpp"

#include <istream>

namespace gmac::examples {

/// A file that stands for options, for CLI11: one NAME = VALUE a line, and comments from # on. A value is a number, a
/// word, text in quotes or numbers in brackets. A line that is anything else, or gives an option again, is refused.
class config_file final : public CLI::Config {
public:
    /// Without an app any name is taken.
    explicit config_file(CLI::App const* app = nullptr) : app_(app) {}

    std::string to_config(CLI::App const*, bool, bool, std::string) const override { return {}; }

    std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
        std::vector<CLI::ConfigItem> found;
        std::size_t number = 0;
        for (std::string line; std::getline(input, line);) {
            ++number;
            try {
                read_line(line, found);
            } catch (gmac::error const& problem) {
                fail("line {} of the file of --config: {}", number, problem.what());
            }
        }
        require(!input.bad(), "the file of --config cannot be read");
        return found;
    }

private:
    static constexpr std::string_view blanks = " \t\r";

    [[nodiscard]] static std::string_view trimmed(std::string_view text) {
        std::size_t const begin = text.find_first_not_of(blanks);
        return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
    }

    void read_line(std::string_view line, std::vector<CLI::ConfigItem>& found) const {
        line = trimmed(line);
        if (line.empty() || line[0] == '#')
            return;
        std::size_t const equals = line.find('=');
        require(equals != line.npos, "\"{}\" is not NAME = VALUE", line);
        std::string const name(trimmed(line.substr(0, equals)));
        CLI::Option const* const option = app_ == nullptr ? nullptr : app_->get_option_no_throw("--" + name);
        if (app_ != nullptr && option == nullptr)
            refuse_unknown(*app_, "--" + name);
        require(option == nullptr || option->get_configurable(), "{} is for the command line only", name);
        for (CLI::ConfigItem const& item : found)
            require(item.name != name, "{} is given twice", name);
        std::string value = value_of(line.substr(equals + 1));
        require(!value.empty(), "{} is empty", name);
        found.push_back({{}, name, {std::move(value)}});
    }

    /// What is after the equals sign, without quotes, brackets and a comment.
    [[nodiscard]] static std::string value_of(std::string_view text) {
        text = trimmed(text);
        char const first = text.empty() ? '\0' : text[0];
        if (first != '"' && first != '\'' && first != '[')
            return std::string(trimmed(text.substr(0, text.find('#'))));
        std::size_t const end = text.find(first == '[' ? ']' : first, 1);
        require(end != text.npos, "{} has no end", text);
        std::string_view const after = trimmed(text.substr(end + 1));
        require(after.empty() || after[0] == '#', "there is more after {}", text.substr(0, end + 1));
        std::string_view const inside = text.substr(1, end - 1);
        return first == '[' ? without_blanks(inside) : std::string(inside);
    }

    /// "1, 2" is "1,2", but "1 2" is not "12".
    [[nodiscard]] static std::string without_blanks(std::string_view list) {
        std::string result;
        for (std::size_t begin = 0; begin <= list.size();) {
            std::size_t const end = (std::min)(list.find(',', begin), list.size());
            result += trimmed(list.substr(begin, end - begin));
            result += end < list.size() ? "," : "";
            begin = end + 1;
        }
        return result;
    }

    CLI::App const* app_;
};

} // namespace gmac::examples
