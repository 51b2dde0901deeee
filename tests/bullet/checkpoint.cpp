// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/memory_archive.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"
#include "walks.hpp"

#include <cstring>

namespace {

namespace bullet = gmac::examples::bullet;
using gmac::testing::contains;
using gmac::testing::memory_archive;
using gmac::testing::message_of;
using gmac::testing::walker;

memory_archive saved(walker& subject) {
    memory_archive state;
    subject.robot().persist(state);
    state.rewind();
    return state;
}

} // namespace

TEST_CASE("a restored episode goes on as the one that was never stopped, bit for bit", "[bullet][checkpoint]") {
    for (bullet::robot const* const robot : bullet::robots())
        for (int const steps : {0, 1, 13, 60}) { // at 60 most lie on the floor, with contacts and limits at work
            INFO(robot->name << " after " << steps << " steps");
            walker original(*robot, 11);
            original.reset();
            original.walk(steps);
            memory_archive state = saved(original);

            walker other(*robot, 12); // somewhere else, in another episode
            other.reset();
            other.walk(37);
            other.robot().persist(state);
            other.random() = original.random();
            CHECK(other.robot().steps() == static_cast<std::size_t>(steps));
            CHECK(other.robot().terms().progress == original.robot().terms().progress);
            CHECK(other.robot().potential() == original.robot().potential());

            original.forget();
            other.forget();
            original.walk(80);
            other.walk(80);
            CHECK(original.history() == other.history());
            CHECK(saved(original) == saved(other));
        }
}

TEST_CASE("saving changes nothing", "[bullet][checkpoint]") {
    walker disturbed(bullet::ant, 13);
    walker undisturbed(bullet::ant, 13);
    disturbed.reset();
    undisturbed.reset();
    for (int i = 0; i < 20; ++i) {
        disturbed.step();
        undisturbed.step();
        CHECK(saved(disturbed) == saved(disturbed));
    }
    CHECK(disturbed.history() == undisturbed.history());
}

TEST_CASE("a state of another robot, of broken length or with strange numbers is refused", "[bullet][checkpoint]") {
    walker cheetah(bullet::half_cheetah, 14);
    cheetah.reset();
    cheetah.walk(3);
    memory_archive const state = saved(cheetah);
    auto const says = [](walker& subject, memory_archive from) {
        return message_of([&] { subject.robot().persist(from); });
    };
    walker walker2d(bullet::walker2d, 14); // as many joints
    CHECK(says(walker2d, state) == "the stored state is of the robot \"half_cheetah\", but this one is \"walker2d\"");

    memory_archive short_of_a_byte = state;
    short_of_a_byte.entries().at("actions").data.pop_back();
    CHECK(says(cheetah, short_of_a_byte) ==
          "half_cheetah: the stored actions have 143 bytes, which is no multiple of 48");

    memory_archive not_a_number = state;
    std::memset(not_a_number.entries().at("actions").data.data(), 0xff, 8);
    CHECK(contains(says(cheetah, not_a_number), "in step 1, but must be finite"));
    memory_archive no_angle = state;
    std::memset(no_angle.entries().at("initial_angles").data.data(), 0xff, 8);
    CHECK(contains(says(cheetah, no_angle), "initial joint angle 0 is"));

    CHECK(says(cheetah, state).empty()); // and still takes the good one
    CHECK(cheetah.robot().steps() == 3);
}
