// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/detail/result.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace gmac::inline GMAC_ABI::heads {

/// The classical value head: one output, which is the value.
struct scalar {
    static constexpr std::string_view name = "scalar";
    static constexpr std::size_t outputs = 1;

    [[nodiscard]] static constexpr std::size_t output_size() noexcept { return outputs; }

    template <class V>
    struct parameters {
        V value;
    };

    template <class V>
    [[nodiscard]] constexpr parameters<V> transform(std::array<V, outputs> const& raw) const noexcept {
        return {raw[0]};
    }

    /// From the gradient with respect to the parameters to the one with respect to the raw outputs.
    template <class V>
    constexpr void pull_back(std::array<V, outputs> const& /*raw*/, parameters<V> const& /*parameters*/,
                             parameters<V> const& parameter_gradient,
                             std::array<V, outputs>& raw_gradient) const noexcept {
        raw_gradient[0] = parameter_gradient.value;
    }

    /// The value of each state: outputs [B, 1] → values [B]. Throws gmac::error if the shapes do not fit.
    template <class Outputs, class Values>
    constexpr void mean(Outputs&& outputs_of_states, Values&& values_of_states) const {
        auto const raw = as_matrix(outputs_of_states);
        auto const values = as_vector(values_of_states);
        gmac::detail::require_values(values.size(), raw.rows(), "scalar head");
        require_shape(raw, raw.rows(), outputs, "outputs", "scalar head");
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = raw(i, 0);
    }
};

} // namespace gmac::inline GMAC_ABI::heads
