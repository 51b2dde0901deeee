#include <gmac/losses.hpp>
#include <gmac/targets.hpp>

#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// One rollout of three steps in one environment, in plain arrays: what PPO needs of it, with four quantiles as the value.
int main() {
    std::vector<float> const rewards{1.0f, 0.0f, 3.0f};
    std::vector<std::uint8_t> const terminated{0, 1, 0}, truncated{0, 0, 0}; // the second step ended the episode
    // What a network said of x_0 ... x_3: four quantiles of the return each.
    std::array<float, 16> const outputs{0.5f,  1.0f, 1.5f, 2.0f, //
                                        -1.0f, 0.0f, 1.0f, 2.0f, //
                                        1.0f,  2.0f, 3.0f, 4.0f, //
                                        0.0f,  1.0f, 1.0f, 2.0f};
    gmac::heads::dirac<4> const head;
    gmac::matrix_view const quantiles(outputs.data(), 4, 4);
    std::array<float, 4> values;
    head.mean(quantiles, values);

    // Advantages for the actor. The third argument are values of final observations, one a truncated step: there is none.
    gmac::targets::rollout_view const rollout{rewards, terminated, truncated};
    std::array<float, 3> advantages;
    gmac::targets::gae{.discount = 0.5, .lambda = 0.5}(rollout, values, {}, advantages);
    fmt::print("values {}\nadvantages {}\n", fmt::join(values, " "), fmt::join(advantages, " "));

    // The loss of the policy and its gradient with respect to the log probabilities of the actions.
    std::array const old_log_probability{-0.7f, -0.7f, -0.7f}, log_probability{-0.6f, -0.7f, -0.2f};
    std::array<float, 3> policy_gradient;
    auto const sums =
        gmac::losses::clipped_surrogate{.clip = 0.2}.value_and_gradient(log_probability, old_log_probability,
                                                                        advantages, policy_gradient, 1.0f / 3.0f);
    fmt::print("policy loss {:.4f}, clipped {}, gradient {:.4f}\n", sums.loss / 3.0, sums.clipped,
               fmt::join(policy_gradient, " "));

    // The loss of the critic: SR(lambda) makes eight particles a state, and quantile regression learns them.
    std::array<float, 24> particles;
    gmac::targets::dirac_particles const targets{gmac::matrix_view(particles.data(), 3, 8)};
    gmac::random_stream random(/*seed*/ 1);
    gmac::targets::sr_lambda{.discount = 0.5, .lambda = 0.5, .particles = 8}(rollout,
                                                                             gmac::targets::dirac_source{quantiles},
                                                                             random, targets);
    std::array<float, 12> gradient;
    float const loss =
        gmac::losses::huber_quantile{.kappa = 0.0}.value_and_gradient(head, quantiles.middle_rows(0, 3), targets,
                                                                      gmac::matrix_view(gradient.data(), 3, 4));
    fmt::print("particles of x_0: {}\n", fmt::join(std::span(particles).first(8), " "));
    fmt::print("critic loss {:.4f}, gradient of x_0 {:.4f}\n", loss, fmt::join(std::span(gradient).first(4), " "));
}
