// SPDX-License-Identifier: Apache-2.0
// Every loss on arbitrary shapes, layouts, options and numbers: it throws gmac::error, or what it gives is finite for
// numbers of moderate size, the same with and without a gradient, and not finite if a prediction is not.
#include <gmac/heads.hpp>
#include <gmac/losses.hpp>

#include "bytes.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace {

namespace heads = gmac::heads;
namespace losses = gmac::losses;
namespace targets = gmac::targets;
using gmac::testing::any_matrix;
using gmac::testing::byte_reader;
using gmac::testing::check;

/// One input: its numbers are all of moderate size, or any.
template <class T>
struct input {
    byte_reader bytes;
    bool tame = bytes.flag();
    std::size_t states = bytes.below(40) % (bytes.flag() ? 40u : 5u);

    T number() { return tame ? bytes.tame<T>() : bytes.wild<T>(); }
    T positive() { return tame ? std::abs(bytes.tame<T>()) : bytes.wild<T>(); }
    T fraction() { return tame ? static_cast<T>(bytes.byte()) / T(255) : bytes.wild<T>(); }
    /// A shape is wrong now and then, unless numbers are tame.
    std::size_t about(std::size_t size) { return !tame && bytes.byte() % 16u == 7 ? bytes.below(4) : size; }

