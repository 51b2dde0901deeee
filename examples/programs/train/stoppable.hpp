// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/environment/decorator.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace gmac::examples::train {

/// Thrown out of an evaluation that was asked to stop.
struct evaluation_stopped {};

/// Environments that ask before each step whether to go on.
template <observation_element O>
class stoppable final : public basic_environment_batch_decorator<O> {
public:
    stoppable(std::unique_ptr<basic_environment_batch<O>> worlds, std::function<bool()> stop)
        : basic_environment_batch_decorator<O>(std::move(worlds)), stop_(std::move(stop)) {}

    /// Throws evaluation_stopped.
    void step(matrix_view<float const> actions, basic_step_result<O> const& result) override {
        if (stop_())
            throw evaluation_stopped();
        basic_environment_batch_decorator<O>::step(actions, result);
    }

private:
    std::function<bool()> stop_;
};

} // namespace gmac::examples::train
