#include <gmac/gmac.hpp>

#include <fmt/ranges.h>

#include <array>
#include <cstdint>

// A rollout of two steps in one environment, and what a network said of the three states that it passed. A mixture of
// two Gaussians has six raw outputs a state: two weight logits, two means, two raw deviations.
int main() {
    constexpr std::size_t steps = 2, states = 3, particles = 4;
    std::array<float, states * 6> outputs{0.0f, 0.0f, -1.0f, 1.0f, 0.5f, 0.5f,  //
                                          0.3f, 0.0f, -0.5f, 1.5f, 0.0f, 1.0f,  //
                                          0.0f, 0.7f, 0.0f, 2.0f, 1.0f, 0.0f};
    std::array<float, steps> const rewards{1.0f, 0.5f};
    std::array<std::uint8_t, steps> const terminated{0, 0}, truncated{0, 0};

    // The head reads the outputs as weights, means and standard deviations.
    gmac::heads::gaussian_mixture<2> head{.scale = 0.25, .floor = 1.0};
    std::array<float, states * 2> weights, means, deviations;
    auto const mixture = [](auto& values) { return gmac::matrix_view(values.data(), states, 2); };
    head.distribution(gmac::matrix_view(outputs.data(), states, 6), mixture(weights), mixture(means), mixture(deviations));

    // SR(lambda) makes the targets: particles of the distribution of the lambda-return, for both steps.
    gmac::targets::sr_lambda const returns{.discount = 0.99, .lambda = 0.95, .particles = particles};
    std::array<float, steps * particles> target_means, target_deviations;
    gmac::targets::gaussian_particles<float> const targets{{target_means.data(), steps, particles},
                                                           {target_deviations.data(), steps, particles}};
    gmac::random_stream random(/*seed*/ 1);
    returns(gmac::targets::rollout_view<float>{{rewards.data(), steps, 1}, {terminated.data(), steps, 1}, {truncated.data(), steps, 1}},
            gmac::targets::gaussian_source<float>{mixture(weights), mixture(means), mixture(deviations)}, random, targets);

    // The energy distance between prediction and target, and its gradient with respect to the raw outputs.
    std::array<float, steps * 6> gradient;
    float const loss = gmac::losses::gaussian_mixture_energy{}.value_and_gradient(
        head, gmac::matrix_view(outputs.data(), steps, 6), targets, gmac::matrix_view(gradient.data(), steps, 6));
    fmt::print("loss      {:.4f}\ngradient  {:.4f}\ntargets   {:.4f}\n", loss, fmt::join(gradient, " "), fmt::join(target_means, " "));
}
