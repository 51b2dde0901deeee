// SPDX-License-Identifier: Apache-2.0
// Files that are no checkpoints, or not these: each is refused with a sentence, and nothing is loaded from it.
#include "samples.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <gmac/storage/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

using gmac::testing::contains;
using gmac::testing::file_of;
using gmac::testing::gmac_header;
using gmac::testing::message_of;
using gmac::testing::other_state;
using gmac::testing::parse;
using gmac::testing::sample_state;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using gmac::testing::with_checksum;

namespace {

std::string sample_file() {
    scratch_folder const folder;
    sample_state state;
    gmac::save_checkpoint(folder / "x", {{"config", "text"}}, state.visit());
    return slurp(folder / "x");
}

/// The bytes before the tensors.
std::size_t head_of(std::string_view file) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    return 8 + static_cast<std::size_t>(length);
}

std::string refusal(std::string_view file) {
    return message_of([&] { (void)parse(file); });
}

std::string refusal_of_tensors(std::string const& tensors, std::string const& data) {
    return refusal(with_checksum(file_of(gmac_header(tensors), data)));
}

} // namespace

TEST_CASE("a checkpoint that was cut anywhere is refused") {
    auto const file = sample_file();
    REQUIRE(refusal(file).empty());
    for (std::size_t size = 0; size < file.size(); ++size) {
        auto const message = refusal(std::string_view(file).substr(0, size));
        INFO(size << " of " << file.size() << " bytes: " << message);
        REQUIRE(contains(message, "checkpoint test: "));
        REQUIRE(contains(message, "truncated"));
    }
    CHECK(contains(refusal(file + '\0'), "the header describes"));
    CHECK(contains(refusal(file + '\0'), "corrupted"));
}

TEST_CASE("a checkpoint with any one bit flipped is refused") {
    auto file = sample_file();
    for (std::size_t i = 0; i < file.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            auto const flip = static_cast<char>(1 << bit);
            file[i] = static_cast<char>(file[i] ^ flip);
            INFO("byte " << i << ", bit " << bit);
            REQUIRE_FALSE(refusal(file).empty());
            file[i] = static_cast<char>(file[i] ^ flip);
        }
    CHECK(refusal(file).empty());
    file.back() = static_cast<char>(file.back() ^ 1);
    CHECK(contains(refusal(file), "the checksum is"));
    CHECK(contains(refusal(file), "the checkpoint is corrupted"));
}

TEST_CASE("a foreign file is called one") {
    CHECK(contains(refusal("update,frames\n1,512\n"), "no safetensors file"));
    CHECK(contains(refusal(std::string(64, '\xff')), "at most 100000000 are allowed"));
    CHECK(contains(refusal(std::string(64, '\0')), "does not begin with {"));
    CHECK(contains(refusal(file_of(" {}", "")), "does not begin with {"));
    CHECK(contains(refusal(file_of("{}", "")), "\"format\" in its metadata is missing"));
    CHECK(contains(refusal(file_of(R"({"__metadata__":{"format":"pt"}})", "")),
                   "\"format\" in its metadata is \"pt\", but must be \"gmac\""));
    CHECK(contains(refusal(file_of("{not json}", "")), "not JSON from byte"));
    CHECK(contains(refusal(file_of("{} {}", "")), "not JSON from byte"));
    for (std::string const& after : {std::string("\0", 1), std::string("\0 {}", 4), std::string("\0[[[", 4)})
        CHECK(contains(refusal(file_of(gmac_header("") + after, "")), "it has a byte of zero"));
    CHECK(contains(refusal(file_of(gmac_header("") + "\xef\xbb\xbf", "")), "not JSON from byte"));
}

TEST_CASE("a newer checkpoint is refused by its version, whatever else it holds") {
    auto const of_version = [](std::string const& version) {
        return refusal(file_of(gmac_header(R"("x":{"dtype":"F4","shape":[2],"data_offsets":[0,1]})", version), "x"));
    };
    auto const message = of_version("2");
    CHECK(contains(message, "format version 2 (written by gmac 0.1.0)"));
    CHECK(contains(message, "reads up to version 1: a newer gmac is needed"));
    for (auto const* const version : {"0", "", "one", "1.5", "-1", "99999999999999999999999"})
        CHECK(contains(of_version(version), "must be a number from 1 to 1"));
}

