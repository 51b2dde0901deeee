// SPDX-License-Identifier: Apache-2.0
// What is written: against the format's specification, by hand and by a reader that shares no code with the library.
#include "samples.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <cstring>
#include <map>
#include <string>

using gmac::testing::contains;
using gmac::testing::crc32c_by_bits;
using gmac::testing::file_of;
using gmac::testing::message_of;
using gmac::testing::other_state;
using gmac::testing::sample_state;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::with_checksum;

namespace {

struct read_tensor {
    std::string dtype;
    std::vector<std::size_t> shape;
    std::string bytes;
    std::size_t begin = 0;
};

// Every rule of the format's specification, checked on the text.
std::map<std::string, read_tensor> read_safetensors(std::string const& file, nlohmann::json& metadata) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    auto const header = nlohmann::json::parse(file.substr(8, length));
    CHECK(file[8] == '{');
    std::string const data = file.substr(8 + length);
    static std::map<std::string, std::size_t> const sizes{{"U8", 1},  {"I32", 4}, {"F32", 4},
                                                          {"I64", 8}, {"U64", 8}, {"F64", 8}};
    std::map<std::string, read_tensor> tensors;
    std::map<std::size_t, std::size_t> places;
    for (auto const& [name, value] : header.items()) {
        if (name == "__metadata__") {
            metadata = value;
            continue;
        }
        CHECK(value.size() == 3);
        std::size_t const begin = value.at("data_offsets").at(0);
        std::size_t const end = value.at("data_offsets").at(1);
        read_tensor tensor{value.at("dtype"), value.at("shape"), data.substr(begin, end - begin), begin};
        std::size_t size = sizes.at(tensor.dtype);
        CHECK((8 + length + begin) % size == 0);
        for (auto const extent : tensor.shape)
            size *= extent;
        CHECK(size == end - begin);
        if (size > 0)
            places[begin] = end;
        tensors.emplace(name, tensor);
    }
    std::size_t place = 0;
    for (auto const& [begin, end] : places) {
        CHECK(begin == place);
        place = end;
    }
    CHECK(place == data.size());
    return tensors;
}

template <class T>
T value_in(std::string const& bytes, std::size_t index = 0) {
    T value;
    REQUIRE(bytes.size() >= (index + 1) * sizeof(T));
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

} // namespace

TEST_CASE("a checkpoint is a safetensors file that another reader understands") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    sample_state state;
    std::string const text = "{\"seed\": 3, \"name\": \"Zürich \\u00e4 \\\"quoted\\\"\"}";
    gmac::save_checkpoint(path, {{"config", text}, {"aim", ""}}, state.visit());

    nlohmann::json metadata;
    auto const tensors = read_safetensors(slurp(path), metadata);
    CHECK(metadata.at("format") == "gmac");
    CHECK(metadata.at("format_version") == "1");
    CHECK(metadata.at("library_version").get<std::string>().find('.') != std::string::npos);
    CHECK(metadata.at("config") == text);
    CHECK(metadata.at("aim") == "");
    CHECK(metadata.at("crc32c").get<std::string>().size() == 8);

    REQUIRE(tensors.size() == 9);
    auto const& weights = tensors.at("network.weights");
    CHECK(weights.dtype == "F32");
    CHECK(weights.shape == std::vector<std::size_t>{2, 3});
    for (std::size_t i = 0; i < state.weights.size(); ++i)
        CHECK(value_in<float>(weights.bytes, i) == state.weights[i]);
    CHECK(tensors.at("moments").dtype == "F64");
    CHECK(value_in<double>(tensors.at("moments").bytes, 1) == -1e300);
    CHECK(tensors.at("nothing").shape == std::vector<std::size_t>{0});
    CHECK(tensors.at("small").dtype == "I32");
    CHECK(value_in<std::int32_t>(tensors.at("small").bytes) == -7);
    CHECK(tensors.at("large").dtype == "I64");
    CHECK(value_in<std::int64_t>(tensors.at("large").bytes) == -1099511627776);
    CHECK(tensors.at("updates").dtype == "U64");
    CHECK(value_in<std::uint64_t>(tensors.at("updates").bytes) == 12);
    CHECK(tensors.at("flag").dtype == "U8");
    CHECK(tensors.at("note").dtype == "U8");
    CHECK(tensors.at("note").bytes == "\xff\xff\xff");
    CHECK(value_in<std::uint64_t>(tensors.at("random").bytes, 1) == 6);
}

