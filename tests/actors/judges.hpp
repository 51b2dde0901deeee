// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gmac::testing {

/// The message of the error that the call throws, or nothing.
template <class Call>
std::string message_of(Call&& call) {
    try {
        call();
    } catch (error const& e) {
        return e.what();
    }
    return {};
}

/// Row-major numbers that own their memory.
template <class T>
struct table {
    std::size_t rows, cols;
    std::vector<T> numbers;

    table(std::size_t rows_, std::size_t cols_, T value = T(0))
        : rows(rows_), cols(cols_), numbers(rows_ * cols_, value) {}
    T& operator()(std::size_t i, std::size_t j) { return numbers[i * cols + j]; }
    T const& operator()(std::size_t i, std::size_t j) const { return numbers[i * cols + j]; }
    [[nodiscard]] matrix_view<T> view() { return {numbers.data(), rows, cols}; }
    [[nodiscard]] matrix_view<T const> view() const { return {numbers.data(), rows, cols}; }
};

[[nodiscard]] inline std::vector<random_stream> streams_for(std::size_t count, std::uint64_t seed) {
    std::vector<random_stream> streams;
    for (std::size_t i = 0; i < count; ++i)
        streams.emplace_back(seed, i);
    return streams;
}

} // namespace gmac::testing
