// SPDX-License-Identifier: Apache-2.0
#include "configurations.hpp"

#include "support/read_value.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace gmac::examples::sweep {

namespace {

constexpr std::size_t most = 100'000; ///< settings, and draws in a row that bring none that is new

[[nodiscard]] std::vector<std::vector<setting>> grid_of(std::vector<parameter> const& parameters) {
    std::vector<std::vector<setting>> all{{}};
    for (parameter const& one : parameters) {
        auto const& values = std::get<choice>(one.values);
        require(all.size() * values.size() <= most, "the grid has more than {} settings", most);
        std::vector<std::vector<setting>> longer;
        for (auto const& begun : all)
            for (std::string const& value : values) {
                longer.push_back(begun);
                longer.back().push_back({one.name, value});
            }
        all = std::move(longer);
    }
    return all;
}

/// With three significant digits, so that folders and tables can name it, and between the bounds.
[[nodiscard]] double rounded(double value, interval const& bounds) {
    double read = 0.0;
    read_value("a draw", fmt::format("{:.3g}", value), read);
    return std::clamp(read, bounds.low, bounds.high);
}

[[nodiscard]] std::string draw(parameter const& from, random_stream& random) {
    if (auto const* const values = std::get_if<choice>(&from.values))
        return (*values)[random.below(static_cast<std::uint32_t>(values->size()))];
    auto const& bounds = std::get<interval>(from.values);
    if (bounds.space == spacing::whole) {
        auto const count = static_cast<std::uint32_t>(bounds.high - bounds.low) + 1;
        return examples::text_of(static_cast<std::int64_t>(bounds.low) + random.below(count));
    }
    double const u = random.uniform<double>();
    double const value = bounds.space == spacing::even ? bounds.low + u * (bounds.high - bounds.low)
                                                       : bounds.low * std::exp(u * std::log(bounds.high / bounds.low));
    return examples::text_of(rounded(value, bounds));
}

/// Draw i is from a stream of its own, so that a longer search begins with the draws of a shorter one.
[[nodiscard]] std::vector<std::vector<setting>> draws_of(sweep_file const& sweep) {
    require(sweep.random->count <= most, "the random search is to draw {} settings, but may draw {}",
            sweep.random->count, most);
    std::vector<std::vector<setting>> all;
    for (std::size_t i = 0; i < sweep.random->count; ++i) {
        random_stream random = stream_for(sweep.random->seed, stream_purpose::user, i);
        std::vector<setting> drawn;
        for (std::size_t tries = 0; tries == 0 || std::ranges::find(all, drawn) != all.end(); ++tries) {
            require(tries < 1000, "the random search is to draw {} different settings, but it found only {}",
                    sweep.random->count, all.size());
            drawn.clear();
            for (parameter const& one : sweep.parameters)
                drawn.push_back({one.name, draw(one, random)});
        }
        all.push_back(std::move(drawn));
    }
    return all;
}

/// learning-rate is lr.
[[nodiscard]] std::string initials(std::string_view name) {
    if (name.find('-') == name.npos)
        return std::string(name);
    std::string letters;
    for (std::size_t begin = 0; begin < name.size();) {
        letters += name[begin];
        begin = (std::min)(name.find('-', begin), name.size() - 1) + 1;
    }
    return letters;
}

[[nodiscard]] std::string short_name(configuration const& one, setting const& what) {
    auto const alike = std::ranges::count_if(one.varied, [&](setting const& other) {
        return initials(other.name) == initials(what.name);
    });
    return alike > 1 ? what.name : initials(what.name);
}

} // namespace

std::vector<configuration> configurations_of(sweep_file const& sweep) {
    auto const all = sweep.random ? draws_of(sweep) : grid_of(sweep.parameters);
    if (sweep.halving) {
        double const least =
            std::pow(static_cast<double>(sweep.halving->eta), static_cast<double>(sweep.halving->rungs - 1));
        require(static_cast<double>(all.size()) >= least,
                "halving with eta {} and {} rungs needs at least {} settings of an algorithm, but there are {}",
                sweep.halving->eta, sweep.halving->rungs, least, all.size());
    }
    std::vector<configuration> found;
    for (std::string const& algorithm : sweep.algorithms.empty() ? std::vector<std::string>{""} : sweep.algorithms)
        for (auto const& varied : all)
            found.push_back({found.size() + 1, algorithm, varied});
    return found;
}

std::string text_of_settings(configuration const& one) {
    std::string text;
    for (setting const& what : one.varied)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what.name, what.value);
    return text.empty() ? "as in options" : text;
}

std::string run_name(configuration const& one, std::uint64_t seed, std::size_t count) {
    std::string settings;
    for (setting const& what : one.varied)
        settings += fmt::format("-{}={}", short_name(one, what), what.value);
    for (char& letter : settings)
        if (std::string_view("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-=.,+_").find(letter) ==
            std::string_view::npos)
            letter = '_';
    if (settings.size() > 80)
        settings.resize(80);
    return fmt::format("{:0{}}{}{}{}-seed={}", one.number, fmt::formatted_size("{}", count),
                       one.algorithm.empty() ? "" : "-", one.algorithm, settings, seed);
}

} // namespace gmac::examples::sweep
