// SPDX-License-Identifier: Apache-2.0
// Values as text: what is read, what is refused, and what is said of it.
#include "support/config_file.hpp"
#include "support/parse_options.hpp"

#include "support/catch.hpp"

#include <unistd.h>
#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

enum class colour { red, blue };

} // namespace

template <>
inline constexpr std::array<gmac::examples::named<colour>, 2> gmac::examples::names_of<colour>{
    {{"red", colour::red}, {"blue", colour::blue}}};

namespace {

using gmac::examples::add_flag;
using gmac::examples::add_option;
using gmac::examples::read_value;

template <class T>
T read(std::string const& text) {
    T value{};
    read_value("--x", text, value);
    return value;
}

/// What is said of a text that is no T; empty if it is one.
template <class T>
std::string refusal(std::string const& text) {
    T value{};
    try {
        read_value("--x", text, value);
    } catch (gmac::error const& problem) {
        return problem.what();
    }
    return {};
}

/// Options of each kind, as a program has them.
struct options {
    std::uint64_t seed = 3;
    std::size_t threads = 2;
    int offset = 0;
    double learning_rate = 0.1;
    std::optional<double> limit{};
    std::vector<std::size_t> hidden{4, 5};
    colour paint = colour::red;
    std::string title;
    std::filesystem::path out;
    std::vector<std::string> runs;
    bool overwrite = false, shared = true;

    /// Reads these arguments; throws gmac::error, or the request of run_main to end.
    void parse(std::vector<std::string> const& arguments) {
        CLI::App app("a program");
        app.set_config("--config");
        app.config_formatter(std::make_shared<gmac::examples::config_file>(&app));
        app.allow_config_extras(CLI::config_extras_mode::error);
        app.add_option("runs", runs, "folders");
        add_option(app, "--seed", seed, "a number");
        add_option(app, "--threads", threads, "at least one", 1);
        add_option(app, "--offset", offset, "a number");
        add_option(app, "--learning-rate", learning_rate, "a number");
        add_option(app, "--limit", limit, "a number");
        add_option(app, "--hidden", hidden, "numbers");
        add_option(app, "--paint", paint, "a name");
        add_option(app, "--title", title, "text");
        add_option(app, "--out", out, "a file");
        add_flag(app, "--overwrite", overwrite, "a flag");
        add_option(app, "--shared", shared, "true or false");
        std::vector<char const*> words{"program"};
        for (auto const& argument : arguments)
            words.push_back(argument.c_str());
        gmac::examples::parse_options(app, static_cast<int>(words.size()), words.data());
    }
};

std::string refusal(std::vector<std::string> const& arguments) {
    try {
        options{}.parse(arguments);
    } catch (gmac::error const& problem) {
        return problem.what();
    }
    return {};
}

/// Reads a configuration file with this text.
options configured(std::string const& text, std::vector<std::string> arguments = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "gmac-options-XXXXXX").string();
    int const file = ::mkstemp(name.data());
    REQUIRE(file >= 0);
    REQUIRE(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(file);
    struct remover {
        ~remover() { std::filesystem::remove(path); }
        std::string path;
    } const remove{name};
    arguments.push_back("--config=" + name);
    options read;
    read.parse(arguments);
    return read;
}

std::string configuration_refusal(std::string const& text) {
    try {
        static_cast<void>(configured(text));
    } catch (gmac::error const& problem) {
        return problem.what();
    }
    return {};
}

} // namespace

