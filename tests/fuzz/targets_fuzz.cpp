// SPDX-License-Identifier: Apache-2.0
// SR(λ), its exact mixture, GAE and the λ-return on arbitrary rollouts, layouts, options and numbers: they throw
// gmac::error, or give what their definitions say of numbers of moderate size.
#include <gmac/targets.hpp>

#include "bytes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

namespace targets = gmac::targets;
using gmac::matrix_view;
using gmac::testing::any_matrix;
using gmac::testing::byte_reader;
using gmac::testing::check;

template <class T>
bool near(T a, T b, T size) {
    return std::abs(a - b) <= (std::is_same_v<T, float> ? T(1e-4) : T(1e-10)) * (T(1) + size);
}

/// A rollout and the distributions of its states.
template <class T>
struct input {
    byte_reader bytes;
    bool tame = bytes.flag();
    double discount = option(), lambda = option();
    any_matrix<T> rewards = matrix(1 + bytes.below(12), 1 + bytes.below(bytes.flag() ? 20 : 3), &input::number);
    std::size_t steps = rewards.view().rows(), environments = rewards.view().cols();
    any_matrix<std::uint8_t> terminated = flags(), truncated = flags();

    targets::rollout_view<T> rollout() const { return {rewards.read(), terminated.read(), truncated.read()}; }
    /// Counted one by one.
    std::size_t count_truncated() const {
        std::size_t count = 0;
        for (std::size_t t = 0; t < steps; ++t)
            for (std::size_t e = 0; e < environments; ++e)
                count += !set(terminated, t, e) && set(truncated, t, e) ? 1u : 0u;
        return count;
    }
    static bool set(any_matrix<std::uint8_t> const& all, std::size_t t, std::size_t e) {
        return t < all.view().rows() && e < all.view().cols() && all.view()(t, e) != 0;
    }

    double option() {
        std::uint8_t const choice = bytes.byte();
        return choice < 20 ? 0.0 : choice < 40 ? 1.0 : tame || choice < 200 ? choice / 256.0 : bytes.wild<double>();
    }
    T number() { return tame ? bytes.tame<T>() : bytes.wild<T>(); }
    T positive() { return tame ? std::abs(bytes.tame<T>()) : bytes.wild<T>(); }
    std::size_t about(std::size_t size) { return !tame && bytes.byte() % 16u == 7 ? bytes.below(4) : size; }
    template <class Number>
    any_matrix<T> matrix(std::size_t rows, std::size_t cols, Number number) {
        rows = about(rows);
        cols = about(cols);
        any_matrix<T> result(bytes, rows, cols);
        result.fill([&] { return (this->*number)(); });
        return result;
    }
    any_matrix<T> output(std::size_t rows, std::size_t cols) {
        rows = about(rows);
        cols = about(cols);
        return {bytes, rows, cols};
    }
    any_matrix<std::uint8_t> flags() {
        if (bytes.byte() % 8u == 0)
            return {};
        any_matrix<std::uint8_t> result(bytes, about(steps), about(environments));
        result.fill([&] { return bytes.byte() < 60 ? bytes.byte() : std::uint8_t{0}; });
        return result;
    }
    any_matrix<T> weights(std::size_t rows, std::size_t cols) {
        any_matrix<T> result = matrix(rows, cols, &input::positive);
        if (tame)
            for (std::size_t i = 0; i < rows; ++i) {
                double sum = 0.0;
                for (std::size_t j = 0; j < cols; ++j)
                    sum += static_cast<double>(result.view()(i, j));
                for (std::size_t j = 0; j < cols; ++j)
                    result.view()(i, j) = sum > 0.0 ? static_cast<T>(static_cast<double>(result.view()(i, j)) / sum)
                                                    : T(1) / static_cast<T>(cols);
            }
        return result;
    }
};

/// A source of fresh particles, with the memory that it looks at.
template <class T, class Source>
struct owned_source {
    any_matrix<T> locations, deviations, weights;
    Source view;

