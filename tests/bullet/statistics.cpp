// SPDX-License-Identifier: Apache-2.0
// Returns of whole episodes against those that PyBullet gave with noise of its own: 50 episodes each with uniformly
// random actions and with none. What is compared are means, within four standard errors of the two together.
#include "support/catch.hpp"
#include "walks.hpp"

#include <cmath>

namespace {

namespace bullet = gmac::examples::bullet;

struct reference {
    bullet::robot const* robot;
    bool random;
    int episodes; ///< ours
    double mean_return, deviation, mean_length;
};

} // namespace

TEST_CASE("mean returns with random actions and with none are PyBullet's", "[bullet]") {
    for (reference const& theirs : {reference{&bullet::hopper, true, 100, 19.67, 2.41, 10.6},
                                    reference{&bullet::hopper, false, 100, 48.79, 8.60, 45.0},
                                    reference{&bullet::walker2d, true, 100, 16.61, 4.06, 14.1},
                                    reference{&bullet::walker2d, false, 100, 40.36, 8.04, 36.2},
                                    reference{&bullet::half_cheetah, true, 8, -1234.22, 121.54, 1000.0},
                                    reference{&bullet::half_cheetah, false, 4, -1368.82, 31.57, 1000.0},
                                    reference{&bullet::ant, true, 8, 407.8, 173.3, 813.5},
                                    reference{&bullet::humanoid, true, 100, -32.1, 6.8, 19.4}}) {
        INFO(theirs.robot->name << (theirs.random ? ", random" : ", none"));
        bullet::locomotion robot(*theirs.robot);
        gmac::random_stream random(15);
        std::vector<float> observation(robot.observation_size()), action(robot.action_size(), 0.0f);
        double sum = 0.0;
        double steps = 0.0;
        for (int episode = 0; episode < theirs.episodes; ++episode) {
            robot.reset(random, observation);
            for (gmac::transition result; !result.terminated && !result.truncated; ++steps) {
                if (theirs.random)
                    for (float& number : action)
                        number = 2.0f * random.uniform<float>() - 1.0f;
                result = robot.step(action, random, observation);
                sum += result.reward;
            }
        }
        double const error = theirs.deviation * std::sqrt(1.0 / 50.0 + 1.0 / theirs.episodes);
        CHECK(std::abs(sum / theirs.episodes - theirs.mean_return) <= 4.0 * error);
        if (theirs.robot != &bullet::ant) // its lengths are 1000 or much less
            CHECK(steps / theirs.episodes == Approx(theirs.mean_length).epsilon(0.1));
    }
}
