// SPDX-License-Identifier: Apache-2.0
// Robots as an agent sees them: many at once, with new episodes after those that end, stored and restored.
#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"
#include "support/catch.hpp"
#include "support/memory_archive.hpp"

#include <gmac/environment/vector_environment.hpp>

#include <cmath>
#include <vector>

namespace {

namespace bullet = gmac::examples::bullet;

constexpr std::size_t count = 4;
constexpr std::size_t observation_size = 15;
constexpr std::size_t action_size = 3;

class crowd {
public:
    crowd() : worlds_(count, 21, [](std::size_t) { return bullet::locomotion(bullet::hopper); }) {
        worlds_.reset(view(observations_));
    }

    void step() {
        for (float& number : actions_)
            number = 2.0f * random_.uniform<float>() - 1.0f;
        worlds_.step(gmac::matrix_view<float const>(actions_.data(), count, action_size),
                     {.observations = view(observations_),
                      .final_observations = view(final_observations_),
                      .rewards = rewards_,
                      .terminated = terminated_,
                      .truncated = truncated_});
        for (std::size_t i = 0; i < count; ++i)
            if (terminated_[i] != 0) {
                ++falls_;
                float const* const last = &final_observations_[i * observation_size];
                CHECK((last[0] < -0.449f || std::abs(last[7]) > 0.999f)); // below 0.8 m or bent by more than 1 rad
                CHECK(observations_[i * observation_size] == 0.0f);       // of the new episode
            }
        for (gmac::finished_episode const& episode : worlds_.finished())
            longest_ = episode.length > longest_ ? episode.length : longest_;
    }

    void persist(gmac::archive& state) {
        worlds_.persist(state);
        random_.persist(state, "actions");
    }

    [[nodiscard]] std::vector<float> const& observations() const { return observations_; }
    [[nodiscard]] std::vector<float> const& rewards() const { return rewards_; }
    [[nodiscard]] int falls() const { return falls_; }
    [[nodiscard]] std::size_t longest() const { return longest_; }

private:
    static gmac::matrix_view<float> view(std::vector<float>& numbers) {
        return {numbers.data(), count, observation_size};
    }

    gmac::vector_environment<bullet::locomotion> worlds_;
    gmac::random_stream random_{22};
    std::vector<float> observations_ = std::vector<float>(count * observation_size);
    std::vector<float> final_observations_ = observations_;
    std::vector<float> actions_ = std::vector<float>(count * action_size);
    std::vector<float> rewards_ = std::vector<float>(count);
    std::vector<std::uint8_t> terminated_ = std::vector<std::uint8_t>(count), truncated_ = terminated_;
    int falls_ = 0;
    std::size_t longest_ = 0;
};

} // namespace

TEST_CASE("hoppers in a vector environment fall, begin anew and resume bit for bit", "[bullet]") {
    crowd original;
    for (int i = 0; i < 50; ++i)
        original.step();
    CHECK(original.falls() >= 8); // with random actions after 11 steps or so
    CHECK(original.longest() < 50);

    gmac::testing::memory_archive state;
    original.persist(state);
    state.rewind();
    crowd resumed;
    resumed.step();
    resumed.persist(state);
    for (int i = 0; i < 50; ++i) {
        original.step();
        resumed.step();
        CHECK(original.observations() == resumed.observations());
        CHECK(original.rewards() == resumed.rewards());
    }
}
