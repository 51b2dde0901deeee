// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/detail/moments.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/detail/checks.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI {

namespace detail {

/// An observation's element on the scale of a network: (x − mean) · scale, clipped.
[[nodiscard]] constexpr float standardised(float x, double mean, double scale, double bound) noexcept {
    return static_cast<float>(clip((static_cast<double>(x) - mean) * scale, bound));
}

} // namespace detail

/// Mean and variance of each element of vectors that come in batches, in double precision: two passes over a batch,
/// which is then merged with all that came before (Chan, Golub, LeVeque 1979). Both passes look at the differences from
/// the first row, so that what is constant has the variance 0 and not that of rounding. Rows are added in their order, so
/// the result does not depend on how the rows were computed. After construction nothing is allocated.
class running_statistics {
public:
    explicit running_statistics(std::size_t size)
        : means_(size, 0.0), squares_(size, 0.0), batch_means_(size, 0.0), batch_squares_(size, 0.0) {}

    /// How many elements a vector has.
    [[nodiscard]] std::size_t size() const noexcept { return means_.size(); }
    /// How many vectors there were.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// Of element i; 0 if there was none.
    [[nodiscard]] double mean(std::size_t i) const noexcept { return means_[i]; }
    /// Of element i: the sum of squared deviations over `count`, 0 if there was none.
    [[nodiscard]] double variance(std::size_t i) const noexcept {
        return count_ == 0 ? 0.0 : squares_[i] / static_cast<double>(count_);
    }

    /// What a deviation of element i from its mean is multiplied with to normalise it: 1 / sqrt(variance + epsilon). An
    /// element that has not varied yet, but by rounding, is not scaled: the factor is 1.
    [[nodiscard]] double scale(std::size_t i, double epsilon) const noexcept {
        double const squared_deviation = variance(i);
        bool const constant = detail::only_rounding<double>(squared_deviation, std::abs(means_[i]));
        return constant ? 1.0 : 1.0 / std::sqrt(squared_deviation + epsilon);
    }

    /// Adds the rows of a batch, [rows, size]. Throws gmac::error for another number of columns, for an element that is
    /// not finite and for numbers so large that their squares are not; then the statistics are what they were.
    template <std::floating_point T>
    void update(matrix_view<T const> batch) {
        require_shape(batch, batch.rows(), size(), "batch", "running_statistics::update");
        if (batch.rows() == 0)
            return;
        auto const rows = static_cast<double>(batch.rows());
        fill(batch_means_);
        for (std::size_t i = 0; i < batch.rows(); ++i)
            for (std::size_t j = 0; j < size(); ++j)
                batch_means_[j] += static_cast<double>(batch(i, j)) - static_cast<double>(batch(0, j));
        for (std::size_t j = 0; j < size(); ++j)
            batch_means_[j] = static_cast<double>(batch(0, j)) + batch_means_[j] / rows;
        fill(batch_squares_);
        for (std::size_t i = 0; i < batch.rows(); ++i) {
            for (std::size_t j = 0; j < size(); ++j) {
                double const deviation = static_cast<double>(batch(i, j)) - batch_means_[j];
                batch_squares_[j] += deviation * deviation;
            }
        }
        for (double const squares : batch_squares_)
            if (!detail::is_finite(squares)) [[unlikely]]
                require_finite(batch);
        merge(batch.rows(), batch_means_, batch_squares_);
    }
    template <std::floating_point T>
    void update(matrix_view<T> batch) {
        update(matrix_view<T const>(batch));
    }

    /// Adds all that `other` has seen. Throws gmac::error if its size is another or a square overflows.
    void merge(running_statistics const& other) {
        require(other.size() == size(), "running_statistics::merge: the other has {} elements, but must have {}",
                other.size(), size());
        if (other.count_ > 0)
            merge(other.count_, other.means_, other.squares_);
    }

    /// Adds all that `here` has seen on each rank, in the order of ranks. Collective.
    void merge(communicator& ranks, running_statistics const& here) {
        std::vector<double> numbers{static_cast<double>(here.count_)};
        numbers.insert(numbers.end(), here.means_.begin(), here.means_.end());
        numbers.insert(numbers.end(), here.squares_.begin(), here.squares_.end());
        std::vector<double> const all = ranks.all_gather(std::span<double const>(numbers));
        running_statistics other(size());
        for (std::size_t first = 0; first < all.size(); first += numbers.size()) {
            other.count_ = static_cast<std::uint64_t>(all[first]);
            for (std::size_t j = 0; j < size(); ++j) {
                other.means_[j] = all[first + 1 + j];
                other.squares_[j] = all[first + 1 + size() + j];
            }
            merge(other);
        }
    }

    void persist(archive& state) {
        state("count", count_);
        state("means", std::span(means_));
        state("squares", std::span(squares_));
    }

private:
    static void fill(std::vector<double>& numbers) noexcept {
        for (double& number : numbers)
            number = 0.0;
    }

    void merge(std::uint64_t count, std::vector<double> const& means, std::vector<double> const& squares) {
        auto const before = static_cast<double>(count_);
        auto const added = static_cast<double>(count);
        double const part = added / (before + added);
        auto const merged = [&](std::size_t j) {
            double const shift = count_ == 0 ? 0.0 : means[j] - means_[j];
            return squares_[j] + (squares[j] + shift * shift * (before * part));
        };
        for (std::size_t j = 0; j < size(); ++j)
            require(detail::is_finite(merged(j)),
                    "running_statistics: element {} has the mean {} in a batch and {} before; squares of their "
                    "deviations overflow",
                    j, means[j], means_[j]);
        for (std::size_t j = 0; j < size(); ++j) {
            squares_[j] = merged(j);
            means_[j] += (means[j] - means_[j]) * part;
        }
        count_ += count;
    }

    template <class T>
    void require_finite(matrix_view<T const> const& batch) const {
        for (std::size_t i = 0; i < batch.rows(); ++i)
            for (std::size_t j = 0; j < size(); ++j)
                require(detail::is_finite(batch(i, j)),
                        "running_statistics::update: row {}, element {} is {}, but must be finite", i, j, batch(i, j));
    }

    std::uint64_t count_ = 0;
    std::vector<double> means_, squares_; // squares: sums of squared deviations from the mean
    std::vector<double> batch_means_, batch_squares_;
};

} // namespace gmac::inline GMAC_ABI
