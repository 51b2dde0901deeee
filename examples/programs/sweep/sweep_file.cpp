// SPDX-License-Identifier: Apache-2.0
#include "sweep_file.hpp"

#include "support/read_value.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace gmac::examples::sweep {

namespace {

using json = nlohmann::ordered_json;

/// A value and the place where it is, for messages.
struct node {
    json const& value;
    std::string place;

    [[nodiscard]] node at(std::string const& name) const { return {value.at(name), place + "/" + name}; }
    [[nodiscard]] node at(std::size_t i) const { return {value.at(i), fmt::format("{}/{}", place, i)}; }
    template <class... Args>
    void must(bool is_right, fmt::format_string<Args...> text, Args&&... args) const {
        if (!is_right)
            gmac::fail("{} is {}, but must be {}", place, value.dump(-1, ' ', false, json::error_handler_t::replace),
                       fmt::format(text, std::forward<Args>(args)...));
    }
};

/// The value that nlohmann's parser makes, but a name must not come twice in an object.
[[nodiscard]] json parse(std::string_view text, std::string_view where) {
    require(!gmac::detail::is_deep(text), "{} has more than {} arrays and objects within each other", where,
            max_json_depth);
    require(!gmac::detail::has_nul(text), "{} is not JSON: it has a byte that is 0", where);
    std::vector<std::set<std::string>> names;
    try {
        return json::parse(text, [&](int, json::parse_event_t event, json& parsed) {
            if (event == json::parse_event_t::object_start)
                names.emplace_back();
            else if (event == json::parse_event_t::object_end)
                names.pop_back();
            else if (event == json::parse_event_t::key)
                require(names.back().insert(parsed.get<std::string>()).second,
                        "{} has \"{}\" twice in one object, but one must be enough", where, parsed.get<std::string>());
            return true;
        });
    } catch (json::exception const& problem) {
        std::string_view const said = problem.what();
        std::size_t const name = said.find("] "); // before it is what the exception is called
        fail("{} is not JSON: {}", where, name == said.npos ? said : said.substr(name + 2));
    }
}

void require_members(node const& object, char const* example, std::vector<std::string_view> const& known) {
    object.must(object.value.is_object(), "an object, such as {}", example);
    for (auto const& item : object.value.items())
        require(std::ranges::find(known, item.key()) != known.end(), "{} has \"{}\", but may have only {}",
                object.place, item.key(), fmt::join(known, ", "));
}

[[nodiscard]] std::uint64_t read_whole(node const& number, std::uint64_t least) {
    number.must(number.value.is_number_unsigned() && number.value.get<std::uint64_t>() >= least,
                "a whole number, at least {}", least);
    return number.value.get<std::uint64_t>();
}

[[nodiscard]] double read_number(node const& number) {
    number.must(number.value.is_number(), "a number");
    return number.value.get<double>();
}

/// A value of an option as on the command line; 1e6 is 1000000 there.
[[nodiscard]] std::string read_option(node const& option) {
    auto const& value = option.value;
    if (value.is_array() && !value.empty() &&
        std::ranges::all_of(value, [](json const& one) { return one.is_number(); })) {
        std::vector<std::string> numbers;
        for (std::size_t i = 0; i < value.size(); ++i)
            numbers.push_back(read_option(option.at(i)));
        return fmt::format("{}", fmt::join(numbers, ","));
    }
    option.must(value.is_number() || value.is_boolean() || (value.is_string() && !value.get<std::string>().empty()),
                "a number, true or false, a text that is not empty, or a list of numbers for a list as that of hidden");
    if (value.is_string())
        return value.get<std::string>();
    return value.is_number_float() ? text_of(value.get<double>()) : value.dump();
}

/// Those that the sweep gives to the program itself, and what to write instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> refused_options{
    {{"algorithm", "write \"algorithms\": [\"gmac\"] beside \"options\""},
     {"seed", "write \"seeds\": [1, 2, 3] beside \"options\""},
     {"threads", "use --threads of gmac-sweep"},
     {"out", "use --out of gmac-sweep; each run has a folder in it"},
     {"resume", "gmac-sweep resumes what it finds"},
     {"overwrite", "gmac-sweep goes on with what it finds; begin anew in another folder"},
     {"config", "write what is in that file under \"options\""},
     {"no-pictures", "gmac-sweep draws one picture of all runs, and gmac-curves draws others"},
     {"no-report", "gmac-report makes the report of a run at any time"},
     {"watch", "the runs have no terminal"},
     {"serve", "use gmac-report RUN --serve PORT"},
     {"check-environment", "it trains nothing"},
     {"print-settings", "it trains nothing"},
     {"help", "it trains nothing"}}};