TEST_CASE("a header of the wrong form is refused at the first thing that does not belong") {
    auto const header = [](std::string const& text) { return refusal(file_of(text, "")); };
    std::string const deep(1'000'000, '[');
    std::string bomb;
    for (int i = 0; i < 100'000; ++i)
        bomb += R"({"x":)";
    CHECK(contains(header("{\"x\":" + deep), "it has an array as the value of \"x\""));
    CHECK(contains(header(bomb), "has \"x\", but only dtype, shape and data_offsets"));
    CHECK(contains(header(R"({"x":{"shape":)" + deep), "it has an array in shape of tensor \"x\""));
    CHECK(contains(header(R"({"__metadata__":{"a":{}}})"), "an object in __metadata__ as the value of \"a\""));
    CHECK(contains(header(R"({"__metadata__":{"a":1}})"), "a number in __metadata__"));
    CHECK(contains(header(R"({"__metadata__":{"a":"1","a":"2"}})"), "__metadata__ has \"a\" twice"));
    CHECK(contains(header(R"({"__metadata__":{},"__metadata__":{}})"), "\"__metadata__\" occurs twice"));
    CHECK(contains(header(R"({"x":null})"), "it has null as the value of \"x\""));
    CHECK(contains(header(R"({"x":{"dtype":true}})"), "a boolean in dtype of tensor \"x\""));
    CHECK(contains(header(R"({"x":{"dtype":"U8","dtype":"U8"}})"), "\"x\" has \"dtype\" twice"));
    CHECK(contains(header(R"({"x":{"dtype":"U8","shape":[1]}})"), "has not all of dtype, shape and data_offsets"));
    CHECK(contains(header(R"({"x":{"shape":[-1]}})"), "a negative number in shape"));
    CHECK(contains(header(R"({"x":{"shape":[1.0]}})"), "not whole or too large in shape"));
    CHECK(contains(header(R"({"x":{"shape":[99999999999999999999]}})"), "not whole or too large in shape"));
    CHECK(contains(header(R"({"x":{"data_offsets":[1]}})"), "data_offsets of tensor \"x\" has 1 numbers"));
    CHECK(contains(header(R"({"x":{"data_offsets":[0,1,2]}})"), "has 3 numbers, but must have 2"));
    CHECK(contains(header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                          R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
                   "the name \"a\" occurs twice"));
}

TEST_CASE("tensors must have the size of their shape and fill the data") {
    auto const tensor = [](char const* name, char const* dtype, char const* shape, char const* offsets) {
        return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
    };
    auto const one = [&](char const* dtype, char const* shape, char const* offsets, std::string const& data) {
        return refusal_of_tensors(tensor("x", dtype, shape, offsets), data);
    };
    CHECK(one("F32", "[1]", "[0,4]", "abcd").empty());
    CHECK(one("F32", "[]", "[0,4]", "abcd").empty());
    CHECK(one("F32", "[3,0]", "[0,0]", "").empty());
    CHECK(one("F32", "[18446744073709551615,18446744073709551615,0]", "[0,0]", "").empty());
    CHECK(contains(one("F32", "[2]", "[0,4]", "abcd"), "\"x\" has 4 bytes, but its shape and type need more than 4"));
    CHECK(contains(one("U8", "[2]", "[0,4]", "abcd"), "\"x\" has 4 bytes, but its shape and type need 2"));
    CHECK(contains(one("F64", "[2305843009213693952]", "[0,0]", ""), "need more than 0"));
    // 8 (2^61 + 1) is 8 modulo 2^64, and 2^32 · 2^32 is 0.
    CHECK(contains(one("F64", "[2305843009213693953]", "[0,8]", "12345678"), "need more than 8"));
    CHECK(contains(one("U8", "[4294967296,4294967296]", "[0,0]", ""), "need more than 0"));
    CHECK(contains(one("F16", "[2]", "[0,4]", "abcd"), "has the type \"F16\", but must have U8, I32"));
    CHECK(contains(one("U8", "[1]", "[5,4]", "abcd"), "lies in the bytes [5, 4), but must lie in [0, 4)"));
    CHECK(contains(one("U8", "[3]", "[1,4]", "abcd"), "begins at byte 1, but the one before it ends at 0"));
    auto const two = [&](char const* first, char const* second, std::string const& data) {
        return refusal_of_tensors(tensor("x", "U8", "[2]", first) + "," + tensor("y", "U8", "[2]", second), data);
    };
    CHECK(two("[2,4]", "[0,2]", "abcd").empty());
    CHECK(contains(two("[0,2]", "[1,3]", "abc"), "\"y\" begins at byte 1, but the one before it ends at 2"));
    CHECK(contains(two("[0,2]", "[0,2]", "ab"), "begins at byte 0, but the one before it ends at 2"));
    CHECK(contains(two("[0,2]", "[3,5]", "abcde"), "\"y\" begins at byte 3, but the one before it ends at 2"));
    CHECK(contains(two("[0,2]", "[2,18446744073709551615]", "abcd"), "truncated"));
}

TEST_CASE("a checkpoint without its checksum in the right place is refused") {
    auto const without = file_of(R"({"__metadata__":{"format":"gmac","format_version":"1"}})", "");
    CHECK(contains(refusal(without), "must begin with the checksum"));
    auto const moved = file_of(R"({"__metadata__":{"format":"gmac","format_version":"1","crc32c":"00000000"}})", "");
    CHECK(contains(refusal(moved), "must begin with the checksum"));
    auto const cut = file_of(R"({"__metadata__":{"crc32c":"00","format":"gmac","format_version":"1"}})", "");
    CHECK(contains(refusal(cut), "must begin with the checksum"));
}

TEST_CASE("names in messages are escaped and cut") {
    auto const message = refusal_of_tensors("\"\\u001b[31m\\n" + std::string(500, 'n') +
                                                R"(":{"dtype":"F16","shape":[1],"data_offsets":[0,2]})",
                                            "ab");
    CHECK(contains(message, "\\u001b[31m\\nnnnn"));
    CHECK(message.size() < 300);
}

