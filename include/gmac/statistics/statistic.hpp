// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <cmath>
#include <optional>
#include <string_view>

namespace gmac::inline GMAC_ABI {

/// Kinds of statistics of a value distribution; see gmac::statistic.
enum class statistic_kind { mean, cvar, upper_cvar, wang, power, mean_minus_deviations, quantile };

/// A number that stands for a whole distribution: its mean, or another that weighs bad and good outcomes differently. With
/// the distribution function F, all but one of them are
///     ∫ F⁻¹(u) dg(u),   g(0) = 0, g(1) = 1,
/// the mean after a distortion g of the probabilities (docs/mathematics.md, "Statistics of a distribution"):
///
/// | kind                  | parameter        | g(u), or what it is                                  | averse to risk |
/// | mean                  | none             | u                                                    | no             |
/// | cvar                  | α in (0, 1]      | min(u / α, 1): the mean of the lowest α              | α < 1          |
/// | upper_cvar            | α in (0, 1]      | max(1 − (1 − u) / α, 0): the mean of the highest α   | seeks it       |
/// | wang                  | η in [−3, 3]     | Φ(Φ⁻¹(u) − η) (Wang 2000); μ + η σ for N(μ, σ²)      | η < 0          |
/// | power                 | η in [−20, 20]   | 1 − (1 − u)^{1 + |η|} if η < 0, else u^{1 + η}       | η < 0          |
/// | mean_minus_deviations | k, finite        | mean − k · standard deviation                        | k > 0          |
/// | quantile              | p in (0, 1]      | the smallest x with F(x) ≥ p                         | p < ½          |
///
/// Signs of wang and power as in Dabney et al. 2018 ("Implicit quantile networks"); power with η < 0 is the proportional
/// hazard transform (Wang 1995) with the exponent 1 + |η|. All are equivariant to shifts and to positive factors.
struct statistic {
    statistic_kind kind = statistic_kind::mean;
    double parameter = 0.0;

    friend bool operator==(statistic const&, statistic const&) = default;

    /// As statistics::evaluate; defined in gmac/statistics/evaluate.hpp.
    template <class Head, class Outputs, class Values>
    void operator()(Head const& head, Outputs const& outputs, Values&& values) const;
};

namespace statistics {

[[nodiscard]] constexpr statistic mean() noexcept {
    return {};
}
[[nodiscard]] constexpr statistic cvar(double level) noexcept {
    return {statistic_kind::cvar, level};
}
[[nodiscard]] constexpr statistic upper_cvar(double level) noexcept {
    return {statistic_kind::upper_cvar, level};
}
[[nodiscard]] constexpr statistic wang(double shift) noexcept {
    return {statistic_kind::wang, shift};
}
[[nodiscard]] constexpr statistic power(double exponent) noexcept {
    return {statistic_kind::power, exponent};
}
[[nodiscard]] constexpr statistic mean_minus_deviations(double count) noexcept {
    return {statistic_kind::mean_minus_deviations, count};
}
[[nodiscard]] constexpr statistic quantile(double probability) noexcept {
    return {statistic_kind::quantile, probability};
}

} // namespace statistics

/// The kind's name, as in the table above.
[[nodiscard]] constexpr std::string_view name_of(statistic_kind kind) noexcept {
    switch (kind) {
    case statistic_kind::mean:
        return "mean";
    case statistic_kind::cvar:
        return "cvar";
    case statistic_kind::upper_cvar:
        return "upper_cvar";
    case statistic_kind::wang:
        return "wang";
    case statistic_kind::power:
        return "power";
    case statistic_kind::mean_minus_deviations:
        return "mean_minus_deviations";
    case statistic_kind::quantile:
        break;
    }
    return "quantile";
}

/// The kind of this name, if there is one.
[[nodiscard]] constexpr std::optional<statistic_kind> statistic_kind_of(std::string_view name) noexcept {
    for (int i = 0; i <= static_cast<int>(statistic_kind::quantile); ++i)
        if (auto const kind = static_cast<statistic_kind>(i); name_of(kind) == name)
            return kind;
    return std::nullopt;
}

/// Throws gmac::error if the parameter is outside its range.
inline void validate(statistic const& statistic) {
    switch (statistic.kind) {
    case statistic_kind::mean:
        return;
    case statistic_kind::cvar:
    case statistic_kind::upper_cvar:
    case statistic_kind::quantile:
        require(statistic.parameter > 0.0 && statistic.parameter <= 1.0,
                "statistic: the probability of {} is {}, but must be in (0, 1]", name_of(statistic.kind),
                statistic.parameter);
        return;
    case statistic_kind::wang:
    case statistic_kind::power:
        require(std::abs(statistic.parameter) <= (statistic.kind == statistic_kind::wang ? 3.0 : 20.0),
                "statistic: the parameter of {} is {}, but must be in {}", name_of(statistic.kind), statistic.parameter,
                statistic.kind == statistic_kind::wang ? "[-3, 3]" : "[-20, 20]");
        return;
    case statistic_kind::mean_minus_deviations:
        require(std::isfinite(statistic.parameter),
                "statistic: the parameter of mean_minus_deviations is {}, but must be finite", statistic.parameter);
    }
}

} // namespace gmac::inline GMAC_ABI
