// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/options.hpp>
#include <gmac/agent/report.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// One agent on every backend. An agent takes long to compile, so each backend has a file of its own, and the tests
/// know only this interface.
namespace gmac::testing {

class any_agent {
public:
    virtual ~any_agent() = default;
    virtual update_report update(double progress = 0.0) = 0;
    virtual void persist(archive& state) = 0;
    [[nodiscard]] virtual std::vector<double> parameters() const = 0;
    /// The mean return of the first episodes of these environments.
    [[nodiscard]] virtual double evaluate(environment_batch& worlds) const = 0;
};

/// What backend an agent computes with, and in which scalar type.
struct kind_of_agent {
    std::string name;
    bool single_precision;
    std::unique_ptr<any_agent> (*make)(environment_batch& worlds, agent_options const& options, std::uint64_t seed,
                                       executor* tasks);
};

/// GMAC on discrete actions.
template <class Backend>
[[nodiscard]] std::unique_ptr<any_agent> make_agent(environment_batch& worlds, agent_options const& options,
                                                    std::uint64_t seed, executor* tasks);

/// Two for each backend that this program was built with, float and double.
[[nodiscard]] std::vector<kind_of_agent> const& all_kinds();

} // namespace gmac::testing