TEST_CASE("a refused file is left as it was") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    auto file = sample_file();
    file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 4);
    spit(path, file);
    auto const time = std::filesystem::last_write_time(path);
    sample_state state = other_state();
    auto const before = state.snapshot();
    auto const message = message_of([&] { gmac::load_checkpoint(path, state.visit()); });
    CHECK(contains(message, path.string()));
    CHECK(state.snapshot() == before);
    CHECK(slurp(path) == file);
    CHECK(std::filesystem::last_write_time(path) == time);
    CHECK(folder.files() == 1);
}

TEST_CASE("of a file that is none only the beginning is read, however large it is") {
    scratch_folder const folder;
    auto const path = folder / "large";
    std::uintmax_t const size = std::uintmax_t(1) << 40; // all but the beginning is a hole
    auto const read = [&](std::string_view start) {
        spit(path, start);
        std::filesystem::resize_file(path, size);
        return message_of([&] { (void)gmac::read_checkpoint(path); });
    };
    CHECK(contains(read(""), "does not begin with {"));
    CHECK(contains(read(file_of("{}", "")), "is missing, but must be \"gmac\""));
    auto const whole = sample_file();
    CHECK(contains(read(whole), fmt::format("there are {} bytes of tensors", size - head_of(whole))));
    CHECK(message_of([&] { (void)gmac::read_json(path); }) ==
          fmt::format("cannot read {}: it has {} bytes, but may have 64000000 at most", path.string(), size));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // which end a program that asks for so much
TEST_CASE("a file whose header is right and whose tensors no memory can hold is refused by its size") {
    scratch_folder const folder;
    std::uint64_t const size = std::uint64_t(1) << 42u; // bytes, of which the disk holds the header's
    auto const tensors = fmt::format(R"("x":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}})", size);
    spit(folder / "x", file_of(gmac_header(tensors), ""));
    std::filesystem::resize_file(folder / "x", std::filesystem::file_size(folder / "x") + size);
    CHECK(message_of([&] { (void)gmac::read_checkpoint(folder / "x"); }) ==
          fmt::format("cannot read {}: there is no memory for {} bytes", (folder / "x").string(), size));
    CHECK(message_of([&] { (void)gmac::read_file(folder / "x"); }).starts_with("cannot read "));
}
#endif

TEST_CASE("JSON is taken whole, and not too deep") {
    auto const refused = [](std::string const& text) {
        return message_of([&] { (void)gmac::parse_json(text, "text"); });
    };
    auto const nested = [](std::size_t depth, std::string const& open, std::string const& close) {
        std::string text;
        for (std::size_t i = 0; i < depth; ++i)
            text += open;
        text += "1";
        for (std::size_t i = 0; i < depth; ++i)
            text += close;
        return text;
    };
    std::string const deep = "text has more than 64 arrays and objects within each other";
    CHECK(refused(nested(64, "[", "]")).empty());
    CHECK(refused(nested(65, "[", "]")) == deep);
    CHECK(refused(nested(64, R"({"a]}\"[":)", "}")).empty());
    CHECK(refused(nested(65, R"({"a]}\"[":)", "}")) == deep);
    CHECK(refused(std::string(1'000'000, '[')) == deep);
    CHECK(refused("[" + std::string(1000, ' ') + R"(["]]]]","[[[[[[[[[[[\\"],[],[],[],{}])").empty());
    CHECK(gmac::parse_json(R"({"a": [1, "[\"["]})", "text").at("a").at(1) == "[\"[");
    for (std::string const& text : {std::string(), std::string("{} {}"), std::string("{}]"), std::string("{}\0", 3),
                                    std::string("{}\0{}", 5), std::string("\"\xff\""), std::string("1e999")})
        CHECK(refused(text) == "text is not JSON");
}

TEST_CASE("what cannot be read is named") {
    scratch_folder const folder;
    auto const read = [](std::filesystem::path const& path) {
        return message_of([&] { (void)gmac::read_checkpoint(path); });
    };
    CHECK(contains(read(folder / "none"), (folder / "none").string() + ": No such file or directory"));
    CHECK(contains(read(folder.path), "it is not a regular file"));
    CHECK(contains(read("/dev/zero"), "it is not a regular file"));
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK(contains(read(folder / "pipe"), "it is not a regular file"));
}
