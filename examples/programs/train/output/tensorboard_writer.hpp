// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "value_histogram.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gmac::examples::train {

namespace tensorboard {

/// The masked CRC-32C of the TFRecord format.
[[nodiscard]] inline std::uint32_t masked_checksum(std::string_view bytes) noexcept {
    std::uint32_t const plain = gmac::crc32c().add(std::as_bytes(std::span(bytes))).value();
    return std::rotr(plain, 15) + 0xa282ead8u;
}

/// A TFRecord: length, its checksum, the bytes, their checksum; all little endian.
[[nodiscard]] inline std::string record(std::string_view bytes) {
    static_assert(std::endian::native == std::endian::little);
    auto const raw = [](auto number) {
        auto const chars = std::bit_cast<std::array<char, sizeof number>>(number);
        return std::string(chars.data(), chars.size());
    };
    std::string const length = raw(static_cast<std::uint64_t>(bytes.size()));
    return length + raw(masked_checksum(length)) + std::string(bytes) + raw(masked_checksum(bytes));
}

// The field numbers of tensorboard/compat/proto/event.proto and summary.proto.
namespace field {
inline constexpr protozero::pbf_tag_type wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
inline constexpr protozero::pbf_tag_type summary_value = 1;
inline constexpr protozero::pbf_tag_type value_tag = 1, value_simple = 2, value_histogram = 5;
inline constexpr protozero::pbf_tag_type least = 1, greatest = 2, count = 3, sum = 4, sum_of_squares = 5, limits = 6,
                                         buckets = 7;
inline constexpr protozero::pbf_tag_type log_status = 1;
} // namespace field

/// The event with which every file begins.
[[nodiscard]] inline std::string version_event(double wall_time) {
    std::string event;
    protozero::pbf_writer writer(event);
    writer.add_double(field::wall_time, wall_time);
    writer.add_string(field::file_version, "brain.Event:2");
    return event;
}

/// The mark of a session: TensorBoard takes a run's first one for its beginning, and forgets at every other what the run
/// said of this step and later ones.
[[nodiscard]] inline std::string start_event(double wall_time, std::int64_t step) {
    std::string event;
    protozero::pbf_writer writer(event);
    writer.add_double(field::wall_time, wall_time);
    writer.add_int64(field::step, step);
    protozero::pbf_writer log(writer, field::session_log);
    log.add_enum(field::log_status, 1); // START
    return event;
}

[[nodiscard]] inline std::string scalars_event(double wall_time, std::int64_t step,
                                               std::span<std::pair<std::string, double> const> scalars) {
    std::string event;
    protozero::pbf_writer writer(event);
    writer.add_double(field::wall_time, wall_time);
    writer.add_int64(field::step, step);
    protozero::pbf_writer summary(writer, field::summary);
    for (auto const& [tag, number] : scalars) {
        protozero::pbf_writer value(summary, field::summary_value);
        value.add_string(field::value_tag, tag);
        value.add_float(field::value_simple, static_cast<float>(number));
    }
    return event;
}

/// Histograms of distributions, whose probability is their count.
[[nodiscard]] inline std::string histograms_event(double wall_time, std::int64_t step,
                                                  std::span<std::pair<std::string, value_histogram> const> histograms) {
    std::string event;
    protozero::pbf_writer writer(event);
    writer.add_double(field::wall_time, wall_time);
    writer.add_int64(field::step, step);
    protozero::pbf_writer summary(writer, field::summary);
    for (auto const& [tag, histogram] : histograms) {
        protozero::pbf_writer value(summary, field::summary_value);
        value.add_string(field::value_tag, tag);
        protozero::pbf_writer buckets(value, field::value_histogram);
        buckets.add_double(field::least, histogram.low);
        buckets.add_double(field::greatest, histogram.limits.back());
        buckets.add_double(field::count, 1.0);
        buckets.add_double(field::sum, histogram.mean);
        buckets.add_double(field::sum_of_squares, histogram.mean_square);
        buckets.add_packed_double(field::limits, histogram.limits.begin(), histogram.limits.end());
        buckets.add_packed_double(field::buckets, histogram.masses.begin(), histogram.masses.end());
    }
    return event;
}

} // namespace tensorboard

/// Writes scalars and histograms for TensorBoard (`tensorboard --logdir <folder>`): one event file for each run of the program, as
/// TensorBoard expects it.
class tensorboard_writer {
public:
    /// Makes a new event file in `folder`, which TensorBoard reads after those that are there. A run that is resumed gives
    /// the first step that it writes, and TensorBoard drops what the earlier files say from that step on. Throws
    /// gmac::error.
    explicit tensorboard_writer(std::filesystem::path const& folder, std::optional<std::int64_t> resumed_at = {},
                                double wall_time = now()) {
        std::array<char, 256> host{};
        if (::gethostname(host.data(), host.size() - 1) != 0)
            host = {'l', 'o', 'c', 'a', 'l'};
        std::int64_t const second = (std::max)(static_cast<std::int64_t>(wall_time), latest_second(folder) + 1);
        for (int number = 0; !file_.open(); ++number) {
            path_ = folder / fmt::format("{}{:010}.{}.{}.{}", prefix, second, host.data(), ::getpid(), number);
            file_ = gmac::detail::descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
            if (!file_.open() && errno != EEXIST)
                give_up("create", errno);
        }
        write(tensorboard::version_event(wall_time));
        // Twice, since the mark of a new run may be missing: an older gmac wrote none.
        for (int mark = 0; mark < (resumed_at ? 2 : 1); ++mark)
            write(tensorboard::start_event(wall_time, resumed_at.value_or(0)));
    }

    /// The step is what TensorBoard draws on the x axis: the frames. A slash in a name makes a group.
    void append(std::int64_t step, std::span<std::pair<std::string, double> const> scalars, double wall_time = now()) {
        write(tensorboard::scalars_event(wall_time, step, scalars));
    }
    void append(std::int64_t step, std::span<std::pair<std::string, value_histogram> const> histograms,
                double wall_time = now()) {
        write(tensorboard::histograms_event(wall_time, step, histograms));
    }

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

    /// Seconds since 1970.
    [[nodiscard]] static double now() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    }

private:
    static constexpr std::string_view prefix = "events.out.tfevents.";

    /// In the names of the event files that are there; −1 if there are none. TensorBoard reads files in the order of
    /// their names, so a new one must be above them all, also within a second and after the clock was put back.
    [[nodiscard]] static std::int64_t latest_second(std::filesystem::path const& folder) {
        std::int64_t latest = -1;
        std::error_code problem;
        for (auto file = std::filesystem::directory_iterator(folder, problem);
             !problem && file != std::filesystem::directory_iterator(); file.increment(problem)) {
            std::string const name = file->path().filename().string();
            std::int64_t second = 0;
            if (name.starts_with(prefix) &&
                std::from_chars(name.data() + prefix.size(), name.data() + name.size(), second).ec == std::errc() &&
                second < 9'999'999'999) // of ten digits, as ours
                latest = (std::max)(latest, second);
        }
        return latest;
    }

    void write(std::string_view event) {
        std::string const bytes = tensorboard::record(event);
        if (int const problem = gmac::detail::write_all(file_.get(), std::as_bytes(std::span(bytes))); problem != 0)
            give_up("write", problem);
    }
    [[noreturn]] void give_up(std::string_view action, int number) const {
        gmac::fail("cannot {} {}: {}", action, path_.string(), gmac::detail::system_message(number));
    }

    std::filesystem::path path_;
    gmac::detail::descriptor file_;
};

} // namespace gmac::examples::train
