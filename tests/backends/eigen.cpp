// SPDX-License-Identifier: Apache-2.0
#include "backends/make_agent.hpp"

#include <gmac/backends/eigen.hpp>

template std::unique_ptr<gmac::testing::any_agent> gmac::testing::make_agent<gmac::backends::eigen<float>>(
    environment_batch&, agent_options const&, std::uint64_t, executor*);
template std::unique_ptr<gmac::testing::any_agent> gmac::testing::make_agent<gmac::backends::eigen<double>>(
    environment_batch&, agent_options const&, std::uint64_t, executor*);