TEST_CASE("the bytes of a small checkpoint are those written by hand") {
    scratch_folder const folder;
    auto const path = folder / "small.safetensors";
    std::uint8_t byte = 65;
    std::int32_t number = 513;
    gmac::save_checkpoint(path, {}, [&](gmac::archive& state) {
        state("byte", byte);
        state("number", number);
    });
    std::string header = R"({"__metadata__":{"crc32c":"00000000","format":"gmac","format_version":"1",)"
                         R"("library_version":")" +
                         fmt::format("{}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH) +
                         R"("},"number":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                         R"("byte":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
    header.append((8 - header.size() % 8) % 8, ' ');
    auto const expected = with_checksum(file_of(header, std::string("\x01\x02\0\0A", 5)));
    CHECK(slurp(path) == expected);
}

TEST_CASE("crc32c has the published check value and does not mind how the bytes are cut") {
    std::string const digits = "123456789";
    auto const bytes = std::as_bytes(std::span(digits));
    CHECK(gmac::crc32c().add(bytes).value() == 0xe3069283u);
    CHECK(gmac::crc32c().add(bytes.first(4)).add({}).add(bytes.subspan(4)).value() == 0xe3069283u);
    CHECK(crc32c_by_bits(digits) == 0xe3069283u);
    std::string const zeros(32, '\0'); // RFC 3720, B.4
    CHECK(gmac::crc32c().add(std::as_bytes(std::span(zeros))).value() == 0x8a9136aau);
}

TEST_CASE("what is loaded is what was saved, bit for bit, and the strings come back") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    sample_state saved;
    saved.random.seek(1234567);
    std::memset(&saved.weights[0], 0xff, sizeof(float)); // a NaN with a payload
    gmac::checkpoint_metadata const strings{{"config", "x"}, {"a", "b"}};
    gmac::save_checkpoint(path, strings, saved.visit());

    sample_state loaded = other_state();
    CHECK_FALSE(loaded.snapshot() == saved.snapshot());
    CHECK(gmac::load_checkpoint(path, loaded.visit()) == strings);
    CHECK(loaded.snapshot() == saved.snapshot());
    CHECK(loaded.random() == saved.random());
    CHECK(gmac::read_metadata(path) == strings);
    CHECK(gmac::read_checkpoint(path).library_version ==
          fmt::format("{}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH));

    // Saved again it is the same file: nothing depends on time or place.
    auto const again = folder / "again.safetensors";
    gmac::save_checkpoint(again, strings, loaded.visit());
    loaded = saved;
    gmac::save_checkpoint(again, strings, loaded.visit());
    gmac::save_checkpoint(path, strings, saved.visit());
    CHECK(slurp(again) == slurp(path));
    CHECK(folder.files() == 2);
}

TEST_CASE("an empty state makes a checkpoint too") {
    scratch_folder const folder;
    auto const path = folder / "empty.safetensors";
    auto const nothing = [](gmac::archive&) {};
    gmac::save_checkpoint(path, {}, nothing);
    CHECK(gmac::load_checkpoint(path, nothing).empty());
}

TEST_CASE("what the format cannot hold is refused before anything is written") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    float value = 1.0f;
    auto const named = [&](std::string const& name) {
        return message_of([&] { gmac::save_checkpoint(path, {}, [&](gmac::archive& state) { state(name, value); }); });
    };
    CHECK(contains(named("__metadata__"), "no tensor may have the name __metadata__"));
    CHECK(contains(named("bad \xff name"), "is not UTF-8"));
    auto const twice = message_of([&] {
        gmac::save_checkpoint(path, {}, [&](gmac::archive& state) {
            state("weights", value);
            state("weights", value);
        });
    });
    CHECK(contains(twice, "two tensors of the name weights"));
    auto const with_strings = [&](gmac::checkpoint_metadata const& strings) {
        return message_of([&] { gmac::save_checkpoint(path, strings, [](gmac::archive&) {}); });
    };
    CHECK(contains(with_strings({{"config", "\xc3"}}), "is not UTF-8"));
    for (auto const* const key : {"crc32c", "format", "format_version", "library_version"})
        CHECK(contains(with_strings({{key, "x"}}), std::string("the metadata key ") + key));
    CHECK(folder.files() == 0);
}
