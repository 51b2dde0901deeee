// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What the file of gmac-sweep asks for.
namespace gmac::examples::sweep {

/// An option of the program that trains, without its dashes, and its value as on the command line.
struct setting {
    std::string name, value;
    friend bool operator==(setting const&, setting const&) = default;
};

/// Between two numbers, both included: evenly, evenly in the logarithm, or evenly over the whole numbers.
enum class spacing { even, logarithmic, whole };
struct interval {
    spacing space = spacing::even;
    double low = 0.0, high = 1.0;
};
using choice = std::vector<std::string>; ///< each is as likely

struct parameter {
    std::string name;
    std::variant<choice, interval> values; ///< of a grid always a choice
};

struct random_search {
    std::size_t count = 0; ///< of settings
    std::uint64_t seed = 0;
};

/// Successive halving (Jamieson and Talwalkar 2016): of the settings on a rung the best 1/eta go on to the next one, which
/// trains eta times as many frames; the last rung trains all.
struct halving {
    std::size_t eta = 3, rungs = 3;
};

enum class score_kind {
    last,      ///< the mean return of the last 100 episodes
    evaluation ///< the mean of the evaluation at the end
};

struct sweep_file {
    std::string text; ///< the same for files that ask for the same
    std::vector<setting> options;
    std::vector<parameter> parameters;   ///< that are varied
    std::optional<random_search> random; ///< else the parameters are a grid
    std::vector<std::string> algorithms; ///< none: that of the program
    std::vector<std::uint64_t> seeds;    ///< at least one
    std::optional<sweep::halving> halving;
    score_kind score = score_kind::last;
};

/// Reads JSON; `where` begins each message. Throws gmac::error that says what is wrong, where it is and what would be right.
[[nodiscard]] sweep_file parse_sweep(std::string_view text, std::string_view where);
[[nodiscard]] sweep_file read_sweep(std::filesystem::path const& path);

} // namespace gmac::examples::sweep
