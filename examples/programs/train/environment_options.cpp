// SPDX-License-Identifier: Apache-2.0
#include "support/read_value.hpp"

#include <gmac/train/environment_options.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace gmac::inline GMAC_ABI::train {

option_value read_option(environment_option const& option, std::string_view text) {
    return std::visit(
        [&](auto const& of_its_type) -> option_value {
            std::remove_cvref_t<decltype(of_its_type)> value{};
            std::string const name = "--env-option " + option.name;
            if constexpr (std::same_as<decltype(value), std::string>)
                return std::string(text); // an empty one, too
            else
                examples::read_value(name, text, value);
            if constexpr (std::same_as<decltype(value), double>)
                require(std::isfinite(value), "{} is {}, but must be finite", name, value);
            return value;
        },
        option.value);
}

std::string option_text(option_value const& value) {
    return std::visit([](auto const& one) { return examples::text_of(one); }, value);
}

environment_values::environment_values(std::vector<environment_option> const& options,
                                       std::map<std::string, std::string> const& given) {
    std::vector<std::string> names;
    for (auto const& option : options) {
        names.push_back(option.name);
        auto const found = given.find(option.name);
        values_.emplace(option.name, found == given.end() ? option.value : read_option(option, found->second));
    }
    for (auto const& [name, text] : given)
        require(values_.contains(name), "--env-option {}: the environment has {}", name,
                names.empty() ? "no options" : fmt::format("no such option, only {}", fmt::join(names, ", ")));
}

std::map<std::string, std::string> environment_values::texts() const {
    std::map<std::string, std::string> texts;
    for (auto const& [name, value] : values_)
        texts.emplace(name, option_text(value));
    return texts;
}

} // namespace gmac::inline GMAC_ABI::train
