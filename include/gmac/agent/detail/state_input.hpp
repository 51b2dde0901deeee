// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/module.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gmac::inline GMAC_ABI::detail {

/// Brings the states of environments, of floats or bytes, to the number type that a trunk reads, with memory for up to
/// `rows` states.
template <class T, class Trunk>
class state_input {
public:
    /// What the trunk reads, and what the environments give: bytes if the trunk reads bytes, or else floats.
    using input_type = nn::input_of<Trunk, T>;
    using observation_type = std::conditional_t<std::same_as<input_type, std::uint8_t>, std::uint8_t, float>;

    /// `whose` begins an error.
    state_input(std::size_t rows, std::size_t inputs, char const* whose = "policy")
        : rows_(rows), inputs_(inputs), whose_(whose), memory_(in_place ? 0 : rows * inputs) {}

    /// Throws gmac::error unless observations are [n, inputs] with no more rows than there is memory for.
    void check(matrix_view<observation_type const> observations) const {
        require_shape(observations, observations.rows(), inputs_, "observations", whose_);
        require(observations.rows() <= rows_, "{}: {} observations, but the memory was made for {}", whose_,
                observations.rows(), rows_);
    }
    /// Observations [n, inputs], checked: the view itself, or a copy in this memory.
    [[nodiscard]] matrix_view<input_type const> of(matrix_view<observation_type const> observations) {
        check(observations);
        if constexpr (in_place) {
            return observations;
        } else {
            for (std::size_t i = 0; i < observations.rows(); ++i)
                for (std::size_t j = 0; j < inputs_; ++j)
                    memory_[i * inputs_ + j] = static_cast<input_type>(observations(i, j));
            return {memory_.data(), observations.rows(), inputs_};
        }
    }

private:
    static constexpr bool in_place = std::same_as<input_type, observation_type>;

    std::size_t rows_, inputs_;
    char const* whose_;
    buffer<input_type> memory_;
};

} // namespace gmac::inline GMAC_ABI::detail
