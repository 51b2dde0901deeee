// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/lane_arithmetic.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/overlap.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/targets/particles.hpp>

#include <xsimd/xsimd.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

/// What SR(λ) takes fresh particles from: the value distributions of all states of a rollout, one a row. The states
/// x_0 … x_T are rows 0 … (T + 1) E − 1, row t * E + e; the final observations of the truncated transitions follow, in
/// the order of the transitions. The rows of x_0 are never used.
namespace gmac::inline GMAC_ABI::targets {

/// Gaussian mixtures as a head gives them: weights, means and standard deviations, [rows, K] each. A fresh particle is a
/// component, chosen with its weight as probability.
template <class T>
struct gaussian_source {
    matrix_view<T const> weights{};
    matrix_view<T const> means{};
    matrix_view<T const> deviations{};
};
template <gmac::detail::matrix_like... Parts>
gaussian_source(Parts&&...) -> gaussian_source<std::remove_const_t<gmac::detail::matrix_element<Parts...>>>;

/// Point masses, [rows, N]: the quantiles or samples that a head gives. A fresh particle is one of them, chosen with
/// its weight as probability; without weights all are equally likely.
template <class T>
struct dirac_source {
    matrix_view<T const> values{};
    matrix_view<T const> weights{};
};
template <gmac::detail::matrix_like... Parts>
dirac_source(Parts&&...) -> dirac_source<std::remove_const_t<gmac::detail::matrix_element<Parts...>>>;

/// Independent samples of each state's distribution, [rows, N], as an implicit quantile head gives them at N fractions
/// that were drawn uniformly. They are random already: particle i is replaced by sample i mod N, without another draw.
template <class T>
struct sample_source {
    matrix_view<T const> values{};
};
template <gmac::detail::matrix_like Values>
sample_source(Values&&) -> sample_source<std::remove_const_t<gmac::detail::matrix_element<Values>>>;

namespace detail {

template <class Source>
struct source_scalar;
template <template <class> class Source, class T>
struct source_scalar<Source<T>> {
    using type = std::remove_const_t<T>;
};

/// Stops the compilation with one sentence unless source and targets are of the rollout's number type T and fit each other.
/// Gives whether they do.
template <class T, class Source, class Targets>
[[nodiscard]] consteval bool require_kinds() {
    constexpr bool is_source = std::same_as<Source, gaussian_source<T>> || std::same_as<Source, dirac_source<T>> ||
                               std::same_as<Source, sample_source<T>>;
    constexpr bool are_targets =
        std::same_as<Targets, gaussian_particles<T>> ||
        (std::same_as<Targets, dirac_particles<T>> && !std::same_as<Source, gaussian_source<T>>);
    static_assert(is_source,
                  "the value distributions are to be a gaussian_source, dirac_source or sample_source of the "
                  "rewards' number type");
    static_assert(are_targets || !is_source,
                  "the targets are to be gaussian_particles or, not from Gaussian mixtures, dirac_particles, of the "
                  "rewards' number type and not const");
    return is_source && are_targets;
}

template <class T>
[[nodiscard]] constexpr matrix_view<T const> const& locations(gaussian_source<T> const& source) noexcept {
    return source.means;
}
template <class T>
[[nodiscard]] constexpr matrix_view<T const> const& locations(dirac_source<T> const& source) noexcept {
    return source.values;
}
template <class T>
[[nodiscard]] constexpr matrix_view<T const> const& locations(sample_source<T> const& source) noexcept {
    return source.values;
}

/// Throws gmac::error unless the parts have one shape with a row for each state and final observation.
template <class Source>
void require_source(Source const& source, std::size_t states, std::size_t finals, std::string_view where) {
    auto const& where_they_lie = locations(source);
    std::size_t const count = where_they_lie.cols();
    std::size_t const rows = states + finals;
    constexpr bool gaussian = requires { source.deviations; };
    require(count > 0, "{}: the value distributions have no components", where);
    require(
        where_they_lie.rows() == rows,
        "{}: the matrix of {} is {} x {}, but must be {} x {}: (T + 1) E = {} states, and {} final observations, one "
        "for each truncated transition",
        where, gaussian ? "means" : "values", where_they_lie.rows(), count, rows, count, states, finals);
    if constexpr (gaussian) {
        require_shape(source.deviations, rows, count, "the matrix of deviations", where);
        require_shape(source.weights, rows, count, "the matrix of weights", where);
    } else if constexpr (requires { source.weights; }) {
        if (source.weights.data() != nullptr)
            require_shape(source.weights, rows, count, "the matrix of weights", where);
    }
}

/// The lowest number of some rows, or NaN if one of them is not finite.
template <std::floating_point T>
[[nodiscard]] T lowest_of(matrix_view<T const> const& matrix, std::size_t first_row, std::size_t rows) noexcept {
    using V = lanes::widest<T>;
    constexpr std::size_t width = V::size;
    T const start = matrix(first_row, 0);
    V low(start), spoiled(T(0));
    auto const take = [&](V const& x) {
        low = lanes::at_most(low, x);
        spoiled += x * T(0); // NaN from the first number that is not finite, then for good
    };
    // A dense block is one long row.
    bool const dense = matrix.dense();
    std::size_t const lines = dense ? 1 : rows;
    std::size_t const length = dense ? rows * matrix.cols() : matrix.cols();
    alignas(64) std::array<T, width> part;
    for (std::size_t line = 0; line < lines; ++line) {
        vector_view<T const> const row(&matrix(first_row + line, 0), length, dense ? 1 : matrix.col_stride());
        std::size_t i = 0;
        if (row.stride() == 1)
            for (; i + width <= length; i += width)
                take(V::load_unaligned(row.data() + i));
        while (i < length) {
            for (std::size_t lane = 0; lane < width; ++lane, i += i < length ? 1u : 0u)
                part[lane] = i < length ? row[i] : start;
            take(V::load_aligned(part.data()));
        }
    }
    T lowest = start;
    low.store_aligned(part.data());
    for (T const x : part)
        lowest = x < lowest ? x : lowest;
    return lowest + lanes::sum_lanes(spoiled);
}

/// Names the first number of the rows that breaks the rule.
template <class T, class Allowed>
[[noreturn]] void fail_at(matrix_view<T const> const& matrix, std::size_t first_row, std::size_t rows, Allowed allowed,
                          std::string_view name, std::string_view rule, std::string_view where) {
    for (std::size_t i = first_row; i < first_row + rows; ++i)
        for (std::size_t k = 0; k < matrix.cols(); ++k)
            if (!allowed(matrix(i, k)))
                fail("{}: {} {} of row {} is {}, but must be {}", where, name, k, i, matrix(i, k), rule);
    fail("{}: a {} is not {}", where, name, rule);
}

/// Throws gmac::error unless the weights of each of the rows are not negative and sum to one, to
/// kernels::weight_tolerance: rounding is forgiven, a forgotten softmax is not.
template <std::floating_point T>
void require_weights(matrix_view<T const> const& weights, std::size_t first_row, std::size_t rows,
                     std::string_view where) {
    if (!(lowest_of(weights, first_row, rows) >= T(0)))
        fail_at(
            weights, first_row, rows, [](T w) { return w >= T(0) && std::isfinite(w); }, "weight",
            "finite and not negative", where);
    T const tolerance = static_cast<T>(kernels::weight_tolerance<T>);
    auto const sum_of = [&](std::size_t row) {
        T sum = 0;
        for (std::size_t k = 0; k < weights.cols(); ++k)
            sum += weights(row, k);
        return sum;
    };
    bool all_sum_to_one = true;
    for (std::size_t row = first_row; row < first_row + rows; ++row)
        all_sum_to_one &= std::abs(sum_of(row) - T(1)) <= tolerance;
    for (std::size_t row = first_row; !all_sum_to_one && row < first_row + rows; ++row)
        require(std::abs(sum_of(row) - T(1)) <= tolerance, "{}: the weights of row {} sum to {}, but must sum to 1",
                where, row, sum_of(row));
}

/// Throws gmac::error unless the distributions of some rows are distributions.
template <class Source>
void require_distributions(Source const& source, std::size_t first_row, std::size_t rows, std::string_view where) {
    using T = typename source_scalar<Source>::type;
    if (rows == 0)
        return;
    auto const finite = [](T x) { return std::isfinite(x); };
    T const spoiled = lowest_of(locations(source), first_row, rows);
    if constexpr (requires { source.deviations; }) {
        if (!finite(spoiled))
            fail_at(source.means, first_row, rows, finite, "mean", "finite", where);
        if (!(lowest_of(source.deviations, first_row, rows) >= T(0)))
            fail_at(
                source.deviations, first_row, rows, [](T x) { return x >= T(0) && std::isfinite(x); }, "deviation",
                "finite and not negative", where);
    } else if (!finite(spoiled)) {
        fail_at(source.values, first_row, rows, finite, "value", "finite", where);
    }
    if constexpr (requires { source.weights; })
        if (source.weights.data() != nullptr)
            require_weights(source.weights, first_row, rows, where);
}

/// Throws gmac::error if the targets share memory with the distributions they are made from.
template <class Source, class Targets>
void require_apart(Source const& source, Targets const& targets, std::string_view where) {
    auto const apart = [&](auto const& read) {
        bool shared = targets.weighted() && may_overlap(targets.weights, read);
        if constexpr (requires { targets.deviations; })
            shared = shared || may_overlap(targets.means, read) || may_overlap(targets.deviations, read);
        else
            shared = shared || may_overlap(targets.values, read);
        require(!shared, "{}: the targets overlap the value distributions in memory", where);
    };
    apart(locations(source));
    if constexpr (requires { source.deviations; })
        apart(source.deviations);
    if constexpr (requires { source.weights; })
        apart(source.weights);
}

/// The upper 24 bits of random words as numbers in [0, 1).
[[nodiscard, gnu::always_inline]] inline lanes::widest<float> marks_of_words(std::uint32_t const* words) noexcept {
    auto const word = xsimd::batch<std::uint32_t>::load_unaligned(words);
    return lanes::detail::to_real(lanes::detail::shift_right<8>(word)) * 0x1p-24f;
}

/// Chooses components of a row: the inverse of their cumulative weights at random words, of which it uses the upper 24
/// bits. A component of weight zero is never chosen. Without weights all components are equally likely.
template <std::floating_point T>
class component_picker {
public:
    component_picker(T const* weights, std::ptrdiff_t stride, std::size_t count) noexcept
        : weights_(weights), stride_(stride), count_(count) {
        if (weights_ == nullptr || count_ > table_size)
            return;
        T sum = 0;
        for (std::size_t k = 0; k < count_; ++k)
            table_[k] = static_cast<float>(sum += weight(k));
        // The last weight that is not zero takes what rounding leaves of one: its sum and those behind it do not count.
        for (marks_ = count_ - 1; marks_ > 0 && table_[marks_ - 1] == table_[count_ - 1];)
            --marks_;
    }

