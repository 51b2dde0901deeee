// SPDX-License-Identifier: Apache-2.0
#include "experiment.hpp"

#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/distributions/energy.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/heads/dirac.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/imputation/expectiles.hpp>
#include <gmac/imputation/huber_quantiles.hpp>
#include <gmac/imputation/quantiles.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/gaussian_mixture_energy.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/replacement.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sources.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>
#include <utility>

namespace gmac::examples::five_state {

namespace {

using row = vector_view<double const>;

/// The statistics of a state are its samples: right for energies, naive for everything else.
struct as_they_are {
    void operator()(row statistics, row /*fractions*/, vector_view<double> samples) const {
        imputation::from_quantiles(statistics, samples);
    }
};

/// Point values: the raw outputs of a state are the points.
template <class Impute>
class point_values {
public:
    using head_type = heads::dirac<points>;
    static constexpr std::size_t particles = points;

    point_values(Impute impute, std::size_t episodes)
        : impute_(impute), source_((chain::states + 1) * episodes * points), episodes_(episodes) {}

    static void initialize(matrix_view<double> outputs, random_stream& stream) {
        for (std::size_t state = 0; state < outputs.rows(); ++state)
            for (std::size_t i = 0; i < points; ++i)
                outputs(state, i) = 0.1 * stream.normal<double>();
    }

    /// Samples of the values of S2 to S5, a row for each episode; those of S1 are never asked for.
    [[nodiscard]] targets::dirac_source<double> source(matrix_view<double const> outputs) {
        matrix_view<double> const samples(source_.data(), (chain::states + 1) * episodes_, points);
        for (std::size_t state = 1; state < chain::states; ++state) {
            auto const first = samples.row(state * episodes_);
            impute_(outputs.row(state), fractions(), first);
            for (std::size_t e = 1; e < episodes_; ++e)
                imputation::from_quantiles(row(first), samples.row(state * episodes_ + e));
        }
        return {.values = samples};
    }

    [[nodiscard]] distribution value_of(matrix_view<double const> outputs, std::size_t state) const {
        std::array<double, points> samples;
        impute_(outputs.row(state), fractions(), samples);
        std::vector<component> value;
        for (double const sample : samples)
            value.push_back({1.0 / static_cast<double>(points), sample, 0.0});
        return distribution(value);
    }

    static targets::dirac_particles<double> targets_in(buffer<double>& memory, std::size_t rows) {
        return {.values = {memory.data(), rows, memory.size() / 2 / rows}};
    }

private:
    [[nodiscard]] static row fractions() { return row(head_type::midpoints<double>); }

    Impute impute_;
    buffer<double> source_;
    std::size_t episodes_;
};

/// Gaussian mixtures.
class mixture_values {
public:
    using head_type = heads::gaussian_mixture<components>;
    static constexpr std::size_t particles = 16;

    explicit mixture_values(std::size_t episodes)
        : source_(3 * (chain::states + 1) * episodes * components), episodes_(episodes) {}

    static void initialize(matrix_view<double> outputs, random_stream& stream) {
        for (std::size_t state = 0; state < outputs.rows(); ++state)
            for (std::size_t i = 0; i < outputs.cols(); ++i)
                outputs(state, i) = i / components == 1 ? 0.1 * stream.normal<double>() : 0.0;
    }

    [[nodiscard]] targets::gaussian_source<double> source(matrix_view<double const> outputs) {
        std::size_t const rows = (chain::states + 1) * episodes_;
        auto const part = [&](std::size_t i) {
            return matrix_view<double>(source_.data() + i * rows * components, rows, components);
        };
        auto const weights = part(0);
        auto const means = part(1);
        auto const deviations = part(2);
        for (std::size_t state = 0; state < chain::states; ++state) {
            // All episodes see one state's outputs: a matrix with row stride 0.
            matrix_view<double const> const repeated(outputs.row(state).data(), episodes_, outputs.cols(), 0, 1);
            head_.distribution(repeated, weights.middle_rows(state * episodes_, episodes_),
                               means.middle_rows(state * episodes_, episodes_),
                               deviations.middle_rows(state * episodes_, episodes_));
        }
        for (std::size_t e = 0; e < episodes_; ++e) // the end: nothing is taken from it, but it must be a distribution
            weights(chain::states * episodes_ + e, 0) = 1.0;
        return {.weights = weights, .means = means, .deviations = deviations};
    }

    [[nodiscard]] distribution value_of(matrix_view<double const> outputs, std::size_t state) const {
        std::array<double, 3 * components> raw;
        for (std::size_t i = 0; i < raw.size(); ++i)
            raw[i] = outputs(state, i);
        auto const parameters = head_.transform(raw);
        return distribution(parameters.weights, parameters.means, parameters.deviations);
    }