    owned_source(input<T>& in, std::size_t rows, std::size_t components) {
        locations = in.matrix(rows, components, &input<T>::number);
        if constexpr (std::is_same_v<Source, targets::gaussian_source<T>>) {
            deviations = in.matrix(rows, components, &input<T>::positive);
            weights = in.weights(rows, components);
            view = {weights.read(), locations.read(), deviations.read()};
        } else {
            view.values = locations.read();
            if constexpr (requires { view.weights; })
                if (in.bytes.flag()) {
                    weights = in.weights(rows, components);
                    view.weights = weights.read();
                }
        }
    }
    T location(std::size_t row, std::size_t k) const { return locations.view()(row, k); }
    T deviation(std::size_t row, std::size_t k) const {
        return deviations.view().data() == nullptr ? T(0) : deviations.view()(row, k);
    }
    T weight(std::size_t row, std::size_t k) const {
        return weights.view().data() == nullptr ? T(1) / static_cast<T>(locations.view().cols())
                                                : weights.view()(row, k);
    }
    T mean(std::size_t row) const {
        double sum = 0.0;
        for (std::size_t k = 0; k < locations.view().cols(); ++k)
            sum += static_cast<double>(weight(row, k)) * static_cast<double>(location(row, k));
        return static_cast<T>(sum);
    }
};

/// Calls visit(t, e, row, state, goes_on) for each transition: `state` is the row of what comes after it among the
/// distributions, or none after a termination; `goes_on` says that the row of t + 1 may come after it.
inline constexpr std::size_t none = static_cast<std::size_t>(-1);
template <class T, class Visit>
void for_each_transition(input<T> const& in, Visit&& visit) {
    std::size_t final = (in.steps + 1) * in.environments;
    for (std::size_t t = 0; t < in.steps; ++t)
        for (std::size_t e = 0; e < in.environments; ++e) {
            bool const terminated = input<T>::set(in.terminated, t, e);
            bool const truncated = !terminated && input<T>::set(in.truncated, t, e);
            std::size_t const state = terminated ? none : truncated ? final++ : (t + 1) * in.environments + e;
            visit(t, e, t * in.environments + e, state, !terminated && !truncated && t + 1 < in.steps);
        }
}

template <class T>
struct particles {
    any_matrix<T> locations, deviations;
    T location(std::size_t row, std::size_t i) const { return locations.view()(row, i); }
    T deviation(std::size_t row, std::size_t i) const {
        return deviations.view().data() == nullptr ? T(0) : deviations.view()(row, i);
    }
};

/// Each particle is the reward and, unless the episode ended, γ times the particle of the next step or a component of the
/// next state's distribution.
template <class T, class Source>
void check_particles(input<T> const& in, Source const& source, particles<T> const& made) {
    T const gamma = static_cast<T>(in.discount);
    std::size_t const components = source.locations.view().cols();
    for_each_transition(in, [&](std::size_t t, std::size_t e, std::size_t row, std::size_t state, bool goes_on) {
        T const reward = in.rewards.view()(t, e);
        for (std::size_t i = 0; i < made.locations.view().cols(); ++i) {
            T const location = made.location(row, i);
            T const deviation = made.deviation(row, i);
            if (state == none) {
                check(location == reward && deviation == T(0), "a terminated transition gives its reward");
                continue;
            }
            auto const comes_from = [&](T next, T next_deviation) {
                return near(location, reward + gamma * next, std::abs(reward) + std::abs(next)) &&
                       near(deviation, gamma * next_deviation, next_deviation);
            };
            bool found = goes_on &&
                         comes_from(made.location(row + in.environments, i), made.deviation(row + in.environments, i));
            for (std::size_t k = 0; k < components && !found; ++k)
                found =
                    source.weight(state, k) > T(0) && comes_from(source.location(state, k), source.deviation(state, k));
            check(found, "a particle comes from the next particle or the next distribution");
        }
    });
}

template <class T>
void check_spoiled_rewards(input<T> const& in, particles<T> const& made) {
    for (std::size_t t = 0; t < in.steps; ++t)
        for (std::size_t e = 0; e < in.environments; ++e)
            for (std::size_t i = 0; i < made.locations.view().cols(); ++i)
                check(!std::isnan(in.rewards.view()(t, e)) || std::isnan(made.location(t * in.environments + e, i)),
                      "a reward that is not a number comes out");
}

