// SPDX-License-Identifier: Apache-2.0
// TensorBoard's files: against bytes made by hand from the format's definition, and a decoder that shares no code.
#include "output/tensorboard_writer.hpp"

#include "event_files.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

using gmac::testing::by_preemption;
using gmac::testing::by_session_starts;
using gmac::testing::contains;
using gmac::testing::events_of;
using gmac::testing::histogram;
using gmac::testing::masked;
using gmac::testing::message_of;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using namespace gmac::examples::train;
using gmac::testing::fields_of;
using gmac::testing::number_at;
using gmac::testing::only;
using gmac::testing::records_of;

namespace {

std::string bytes(std::initializer_list<int> values) {
    std::string text;
    for (int const value : values)
        text += static_cast<char>(value);
    return text;
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
    CHECK(tensorboard::start_event(2.0, 300) ==
          bytes({0x09, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x10, 0xac, 0x02, 0x3a, 2, 0x08, 1})); // session_log: status START
}

TEST_CASE("a decoder reads back what the writer wrote") {
    scratch_folder const folder;
    std::vector<std::pair<std::string, double>> const first{{"return/mean", 21.25}, {"loss/value", 1e-3}};
    std::vector<std::pair<std::string, double>> const second{{"return/mean", std::nan("")}};
    tensorboard_writer writer(folder.path, {}, 1700000000.25);
    writer.append(512, first, 1700000001.0);
    writer.append(std::int64_t(1) << 40, second, 1700000002.0);
    CHECK(writer.path().filename().string().starts_with("events.out.tfevents.1700000000."));

    auto const records = records_of(slurp(writer.path()));
    REQUIRE(records.size() == 4);
    CHECK(only(fields_of(records[0]), 3) == "brain.Event:2");
    CHECK(number_at<double>(only(fields_of(records[0]), 1), 0) == 1700000000.25);
    auto const event = fields_of(records[2]);
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
    CHECK(only(fields_of(records[3]), 2) == "1099511627776");
    auto const last = fields_of(only(fields_of(only(fields_of(records[3]), 5)), 1));
    CHECK(std::isnan(number_at<float>(only(last, 2), 0)));
}

namespace {

void write_steps(tensorboard_writer& writer, std::int64_t first, std::int64_t last) {
    std::vector<std::pair<std::string, double>> const always{{"update/loss", 1.0}},
        both{{"update/loss", 1.0}, {"episodes/return", 2.0}};
    for (std::int64_t step = first; step <= last; ++step)
        writer.append(step, step > 3 ? both : always);
}

std::vector<std::int64_t> steps_between(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> steps;
    for (; first <= last; ++first)
        steps.push_back(first);
    return steps;
}

void check_each_step_once(std::filesystem::path const& folder, std::int64_t last) {
    auto const events = events_of(folder);
    for (auto const& shown : {by_session_starts(events), by_preemption(events)}) {
        CHECK(shown.size() == 2);
        CHECK(shown.at("update/loss") == steps_between(1, last));
        CHECK(shown.at("episodes/return") == steps_between(4, last));
    }
}

} // namespace

TEST_CASE("a run that crashed and was resumed shows each step once, rising, in both readers of TensorBoard") {
    double const time = 1700000000.0;
    // Within one second, some seconds later, and after the clock was put back.
    for (double const later : {0.0, 7.5, -3600.0}) {
        CAPTURE(later);
        scratch_folder const folder;
        {
            tensorboard_writer writer(folder.path, {}, time);
            write_steps(writer, 1, 10);
            std::ofstream(writer.path(), std::ios::app) << tensorboard::record("cut off by a kill").substr(0, 20);
        }
        check_each_step_once(folder.path, 10);
        for (std::int64_t const killed_after : {8, 5, 12}) { // of the checkpoint after step 5
            tensorboard_writer writer(folder.path, 6, time + later);
            write_steps(writer, 6, killed_after);
        }
        check_each_step_once(folder.path, 12);
        CHECK(folder.files() == 4);
    }
}

TEST_CASE("a run that was begun without a mark of its start shows each step once, too") {
    scratch_folder const folder;
    {
        tensorboard_writer writer(folder.path, {}, 1700000000.0);
        write_steps(writer, 1, 10);
        std::string file = slurp(writer.path());
        auto const mark = tensorboard::record(tensorboard::start_event(1700000000.0, 0));
        REQUIRE(contains(file, mark));
        spit(writer.path(), file.erase(file.find(mark), mark.size()));
    }
    tensorboard_writer writer(folder.path, 6, 1700000000.0);
    write_steps(writer, 6, 9);
    check_each_step_once(folder.path, 9);
}

namespace {

double normal_up_to(double x, double mean, double deviation) {
    return 0.5 * (1.0 + std::erf((x - mean) / (deviation * std::sqrt(2.0))));
}

/// What a reader finds of one distribution after it was written.
histogram read_back(std::vector<value_panel> const& panels, std::string const& tag) {
    scratch_folder const folder;
    {
        tensorboard_writer writer(folder.path, {}, 1700000000.0);
        writer.append(4096, histograms_of(panels), 1700000001.0);
    }
    auto const events = events_of(folder.path);
    REQUIRE(events.size() == 3);
    CHECK(events.back().step == 4096);
    REQUIRE(events.back().histograms.count(tag) == 1);
    return histogram(events.back().histograms.at(tag));
}

double mass_of(histogram const& read) {
    double sum = 0.0;
    for (double const mass : read.buckets)
        sum += mass;
    return sum;
}

} // namespace

TEST_CASE("the buckets of a written density hold the differences of its distribution function") {
    // Two states: a Gaussian mixture, and one Gaussian; the histogram of all is of both in equal parts.
    std::vector<value_panel> const panels{{.components = {{0.25, -3.0, 0.5}, {0.75, 2.0, 1.5}}},
                                          {.components = {{1.0, 10.0, 2.0}}}};
    auto const first = [](double x) { return 0.25 * normal_up_to(x, -3.0, 0.5) + 0.75 * normal_up_to(x, 2.0, 1.5); };
    auto const both = [&](double x) { return 0.5 * (first(x) + normal_up_to(x, 10.0, 2.0)); };
    auto const check = [](histogram const& read, auto const& function, double mean, double mean_square) {
        REQUIRE(read.limits.size() == 64);
        CHECK(read.limits.back() == read.max);
        for (std::size_t i = 0; i < read.limits.size(); ++i) {
            double const below = i > 0 ? read.limits[i - 1] : read.min;
            REQUIRE(below < read.limits[i]);
            CHECK(read.buckets[i] == Approx(function(read.limits[i]) - function(below)).margin(1e-14));
        }
        CHECK(function(read.min) < 1e-3);
        CHECK(1.0 - function(read.max) < 1e-3);
        CHECK(read.count == 1.0);
        CHECK(read.sum == Approx(mean));
        CHECK(read.sum_of_squares == Approx(mean_square));
    };
    double const first_square = 0.25 * (9.0 + 0.25) + 0.75 * (4.0 + 2.25);
    check(read_back(panels, "value_density/state_1"), first, 0.75, first_square);
    check(read_back(panels, "value_density/all_states"), both, 0.5 * (0.75 + 10.0), 0.5 * (first_square + 104.0));
}

TEST_CASE("the buckets of written samples count them, and a single point is seen") {
    auto const read = read_back({{.samples = {1.0, 1.0, 2.0, 5.0}}}, "value_density/state_1");
    for (std::size_t i = 0; i < read.limits.size(); ++i) {
        double expected = 0.0;
        for (double const sample : {1.0, 1.0, 2.0, 5.0})
            expected += sample > (i > 0 ? read.limits[i - 1] : read.min) && sample <= read.limits[i] ? 0.25 : 0.0;
        CHECK(read.buckets[i] == expected);
    }
    CHECK(mass_of(read) == 1.0);
    CHECK(read.sum == 2.25);
    for (double const place : {0.0, -7.5, 1e300}) {
        auto const point = read_back({{.components = {{1.0, place, 0.0}}}}, "value_density/all_states");
        CHECK(mass_of(point) == 1.0);
        CHECK(std::count(point.buckets.begin(), point.buckets.end(), 1.0) == 1);
        CHECK(point.min < place);
        CHECK(point.max > place);
    }
}

TEST_CASE("every fourth state has a histogram of its own, and a resumed run goes on with them") {
    std::vector<value_panel> const panels(16, value_panel{.components = {{1.0, 0.0, 1.0}}});
    scratch_folder const folder;
    {
        tensorboard_writer writer(folder.path, {}, 1700000000.0);
        for (std::int64_t const step : {10, 20, 30})
            writer.append(step, histograms_of(panels));
    }
    tensorboard_writer(folder.path, 21, 1700000000.0).append(30, histograms_of(panels));
    auto const events = events_of(folder.path);
    for (auto const& shown : {by_session_starts(events), by_preemption(events)}) {
        CHECK(shown.size() == 5);
        for (std::string const tag : {"all_states", "state_1", "state_5", "state_9", "state_13"})
            CHECK(shown.at("value_density/" + tag) == std::vector<std::int64_t>{10, 20, 30});
    }
}

TEST_CASE("a value that is not finite is a clear error, and no histogram") {
    std::vector<value_panel> const panels{{.components = {{1.0, std::nan(""), 1.0}}}};
    CHECK(contains(message_of([&] { (void)histograms_of(panels); }),
                   "the agent expects a return of weight 1, mean nan and deviation 1, but all must be finite"));
}

TEST_CASE("an event file that cannot be made is a clear error") {
    scratch_folder const folder;
    auto const message = message_of([&] { tensorboard_writer(folder / "none"); });
    CHECK(contains(message, "cannot create " + (folder / "none").string()));
    CHECK(contains(message, "No such file or directory"));
}
