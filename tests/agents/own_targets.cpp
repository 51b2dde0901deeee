// SPDX-License-Identifier: Apache-2.0
// A kind of target that the library has not, brought by the loss that learns from it.
#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/losses/squared_error.hpp>
#include <gmac/targets/makers.hpp>

#include "agents/agent_checks.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace {

/// The λ-return of each state and a shift of it, [B] each.
template <class T>
struct shifted_returns {
    gmac::vector_view<T> returns{};
    gmac::vector_view<T> shifts{};

    template <class Head>
    static constexpr bool can_be_made_from = true;

    template <class Head>
    class maker {
        using scalar = std::remove_const_t<T>;

    public:
        struct batch {
            std::vector<scalar> returns, shifts;
        };
        maker(Head const&, gmac::targets::sr_lambda const&, std::size_t rows, std::size_t) : returns_(rows) {}

        [[nodiscard]] batch make_batch(std::size_t rows) const {
            return {std::vector<scalar>(rows), std::vector<scalar>(rows)};
        }
        void make(Head const&, gmac::targets::rollout_source<scalar> const& source) {
            returns_.assign(source.returns.begin(), source.returns.end());
        }
        [[nodiscard]] shifted_returns take(std::span<std::uint32_t const> rows, batch& to) const {
            for (std::size_t i = 0; i < rows.size(); ++i) {
                to.returns[i] = returns_[rows[i]];
                to.shifts[i] = scalar(0.5);
            }
            return {{to.returns.data(), rows.size()}, {to.shifts.data(), rows.size()}};
        }

    private:
        std::vector<scalar> returns_;
    };
};

/// ½ (v − R − factor · shift)²
template <int Factor>
struct shifted_squared_error {
    template <class T>
    using targets_type = shifted_returns<T const>;

    template <class Head, class T>
    T value_and_gradient(Head const& head, gmac::matrix_view<T const> outputs, shifted_returns<T const> const& targets,
                         gmac::matrix_view<T> gradient) const {
        std::vector<T> sums(outputs.rows());
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] = targets.returns[i] + T(Factor) * targets.shifts[i];
        return gmac::losses::squared_error{}.value_and_gradient(head, outputs, sums, gradient);
    }
};

/// One that says that its gradient shall not be clipped.
struct wild : shifted_squared_error<0> {
    static constexpr double max_gradient_norm = std::numeric_limits<double>::infinity();
};

template <class Loss>
using agent_with = gmac::actor_critic<gmac::actors::categorical, gmac::heads::scalar, Loss>;

} // namespace

TEST_CASE("an agent makes the targets that a loss of the user's brings") {
    auto const learned = [](auto const& agent_type) {
        return gmac::testing::run<std::decay_t<decltype(*agent_type)>>({}, 3, nullptr);
    };
    auto const returns = learned(static_cast<agent_with<gmac::losses::squared_error>*>(nullptr));
    // Without its shift it is the library's squared error, to the bit; with it, it is not.
    CHECK(learned(static_cast<agent_with<shifted_squared_error<0>>*>(nullptr)) == returns);
    CHECK(learned(static_cast<agent_with<shifted_squared_error<1>>*>(nullptr)) != returns);
}

TEST_CASE("the limit of the gradient's norm is the option, or the loss's own, or 0.5") {
    // What a loss says for itself is what the option says for it.
    auto const with = [](auto const& agent_type, std::optional<double> limit) {
        using agent_t = std::decay_t<decltype(*agent_type)>;
        gmac::vector_environment<gmac::testing::line> worlds(5, 1);
        auto options = gmac::testing::small_options();
        options.max_gradient_norm = limit;
        agent_t agent(worlds, options, {.seed = 2});
        static_cast<void>(agent.update());
        return gmac::testing::parameters_of(agent);
    };
    auto const* const plain = static_cast<agent_with<shifted_squared_error<0>>*>(nullptr);
    auto const* const own = static_cast<agent_with<wild>*>(nullptr);
    double const none = std::numeric_limits<double>::infinity();
    CHECK(with(own, std::nullopt) == with(plain, none));
    CHECK(with(plain, std::nullopt) == with(plain, 0.5));
    CHECK(with(own, 0.5) == with(plain, 0.5));
    CHECK(with(plain, none) != with(plain, 0.5));
}
