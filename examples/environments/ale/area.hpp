// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gmac::examples::ale {

/// An image that is read line by line, from the top. Lines that repeat the one above need not be read.
template <class S>
concept line_source = requires(S& image, std::size_t row, std::span<std::uint8_t> line) {
    { image.columns } -> std::convertible_to<std::size_t>;
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
        : rows_(coverage(from.rows, to.rows)),
          columns_(coverage(from.columns, to.columns)),
          total_(from.rows * from.columns) {}

    /// The result is [rows, columns]; nothing is allocated.
    template <line_source S>
    void operator()(S image, std::span<std::uint8_t> result) {
        std::size_t next = 0, same = 0; // the line to be read, and the first of those before it that are like line_
        for (std::size_t row = 0; row < rows_.size(); ++row, result = result.subspan(columns_.size())) {
            std::uint32_t waiting = 0; // weight of line_ in this row
            for (std::size_t line = rows_[row].first; std::uint32_t const weight : rows_[row].second) {
                if (line++ == next && weight > 0 && (next++ == 0 || !image.repeats(next - 1))) {
                    add_line(std::exchange(waiting, 0u));
                    image.read(same = next - 1, std::span(line_).first(image.columns));
                }
                waiting += weight;
            }
            if (row > 0 && same <= rows_[row - 1].first) // both rows show nothing but line_
                std::copy_n(result.data() - columns_.size(), columns_.size(), result.data());
            else
                finish_row(waiting, result.data());
        }
    }

private:
    /// The first source pixel that a pixel of the result covers, and how much it and those after it count. They are a
    /// multiple of three; the last ones may count nothing.
    using covered = std::pair<std::size_t, std::vector<std::uint32_t>>;

    /// In units of which `from` make a pixel of the result, and `to` one of the source.
    [[nodiscard]] static std::vector<covered> coverage(std::size_t from, std::size_t to) {
        require(to > 0 && to <= from && from <= 256,
                "area_interpolation: {} pixels cannot become {}: at most 256 can be made fewer", from, to);
        std::vector<covered> result;
        for (std::size_t j = 0; j < to; ++j) {
            auto& [first, weights] = result.emplace_back(j * from / to, covered::second_type());
            for (std::size_t i = first; i * to < (j + 1) * from || weights.size() % 3 != 0; ++i) {
                std::size_t const end = (std::min)((j + 1) * from, (i + 1) * to);
                weights.push_back(static_cast<std::uint32_t>(end - (std::min)((std::max)(j * from, i * to), end)));
            }
        }
        return result;
    }

    void add_line(std::uint32_t weight) noexcept { // all columns that there may be: such a loop becomes vectors at -O2
        for (std::size_t i = 0; i < sums_.size(); ++i)
            sums_[i] = static_cast<std::uint16_t>(sums_[i] + weight * line_[i]);
    }

    void finish_row(std::uint32_t waiting, std::uint8_t* shown) noexcept {
        add_line(waiting);
        // The product with the inverse divides exactly, since sums stay below 2^24 and the total is at most 2^16.
        std::uint64_t const inverse = (std::uint64_t(1) << 40u) / total_ + 1;
        for (auto const& [first, weights] : columns_) {
            std::uint64_t sum = total_ / 2;
            for (std::size_t i = 0, k = first; i < weights.size(); i += 3, k += 3)
                sum += weights[i] * sums_[k] + weights[i + 1] * sums_[k + 1] + weights[i + 2] * sums_[k + 2];
            *shown++ = static_cast<std::uint8_t>(sum * inverse >> 40u);
        }
        sums_.fill(0);
    }

    std::vector<covered> rows_, columns_;
    std::size_t total_;
    std::array<std::uint8_t, 272> line_{};  // of the source, and columns that count nothing
    std::array<std::uint16_t, 272> sums_{}; // of a row of the result, at most 256 · 255; zeros before each row
};

} // namespace gmac::examples::ale
