// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/statistics/statistic.hpp>

#include <cmath>

namespace gmac::inline GMAC_ABI {

/// Statistics of one kind whose parameters are from `low` to `high`, for an agent that learns to act by each of them: it is
/// told of an episode's parameter by the last number of its observations, in [−1, 1], which conditioned_environments draw.
///
///     gmac::conditioned_environments told(worlds, seed);
///     gmac::agents::gmac<gmac::actors::categorical> agent(told, options);
///     agent.value_by(gmac::statistic_range{gmac::statistic_kind::cvar, 0.05, 1.0});
struct statistic_range {
    statistic_kind kind = statistic_kind::mean;
    double low = 0.0, high = 0.0;

    friend bool operator==(statistic_range const&, statistic_range const&) = default;

    /// The parameter that this number of an observation stands for: −1 is `low`, 1 is `high`, and between them it grows
    /// evenly, for cvar and upper_cvar in its logarithm. Throws gmac::error unless the number is in [−1, 1].
    [[nodiscard]] double parameter_of(double number) const {
        require(number >= -1.0 && number <= 1.0,
                "statistic_range: the last number of an observation is {}, but must be in [-1, 1], and say which "
                "parameter the episode has",
                number);
        double const share = 0.5 * (1.0 + number);
        if (number == 1.0)
            return high;
        return logarithmic() ? low * std::pow(high / low, share) : low + share * (high - low);
    }
    /// The number that stands for this parameter. Throws gmac::error unless the parameter is in the range.
    [[nodiscard]] double number_of(double parameter) const {
        require(parameter >= low && parameter <= high,
                "the parameter of {} is {}, but the policy has learned those from {} to {}", name_of(kind), parameter,
                low, high);
        if (parameter == high)
            return 1.0;
        return 2.0 * (logarithmic() ? std::log(parameter / low) / std::log(high / low)
                                    : (parameter - low) / (high - low)) -
               1.0;
    }

    /// The values [n] of n states [n, state size], each by the parameter that the state tells: for actor_critic::value_by,
    /// as statistics::evaluate; defined in gmac/statistics/evaluate.hpp.
    template <class Head, class Outputs, class States, class Values>
    void operator()(Head const& head, Outputs const& outputs, States const& states, Values&& values) const;

private:
    [[nodiscard]] bool logarithmic() const noexcept {
        return kind == statistic_kind::cvar || kind == statistic_kind::upper_cvar;
    }
};

/// Throws gmac::error if the parameters are outside the kind's range, do not rise or are such as a float cannot hold, and for the
/// mean, which has no parameter.
inline void validate(statistic_range const& range) {
    require(range.kind != statistic_kind::mean, "statistic_range: the mean has no parameter");
    validate(statistic{range.kind, range.low});
    validate(statistic{range.kind, range.high});
    require(range.low < range.high, "statistic_range: the parameters of {} are from {} to {}, but must rise",
            name_of(range.kind), range.low, range.high);
    for (double const end : {range.low, range.high})
        require(end == 0.0 || (std::abs(end) >= 1e-30 && std::abs(end) <= 1e30),
                "statistic_range: a parameter of {} is {}, but its magnitude must be from 1e-30 to 1e30, or 0",
                name_of(range.kind), end);
}

} // namespace gmac::inline GMAC_ABI
