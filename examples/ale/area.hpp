// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
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
          from_columns_(from.columns),
          line_((from.columns + columns_.taps + block - 1) / block * block),
          sums_(line_.size()) {}

    /// The result is [rows, columns]; nothing is allocated.
    template <line_source S>
    void operator()(S image, std::span<std::uint8_t> result) {
        std::size_t const width = columns_.first.size();
        std::size_t next = 0, same = 0; // the line to be read, and the first of those before it that are like line_
        for (std::size_t row = 0; row < rows_.first.size(); ++row) {
            std::uint8_t* const shown = result.data() + row * width;
            std::uint32_t weight = 0; // of line_ in this row
            std::ranges::fill(sums_, std::uint16_t(0));
            for (std::size_t tap = 0; tap < rows_.taps && rows_.weight(row, tap) > 0; ++tap) {
                if (rows_.first[row] + tap == next && (next++ == 0 || !image.repeats(next - 1))) {
                    add_line(std::exchange(weight, 0u));
                    image.read(same = next - 1, std::span(line_).first(from_columns_));
                }
                weight += rows_.weight(row, tap);
            }
            if (row > 0 && same <= rows_.first[row - 1]) {
                std::copy_n(shown - width, width, shown);
            } else {
                add_line(weight);
                write_row(shown);
            }
        }
    }

private:
    static constexpr std::size_t block = 16; // columns that are added at once

    /// The source pixels that each pixel of the result covers: `taps`, a multiple of three, from first[j] on, with weights
    /// that add up to `total`; the last ones may be zero.
    struct coverage {
        std::size_t total = 0, taps = 0;
        std::vector<std::size_t> first;
        std::vector<std::uint32_t> weights; // [to, taps]

        coverage(std::size_t from, std::size_t to) {
            require(to > 0 && to <= from && from <= 256,
                    "area_interpolation: {} pixels cannot become {}: at most 256 can be made fewer", from, to);
            // In units of which `total` make a pixel of the result, and `narrow` one of the source.
            std::size_t const narrow = to / std::gcd(from, to);
            total = from / std::gcd(from, to);
            taps = ((total + 2 * narrow - 2) / narrow + 2) / 3 * 3;
            for (std::size_t j = 0; j < to; ++j) {
                first.push_back(j * total / narrow);
                for (std::size_t i = first[j]; i < first[j] + taps; ++i) {
                    std::size_t const begin = (std::max)(j * total, i * narrow);
                    std::size_t const end = (std::min)((j + 1) * total, (i + 1) * narrow);
                    weights.push_back(static_cast<std::uint32_t>(end > begin ? end - begin : 0));
                }
            }
        }
        [[nodiscard]] std::uint32_t weight(std::size_t j, std::size_t tap) const noexcept {
            return weights[j * taps + tap];
        }
    };

    void add_line(std::uint32_t weight) noexcept {
        for (std::size_t i = 0; i < sums_.size(); i += block) {
            std::array<std::uint16_t, block> added{}; // apart from memory, so that compilers see that nothing overlaps
            for (std::size_t k = 0; k < block; ++k)
                added[k] = static_cast<std::uint16_t>(sums_[i + k] + weight * line_[i + k]);
            std::ranges::copy(added, sums_.data() + i);
        }
    }

    void write_row(std::uint8_t* shown) const noexcept {
        // The product with the inverse divides exactly, since sums stay below 2^24 and the total is at most 2^16.
        std::size_t const total = rows_.total * columns_.total;
        std::uint64_t const inverse = (std::uint64_t(1) << 40u) / total + 1;
        std::uint32_t const* weight = columns_.weights.data();
        for (std::size_t const first : columns_.first) {
            std::uint32_t sum = static_cast<std::uint32_t>(total / 2);
            for (std::size_t tap = 0; tap < columns_.taps; tap += 3, weight += 3)
                sum += weight[0] * sums_[first + tap] + weight[1] * sums_[first + tap + 1] +
                       weight[2] * sums_[first + tap + 2];
            *shown++ = static_cast<std::uint8_t>(sum * inverse >> 40u);
        }
    }

    coverage rows_, columns_;
    std::size_t from_columns_;
    std::vector<std::uint8_t> line_;
    std::vector<std::uint16_t> sums_; // of a row of the result, at most 256 · 255
};

} // namespace gmac::examples::ale
