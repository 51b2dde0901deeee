#include <gmac/gmac.hpp>

#include <fmt/ranges.h>

#include <array>

// Two steps in one environment, and what a network said of the three states that they passed. A mixture of two
// Gaussians has six raw outputs a state: two weight logits, two means, two raw deviations.
int main() {
    std::array const outputs{0.0f, 0.0f, -1.0f, 1.0f, 0.5f, 0.5f, //
                             0.3f, 0.0f, -0.5f, 1.5f, 0.0f, 1.0f, //
                             0.0f, 0.7f, 0.0f,  2.0f, 1.0f, 0.0f};
    std::array const rewards{1.0f, 0.5f};
    std::array const no{false, false}; // neither step ended the episode
    auto const view = [](auto& data, std::size_t rows) {
        return gmac::matrix_view(data.data(), rows, data.size() / rows);
    };

    // The head reads the outputs as weights, means and standard deviations.
    gmac::heads::gaussian_mixture<2> const head{.scale = 0.25, .floor = 1.0};
    std::array<float, 6> weights, means, deviations;
    head.distribution(view(outputs, 3), view(weights, 3), view(means, 3), view(deviations, 3));

    // SR(lambda) makes the targets: four particles of the distribution of each step's lambda-return.
    gmac::targets::rollout_view const rollout{rewards, no, no};
    gmac::targets::gaussian_source const values{view(weights, 3), view(means, 3), view(deviations, 3)};
    std::array<float, 8> target_means, target_deviations;
    gmac::targets::gaussian_particles const targets{view(target_means, 2), view(target_deviations, 2)};
    gmac::targets::sr_lambda const returns{.discount = 0.99, .lambda = 0.95, .particles = 4};
    gmac::random_stream random(/*seed*/ 7);
    returns(rollout, values, random, targets);

    // The energy distance between prediction and target, and its gradient with respect to the raw outputs.
    std::array<float, 12> gradient;
    gmac::losses::gaussian_mixture_energy const energy;
    float const loss = energy.value_and_gradient(head, view(outputs, 3).middle_rows(0, 2), targets, view(gradient, 2));
    fmt::print("loss {:.4f}\ngradient {:.4f}\ntargets {:.4f}\n", loss, fmt::join(gradient, " "),
               fmt::join(target_means, " "));
}
