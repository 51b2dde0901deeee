// SPDX-License-Identifier: Apache-2.0
// The same questions to both parts, whichever the linker has seen first, and the right answers by plain arithmetic.
#include "abi/part.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <vector>

namespace {

using namespace parts;

questions ask() {
    questions asked{};
    std::mt19937 random(1);
    auto const fill = [&](auto& numbers, float low, float high) {
        for (float& number : numbers)
            number = std::uniform_real_distribution<float>(low, high)(random);
    };
    fill(asked.raw, -1.0f, 1.0f);
    fill(asked.means, -1.0f, 1.0f);
    fill(asked.deviations, 0.1f, 1.0f);
    fill(asked.values, -1.0f, 1.0f);
    fill(asked.rows, -1.0f, 1.0f);
    fill(asked.parameters, -0.5f, 0.5f);
    // Rewards with which every return is the value of its state, whichever particles are replaced.
    for (std::size_t t = 0; t < steps; ++t)
        asked.rewards[t] = static_cast<float>(asked.values[t] - discount * asked.values[t + 1]);
    return asked;
}

struct normal {
    double weight, mean, deviation;
};

/// Σ_ij w_i v_j E|N(μ_i − ν_j, σ_i² + τ_j²)|
double delta(std::vector<normal> const& u, std::vector<normal> const& v) {
    double sum = 0.0;
    for (normal const& a : u)
        for (normal const& b : v) {
            double const d = a.mean - b.mean, s = std::hypot(a.deviation, b.deviation);
            double const z = d / (s * std::numbers::sqrt2);
            sum += a.weight * b.weight * (s * std::sqrt(2.0 / std::numbers::pi) * std::exp(-z * z) + d * std::erf(z));
        }
    return sum;
}

double energy(std::array<double, 3 * components> const& raw, std::vector<normal> const& target) {
    std::vector<normal> predicted;
    double sum = 0.0;
    for (std::size_t k = 0; k < components; ++k) {
        double const softplus = std::log1p(std::exp(raw[2 * components + k]));
        predicted.push_back({std::exp(raw[k]), raw[components + k], std::sqrt(softplus + parts::floor)});
        sum += predicted.back().weight;
    }
    for (normal& component : predicted)
        component.weight /= sum;
    return 2.0 * delta(predicted, target) - delta(predicted, predicted) - delta(target, target);
}

void check_loss(questions const& asked, answers const& given) {
    double loss = 0.0;
    for (std::size_t state = 0; state < states; ++state) {
        std::vector<normal> target;
        for (std::size_t i = state * particles; i < (state + 1) * particles; ++i)
            target.push_back({1.0 / particles, asked.means[i], asked.deviations[i]});
        std::array<double, 3 * components> raw{};
        std::copy_n(asked.raw.begin() + state * raw.size(), raw.size(), raw.begin());
        loss += energy(raw, target) / states;
        for (std::size_t j = 0; j < raw.size(); ++j) {
            constexpr double h = 1e-4;
            auto above = raw, below = raw;
            above[j] += h;
            below[j] -= h;
            double const slope = (energy(above, target) - energy(below, target)) / (2.0 * h * states);
            CHECK(given.gradient[state * raw.size() + j] == Approx(slope).margin(1e-6));
        }
    }
    CHECK(given.loss == Approx(loss).margin(1e-6));
}

void check_returns(questions const& asked, answers const& given) {
    for (std::size_t i = 0; i < given.returns.size(); ++i)
        CHECK(given.returns[i] == Approx(asked.values[i / particles]).margin(1e-6));
}

void check_network(questions const& asked, answers const& given) {
    float const* const second = asked.parameters.data() + (inputs + 1) * hidden;
    for (std::size_t row = 0; row < states; ++row)
        for (std::size_t action = 0; action < actions; ++action) {
            double sum = second[hidden * actions + action];
            for (std::size_t j = 0; j < hidden; ++j) {
                double unit = asked.parameters[inputs * hidden + j];
                for (std::size_t i = 0; i < inputs; ++i)
                    unit += static_cast<double>(asked.rows[row * inputs + i]) * asked.parameters[i * hidden + j];
                sum += std::tanh(unit) * second[j * actions + action];
            }
            CHECK(given.outputs[row * actions + action] == Approx(sum).margin(1e-6));
        }
}

} // namespace

TEST_CASE("two parts of one program with vectors of different widths both answer right") {
    questions const asked = ask();
    answers const narrow = parts::narrow(asked), wide = parts::wide(asked);
    CHECK(narrow.lanes == 4);
    CHECK(wide.lanes == 8);
    for (answers const& given : {narrow, wide}) {
        CAPTURE(given.lanes);
        check_loss(asked, given);
        check_returns(asked, given);
        check_network(asked, given);
    }
}