template <class T, class Targets, class Source>
void sampled(input<T>& in, owned_source<T, Source> const& source) {
    std::size_t const count = 1 + in.bytes.below(in.bytes.flag() ? 1100 : 40);
    targets::sr_lambda const rule{.discount = in.discount,
                                  .lambda = in.lambda,
                                  .particles = count,
                                  .replacement = in.bytes.flag() ? targets::resampling::independent
                                                                 : targets::resampling::stratified};
    std::size_t const rows = in.steps * in.environments;
    particles<T> made{in.output(rows, count), {}};
    Targets view;
    if constexpr (std::is_same_v<Targets, targets::gaussian_particles<T>>) {
        made.deviations = in.output(rows, count);
        view = {made.locations.view(), made.deviations.view()};
    } else {
        view = {made.locations.view()};
    }
    std::vector<gmac::random_stream> streams;
    for (std::size_t e = 0; e < in.environments; ++e)
        streams.emplace_back(in.bytes.byte(), e);
    rule(in.rollout(), source.view, std::span<gmac::random_stream>(streams), view);
    check(made.locations.gaps_are_untouched() && made.deviations.gaps_are_untouched(),
          "nothing is written between rows");
    if (in.tame)
        check_particles(in, source, made);
    else
        check_spoiled_rewards(in, made);
}

template <class T>
void check_mean(T mean, T wanted, T size) {
    // Sums of up to a few hundred terms.
    check(std::abs(mean - wanted) <= (std::is_same_v<T, float> ? T(1e-3) : T(1e-9)) * (T(1) + size),
          "the mean of the exact targets is the return");
}

/// The λ-returns with the means of the distributions as values, and the largest number in the rollout.
template <class T, class Source>
std::vector<T> returns_of(input<T> const& in, Source const& source, T& size) {
    std::size_t const rows = in.steps * in.environments;
    std::vector<T> values, finals, returns(rows);
    for (std::size_t i = 0; i < source.locations.view().rows(); ++i)
        (i < rows + in.environments ? values : finals).push_back(source.mean(i));
    size = std::max(size, in.rewards.largest());
    size = std::max(size, source.locations.largest());
    size *= static_cast<T>(in.steps);
    targets::lambda_return{.discount = in.discount, .lambda = in.lambda}(in.rollout(), values, finals, returns);
    return returns;
}

template <class T, class Targets, class Source>
void exact(input<T>& in, owned_source<T, Source> const& source) {
    constexpr bool gaussian = std::is_same_v<Targets, targets::gaussian_particles<T>>;
    std::size_t const rows = in.steps * in.environments;
    targets::exact_sr_lambda const rule{.discount = in.discount,
                                        .lambda = in.lambda,
                                        .cutoff = in.bytes.flag() ? in.option() : 0.0,
                                        .components = gaussian && in.bytes.flag() ? 1 + in.bytes.below(9) : 0};
    std::size_t const columns = rule.capacity(in.steps, source.locations.view().cols(), gaussian) + in.bytes.below(3);
    auto const locations = in.output(rows, columns);
    auto const weights = in.output(rows, columns);
    any_matrix<T> deviations;
    Targets view;
    if constexpr (gaussian) {
        deviations = in.output(rows, columns);
        view = {locations.view(), deviations.view(), weights.view()};
    } else {
        view = {locations.view(), weights.view()};
    }
    rule(in.rollout(), source.view, view);
    check(locations.gaps_are_untouched() && weights.gaps_are_untouched() && deviations.gaps_are_untouched(),
          "nothing is written between rows");
    if (!in.tame)
        return;
    T size = 0;
    auto const returns = returns_of(in, source, size);
    for (std::size_t i = 0; i < rows; ++i) {
        double total = 0.0, mean = 0.0;
        for (std::size_t j = 0; j < columns; ++j) {
            T const weight = weights.view()(i, j);
            check(weight >= T(0), "weights are not negative");
            if constexpr (gaussian)
                check(deviations.view()(i, j) >= T(0), "deviations are not negative");
            total += static_cast<double>(weight);
            mean += static_cast<double>(weight) * static_cast<double>(locations.view()(i, j));
        }
        check(std::abs(total - 1.0) <= (std::is_same_v<T, float> ? 1e-4 : 1e-11), "weights sum to one");
        check_mean(static_cast<T>(mean), returns[i], size);
    }
}

