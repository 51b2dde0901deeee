// SPDX-License-Identifier: Apache-2.0
// A shared library of an environment needs the installed headers only.
#include <gmac/environment/plugin/export.hpp>

namespace {

/// Counts to ten.
struct count {
    int steps = 0;
    [[nodiscard]] std::size_t observation_size() const { return 1; }
    [[nodiscard]] gmac::discrete action_space() const { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        steps = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        observation[0] = static_cast<float>(++steps);
        return {.reward = static_cast<double>(action), .terminated = steps == 10};
    }
};

} // namespace

GMAC_EXPORT_ENVIRONMENT(count)
