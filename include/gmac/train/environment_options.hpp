// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gmac::inline GMAC_ABI::train {

/// Whole numbers are std::int64_t: an option whose default is 3 takes no 0.5, one whose default is 3.0 does.
using option_value = std::variant<bool, std::int64_t, double, std::string>;

/// An option of an environment of one's own, which users give as --env-option NAME=VALUE.
struct environment_option {
    std::string name;
    option_value value; ///< without the option; it also says what the option takes
    std::string help{};
};

/// The value that a text means for this option. Throws gmac::error, in which it is called --env-option NAME.
[[nodiscard]] option_value read_option(environment_option const& option, std::string_view text);
/// The text from which `read_option` reads this value.
[[nodiscard]] std::string option_text(option_value const& value);

/// The values of an environment's options: what its constructor takes.
///
///     explicit cliff_walk(gmac::train::environment_values const& values) : wind(values.get<double>("wind")) {}
class environment_values {
public:
    /// `given` are texts by name; options that are not there have their defaults. Throws gmac::error for a name that is no
    /// option and a text that is no value.
    environment_values(std::vector<environment_option> const& options, std::map<std::string, std::string> const& given);

    /// T is that of the default: bool, std::int64_t, double or std::string. Throws gmac::error for another name or type.
    template <class T>
        requires std::same_as<T, bool> || std::same_as<T, std::int64_t> || std::same_as<T, double> ||
                 std::same_as<T, std::string>
    [[nodiscard]] T const& get(std::string const& name) const {
        auto const found = values_.find(name);
        require(found != values_.end(), "the environment asks for its option {}, which it was not registered with",
                name);
        T const* const value = std::get_if<T>(&found->second);
        require(value != nullptr, "the environment asks for its option {} as another type than that of its default",
                name);
        return *value;
    }
    /// All of them, as texts.
    [[nodiscard]] std::map<std::string, std::string> texts() const;

private:
    std::map<std::string, option_value> values_;
};

} // namespace gmac::inline GMAC_ABI::train