template <class T>
void advantages(input<T>& in) {
    std::size_t const rows = in.steps * in.environments;
    auto const row = [](any_matrix<T> const& matrix) {
        return matrix.view().rows() == 0 ? gmac::vector_view<T>() : matrix.view().row(0);
    };
    auto const values = in.matrix(1, rows + in.environments, &input<T>::number);
    auto const finals = in.matrix(1, in.about(in.count_truncated()), &input<T>::number);
    auto const advantages = in.output(in.steps, in.environments);
    auto const from_gae = in.output(in.steps, in.environments);
    auto const returns = in.output(1, rows);
    targets::gae{.discount = in.discount, .lambda = in.lambda}(in.rollout(), row(values), row(finals),
                                                               advantages.view(), from_gae.view());
    targets::lambda_return{.discount = in.discount, .lambda = in.lambda}(in.rollout(), row(values), row(finals),
                                                                         row(returns));
    check(advantages.gaps_are_untouched() && from_gae.gaps_are_untouched() && returns.gaps_are_untouched(),
          "nothing is written between rows");
    T size = 0;
    size = std::max(size, in.rewards.largest());
    size = std::max(size, values.largest());
    size = std::max(size, finals.largest());
    for (std::size_t t = 0; t < in.steps; ++t)
        for (std::size_t e = 0; e < in.environments; ++e) {
            T const result = row(returns)[t * in.environments + e];
            check(!std::isnan(in.rewards.view()(t, e)) || (std::isnan(result) && std::isnan(advantages.view()(t, e))),
                  "a reward that is not a number comes out");
            if (in.tame) {
                T const value = row(values)[t * in.environments + e];
                check(near(result, from_gae.view()(t, e), size * static_cast<T>(in.steps)),
                      "the returns are the λ-returns");
                check(near(result, advantages.view()(t, e) + value, size * static_cast<T>(in.steps)),
                      "advantage and value make the return");
            }
        }
}

template <class T, class Source>
void from_source(input<T>& in, std::size_t choice) {
    std::size_t const rows = (in.steps + 1) * in.environments + in.about(in.count_truncated());
    owned_source<T, Source> const source(in, rows, 1 + in.bytes.below(in.bytes.flag() ? 50 : 6));
    constexpr bool gaussian = std::is_same_v<Source, targets::gaussian_source<T>>;
    bool const to_gaussian = gaussian || in.bytes.flag();
    if constexpr (!gaussian)
        if (!to_gaussian)
            return choice == 0 ? sampled<T, targets::dirac_particles<T>>(in, source)
                               : exact<T, targets::dirac_particles<T>>(in, source);
    return choice == 0 ? sampled<T, targets::gaussian_particles<T>>(in, source)
                       : exact<T, targets::gaussian_particles<T>>(in, source);
}

template <class T>
void run_one(byte_reader bytes) {
    std::size_t const choice = bytes.byte() % 3u;
    std::size_t const kind = bytes.byte() % 3u;
    input<T> in{bytes};
    try {
        if (choice == 2)
            advantages(in);
        else if (kind == 0)
            from_source<T, targets::gaussian_source<T>>(in, choice);
        else if (kind == 1)
            from_source<T, targets::dirac_source<T>>(in, choice);
        else
            from_source<T, targets::sample_source<T>>(in, choice);
    } catch (gmac::error const& problem) {
        check(std::string_view(problem.what()).find(": ") != std::string_view::npos, "an error says where");
        check(!in.tame, "moderate numbers are accepted");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    byte_reader bytes(std::span(data, size));
    if (bytes.flag())
        run_one<float>(bytes);
    else
        run_one<double>(bytes);
    return 0;
}
