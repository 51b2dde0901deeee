// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/detail/bit_cast.hpp>
#include <gmac/core/error.hpp>
#include <gmac/storage/json.hpp>
#include <gmac/storage/snapshot.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The safetensors format, version of the year 2022: eight bytes with the length of the header, little endian; the
/// header, a JSON object of tensors (dtype, shape, data_offsets) and of the strings in __metadata__, padded with
/// spaces; the tensors' bytes, row-major and little endian, without overlap or hole.
namespace gmac::inline GMAC_ABI::safetensors {

static_assert(std::endian::native == std::endian::little,
              "safetensors files are little endian: a big-endian machine "
              "would have to swap the bytes, which this code does not");

/// The format's own limit of the header, in bytes.
inline constexpr std::size_t max_header_size = 100'000'000;

using metadata = std::map<std::string, std::string>;

/// A tensor as the header describes it: nothing but the JSON types was checked.
struct entry {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0; ///< first byte, counted from the end of the header
    std::uint64_t end = 0;   ///< one past the last byte
};

struct header {
    metadata strings;
    std::vector<entry> tensors;
};

/// A string from a file for a message: escaped, and cut if it is long.
[[nodiscard]] inline std::string in_quotes(std::string const& text) {
    auto const all = nlohmann::json(text.substr(0, 60)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return text.size() <= 60 ? all : all + "…";
}

namespace detail {

/// Takes the header apart while it is parsed, so nothing is ever built that has not the right form: no deep nesting,
/// no key twice, no number that is not a whole one.
class header_reader {
public:
    explicit header_reader(header& result) : result_(result) {}

    /// What is wrong; empty if nothing is.
    [[nodiscard]] std::string const& problem() const noexcept { return problem_; }

    bool start_object(std::size_t) {
        if (level_ == level::nothing)
            return go(level::top);
        if (level_ == level::top && name_ == "__metadata__")
            return go(level::strings);
        if (level_ == level::top) {
            result_.tensors.push_back({name_, {}, {}, 0, 0});
            seen_ = {};
            return go(level::tensor);
        }
        return unexpected("an object");
    }
    bool end_object() {
        if (level_ == level::tensor && !(seen_.dtype && seen_.shape && seen_.offsets))
            return wrong("tensor " + in_quotes(name_) + " has not all of dtype, shape and data_offsets");
        return go(level_ == level::top ? level::nothing : level::top);
    }
    bool key(std::string& name) {
        if (level_ == level::tensor) {
            bool* const seen = name == "dtype"          ? &seen_.dtype
                               : name == "shape"        ? &seen_.shape
                               : name == "data_offsets" ? &seen_.offsets
                                                        : nullptr;
            if (seen == nullptr)
                return wrong("tensor " + in_quotes(name_) + " has " + in_quotes(name) +
                             ", but only dtype, shape and data_offsets are known");
            if (std::exchange(*seen, true))
                return wrong("tensor " + in_quotes(name_) + " has " + in_quotes(name) + " twice");
            field_ = name;
            return true;
        }
        if (level_ == level::strings) {
            field_ = name;
            return !result_.strings.contains(name) || wrong("__metadata__ has " + in_quotes(name) + " twice");
        }
        name_ = name;
        return names_.insert(name).second || wrong("the name " + in_quotes(name) + " occurs twice");
    }
    bool string(std::string& value) {
        if (level_ == level::strings) {
            result_.strings.emplace(field_, std::move(value));
            return true;
        }
        if (level_ != level::tensor || field_ != "dtype")
            return unexpected("a string");
        result_.tensors.back().dtype = std::move(value);
        return true;
    }
    bool start_array(std::size_t) {
        if (level_ != level::tensor || field_ == "dtype")
            return unexpected("an array");
        numbers_.clear();
        return go(level::numbers);
    }
    bool end_array() {
        entry& tensor = result_.tensors.back();
        if (field_ == "shape") {
            tensor.shape = numbers_;
        } else {
            if (numbers_.size() != 2)
                return wrong("data_offsets of tensor " + in_quotes(name_) + " has " + std::to_string(numbers_.size()) +
                             " numbers, but must have 2");
            tensor.begin = numbers_[0];
            tensor.end = numbers_[1];
        }
        return go(level::tensor);
    }
    bool number_unsigned(std::uint64_t value) {
        if (level_ != level::numbers)
            return unexpected("a number");
        numbers_.push_back(value);
        return true;
    }
    bool number_integer(std::int64_t) { return unexpected("a negative number"); }
    bool number_float(double, std::string const&) { return unexpected("a number that is not whole or too large"); }
    bool null() { return unexpected("null"); }
    bool boolean(bool) { return unexpected("a boolean"); }
    bool binary(std::vector<std::uint8_t>&) { return unexpected("binary data"); }
    template <class Exception>
    bool parse_error(std::size_t position, std::string const&, Exception const&) {
        return problem_.empty() ? wrong("it is not JSON from byte " + std::to_string(position) + " on") : false;
    }

private:
    enum class level { nothing, top, strings, tensor, numbers };

    bool go(level next) noexcept {
        level_ = next;
        return true;
    }
    bool wrong(std::string what) {
        problem_ = std::move(what);
        return false;
    }
    bool unexpected(std::string_view what) {
        std::string place = "at its top";
        if (level_ == level::top)
            place = "as the value of " + in_quotes(name_);
        else if (level_ == level::strings)
            place = "in __metadata__ as the value of " + in_quotes(field_);
        else if (level_ != level::nothing)
            place = "in " + field_ + " of tensor " + in_quotes(name_);
        return wrong("it has " + std::string(what) + ' ' + place);
    }

    header& result_;
    std::string problem_;
    level level_ = level::nothing;
    std::string name_;  // the key at the top
    std::string field_; // the key below it
    std::set<std::string> names_;
    std::vector<std::uint64_t> numbers_;
    struct {
        bool dtype = false;
        bool shape = false;
        bool offsets = false;
    } seen_;
};

} // namespace detail

/// Parses the header, which is the text between the eight bytes and the data. Throws gmac::error if it is not one.
[[nodiscard]] inline header parse_header(std::string_view text, std::string_view where) {
    header result;
    detail::header_reader reader(result);
    require(!gmac::detail::has_nul(text), "{}: the header is not one of a safetensors file: it has a byte of zero",
            where);
    bool const complete = text.starts_with('{') && nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
    require(complete, "{}: the header is not one of a safetensors file: {}", where,
            reader.problem().empty() ? "it does not begin with {" : reader.problem());
    return result;
}

[[nodiscard]] inline std::optional<element_type> element_type_named(std::string_view dtype) noexcept {
    for (auto const type : {element_type::u8, element_type::i32, element_type::i64, element_type::u64,
                            element_type::f32, element_type::f64})
        if (name_of(type) == dtype)
            return type;
    return std::nullopt;
}

/// Sorts the tensors by their place and checks that they are as large as their shapes say and fill `data_size` bytes
/// without overlap or hole. Throws gmac::error.
inline void check_layout(header& described, std::uint64_t data_size, std::string_view where) {
    std::sort(described.tensors.begin(), described.tensors.end(),
              [](entry const& a, entry const& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::uint64_t place = 0;
    for (entry const& tensor : described.tensors) {
        auto const type = element_type_named(tensor.dtype);
        require(type.has_value(), "{}: tensor {} has the type {}, but must have U8, I32, I64, U64, F32 or F64", where,
                in_quotes(tensor.name), in_quotes(tensor.dtype));
        require(tensor.begin <= tensor.end && tensor.end <= data_size,
                "{}: tensor {} lies in the bytes [{}, {}), but must lie in [0, {})", where, in_quotes(tensor.name),
                tensor.begin, tensor.end, data_size);
        require(tensor.begin == place, "{}: tensor {} begins at byte {}, but the one before it ends at {}", where,
                in_quotes(tensor.name), tensor.begin, place);
        place = tensor.end;
        // A zero anywhere makes the tensor empty, whatever the other extents are.
        bool const empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0u) != tensor.shape.end();
        std::uint64_t size = empty ? 0 : size_of(*type);
        for (std::uint64_t const extent : tensor.shape)
            if (!empty && size <= data_size) // beyond, the product could overflow, and it is too large anyway
                size = extent > data_size ? data_size + 1 : size * extent;
        require(size == tensor.end - tensor.begin, "{}: tensor {} has {} bytes, but its shape and type need {}{}",
                where, in_quotes(tensor.name), tensor.end - tensor.begin, size > data_size ? "more than " : "",
                size > data_size ? data_size : size);
    }
    require(place == data_size, "{}: the tensors end at byte {}, but there are {} bytes of data", where, place,
            data_size);
}

/// Where each tensor goes: the widest elements first, so that all are aligned, else in the order given.
[[nodiscard]] inline std::vector<std::size_t> file_order(snapshot const& state) {
    std::vector<std::size_t> order(state.tensors().size());
    for (std::size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return size_of(state.tensors()[a].type) > size_of(state.tensors()[b].type);
    });
    return order;
}

/// The eight bytes and the header, padded such that the data begin at a multiple of eight bytes. The strings come
/// first, in the order given; then the tensors as file_order says. Throws gmac::error for text that is not UTF-8, which
/// JSON cannot hold.
[[nodiscard]] inline std::string format_header(std::span<std::pair<std::string, std::string> const> strings,
                                               snapshot const& state) {
    auto const checked = [](std::string const& text) {
        nlohmann::json const json = text;
        auto const cleaned = json.dump(-1, ' ', true, nlohmann::json::error_handler_t::ignore);
        require(nlohmann::json::parse(cleaned) == json, "safetensors: {} is not UTF-8", in_quotes(text));
        return text;
    };
    nlohmann::ordered_json header;
    for (auto const& [key, value] : strings)
        header["__metadata__"][checked(key)] = checked(value);
    std::size_t place = 0;
    for (std::size_t const i : file_order(state)) {
        snapshot::tensor const& one = state.tensors()[i];
        require(one.name != "__metadata__", "safetensors: no tensor may have the name __metadata__");
        header[checked(one.name)] = {{"dtype", name_of(one.type)},
                                     {"shape", one.shape},
                                     {"data_offsets", {place, place + one.data.size()}}};
        place += one.data.size();
    }
    std::string text = header.is_null() ? "{}" : header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    require(text.size() <= max_header_size, "safetensors: the header has {} bytes, but at most {} are allowed",
            text.size(), max_header_size);
    auto const length = gmac::detail::bit_cast<std::array<char, 8>>(static_cast<std::uint64_t>(text.size()));
    return std::string(length.data(), length.size()) + text;
}

} // namespace gmac::inline GMAC_ABI::safetensors
