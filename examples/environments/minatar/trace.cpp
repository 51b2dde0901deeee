// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include "games.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace minatar {
namespace {

/// Where in a file something is said.
struct place {
    std::string const& name;
    std::size_t line;

    template <class... Arguments>
    [[noreturn]] void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
        gmac::fail("{}, line {}: {}", name, line, fmt::format(text, std::forward<Arguments>(arguments)...));
    }
};

template <class T>
T read(std::string_view text, place const& at) {
    T value{};
    auto const end = text.data() + text.size();
    auto const [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc() || stop != end)
        at.fail("\"{}\" is not a number", text);
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t first = 0; first <= text.size();) {
        std::size_t const end = std::min(text.find(separator, first), text.size());
        parts.push_back(text.substr(first, end - first));
        first = end + 1;
    }
    return parts;
}

/// The chances of one line, handed out in their order.
class recorded_draws {
public:
    recorded_draws(std::string_view field, place const& at) : at_(at) {
        if (field != "-")
            items_ = split(field, ',');
    }

    [[nodiscard]] double unit() {
        std::string_view const item = next("a uniform number");
        if (item.front() != 'u')
            at_.fail("the game asks for a uniform number, but \"{}\" was recorded", item);
        return read<double>(item.substr(1), at_);
    }
    [[nodiscard]] int number(int first, int last) {
        std::string_view const item = next("a whole number");
        auto const parts = split(item.substr(1), '/');
        if (item.front() != 'i' || parts.size() != 3 || read<int>(parts[1], at_) != first ||
            read<int>(parts[2], at_) != last)
            at_.fail("the game asks for a whole number from {} to {}, but \"{}\" was recorded", first, last - 1, item);
        return read<int>(parts[0], at_);
    }

    void require_used() const {
        if (used_ != items_.size())
            at_.fail("the game used {} of the {} recorded chances", used_, items_.size());
    }

private:
    std::string_view next(char const* wanted) {
        if (used_ == items_.size() || items_[used_].empty())
            at_.fail("the game asks for {} after {} recorded chances, of which there are no more", wanted, used_);
        return items_[used_++];
    }

    place at_;
    std::vector<std::string_view> items_;
    std::size_t used_ = 0;
};

/// FNV-1a with 64 bits.
std::uint64_t hash_of(std::span<std::uint8_t const> bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::uint8_t const byte : bytes)
        hash = (hash ^ byte) * 0x100000001b3;
    return hash;
}

/// Eight values to a byte, the first in the highest bit, in hexadecimal digits.
std::string packed(std::span<std::uint8_t const> bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
        unsigned byte = 0;
        for (std::size_t bit = 0; bit < 8; ++bit)
            byte = byte << 1 | (i + bit < bytes.size() ? bytes[i + bit] : 0u);
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

void compare_observation(std::span<std::uint8_t const> shown, std::string_view hash, std::string_view whole,
                         place const& at) {
    if (!whole.empty() && packed(shown) != whole)
        at.fail("the observation differs: {}, but {} was recorded", packed(shown), whole);
    if (std::string const found = fmt::format("{:016x}", hash_of(shown)); found != hash)
        at.fail("the observation's hash is {}, but {} was recorded", found, hash);
}

template <class Rules>
replayed play(std::istream& file, std::string const& name, settings const& how) {
    game<Rules> world(how);
    std::vector<std::uint8_t> shown(game<Rules>::cells);
    replayed result{.game = std::string(Rules::name)};
    std::string text;
    for (place at{name, 3}; std::getline(file, text); ++at.line) {
        auto const fields = split(text, ' ');
        bool const is_reset = fields[0] == "R";
        if (!(is_reset && fields.size() == 4) && !(fields[0] == "S" && (fields.size() == 6 || fields.size() == 7)))
            at.fail("\"{}\" is neither R draws hash observation nor S action draws reward terminal hash",
                    text.substr(0, 60));
        if (!is_reset && result.resets == 0)
            at.fail("a step before the first reset");
        recorded_draws draws(fields[is_reset ? 1 : 2], at);
        if (is_reset) {
            world.restart(draws);
            ++result.resets;
        } else {
            int const chosen = read<int>(fields[1], at);
            if (chosen < 0 || chosen >= action_count)
                at.fail("action {} is not one of 0 to {}", chosen, action_count - 1);
            outcome const got = world.advance(chosen, draws);
            if (got.reward != read<int>(fields[3], at) || got.over != (fields[4] == "1"))
                at.fail("step {} gave reward {} and terminal {}, but {} and {} were recorded", result.steps + 1,
                        got.reward, got.over ? 1 : 0, fields[3], fields[4]);
            ++result.steps;
            result.reward += got.reward;
        }
        draws.require_used();
        world.observe(shown);
        compare_observation(shown, fields[is_reset ? 2 : 5],
                            is_reset             ? fields[3]
                            : fields.size() == 7 ? fields[6]
                                                 : "",
                            at);
    }
    return result;
}

} // namespace

replayed replay(std::istream& file, std::string const& name) {
    std::string first, second;
    std::getline(file, first);
    std::getline(file, second);
    gmac::require(first == "# minatar-trace 1" && second.starts_with("# "),
                  "{} is no recorded game of MinAtar: it does not begin with \"# minatar-trace 1\"", name);
    place const at{name, 2};
    settings how;
    std::string game_name, steps, reward;
    for (std::string_view const pair : split(std::string_view(second).substr(2), ' ')) {
        std::size_t const equals = (std::min)(pair.find('='), pair.size() - 1);
        std::string_view const key = pair.substr(0, equals), value = pair.substr(equals + 1);
        if (key == "game")
            game_name = value;
        else if (key == "sticky")
            how.sticky = read<double>(value, at);
        else if (key == "ramping")
            how.ramping = value == "1";
        else if (key == "steps")
            steps = value;
        else if (key == "return")
            reward = value;
    }
    replayed const result = visit_game(game_name, [&]<class Rules>() { return play<Rules>(file, name, how); });
    gmac::require(fmt::format("{}", result.steps) == steps && fmt::format("{}", result.reward) == reward,
                  "{}: it has {} steps that earn {}, but its head says {} and {}", name, result.steps, result.reward,
                  steps, reward);
    return result;
}

} // namespace minatar
