// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/view.hpp>
#include <gmac/targets/particles.hpp>
#include <gmac/targets/returns.hpp>

#include <cstddef>

/// Heads and losses of the user's own, some with one thing missing.
namespace my {

using outputs_view = gmac::matrix_view<float const>;

struct head {
    [[nodiscard]] std::size_t output_size() const { return 2; }
    void mean(outputs_view, gmac::vector_view<float>) const {}
};
struct head_without_mean {
    [[nodiscard]] std::size_t output_size() const { return 2; }
};
struct head_with_points : head {
    [[nodiscard]] std::size_t support_size() const { return 2; }
    void support(outputs_view, gmac::matrix_view<float>) const {}
};
struct head_with_components : head {
    static constexpr std::size_t components = 1;
    using part = gmac::matrix_view<float>;
    void distribution(outputs_view, part, part, part) const {}
};

template <template <class> class Kind, class Taken = Kind<float const>>
struct loss {
    template <class T>
    using targets_type = Kind<T const>;
    template <class Head>
    float value_and_gradient(Head const&, outputs_view, Taken, gmac::matrix_view<float>) const {
        return 0.0f;
    }
};
using loss_on_returns = loss<gmac::targets::returns>;
using loss_on_points = loss<gmac::targets::dirac_particles>;
using loss_on_components = loss<gmac::targets::gaussian_particles>;
using loss_on_the_wrong_kind = loss<gmac::targets::dirac_particles, gmac::vector_view<float const>>;
struct loss_without_target {};
struct particular_loss : loss_on_returns {
    template <class Head>
    static constexpr bool fits_head = false;
};

} // namespace my
