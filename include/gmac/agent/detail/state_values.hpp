// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/rollout.hpp>
#include <gmac/agent/value_network.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::detail {

/// What the value head says of all states of a rollout: those before each step and after the last one, [(T + 1) E], and
/// the final observations of truncated episodes after them.
template <class Networks, class Head>
class state_values {
public:
    using scalar = typename Networks::scalar;
    using observation_type = typename Networks::observation_type;
    using rollout_type = rollout<scalar, observation_type>;
    using prediction = prediction_by<scalar, typename Networks::value_net>;
    /// Writes the value of each of n states, [n], from what the head says of them and from the states, [n, state size].
    using value_function =
        std::function<void(Head const&, prediction const&, matrix_view<observation_type const>, vector_view<scalar>)>;

    /// Memory for the rollouts of this shape, shared by up to `threads` threads.
    state_values(Networks const& networks, rollout_type const& rollout, std::size_t threads)
        : networks_(networks),
          capacity_(rollout.state_count() + rollout.rows()),
          outputs_(capacity_ * networks.value_outputs()),
          values_(capacity_),
          intrinsic_values_(explores() ? rollout.state_count() : 0) {
        std::size_t const rows = (std::min)(chunk_rows, capacity_);
        std::size_t const chunks = (capacity_ + chunk_rows - 1) / chunk_rows;
        for (std::size_t i = 0; i < std::clamp<std::size_t>(threads, 1, chunks); ++i)
            evaluators_.push_back({networks.make_workspace(rows), buffer<observation_type>(rollout.assembled(rows))});
    }

    /// What is the value of a state instead of its distribution's mean; empty: the mean.
    void value_by(value_function function) { value_of_ = std::move(function); }

    /// Evaluates the states in chunks that do not depend on the threads. `stream(first row)` is the random stream of the
    /// states from that row on, for heads that sample.
    template <class StreamOf>
    void evaluate(std::span<scalar const> parameters, Head const& head, rollout_type const& rollout, executor& tasks,
                  StreamOf const& stream) {
        seen_ = rollout.state_count();
        used_ = seen_ + rollout.final_count();
        std::size_t const chunks = (used_ + chunk_rows - 1) / chunk_rows;
        std::size_t const parts = evaluators_.size();
        tasks.run(parts, [&](std::size_t part) {
            for (std::size_t chunk = part; chunk < chunks; chunk += parts) {
                std::size_t const end = (std::min)(used_, (chunk + 1) * chunk_rows);
                // A chunk may begin among the states of the rollout and end among the final observations.
                std::size_t const border = std::clamp(seen_, chunk * chunk_rows, end);
                evaluate_rows(chunk * chunk_rows, border, parameters, head, rollout, stream, evaluators_[part]);
                evaluate_rows(border, end, parameters, head, rollout, stream, evaluators_[part]);
            }
        });
    }

    /// How many states there can be at most: each transition may be truncated.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    /// [states, value outputs]
    [[nodiscard]] matrix_view<scalar const> outputs() const noexcept {
        return {outputs_.data(), used_, networks_.value_outputs()};
    }
    /// [states], the means of the distributions, or what `value_by` makes of them
    [[nodiscard]] std::span<scalar const> values() const noexcept { return values_.span().first(used_); }
    /// [(T + 1) E], of an agent that explores
    [[nodiscard]] std::span<scalar const> intrinsic_values() const noexcept {
        return intrinsic_values_.span().first(seen_);
    }

private:
    static constexpr std::size_t chunk_rows = 256;

    /// Memory of one thread.
    struct evaluator {
        typename Networks::workspace work;
        buffer<observation_type> states;
    };

    /// A critic that only watches does not.
    [[nodiscard]] bool explores() const noexcept {
        if constexpr (requires { networks_.explores(); })
            return networks_.explores();
        else
            return false;
    }

    template <class StreamOf>
    void evaluate_rows(std::size_t first, std::size_t last, std::span<scalar const> parameters, Head const& head,
                       rollout_type const& rollout, StreamOf const& stream, evaluator& with) {
        if (first == last)
            return;
        auto const all = first >= seen_ ? rollout.final_states(first - seen_, last - first, with.states.span())
                                        : rollout.states(first, last - first, with.states.span());
        auto random = stream(first);
        auto const predicted = networks_.value_forward(parameters, networks_.input(all, with.work), random, with.work);
        vector_view<scalar> const values(values_.data() + first, last - first);
        if (value_of_)
            value_of_(head, predicted, all, values);
        else
            head.mean(predicted, values);
        auto const columns = Networks::value_net::columns(predicted);
        std::copy_n(columns.data(), columns.rows() * columns.cols(),
                    outputs_.data() + first * networks_.value_outputs());
        if constexpr (requires { networks_.explores(); })
            if (networks_.explores() && first < seen_)
                std::copy_n(networks_.intrinsic_values(parameters, with.work).data(), last - first,
                            intrinsic_values_.data() + first);
    }

    Networks const& networks_;
    std::size_t capacity_, seen_ = 0, used_ = 0;
    buffer<scalar> outputs_, values_, intrinsic_values_;
    value_function value_of_;
    std::vector<evaluator> evaluators_;
};

} // namespace gmac::inline GMAC_ABI::detail
