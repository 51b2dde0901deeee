// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What the page in docs/playground asks of the library, in functions that JavaScript can call: numbers go in, and a number or
/// the address of numbers comes out, which are valid until the next call. There is one agent, the latest that was made.
extern "C" {

/// Methods: 0 is PPO, 1 IQAC, 2 IQAC-E and 3 GMAC. An agent that knows nothing yet, and a cart-pole to watch it on.
void playground_create(int method, std::uint32_t seed);

struct playground_report {
    double frames;      ///< of learning so far
    double mean_return; ///< of the last 100 episodes of learning, NaN before the first
    double finished;    ///< episodes that ended in the latest rollout
    double const* ends; ///< for each of them the frames until then and its return
};
/// A rollout, and what the agent learns of it.
playground_report const* playground_train();

struct playground_pole {
    double position, velocity, angle, angular_velocity; ///< m, m/s, rad, rad/s
    double steps;                                       ///< since the watched episode began, 0.02 s each
    double falls;                                       ///< of the watched pole so far
};
/// The watched pole after each of some steps, 64 at most, in which the agent does what it takes for best.
playground_pole const* playground_watch(int steps);
/// Adds to the angular velocity of the watched pole, rad/s.
void playground_push(double angular_velocity);

struct playground_value {
    double mean;
    double points;           ///< 0 if the distribution has a density, or the number of points that it is
    double const* locations; ///< of these points
    double const* densities; ///< playground_places of them; of points after smoothing, and 0 of a single one
};
inline constexpr int playground_places = 221; ///< from 0 to 55
/// What the agent expects of the watched state: the distribution of the discounted sum of the rewards to come.
playground_value const* playground_expect();

struct playground_chain {
    double moments;          ///< at which the value of the first state was looked at
    double points;           ///< as in playground_value
    double const* steps;     ///< of the optimiser, at each moment
    double const* distances; ///< energy distance to the truth, at each moment
    double const* locations; ///< [moments, points]
    double const* densities; ///< [moments, playground_places], from -1.65 to 1.65
    double const* truth;     ///< [playground_places]
};
/// Learns the chain of five states (0: symmetric, 1: asymmetric) by a method of gmac-five-state, by its number there.
playground_chain const* playground_learn_chain(int chain, int method, std::uint32_t seed);
}
