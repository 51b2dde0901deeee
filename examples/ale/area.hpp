// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace gmac::examples::ale {

/// An image that is read line by line, from the top. Lines that repeat the one above need not be read.
template <class S>
concept line_source = requires(S& image, std::size_t row, std::span<std::uint8_t> line) {
    { image.repeats(row) } -> std::convertible_to<bool>;
    image.read(row, line);
};

struct image_size {
    std::size_t rows = 0, columns = 0;
};

/// Makes grey images smaller by area interpolation: a pixel of the result is the mean of the rectangle that it covers,
/// in which source pixels count by the part of them that it covers; rounded to the nearest level. All in whole numbers.
class area_interpolation {
public:
    /// Throws gmac::error unless 1 <= to <= from <= 256 in both directions.
    area_interpolation(image_size from, image_size to)
        : rows_(from.rows, to.rows),
          columns_(from.columns, to.columns),
          line_(from.columns),
          sums_(from.columns + columns_.taps),
          total_(rows_.total * columns_.total) {}

    /// The result is [rows, columns]; nothing is allocated.
    template <line_source S>
    void operator()(S image, std::span<std::uint8_t> result) {
        std::size_t const width = columns_.first.size();
        std::size_t next = 0; // line to be read
        bool plain = false;   // the result's row above shows nothing but the line in line_
        for (std::size_t row = 0; row < rows_.first.size(); ++row) {
            std::uint8_t* const shown = result.data() + row * width;
            std::uint16_t waiting = 0; // weight of the line in line_
            bool alone = true;         // no other line was added
            for (std::size_t tap = 0; tap < rows_.taps && rows_.weight(row, tap) > 0; ++tap) {
                if (rows_.first[row] + tap == next && (next++ == 0 || !image.repeats(next - 1))) {
                    if (waiting > 0)
                        add_line(waiting, alone);
                    alone = alone && waiting == 0;
                    waiting = 0;
                    plain = false;
                    image.read(next - 1, line_);
                }
                waiting = static_cast<std::uint16_t>(waiting + rows_.weight(row, tap));
            }
            if (alone && plain) {
                std::copy_n(shown - width, width, shown);
            } else {
                add_line(waiting, alone);
                write_row(shown);
            }
            plain = alone;
        }
    }

private:
    /// The source pixels that each pixel of the result covers: at most `taps` from first[j] on, with weights that add up
    /// to `total`.
    struct coverage {
        std::size_t taps, total;
        std::vector<std::size_t> first;
        std::vector<std::uint16_t> weights; // [to, taps]

        coverage(std::size_t from, std::size_t to) : first(to) {
            require(to > 0 && to <= from && from <= 256,
                    "area_interpolation: {} pixels cannot become {}: at most 256 can be made fewer", from, to);
            // In units of which `total` make a pixel of the result, and `narrow` one of the source.
            std::size_t const narrow = to / std::gcd(from, to);
            total = from / std::gcd(from, to);
            taps = (total + 2 * narrow - 2) / narrow;
            weights.resize(to * taps);
            for (std::size_t j = 0; j < to; ++j) {
                first[j] = j * total / narrow;
                for (std::size_t i = first[j]; i * narrow < (j + 1) * total; ++i)
                    weights[j * taps + i - first[j]] = static_cast<std::uint16_t>(
                        (std::min)((j + 1) * total, (i + 1) * narrow) - (std::max)(j * total, i * narrow));
            }
        }
        [[nodiscard]] std::uint16_t weight(std::size_t j, std::size_t tap) const noexcept {
            return weights[j * taps + tap];
        }
    };

    void add_line(std::uint16_t weight, bool first) noexcept {
        for (std::size_t i = 0; i < line_.size(); ++i)
            sums_[i] = static_cast<std::uint16_t>((first ? 0 : sums_[i]) + weight * line_[i]);
    }

    void write_row(std::uint8_t* shown) const noexcept {
        // The product with the inverse divides exactly, since sums stay below 2^24 and the total is at most 2^16.
        std::uint64_t const inverse = (std::uint64_t(1) << 40u) / total_ + 1;
        std::uint16_t const* weight = columns_.weights.data();
        for (std::size_t const first : columns_.first) {
            std::uint64_t sum = total_ / 2;
            for (std::size_t tap = 0; tap < columns_.taps; ++tap)
                sum += std::uint32_t(*weight++) * sums_[first + tap];
            *shown++ = static_cast<std::uint8_t>(sum * inverse >> 40u);
        }
    }

    coverage rows_, columns_;
    std::vector<std::uint8_t> line_;  // of the source
    std::vector<std::uint16_t> sums_; // of a row of the result, at most 256 · 255, and zeros for the last taps
    std::size_t total_;
};

} // namespace gmac::examples::ale