    static targets::gaussian_particles<double> targets_in(buffer<double>& memory, std::size_t rows) {
        std::size_t const half = memory.size() / 2;
        return {.means = {memory.data(), rows, half / rows}, .deviations = {memory.data() + half, rows, half / rows}};
    }

private:
    head_type head_;
    buffer<double> source_;
    std::size_t episodes_;
};

/// A table of five value distributions, learned by Adam from SR(λ) targets. It has no network: the raw outputs of the
/// head are the parameters.
template <class Values, class Loss>
result learn_table(chain const& world, std::string_view method, options const& asked, watcher const& watch,
                   Loss const& loss, Values values) {
    using head_type = typename Values::head_type;
    constexpr std::size_t states = chain::states;
    head_type const head{};
    buffer<double> parameters(states * head.output_size()), gradient(parameters.size());
    matrix_view<double> const outputs(parameters.data(), states, head.output_size());
    matrix_view<double> const slopes(gradient.data(), states, head.output_size());

    buffer<double> rewards(states * asked.episodes);
    buffer<std::uint8_t> terminated(states * asked.episodes);
    std::fill_n(terminated.data() + (states - 1) * asked.episodes, asked.episodes, std::uint8_t{1});
    targets::rollout_view<double> const rollout{
        .rewards = {rewards.data(), states, asked.episodes},
        .terminated = {terminated.data(), states, asked.episodes},
    };
    // Every particle of a stratified draw has the same marginal law as an independent one, with less noise.
    targets::sr_lambda const returns{.discount = 1.0,
                                     .lambda = asked.lambda,
                                     .particles = Values::particles,
                                     .replacement = targets::resampling::stratified};
    buffer<double> particles(2 * states * asked.episodes * Values::particles);
    auto const by_episode = Values::targets_in(particles, states * asked.episodes);
    // The episodes of a state are neighbouring rows: together they are one target, of which the loss is their mean.
    auto const by_state = Values::targets_in(particles, states);

    auto const index = static_cast<std::uint64_t>(&world - chains.data());
    auto initialisation = stream_for(asked.seed, stream_purpose::initialisation, index);
    auto environment = stream_for(asked.seed, stream_purpose::environment, index);
    auto target = stream_for(asked.seed, stream_purpose::target, index);
    Values::initialize(outputs, initialisation);
    nn::adam<double> optimiser(parameters.size(), {.learning_rate = asked.learning_rate, .epsilon = 1e-8});

    result found{.chain = std::string(world.name), .method = std::string(method)};
    distribution const truth = world.truth();
    auto const measure = [&](std::size_t step) {
        found.learned = values.value_of(outputs, 0);
        found.steps.push_back(static_cast<double>(step));
        found.distances.push_back(energy(found.learned, truth));
        if (watch)
            watch(found.learned);
    };
    std::size_t const interval = (std::max)(asked.steps / 100, std::size_t{1});
    for (std::size_t step = 0; step < asked.steps; ++step) {
        if (step % interval == 0)
            measure(step);
        world.draw(environment, {rewards.data(), states, asked.episodes});
        returns(rollout, values.source(outputs), target, by_episode);
        loss.value_and_gradient(head, outputs, by_state, slopes);
        double const left = 1.0 - static_cast<double>(step) / static_cast<double>(asked.steps);
        optimiser.set_learning_rate(asked.learning_rate * left);
        optimiser.step(parameters, gradient);
    }
    measure(asked.steps);
    found.energy_distance = found.distances.back();
    found.mean = found.learned.mean();
    found.variance = found.learned.variance();
    return found;
}

} // namespace

void validate(options const& asked) {
    require(asked.steps > 0, "steps is 0, but there must be at least one");
    require(asked.episodes > 0, "episodes is 0, but there must be at least one a step");
    require(asked.learning_rate > 0.0 && std::isfinite(asked.learning_rate),
            "learning-rate is {}, but must be positive and finite", asked.learning_rate);
    require(asked.lambda >= 0.0 && asked.lambda <= 1.0, "lambda is {}, but must be in [0, 1]", asked.lambda);
    require(asked.kappa > 0.0 && std::isfinite(asked.kappa),
            "kappa is {}, but must be positive and finite (the quantile methods are those with kappa 0)", asked.kappa);
}

result learn(chain const& world, std::string_view method, options const& asked, watcher const& watch) {
    validate(asked);
    auto const by_points = [&](auto const& loss, auto impute) {
        return learn_table(world, method, asked, watch, loss, point_values(impute, asked.episodes));
    };
    losses::huber_quantile const huber{.kappa = asked.kappa};
    losses::huber_quantile const pinball{.kappa = 0.0};
    if (method == "huber_quantile")
        return by_points(huber, as_they_are{});
    if (method == "huber_quantile_imputed")
        return by_points(huber, imputation::from_huber_quantiles{.kappa = asked.kappa, .starts = 1});
    // Midpoint quantiles are their own samples, so these two are the same.
    if (method == "quantile" || method == "quantile_imputed")
        return by_points(pinball, as_they_are{});
    if (method == "expectile")
        return by_points(losses::expectile{}, as_they_are{});
    if (method == "expectile_imputed")
        return by_points(losses::expectile{}, imputation::from_expectiles{});
    if (method == "sample_energy")
        return by_points(losses::sample_energy{}, as_they_are{});
    if (method == "gaussian_mixture_energy")
        return learn_table(world, method, asked, watch, losses::gaussian_mixture_energy{},
                           mixture_values(asked.episodes));
    fail("there is no method {}; there are {}", method, fmt::join(methods, ", "));
}

std::vector<result> learn_all(options const& asked, std::function<void(result const&)> const& done) {
    std::vector<result> all;
    for (auto const& world : chains)
        for (auto const method : methods) {
            all.push_back(learn(world, method, asked));
            if (done)
                done(all.back());
        }
    return all;
}

} // namespace gmac::examples::five_state