    /// The components for `count` words, of which up to the next multiple of 16 may be read and written.
    [[gnu::always_inline]] void operator()(std::uint32_t const* words, std::size_t count,
                                           std::uint32_t* chosen) const noexcept {
        if (weights_ == nullptr) {
            for (std::size_t i = 0; i < count; ++i)
                chosen[i] = static_cast<std::uint32_t>((static_cast<std::uint64_t>(words[i]) * count_) >> 32u);
        } else if (count_ <= table_size) {
            using V = lanes::widest<float>;
            for (std::size_t i = 0; i < count; i += V::size) {
                V const mark = marks_of_words(words + i);
                V passed(0.0f);
                for (std::size_t k = 0; k < marks_; ++k)
                    passed += lanes::select(mark >= V(table_[k]), V(1.0f), V(0.0f));
                lanes::detail::to_whole(passed).store_unaligned(chosen + i);
            }
        } else {
            for (std::size_t i = 0; i < count; ++i)
                chosen[i] = search(static_cast<float>(words[i] >> 8u) * 0x1p-24f);
        }
    }

private:
    static constexpr std::size_t table_size = 32;

    [[nodiscard]] T weight(std::size_t k) const noexcept { return weights_[static_cast<std::ptrdiff_t>(k) * stride_]; }

    [[nodiscard]] std::uint32_t search(float mark) const noexcept {
        T sum = 0;
        std::uint32_t last = 0;
        for (std::uint32_t k = 0; k < count_; ++k) {
            if (weight(k) > T(0))
                last = k;
            if (mark < static_cast<float>(sum += weight(k)))
                return k;
        }
        return last;
    }

    T const* weights_;
    std::ptrdiff_t stride_;
    std::size_t count_;
    std::size_t marks_ = 0;
    std::array<float, table_size> table_;
};

template <class Source, class T = typename source_scalar<Source>::type>
[[nodiscard]] component_picker<T> picker(Source const& source, std::size_t row) noexcept {
    if constexpr (requires { source.weights; })
        if (source.weights.data() != nullptr)
            return {&source.weights(row, 0), source.weights.col_stride(), source.weights.cols()};
    return {nullptr, 0, locations(source).cols()};
}

} // namespace detail

} // namespace gmac::inline GMAC_ABI::targets