void require_option(std::string const& place, std::string const& name) {
    require(!name.starts_with('-'), "{} has \"{}\", but options are written without their dashes", place, name);
    bool const plain = !name.empty() && std::ranges::none_of(name, [](char one) { return one <= ' ' || one == '='; });
    require(plain, "{} has \"{}\", but must have names of options, such as learning-rate", place, name);
    for (auto const& [refused, instead] : refused_options)
        require(name != refused, "{} has \"{}\", which is not an option of a sweep: {}", place, name, instead);
}

/// The values of an option that is varied.
[[nodiscard]] choice read_choice(node const& list) {
    list.must(list.value.is_array() && !list.value.empty(), "a list of values, such as [0.1, 0.2]");
    choice values;
    for (std::size_t i = 0; i < list.value.size(); ++i) {
        values.push_back(read_option(list.at(i)));
        require(std::ranges::find(values, values.back()) == values.end() - 1,
                "{} has {} twice, but each setting is to be tried once", list.place, values.back());
    }
    return values;
}

[[nodiscard]] interval read_interval(node const& bounds, spacing space) {
    bounds.must(bounds.value.is_array() && bounds.value.size() == 2, "two numbers, such as [1e-5, 1e-3]");
    interval const read{space, read_number(bounds.at(std::size_t{0})), read_number(bounds.at(std::size_t{1}))};
    bounds.must(read.low < read.high, "two numbers of which the first is the lower one");
    bounds.must(space != spacing::logarithmic || read.low > 0.0, "two positive numbers, of which there are logarithms");
    bool const whole = read.low == std::floor(read.low) && read.high == std::floor(read.high) &&
                       std::abs(read.low) < 1e9 && std::abs(read.high) < 1e9;
    bounds.must(space != spacing::whole || whole, "two whole numbers between -1e9 and 1e9");
    return read;
}

[[nodiscard]] std::variant<choice, interval> read_distribution(node const& object) {
    object.must(object.value.is_object() && object.value.size() == 1,
                "an object with one member, log_uniform, uniform, integer or choice, such as {{\"log_uniform\": [1e-5, "
                "1e-3]}}");
    std::string const kind = object.value.begin().key();
    node const values = object.at(kind);
    if (kind == "choice")
        return read_choice(values);
    for (auto const& [name, space] : {std::pair("log_uniform", spacing::logarithmic),
                                      std::pair("uniform", spacing::even), std::pair("integer", spacing::whole)})
        if (kind == name)
            return read_interval(values, space);
    fail("{} has \"{}\", but must have log_uniform, uniform, integer or choice", object.place, kind);
}

void read_parameters(node const& object, sweep_file& sweep) {
    for (auto const& item : object.value.items()) {
        if (sweep.random && (item.key() == "count" || item.key() == "seed"))
            continue;
        require_option(object.place, item.key());
        node const values = object.at(item.key());
        for (setting const& fixed : sweep.options)
            require(fixed.name != item.key(), "{} is in \"options\", too, but must be in one of them", values.place);
        sweep.parameters.push_back({item.key(), sweep.random ? read_distribution(values)
                                                             : std::variant<choice, interval>(read_choice(values))});
    }
    require(!sweep.parameters.empty(), "{} has no option that is to be varied, but must have one", object.place);
}

template <class Read>
[[nodiscard]] auto read_list(node const& list, char const* example, Read&& read) {
    list.must(list.value.is_array() && !list.value.empty(), "a list, such as {}", example);
    std::vector<decltype(read(list))> values;
    for (std::size_t i = 0; i < list.value.size(); ++i) {
        values.push_back(read(list.at(i)));
        require(std::ranges::find(values, values.back()) == values.end() - 1, "{} has {} twice, but must have it once",
                list.place, values.back());
    }
    return values;
}

