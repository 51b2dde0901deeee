// SPDX-License-Identifier: Apache-2.0
// TensorBoard's files: against bytes made by hand from the format's definition, and a decoder that shares no code.
#include "output/tensorboard_writer.hpp"

#include "crc32c_by_bits.hpp"
#include "scratch_folder.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

using namespace gmac::examples::train;

namespace {

std::string bytes(std::initializer_list<int> values) {
    std::string text;
    for (int const value : values)
        text += static_cast<char>(value);
    return text;
}

template <class T>
T number_at(std::string_view text, std::size_t place) {
    T value;
    REQUIRE(place + sizeof(T) <= text.size());
    std::memcpy(&value, text.data() + place, sizeof(T));
    return value;
}

std::uint32_t masked(std::string_view text) {
    std::uint32_t const crc = test::crc32c_by_bits(text);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

std::vector<std::string> records_of(std::string_view file) {
    std::vector<std::string> records;
    while (!file.empty()) {
        auto const size = static_cast<std::size_t>(number_at<std::uint64_t>(file, 0));
        CHECK(number_at<std::uint32_t>(file, 8) == masked(file.substr(0, 8)));
        records.emplace_back(file.substr(12, size));
        CHECK(number_at<std::uint32_t>(file, 12 + size) == masked(records.back()));
        file.remove_prefix(16 + size);
    }
    return records;
}

/// The fields of a protobuf message as (field number, raw value), by the wire format.
std::multimap<int, std::string> fields_of(std::string_view message) {
    std::multimap<int, std::string> fields;
    auto const varint = [&] {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            auto const byte = static_cast<unsigned char>(message.at(0));
            message.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 127u) << shift;
            if (byte < 128)
                return value;
        }
    };
    while (!message.empty()) {
        auto const key = varint();
        std::size_t size = 0;
        if ((key & 7u) == 0) {
            auto const value = varint();
            fields.emplace(static_cast<int>(key >> 3), std::to_string(static_cast<std::int64_t>(value)));
            continue;
        }
        size = (key & 7u) == 1 ? 8 : (key & 7u) == 5 ? 4 : static_cast<std::size_t>(varint());
        REQUIRE(size <= message.size());
        fields.emplace(static_cast<int>(key >> 3), std::string(message.substr(0, size)));
        message.remove_prefix(size);
    }
    return fields;
}

std::string only(std::multimap<int, std::string> const& fields, int number) {
    REQUIRE(fields.count(number) == 1);
    return fields.find(number)->second;
}

} // namespace

TEST_CASE("a record has the bytes of the TFRecord format") {
    // Every event file begins with these twelve: the length 24 and its masked checksum.
    auto const event = tensorboard::version_event(1.5);
    CHECK(event == bytes({0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x1a, 13}) + "brain.Event:2");
    auto const record = tensorboard::record(event);
    CHECK(record.substr(0, 12) == bytes({0x18, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22}));
    CHECK(record.substr(12, 24) == event);
    CHECK(number_at<std::uint32_t>(record, 36) == masked(event));
    CHECK(record.size() == 40);
    CHECK(tensorboard::masked_checksum("123456789") == ((0xe3069283u >> 15) | (0xe3069283u << 17)) + 0xa282ead8u);
}

TEST_CASE("a scalar event has the bytes of the protobuf definition") {
    std::vector<std::pair<std::string, double>> const scalars{{"r", 1.5}, {"ab", -2.0}};
    CHECK(tensorboard::scalars_event(2.0, 300, scalars) ==
          bytes({0x09, 0,    0,    0, 0,   0,    0,    0, 0x40,                // wall_time = 2
                 0x10, 0xac, 0x02,                                             // step = 300
                 0x2a, 21,                                                     // summary, 21 bytes
                 0x0a, 8,    0x0a, 1, 'r', 0x15, 0,    0, 0xc0, 0x3f,          // value: tag r, simple_value 1.5
                 0x0a, 9,    0x0a, 2, 'a', 'b',  0x15, 0, 0,    0,    0xc0})); // value: tag ab, simple_value -2
    CHECK(tensorboard::restart_event(2.0, 300) ==
          bytes({0x09, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x10, 0xac, 0x02, 0x3a, 2, 0x08, 1})); // session_log: status START
}

TEST_CASE("a decoder reads back what the writer wrote") {
    test::scratch_folder const folder;
    std::vector<std::pair<std::string, double>> const first{{"return/mean", 21.25}, {"loss/value", 1e-3}};
    std::vector<std::pair<std::string, double>> const second{{"return/mean", std::nan("")}};
    tensorboard_writer writer(folder.path(), {}, 1700000000.25);
    writer.append(512, first, 1700000001.0);
    writer.append(std::int64_t(1) << 40, second, 1700000002.0);
    CHECK(writer.path().filename().string().starts_with("events.out.tfevents.1700000000."));

    auto const records = records_of(test::slurp(writer.path()));
    REQUIRE(records.size() == 3);
    CHECK(only(fields_of(records[0]), 3) == "brain.Event:2");
    CHECK(number_at<double>(only(fields_of(records[0]), 1), 0) == 1700000000.25);
    auto const event = fields_of(records[1]);
    CHECK(number_at<double>(only(event, 1), 0) == 1700000001.0);
    CHECK(only(event, 2) == "512");
    auto const summary = fields_of(only(event, 5));
    REQUIRE(summary.count(1) == 2);
    auto value = summary.find(1);
    CHECK(only(fields_of(value->second), 1) == "return/mean");
    CHECK(number_at<float>(only(fields_of(value->second), 2), 0) == 21.25f);
    ++value;
    CHECK(only(fields_of(value->second), 1) == "loss/value");
    CHECK(number_at<float>(only(fields_of(value->second), 2), 0) == 1e-3f);
    CHECK(only(fields_of(records[2]), 2) == "1099511627776");
    auto const last = fields_of(only(fields_of(only(fields_of(records[2]), 5)), 1));
    CHECK(std::isnan(number_at<float>(only(last, 2), 0)));
}

TEST_CASE("a resumed run writes a file of its own that begins with a restart") {
    test::scratch_folder const folder;
    tensorboard_writer const one(folder.path(), {}, 1700000000.0);
    tensorboard_writer const two(folder.path(), 1024, 1700000000.0);
    CHECK(one.path() != two.path());
    CHECK(folder.files() == 2);
    auto const records = records_of(test::slurp(two.path()));
    REQUIRE(records.size() == 2);
    auto const restart = fields_of(records[1]);
    CHECK(only(restart, 2) == "1024");
    CHECK(only(fields_of(only(restart, 7)), 1) == "1");
}

TEST_CASE("an event file that cannot be made is a clear error") {
    test::scratch_folder const folder;
    auto const message = test::message_of([&] { tensorboard_writer(folder / "none"); });
    CHECK(test::contains(message, "cannot create " + (folder / "none").string()));
    CHECK(test::contains(message, "No such file or directory"));
}
