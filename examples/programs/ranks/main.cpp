// SPDX-License-Identifier: Apache-2.0
// gmac-ranks: GMAC on cart-pole by the processes that mpirun starts.
#include <gmac/distributed/mpi.hpp>
#include <gmac/gmac.hpp>

#include "classic/cart_pole.hpp"

#include <fmt/core.h>

int main(int argc, char** argv) {
    return gmac::distributed::run(argc, argv, [](gmac::communicator& ranks) {
        // Each rank has 8 environments, like no other rank's.
        gmac::vector_environment<classic::cart_pole> worlds(8, gmac::seed_of_rank(/*seed*/ 1, ranks.rank()));
        gmac::agents::gmac<gmac::actors::categorical>
            agent(worlds,
                  {.steps = 64, .minibatch = 256, .learning_rate = 1e-3, .hidden = {64, 64}, .shared_trunk = false},
                  {.seed = 1, .ranks = &ranks});
        agent.train({.frames = 30'000, .on_update = [&](gmac::update_report const& report) {
                         if (ranks.rank() == 0) // the reports are those of all ranks together
                             fmt::print("{}\n", report);
                     }});
        return 0;
    });
}
