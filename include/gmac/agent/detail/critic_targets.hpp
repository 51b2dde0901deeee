// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/composition.hpp>
#include <gmac/agent/explained_variance.hpp>
#include <gmac/agent/options.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/targets/gae.hpp>
#include <gmac/targets/makers.hpp>
#include <gmac/targets/rollout_view.hpp>
#include <gmac/targets/sr_lambda.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// From a rollout and the values of its states: advantages, λ-returns and what the loss learns from.
template <class Head, class Loss, class T>
class critic_targets {
public:
    using maker_type = typename targets_of<Loss, T>::template maker<Head>;

    /// For rollouts of this shape, with up to `states` states and final observations.
    template <class Rollout>
    critic_targets(Head const& head, agent_options const& options, Rollout const& rollout, std::size_t states)
        : advantage_{.discount = options.discount, .lambda = options.lambda},
          maker_(head,
                 {.discount = options.discount,
                  .lambda = options.lambda,
                  .particles = options.particles,
                  .replacement = options.replacement},
                 rollout.rows(), states),
          advantages_(rollout.rows()),
          returns_(rollout.rows()),
          streams_(rollout.environments()) {}

    /// `values` are state_values that have seen the rollout; `stream(environment)` draws the particles.
    template <class Rollout, class Values, class StreamOf>
    void make(Head const& head, Rollout const& rollout, Values const& values, StreamOf const& stream, executor& tasks) {
        std::size_t const seen = rollout.state_count();
        std::span<T const> const of_states = values.values();
        targets::rollout_view<T> const steps{rollout.rewards(), rollout.terminated(), rollout.truncated()};
        advantage_(steps, vector_view<T const>(of_states.first(seen)), vector_view<T const>(of_states.subspan(seen)),
                   vector_view<T>(advantages_.span()), vector_view<T>(returns_.span()));
        std::span<T const> const predicted = of_states.first(returns_.size());
        explained_variance_ = rollout.ranks() ? gmac::explained_variance(*rollout.ranks(), returns_.span(), predicted)
                                              : gmac::explained_variance(returns_.span(), predicted);
        for (std::size_t e = 0; e < streams_.size(); ++e)
            streams_[e] = stream(e);
        maker_.make(head, {.steps = steps,
                           .outputs = values.outputs(),
                           .values = of_states,
                           .returns = returns_.span(),
                           .streams = streams_,
                           .tasks = &tasks});
    }

    /// [T E]
    [[nodiscard]] std::span<T const> advantages() const noexcept { return advantages_.span(); }
    [[nodiscard]] std::span<T> advantages() noexcept { return advantages_.span(); }
    [[nodiscard]] double explained_variance() const noexcept { return explained_variance_; }
    /// What the loss's targets are taken from.
    [[nodiscard]] maker_type const& for_loss() const noexcept { return maker_; }

private:
    targets::gae advantage_;
    maker_type maker_;
    buffer<T> advantages_, returns_;
    std::vector<random_stream> streams_;
    double explained_variance_ = 0.0;
};

} // namespace gmac::inline GMAC_ABI::detail
