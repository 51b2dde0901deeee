// SPDX-License-Identifier: Apache-2.0
#include "../../examples/environments/classic/cart_pole.hpp"
#include "backends/agents.hpp"
#include "support/catch.hpp"

#include <gmac/environment/normalized.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <cstddef>

using namespace gmac;

TEST_CASE("GMAC solves cart-pole on every backend", "[backends]") {
    for (testing::kind_of_agent const& kind : testing::all_kinds()) {
        if (!kind.single_precision)
            continue;
        CAPTURE(kind.name);
        agent_options options;
        options.steps = 32;
        options.minibatch = 256;
        options.epochs = 20;
        options.learning_rate = 1e-3;
        options.discount = 0.98;
        options.lambda = 0.8;
        options.entropy_coefficient = 0.0;
        options.max_gradient_norm = 0.5;
        options.particles = 32;
        options.hidden = {64, 64};
        options.shared_trunk = false;
        vector_environment<classic::cart_pole> worlds(8, 1), tests(20, 77);
        normalized_environments normalized(worlds, {.observations = false});
        auto const agent = kind.make(normalized, options, 1, nullptr);
        // An episode is 500 steps at most, and 475 on average is what Gymnasium calls solved.
        std::size_t updates = 0;
        double reached = 0.0;
        for (; updates < 300 && reached < 475.0; ++updates)
            if (agent->update().mean_return > 300.0)
                reached = agent->evaluate(tests);
        CAPTURE(updates);
        CHECK(reached >= 475.0);
    }
}
