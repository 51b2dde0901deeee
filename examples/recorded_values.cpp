#include <gmac/gmac.hpp>

#include <fmt/core.h>
#include <Eigen/Core>

#include <array>
#include <cmath>
#include <vector>

// The distribution of the return, learned from recorded rollouts alone: no agent, no policy, no environment.

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using flags = Eigen::Matrix<bool, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
constexpr int steps = 32, walkers = 8, fields = 4;

// A rollout [T, E], with its states one a row: x_0 ... x_T, row t E + e, and behind them the last observation of each
// truncated step, in the order of these rows.
struct recording {
    matrix rewards{steps, walkers}, states;
    flags terminated{steps, walkers}, truncated{steps, walkers};
};

// Walks along four fields. The step off the last one pays 2, or in three of ten cases -3. One in ten of the other steps is the
// last one of its walk that was recorded.
recording record(gmac::random_stream& random, std::array<int, walkers>& at) {
    recording seen;
    std::vector<int> rows, last_seen;
    for (int t = 0; t < steps; ++t)
        for (int e = 0; e < walkers; ++e) {
            int& field = at[static_cast<std::size_t>(e)];
            rows.push_back(field);
            bool const ends = ++field == fields;
            bool const cut = !ends && random.uniform<float>() < 0.1f;
            seen.rewards(t, e) = !ends ? 0.0f : random.uniform<float>() < 0.7f ? 2.0f : -3.0f;
            seen.terminated(t, e) = ends;
            seen.truncated(t, e) = cut;
            if (cut)
                last_seen.push_back(field);
            if (ends || cut)
                field = 0;
        }
    rows.insert(rows.end(), at.begin(), at.end());
    rows.insert(rows.end(), last_seen.begin(), last_seen.end());
    seen.states = matrix::Zero(static_cast<Eigen::Index>(rows.size()), fields);
    for (std::size_t i = 0; i < rows.size(); ++i)
        seen.states(static_cast<Eigen::Index>(i), rows[i]) = 1.0f;
    return seen;
}

int main() {
    gmac::heads::gaussian_mixture<5> const head;
    gmac::losses::gaussian_mixture_energy const loss;
    gmac::targets::sr_lambda const make_targets{.discount = 0.9, .lambda = 0.9, .particles = 32};

    gmac::nn::mlp<gmac::backends::simd<float>> const network({fields, 32, head.output_size()},
                                                             {.activate_last = false, .last_gain = 0.1});
    std::vector<float> parameters(network.parameter_count()), slope(parameters.size());
    gmac::random_stream random(/*seed*/ 1);
    network.initialize(parameters, random);
    gmac::nn::adam<float> optimiser(parameters.size(), {.learning_rate = 1e-3});
    auto workspace = network.make_workspace((2 * steps + 1) * walkers); // the most rows that a rollout can have

    constexpr std::size_t learned = steps * walkers; // rows that get a target
    matrix means(learned, 32), deviations(learned, 32), gradient(learned, network.outputs());
    gmac::targets::gaussian_particles const targets{means, deviations};
    std::array<int, walkers> at{};
    for (int update = 0; update < 2000; ++update) {
        recording const seen = record(random, at);
        gmac::matrix_view const states(seen.states);
        auto const outputs = network.forward(parameters, states, workspace);

        matrix weights(outputs.rows(), 5), of_mean(outputs.rows(), 5), of_deviation(outputs.rows(), 5);
        head.distribution(outputs, weights, of_mean, of_deviation);
        make_targets(gmac::targets::rollout_view{seen.rewards, seen.terminated, seen.truncated},
                     gmac::targets::gaussian_source{weights, of_mean, of_deviation}, random, targets);
        loss.value_and_gradient(head, outputs.middle_rows(0, learned), targets, gradient);
        network.backward(parameters, states.middle_rows(0, learned), workspace, gradient, slope, {});
        optimiser.step(parameters, slope);
    }

    matrix const all = matrix::Identity(fields, fields);
    auto const outputs = network.forward(parameters, all, workspace);
    std::array<float, fields> mean{}, worst{};
    head.mean(outputs, mean);
    gmac::statistics::evaluate(gmac::statistics::cvar(0.2), head, outputs, worst);
    for (std::size_t field = 0; field < fields; ++field) {
        double const discount = std::pow(0.9, fields - 1 - static_cast<double>(field));
        auto const near = [](double value, double right) {
            return std::abs(value - right) < 0.15 ? "near" : "not near";
        };
        fmt::print("field {}: the mean is {} {:.2f}, that of the worst fifth {} {:.2f}\n", field,
                   near(mean[field], 0.5 * discount), 0.5 * discount, near(worst[field], -3.0 * discount),
                   -3.0 * discount);
    }
}