[[nodiscard]] std::string read_text(node const& text) {
    text.must(text.value.is_string() && !text.value.get<std::string>().empty(), "a text that is not empty");
    return text.value.get<std::string>();
}

void read_halving(node const& object, sweep_file& sweep) {
    require_members(object, R"({"eta": 3, "rungs": 3})", {"eta", "rungs"});
    halving read;
    for (auto const& [name, field] : {std::pair("eta", &read.eta), std::pair("rungs", &read.rungs)}) {
        require(object.value.contains(name), "{} lacks \"{}\", a whole number, at least 2", object.place, name);
        *field = read_whole(object.at(name), 2);
    }
    for (parameter const& one : sweep.parameters)
        require(one.name != "frames", "{}: frames cannot be varied, since the rungs do", object.place);
    require(sweep.score == score_kind::last,
            "{} goes by the last returns, so \"score\" must be \"last\"; gmac-evaluate evaluates what is left",
            object.place);
    sweep.halving = read;
}

} // namespace

sweep_file parse_sweep(std::string_view text, std::string_view where) {
    json const all = parse(text, where);
    node const root{all, fmt::format("{}: ", where)};
    require_members({all, std::string(where)}, R"({"options": {"env": "classic/cart_pole"}, "seeds": [1, 2, 3]})",
                    {"options", "grid", "random", "algorithms", "seeds", "halving", "score"});
    sweep_file sweep;
    sweep.text = all.dump(2) + '\n';
    require(all.contains("options"), "{} lacks \"options\", such as \"options\": {{\"env\": \"classic/cart_pole\"}}",
            where);
    node const options = root.at("options");
    options.must(options.value.is_object(), "an object, such as {{\"env\": \"classic/cart_pole\"}}");
    for (auto const& item : options.value.items()) {
        require_option(options.place, item.key());
        sweep.options.push_back({item.key(), read_option(options.at(item.key()))});
    }
    require(!all.contains("grid") || !all.contains("random"),
            "{} has \"grid\" and \"random\", but may have one of them", where);
    if (all.contains("score")) {
        std::string const name = read_text(root.at("score"));
        root.at("score").must(name == "last" || name == "evaluation",
                              "\"last\", the mean return of the last 100 episodes, or \"evaluation\", that of the "
                              "evaluation at the end");
        sweep.score = name == "last" ? score_kind::last : score_kind::evaluation;
    }
    if (all.contains("random")) {
        node const random = root.at("random");
        random.must(random.value.is_object(),
                    "an object, such as {{\"count\": 20, \"seed\": 1, \"learning-rate\": "
                    "{{\"log_uniform\": [1e-5, 1e-3]}}}}");
        for (char const* const name : {"count", "seed"})
            require(random.value.contains(name), "{} lacks \"{}\", a whole number", random.place, name);
        sweep.random = {read_whole(random.at("count"), 1), read_whole(random.at("seed"), 0)};
        read_parameters(random, sweep);
    } else if (all.contains("grid")) {
        root.at("grid").must(root.at("grid").value.is_object(), "an object, such as {{\"clip\": [0.1, 0.2]}}");
        read_parameters(root.at("grid"), sweep);
    }
    if (all.contains("algorithms"))
        sweep.algorithms = read_list(root.at("algorithms"), R"(["gmac", "ppo"])", read_text);
    require(all.contains("seeds"), "{} lacks \"seeds\", such as \"seeds\": [1, 2, 3]", where);
    sweep.seeds = read_list(root.at("seeds"), "[1, 2, 3]", [](node const& seed) { return read_whole(seed, 0); });
    if (all.contains("halving"))
        read_halving(root.at("halving"), sweep);
    return sweep;
}

sweep_file read_sweep(std::filesystem::path const& path) {
    auto const bytes = read_file(path, max_json_size);
    return parse_sweep({reinterpret_cast<char const*>(bytes.data()), bytes.size()}, path.string());
}

} // namespace gmac::examples::sweep
