// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/calibration.hpp"
#include "train/settings.hpp"

#include <gmac/core/random.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/environment/observation_stack.hpp>
#include <gmac/train/trainer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

/// Whether a value distribution is right about the returns of the policy that it is learned of, which draws its actions.
namespace gmac::examples::train {

struct calibration_options {
    double discount = 0.99;        ///< in [0, 1]
    double scale = 1.0;            ///< reward units in one unit of what the agent learns
    std::uint64_t seed = 0;        ///< of the actions
    std::size_t noise_steps = 1;   ///< of the actor, see action_streams
    std::size_t rollout_steps = 1; ///< after which its noise begins anew
    std::size_t steps = 1000;      ///< of each environment
    std::size_t states = 3'000;    ///< looked at, about and at most
};

/// Steps after which a reward counts less than a twentieth; the greatest number if it always counts.
[[nodiscard]] inline std::size_t horizon_of(double discount) {
    if (discount >= 1.0)
        return (std::numeric_limits<std::size_t>::max)();
    return discount <= 0.05 ? 1 : static_cast<std::size_t>(std::ceil(std::log(0.05) / std::log(discount)));
}

/// A value distribution in reward units.
[[nodiscard]] inline gaussian_mixture<double> mixture_of(std::span<value_component const> parts, double scale) {
    double sum = 0.0; // of single precision
    for (auto const& part : parts)
        sum += part.weight;
    std::vector<normal_component<double>> components;
    for (auto const& [weight, mean, deviation] : parts)
        components.push_back({weight / sum, scale * mean, scale * deviation});
    return gaussian_mixture<double>(std::move(components));
}

namespace detail {

/// One environment's states that were looked at, and what came.
struct calibration_track {
    struct look {
        std::size_t step = 0; ///< of the environment
        gaussian_mixture<double> predicted;
    };
    struct end {
        std::size_t step = 0; ///< that ended the episode
        bool terminated = false;
    };
    std::vector<look> looks{};
    std::vector<double> rewards{};
    std::vector<end> ends{};
};

/// The length of the episodes that were cut, if all are as long.
[[nodiscard]] inline std::optional<std::size_t> time_limit_of(std::span<calibration_track const> tracks) {
    std::optional<std::size_t> limit;
    for (auto const& track : tracks) {
        std::size_t begin = 0;
        for (auto const& [step, terminated] : track.ends) {
            std::size_t const length = step + 1 - begin;
            begin = step + 1;
            if (!terminated && limit && *limit != length)
                return std::nullopt;
            if (!terminated)
                limit = length;
        }
    }
    return limit;
}

/// States whose return is not known: because they are near the end of what was played or a time limit, whatever came of
/// their episodes, and because their own episode was cut.
struct left_out {
    std::size_t near_end = 0, cut = 0;
};

/// Puts what came beside the predictions of a track.
inline void compare(calibration_track const& track, std::size_t name, calibration_options const& chosen,
                    std::optional<std::size_t> limit, report::calibration& found, left_out& left) {
    std::size_t const horizon = horizon_of(chosen.discount);
    std::size_t const steps = track.rewards.size();
    std::vector<double> returns(steps);
    std::vector<std::size_t> episode(steps), began(steps);
    std::vector<std::size_t> cut(steps, (std::numeric_limits<std::size_t>::max)()); // steps until it
    std::size_t begin = 0;
    auto const fill = [&](std::size_t end, bool terminated, std::size_t number) {
        double sum = 0.0;
        for (std::size_t t = end; t-- > begin;) {
            returns[t] = sum = track.rewards[t] + chosen.discount * sum;
            episode[t] = number;
            began[t] = begin;
            if (!terminated)
                cut[t] = end - t;
        }
        begin = end;
    };
    for (std::size_t i = 0; i < track.ends.size(); ++i)
        fill(track.ends[i].step + 1, track.ends[i].terminated, i);
    fill(steps, false, track.ends.size());

    // Whether a state counts must not depend on how its episode went: else mostly those that failed early would be left
    // before the end of what was played, and before a time limit.
    std::size_t const last = steps - (std::min)(horizon, steps / 2);
    for (auto const& [t, predicted] : track.looks) {
        bool const near_limit = limit && horizon < *limit && t - began[t] + horizon > *limit;
        if (t >= last || near_limit)
            ++left.near_end;
        else if (cut[t] < horizon)
            ++left.cut;
        else
            found.add(predicted, chosen.scale * returns[t], name * (steps + 1) + episode[t]);
    }
}

} // namespace detail

/// Plays environments with actions as in training, and compares the value distributions of some states with the returns
/// that came: report::calibration::result(), with "left_out", the states whose return is not known to a twentieth; "cut", those
/// of them that are so because of how their episode went, without which the rest is not a fair sample; "horizon", the steps
/// before a cut at which a return is known (null if it never is); and "limit", a time limit that was met, or null. Throws
/// gmac::error, also for a value that is not finite.
template <class O>
[[nodiscard]] nlohmann::ordered_json calibrate(basic_trainer<O>& agent, basic_environment_batch<O>& worlds,
                                               calibration_options const& chosen) {
    std::size_t const count = worlds.size(), size = worlds.observation_size();
    std::size_t const every = (std::max)(std::size_t{1}, (count * chosen.steps + chosen.states - 1) / chosen.states);
    std::vector<O> observations(count * size);
    std::vector<float> actions(count * action_size(worlds.action_space())), rewards(count);
    std::vector<std::uint8_t> terminated(count), truncated(count);
    action_streams streams(count, chosen.noise_steps);
    for (std::size_t e = 0; e < count; ++e)
        streams.streams()[e] = stream_for(chosen.seed, stream_purpose::evaluation, e);
    std::vector<detail::calibration_track> tracks(count);
    matrix_view<O> const seen(observations.data(), count, size);
    observation_stack<O> stack(worlds);
    worlds.reset(seen);
    stack.restart(seen);
    for (std::size_t t = 0; t < chosen.steps; ++t) {
        auto const states = stack.states();
        for (std::size_t e = 0; e < count; ++e)
            if ((t + e) % every == 0) // not all at once, which would look at the same steps of equally long episodes
                tracks[e].looks.push_back(
                    {t, mixture_of(agent.value_distribution({states.row(e).data(), states.cols()}), chosen.scale)});
        matrix_view<float> const taken(actions.data(), count, actions.size() / count);
        agent.sample(states, streams.at(t % chosen.rollout_steps), taken, worlds.action_masks());
        basic_step_result<O> const result{seen, {}, rewards, terminated, truncated};
        worlds.step(taken, result);
        stack.advance(result);
        for (std::size_t e = 0; e < count; ++e) {
            tracks[e].rewards.push_back(static_cast<double>(rewards[e]));
            if (terminated[e] != 0 || truncated[e] != 0)
                tracks[e].ends.push_back({t, terminated[e] != 0});
        }
    }
    std::size_t const horizon = horizon_of(chosen.discount);
    auto const limit = detail::time_limit_of(tracks);
    report::calibration found;
    detail::left_out left;
    for (std::size_t e = 0; e < count; ++e)
        detail::compare(tracks[e], e, chosen, limit, found, left);
    nlohmann::ordered_json all = found.result();
    all["left_out"] = left.near_end + left.cut;
    all["cut"] = left.cut;
    all["horizon"] = chosen.discount < 1.0 ? nlohmann::ordered_json(horizon) : nlohmann::ordered_json(nullptr);
    all["limit"] = limit && horizon < *limit ? nlohmann::ordered_json(*limit) : nlohmann::ordered_json(nullptr);
    return all;
}

} // namespace gmac::examples::train