    any_matrix<T> matrix(std::size_t rows, std::size_t cols) { return {bytes, about(rows), about(cols)}; }
    template <class Number>
    any_matrix<T> matrix(std::size_t rows, std::size_t cols, Number number) {
        any_matrix<T> result = matrix(rows, cols);
        result.fill([&] { return (this->*number)(); });
        return result;
    }
    /// No weights, or some that sum to one if the numbers are tame.
    any_matrix<T> weights(std::size_t rows, std::size_t cols) {
        if (!bytes.flag() || cols == 0)
            return {};
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

bool is_refusal(gmac::error const& problem, std::string_view name) {
    std::string_view const text = problem.what();
    return text.starts_with(name) || text.find(" head: ") != std::string_view::npos;
}

/// `predictions` are what the head's outputs are views of, `spoils` says that a number in the targets must reach the loss.
template <class T, class Loss, class Head, class Outputs, class Targets>
void run(input<T>& in, Loss const& loss, Head const& head, any_matrix<T> const& predictions, Outputs const& outputs,
         Targets const& wanted, bool targets_are_numbers) {
    any_matrix<T> const gradient = in.matrix(predictions.view().rows(), predictions.view().cols());
    bool const in_place = in.bytes.byte() % 8u == 1;
    // A mixture may have an infinite logit, and then a weight of zero.
    constexpr bool mixture = std::is_same_v<Loss, losses::gaussian_mixture_energy>;
    bool const predictions_are_numbers =
        mixture ? predictions.all([](T x) { return !std::isnan(x); }) : predictions.all_finite();
    try {
        auto const value = loss.value(head, outputs, wanted);
        if (in.tame)
            check(std::isfinite(value), "the loss of finite numbers is finite");
        check((predictions_are_numbers && targets_are_numbers) || !std::isfinite(value),
              "the loss shows a prediction or target that is not a number");
        auto const again =
            loss.value_and_gradient(head, outputs, wanted, in_place ? predictions.view() : gradient.view());
        check(value == again || (!std::isfinite(value) && !std::isfinite(again)) ||
                  std::abs(value - again) <= T(1e-5) * std::abs(value) || in.tame,
              "the loss is the same with a gradient");
        if (in.tame)
            check((in_place ? predictions : gradient).all_finite(), "the gradient of finite numbers is finite");
        if (std::isnan(value))
            check(!(in_place ? predictions : gradient).all_finite(),
                  "a loss that is not a number has no finite gradient");
        check(gradient.gaps_are_untouched() && predictions.gaps_are_untouched(), "nothing is written between the rows");
    } catch (gmac::error const& problem) {
        check(is_refusal(problem, Loss::name), "an error names the loss or the head");
        check(!in.tame || in.states == 0 || in_place || predictions.view().empty(), "moderate numbers are accepted");
    }
}

template <class T>
bool numbers(any_matrix<T> const& matrix, any_matrix<T> const& weights) {
    // A particle of weight zero may be anything.
    return weights.view().data() != nullptr || matrix.all([](T x) { return !std::isnan(x); });
}

template <class T, class Loss>
void number_loss(input<T>& in, Loss const& loss) {
    auto const predictions = in.matrix(in.states, 1, &input<T>::number);
    auto const returns = in.matrix(1, in.states, &input<T>::number);
    auto const row = [](any_matrix<T> const& matrix) {
        return matrix.view().rows() == 0 ? gmac::vector_view<T const>() : matrix.read().row(0);
    };
    // A matrix of a wrong shape has more rows; only the first one is given to the loss.
    auto const given = row(returns);
    bool fit = true;
    for (std::size_t i = 0; i < given.size(); ++i)
        fit = fit && !std::isnan(given[i]);
    if constexpr (std::is_same_v<Loss, losses::clipped_squared_error>) {
        auto const old = in.matrix(1, in.states, &input<T>::number);
        struct {
            gmac::vector_view<T const> returns, old_values;
        } const wanted{given, row(old)};
        run(in, loss, heads::scalar{}, predictions, predictions.read(), wanted, fit);
    } else {
        run(in, loss, heads::scalar{}, predictions, predictions.read(), given, fit);
    }
}

template <class T, class Loss>
void sample_loss(input<T>& in, Loss const& loss) {
    std::size_t const particles = 1 + in.bytes.below(in.bytes.flag() ? 400 : 20);
    auto const values = in.matrix(in.states, particles, &input<T>::number);
    auto const weights = in.weights(in.states, particles);
    targets::dirac_particles<T const> const wanted{values.read(), weights.read()};
    if (in.bytes.flag()) {
        auto const predictions = in.matrix(in.states, 5, &input<T>::number);
        return run(in, loss, heads::dirac<5>{}, predictions, predictions.read(), wanted, numbers(values, weights));
    }
    std::size_t const samples = 1 + in.bytes.below(70);
    bool const shared = in.bytes.flag();
    auto const predictions = in.matrix(in.states, samples, &input<T>::number);
    auto const fractions = in.matrix(shared ? 1 : in.states, samples, &input<T>::fraction);
    auto given = fractions.read();
    if (shared && given.rows() == 1)
        given = gmac::shared_fractions(given.row(0), in.states);
    run(in, loss, heads::implicit_quantile{.samples_per_state = samples}, predictions,
        gmac::quantile_outputs<T const>{predictions.read(), given}, wanted, numbers(values, weights));
}

template <class T, std::size_t K>
void mixture_loss(input<T>& in, losses::gaussian_mixture_energy const& loss) {
    heads::gaussian_mixture<K> const head{.scale = in.bytes.flag() ? 0.0025 : 1.0,
                                          .floor = in.bytes.flag() ? 1.0 : 0.0};
    std::size_t const particles = 1 + in.bytes.below(40);
    auto const means = in.matrix(in.states, particles, &input<T>::number);
    auto const weights = in.weights(in.states, particles);
    auto const predictions = in.matrix(in.states, 3 * K, &input<T>::number);
    bool const fit = numbers(means, weights);
    if (in.bytes.flag())
        return run(in, loss, head, predictions, predictions.read(),
                   targets::dirac_particles<T const>{means.read(), weights.read()}, fit);
    auto const deviations = in.matrix(in.states, particles, &input<T>::positive);
    run(in, loss, head, predictions, predictions.read(),
        targets::gaussian_particles<T const>{means.read(), deviations.read(), weights.read()}, fit);
}

template <class T>
void run_one(byte_reader bytes) {
    bool const option = bytes.flag();
    std::size_t const choice = bytes.byte() % 7u;
    input<T> in{bytes};
    switch (choice) {
    case 0:
        return number_loss(in, losses::squared_error{});
    case 1:
        return number_loss(in, losses::clipped_squared_error{.clip = option ? 0.0 : 0.2});
    case 2: {
        double const kappa = in.tame ? in.bytes.byte() / 32.0 : in.bytes.template wild<double>();
        return sample_loss(in, losses::huber_quantile{.kappa = kappa});
    }
    case 3:
        return sample_loss(in, losses::expectile{});
    case 4:
        // The U-statistic refuses some sizes and weights, so only where refusals are expected.
        return sample_loss(in,
                           losses::sample_energy{.statistic = !in.tame && in.bytes.flag() ? losses::energy_statistic::u
                                                                                          : losses::energy_statistic::v,
                                                 .target_term = option});
    case 5:
        return mixture_loss<T, 1>(in, {.target_term = option});
    default:
        return mixture_loss<T, 4>(in, {.target_term = option});
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