TEST_CASE("a whole number is decimal digits and nothing else, in the range of its type", "[programs]") {
    CHECK(read<std::uint64_t>("0") == 0);
    CHECK(read<std::uint64_t>("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
    CHECK(read<std::uint64_t>("010") == 10); // not eight
    CHECK(read<int>("-2147483648") == std::numeric_limits<int>::min());
    CHECK(read<std::int64_t>("-12") == -12);
    for (std::string const text : {"", " ", " 5", "5 ", "+5", "0x10", "0b1", "1e3", "1.0", "5,", "1_000", "5abc", "ten",
                                   "-", "--5", "5\n", "\t5", "１"}) {
        INFO(text);
        CHECK(refusal<std::uint64_t>(text) == "--x is \"" + text + "\", but must be a whole number in decimal digits");
        CHECK(refusal<int>(text) == "--x is \"" + text + "\", but must be a whole number in decimal digits");
    }
    CHECK(refusal<std::uint64_t>(std::string("5\0", 2)) != "");
    CHECK(refusal<std::uint64_t>("-1") == "--x is -1, but must be in [0, 18446744073709551615]");
    CHECK(refusal<std::uint64_t>("18446744073709551616") ==
          "--x is 18446744073709551616, but must be in [0, 18446744073709551615]");
    CHECK(refusal<int>("2147483648") == "--x is 2147483648, but must be in [-2147483648, 2147483647]");
}

TEST_CASE("a real number is one in decimal notation, as close as a double can be", "[programs]") {
    CHECK(read<double>("0.1") == 0.1);
    CHECK(read<double>("-2.5e-4") == -2.5e-4);
    CHECK(read<double>("1e+3") == 1000.0);
    CHECK(read<double>(".5") == 0.5);
    CHECK(read<double>("007") == 7.0);
    CHECK(read<double>("4.9406564584124654e-324") == std::numeric_limits<double>::denorm_min());
    CHECK(read<double>("1.7976931348623157e308") == std::numeric_limits<double>::max());
    CHECK(read<double>("infinity") == std::numeric_limits<double>::infinity());
    CHECK(read<double>("inf") == std::numeric_limits<double>::infinity());
    // Halfway between two doubles but for the last digit: by way of a long double it would be rounded twice.
    CHECK(read<double>("1.0000000000000001110223024625156541") == 1.0000000000000002);
    for (std::string const text : {"", " ", " 0.5", "0.5 ", "+0.5", "0x10", "0x1p3", "1,5", "0.5f", "1e", ".", "nan",
                                   "-nan", "NaN(1)", "half"}) {
        INFO(text);
        CHECK(refusal<double>(text) == "--x is \"" + text + "\", but must be a decimal number, such as 0.25 or 1e-4");
    }
    CHECK(refusal<double>("1e400").find("--x is 1e400, but a number can be no larger than 1.79") == 0);
    CHECK(refusal<double>("-1e400") != "");
    CHECK(refusal<double>("1e-400").find("no closer to zero than 2.2250738585072014e-308") != std::string::npos);
}

TEST_CASE("truth, names, text, optional values and lists are read whole or not at all", "[programs]") {
    CHECK(read<bool>("true"));
    CHECK_FALSE(read<bool>("false"));
    for (std::string const text : {"", "1", "yes", "True", "true ", "on"})
        CHECK(refusal<bool>(text) == "--x is \"" + text + "\", but must be true or false");
    CHECK(read<colour>("blue") == colour::blue);
    for (std::string const text : {"", "Blue", "blue ", "1"})
        CHECK(refusal<colour>(text) == "--x is \"" + text + "\", but must be one of red, blue");
    CHECK(read<std::string>(" a b ") == " a b ");
    CHECK(refusal<std::string>("") == "--x is empty");
    CHECK(refusal<std::filesystem::path>("") == "--x is empty");
    CHECK(read<std::optional<double>>("2") == 2.0);
    CHECK(refusal<std::optional<double>>("") != "");
    CHECK(read<std::vector<std::size_t>>("64,010,8") == std::vector<std::size_t>{64, 10, 8});
    for (std::string const text : {"", ",", "64,", ",64", "64,,64", "64, 64", "[64]", "64 64", "64,-1"}) {
        INFO(text);
        CHECK(refusal<std::vector<std::size_t>>(text).find("a number of --x is ") == 0);
    }
}

TEST_CASE("what is written is read again as the same value", "[programs]") {
    using gmac::examples::text_of;
    for (double const value :
         {0.1, 2.5e-4, 1e300, std::numeric_limits<double>::infinity(), -0.0, std::numeric_limits<double>::denorm_min()})
        CHECK(read<double>(text_of(value)) == value);
    CHECK(read<std::uint64_t>(text_of(std::numeric_limits<std::uint64_t>::max())) ==
          std::numeric_limits<std::uint64_t>::max());
    CHECK(text_of(std::vector<std::size_t>{64, 8}) == "64,8");
    CHECK(text_of(colour::blue) == "blue");
    CHECK(text_of(true) == "true");
    CHECK(text_of(std::optional<int>{}).empty());
}

TEST_CASE("a value that is refused refuses the command line, and names the option", "[programs]") {
    options all;
    all.parse({"one",     "--seed",  "7",        "--threads=4", "--offset", "-3",           "--learning-rate",
               "1e-3",    "--limit", "infinity", "--hidden",    "8,8",      "--paint=blue", "--title",
               "a title", "--out",   "there",    "--overwrite", "--shared", "false",        "two"});
    CHECK(all.seed == 7);
    CHECK(all.threads == 4);
    CHECK(all.offset == -3);
    CHECK(all.learning_rate == 1e-3);
    CHECK(all.limit == std::numeric_limits<double>::infinity());
    CHECK(all.hidden == std::vector<std::size_t>{8, 8});
    CHECK(all.paint == colour::blue);
    CHECK(all.title == "a title");
    CHECK(all.out == "there");
    CHECK(all.overwrite);
    CHECK_FALSE(all.shared);
    CHECK(all.runs == std::vector<std::string>{"one", "two"});

    CHECK(refusal({"--seed", "99999999999999999999"}) ==
          "--seed is 99999999999999999999, but must be in [0, 18446744073709551615]");
    CHECK(refusal({"--seed= 5"}) == "--seed is \" 5\", but must be a whole number in decimal digits");
    CHECK(refusal({"--seed=-1"}) == "--seed is -1, but must be in [0, 18446744073709551615]");
    CHECK(refusal({"--threads", "0"}) == "--threads is 0, but must be at least 1");
    CHECK(refusal({"--threads", "00"}) == "--threads is 0, but must be at least 1");
    CHECK(refusal({"--threads", "0x4"}) == "--threads is \"0x4\", but must be a whole number in decimal digits");
    CHECK(refusal({"--hidden", "64,,64"}).find("a number of --hidden is \"\"") == 0);
    CHECK(refusal({"--overwrite=maybe"}) == "--overwrite is \"maybe\", but must be true or false");
}

TEST_CASE("a value that is left out or empty is refused, and another option does not take its place", "[programs]") {
    for (std::string const name : {"seed", "learning-rate", "limit", "hidden", "paint", "title", "out", "shared"}) {
        INFO(name);
        std::string const option = "--" + name;
        CHECK(refusal({option, ""}) == option + " is empty");
        CHECK(refusal({option + "="}) == option + " is empty");
        CHECK(refusal({option + "=", "5"}) == option + " is empty");
        CHECK(refusal({option, "--overwrite"}) == option + " needs a value");
        CHECK(refusal({option}) == option + " needs a value");
    }
    CHECK(refusal({"--overwrite="}) == "--overwrite is empty");
    CHECK(refusal({""}) == "argument 1 is empty");
    CHECK(refusal({"one", ""}) == "argument 2 is empty");
    options all;
    all.parse({"--title=--overwrite", "--", "--seed"}); // both on purpose
    CHECK(all.title == "--overwrite");
    CHECK(all.runs == std::vector<std::string>{"--seed"});
}

TEST_CASE("an unknown option suggests the nearest one", "[programs]") {
    CHECK(refusal({"--learning_rate", "1"}) == "there is no option --learning_rate; did you mean --learning-rate?");
    CHECK(refusal({"--learningrate=1"}) == "there is no option --learningrate; did you mean --learning-rate?");
    CHECK(refusal({"--hiden", "8"}) == "there is no option --hiden; did you mean --hidden?");
    CHECK(refusal({"-seed", "8"}) == "there is no option -seed; did you mean --seed?");
    CHECK(refusal({"--sede", "8"}) == "there is no option --sede; did you mean --seed?");
    CHECK(refusal({"--gamma"}) == "there is no option --gamma; --help lists those that there are");
    CHECK(refusal({"-x"}) == "there is no option -x; --help lists those that there are");
    CHECK(gmac::examples::detail::edit_distance("kitten", "sitting") == 3);
    CHECK(gmac::examples::detail::edit_distance("", "abc") == 3);
    CHECK(gmac::examples::detail::edit_distance("abc", "") == 3);
}

TEST_CASE("a configuration file is read by the same rules", "[programs]") {
    auto const all = configured(
        "# a comment\n\nseed = 7 # another\nthreads=4\r\n  hidden = [8, 16]\n"
        "title = \"a # title\"\nout='there'\npaint = blue\noverwrite = true\nlimit = 2.5");
    CHECK(all.seed == 7);
    CHECK(all.threads == 4);
    CHECK(all.hidden == std::vector<std::size_t>{8, 16});
    CHECK(all.title == "a # title");
    CHECK(all.out == "there");
    CHECK(all.paint == colour::blue);
    CHECK(all.overwrite);
    CHECK(all.limit == 2.5);
    CHECK(configured("seed = 7\nhidden = 8,9\n", {"--seed", "8"}).seed == 8); // the command line goes before
    CHECK_FALSE(configured("overwrite = false").overwrite);

    for (auto const& [text, message] : {
             std::pair("seed = 0x10", "--seed is \"0x10\", but must be a whole number in decimal digits"),
             std::pair("seed = \" 5\"", "--seed is \" 5\", but must be a whole number in decimal digits"),
             std::pair("seed = -1", "--seed is -1, but must be in [0, 18446744073709551615]"),
             std::pair("learning-rate = 1e400", "--learning-rate is 1e400, but a number can be no larger than"),
             std::pair("hidden = [8 8]", "a number of --hidden is \"8 8\""),
             std::pair("hidden = []", "line 1 of the file of --config: hidden is empty"),
             std::pair("hidden = [8, 8", "line 1 of the file of --config: [8, 8 has no end"),
             std::pair("title = \"a", "has no end"),
             std::pair("title = \"a\" b", "there is more after \"a\""),
             std::pair("title =", "line 1 of the file of --config: title is empty"),
             std::pair("title = \"\"", "title is empty"),
             std::pair("\nseed 5", "line 2 of the file of --config: \"seed 5\" is not NAME = VALUE"),
             std::pair("[run]\nseed = 5", "\"[run]\" is not NAME = VALUE"),
             std::pair("seed = 5\nthreads = 2\nseed = 6", "line 3 of the file of --config: seed is given twice"),
             std::pair("learning_rate = 1", "there is no option --learning_rate; did you mean --learning-rate?"),
             std::pair("config = other", "config is for the command line only"),
             std::pair("overwrite = maybe", "--overwrite is \"maybe\", but must be true or false"),
             std::pair("shared = 2", "--shared is \"2\", but must be true or false"),
         }) {
        INFO(text);
        std::string const said = configuration_refusal(text);
        INFO(said);
        CHECK(said.find(message) != std::string::npos);
    }
}
