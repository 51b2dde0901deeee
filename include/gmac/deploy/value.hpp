// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/agent/policy_network.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/core/archive.hpp>
#include <gmac/core/buffer.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/deploy/detail/observation_scaling.hpp>
#include <gmac/deploy/policy.hpp>
#include <gmac/distributions/component.hpp>
#include <gmac/heads/gaussian_mixture.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/heads/scalar.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/implicit_quantile.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/statistics/statistic_range.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

/// What an agent expects, by itself: the critic's network and nothing of what it was trained with.
namespace gmac::inline GMAC_ABI {

/// A heads::gaussian_mixture, whose number of components is known at run time.
struct mixture_outputs {
    std::size_t components = 0;
    double scale = 0.0, floor = 0.0;
};
/// A heads::dirac: equally likely points at the midpoints of so many equal parts of [0, 1].
struct point_outputs {
    std::size_t points = 0;
};
/// A heads::categorical: logits of the probabilities of these atoms.
struct atom_outputs {
    std::vector<double> atoms;
};
using value_outputs =
    std::variant<heads::scalar, mixture_outputs, point_outputs, atom_outputs, heads::implicit_quantile>;

/// What a critic is besides its trunk and its numbers.
struct value_description {
    value_outputs head;
    /// Observations x are normalised, (x − mean) · scale clipped at ± this; without it they are taken as they are.
    std::optional<double> observation_clip{};
    /// So many of the environment's rewards are one that the critic was trained with.
    double reward_scale = 1.0;
    /// Of the returns whose distribution it is.
    double discount = 1.0;
    /// The last number of an observation tells which of these statistics the agent acts by.
    std::optional<statistic_range> range{};
};

/// One of the library's heads as a description.
template <class Head>
[[nodiscard]] value_outputs value_outputs_of(Head const& head) {
    constexpr bool is_known = requires { Head::components; } || requires { head.template grid<float>(); } || requires {
        Head::template midpoints<float>;
    } || std::constructible_from<value_outputs, Head>;
    static_assert(is_known, "a deployed value has one of the library's heads");
    if constexpr (requires { Head::components; }) {
        head.check();
        return mixture_outputs{Head::components, head.scale, head.floor};
    } else if constexpr (requires { head.template grid<float>(); }) {
        auto const atoms = head.template grid<float>().atoms;
        return atom_outputs{{atoms.begin(), atoms.end()}};
    } else if constexpr (requires { Head::template midpoints<float>; }) {
        return point_outputs{Head::outputs};
    } else if constexpr (is_known) {
        return head;
    }
}

/// Predicts the distribution of the return as an agent does: trunk, value head and normalisations, fixed. Made by
/// `deploy_value` from an agent or by `load_value` (gmac/deploy/value_file.hpp) from a file.
///
/// An observation is what the agent's network sees, as for deployed_policy. Any number of threads may use one object, each with
/// a memory of its own; nothing is allocated but by make_memory.
template <nn::backend Backend = backends::simd<float>, class Trunk = nn::mlp<Backend>>
class deployed_value {
    using quantile_network = nn::implicit_quantile_network<Backend>;
    using state_input = decltype(policy_network<Backend, Trunk>::workspace::observations);

public:
    using scalar = typename Backend::scalar;
    /// Bytes if the trunk reads bytes, or else floats.
    using observation_type = typename policy_network<Backend, Trunk>::observation_type;

    /// What one thread predicts with.
    class memory {
        friend class deployed_value;
        state_input observations;
        typename Trunk::workspace trunk;
        std::variant<typename nn::linear<Backend>::workspace, typename quantile_network::workspace> layer;
        buffer<float> normalised;
        std::vector<normal_component<double>> parts;

        explicit memory(deployed_value const& value)
            : observations(1, value.observation_size(), "value"),
              trunk(value.trunk_.make_workspace(1)),
              layer(std::visit([](auto const& one) -> decltype(layer) { return one.make_workspace(1); }, value.layer_)),
              normalised(value.scaling_.means.size()),
              parts(value.part_count()) {}
    };

    /// With all parameters zero. Throws gmac::error for a description that makes no sense.
    deployed_value(Trunk trunk, value_description description)
        : description_(checked(std::move(description))),
          trunk_(std::move(trunk)),
          layer_(layer_of(description_.head, trunk_.outputs())),
          parameters_(trunk_.parameter_count() +
                      std::visit([](auto const& one) { return one.parameter_count(); }, layer_)),
          scaling_(description_.observation_clip, trunk_.inputs(), std::same_as<observation_type, float>, "value") {
        for (std::size_t i = 0; i < fractions_of(description_.head); ++i)
            fractions_.push_back(static_cast<scalar>((static_cast<double>(i) + 0.5) /
                                                     static_cast<double>(fractions_of(description_.head))));
    }

    [[nodiscard]] std::size_t observation_size() const noexcept { return trunk_.inputs(); }
    [[nodiscard]] value_description const& description() const noexcept { return description_; }
    [[nodiscard]] Trunk const& trunk() const noexcept { return trunk_; }
    /// How many parts a distribution has: components, points or atoms.
    [[nodiscard]] std::size_t part_count() const noexcept {
        if (auto const* const mixture = std::get_if<mixture_outputs>(&description_.head))
            return mixture->components;
        return std::visit([](auto const& one) { return one.outputs(); }, layer_);
    }

    /// Of the trunk, then the head's network.
    [[nodiscard]] std::span<scalar> parameters() noexcept { return parameters_.span(); }
    [[nodiscard]] std::span<scalar const> parameters() const noexcept { return parameters_.span(); }
    /// [observation_size()] each; empty if observations are not normalised.
    [[nodiscard]] std::span<double> observation_means() noexcept { return scaling_.means; }
    [[nodiscard]] std::span<double> observation_scales() noexcept { return scaling_.scales; }

    [[nodiscard]] memory make_memory() const { return memory(*this); }

    /// The distribution of the discounted return after an observation [observation_size()], in the environment's rewards: its
    /// parts [part_count()], valid until the next call with this memory. A deviation of 0 is a point; the points of Diracs and
    /// implicit quantiles are the quantiles at the midpoints of equal parts of [0, 1], in this order. A NaN in the observation gives
    /// NaNs.
    [[nodiscard]] std::span<normal_component<double> const> predict(std::span<observation_type const> observation,
                                                                    memory& m) const {
        matrix_view<observation_type const> const one(observation.data(), 1, observation.size());
        m.observations.check(one);
        auto const states = m.observations.of(scaling_.of(one, m.normalised));
        std::span<scalar const> const all = parameters();
        auto const features = trunk_.forward(all.first(trunk_.parameter_count()), states, m.trunk);
        auto const rest = all.subspan(trunk_.parameter_count());
        if (auto const* const quantiles = std::get_if<quantile_network>(&layer_))
            read(quantiles
                     ->predict(rest, features, matrix_view<scalar const>(fractions_.data(), 1, fractions_.size()),
                               std::get<typename quantile_network::workspace>(m.layer))
                     .values,
                 m.parts);
        else
            read(std::get<nn::linear<Backend>>(layer_).forward(rest, features,
                                                               std::get<typename nn::linear<Backend>::workspace>(
                                                                   m.layer)),
                 m.parts);
        return m.parts;
    }

    /// Every number by name.
    void persist(archive& state) {
        auto const visit = [&](std::string const& name, std::size_t offset, std::size_t rows, std::size_t cols) {
            state(name, parameters().subspan(offset, rows * cols), rows, cols);
        };
        nn::describe_part(trunk_, "trunk", 0, visit);
        std::visit([&](auto const& one) { nn::describe_part(one, "value", trunk_.parameter_count(), visit); }, layer_);
        scaling_.persist(state);
    }

private:
    using layer_type = std::variant<nn::linear<Backend>, quantile_network>;

    [[nodiscard]] static value_description checked(value_description all) {
        auto const positive = [](double x) { return x > 0.0 && x <= (std::numeric_limits<double>::max)(); };
        require(positive(all.reward_scale), "value: reward_scale is {}, but must be positive and finite",
                all.reward_scale);
        require(all.discount >= 0.0 && all.discount <= 1.0, "value: discount is {}, but must be in [0, 1]",
                all.discount);
        if (auto const* const mixture = std::get_if<mixture_outputs>(&all.head))
            heads::gaussian_mixture<1>{mixture->scale, mixture->floor}.check();
        if (auto const* const grid = std::get_if<atom_outputs>(&all.head))
            for (double const atom : grid->atoms)
                require(std::isfinite(atom), "value: an atom is {}, but all must be finite", atom);
        return all;
    }

    /// Fractions of a head whose network is told of them.
    [[nodiscard]] static std::size_t fractions_of(value_outputs const& head) noexcept {
        auto const* const quantiles = std::get_if<heads::implicit_quantile>(&head);
        return quantiles ? quantiles->samples_per_state : 0;
    }

    [[nodiscard]] static layer_type layer_of(value_outputs const& head, std::size_t features) {
        if (auto const* const quantiles = std::get_if<heads::implicit_quantile>(&head))
            return quantile_network(*quantiles, features, 1.0);
        std::size_t outputs = 1; // of heads::scalar
        if (auto const* const mixture = std::get_if<mixture_outputs>(&head))
            outputs = 3 * mixture->components;
        if (auto const* const points = std::get_if<point_outputs>(&head))
            outputs = points->points;
        if (auto const* const grid = std::get_if<atom_outputs>(&head))
            outputs = grid->atoms.size();
        return nn::linear<Backend>(features, outputs);
    }

    /// Sets weights to exp(logit − largest) / sum.
    static void set_weights(matrix_view<scalar const> logits, std::span<normal_component<double>> parts) {
        double largest = static_cast<double>(logits(0, 0)), sum = 0.0;
        for (std::size_t k = 1; k < parts.size(); ++k)
            largest = (std::max)(largest, static_cast<double>(logits(0, k)));
        for (std::size_t k = 0; k < parts.size(); ++k)
            sum += parts[k].weight = std::exp(static_cast<double>(logits(0, k)) - largest);
        for (auto& part : parts)
            part.weight /= sum;
    }

    /// From the outputs of the network, [1, n].
    void read(matrix_view<scalar const> raw, std::span<normal_component<double>> parts) const {
        double const unit = description_.reward_scale;
        auto const at = [&](std::size_t j) { return static_cast<double>(raw(0, j)); };
        std::size_t const count = parts.size();
        if (auto const* const mixture = std::get_if<mixture_outputs>(&description_.head)) {
            set_weights(raw, parts);
            for (std::size_t k = 0; k < count; ++k) {
                double const x = at(2 * count + k);
                double const softplus = (std::max)(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
                parts[k].mean = unit * at(count + k);
                parts[k].deviation = unit * std::sqrt(mixture->scale * (softplus + mixture->floor));
            }
        } else if (auto const* const grid = std::get_if<atom_outputs>(&description_.head)) {
            set_weights(raw, parts);
            for (std::size_t k = 0; k < count; ++k)
                parts[k].mean = unit * grid->atoms[k];
        } else {
            for (std::size_t k = 0; k < count; ++k)
                parts[k] = {1.0 / static_cast<double>(count), unit * at(k), 0.0};
        }
    }

    value_description description_;
    Trunk trunk_;
    layer_type layer_;
    buffer<scalar> parameters_;
    detail::observation_scaling scaling_;
    std::vector<scalar> fractions_;
};

/// What an agent, an actor_critic, expects as it is now.
template <class Agent>
[[nodiscard]] auto deploy_value(Agent const& agent, std::optional<double> observation_clip = {},
                                double reward_scale = 1.0) {
    using networks = typename Agent::network_type;
    auto const& from = agent.networks();
    deployed_value<typename networks::backend_type, typename networks::trunk_type>
        value(from.trunk(), {value_outputs_of(agent.head()), observation_clip, reward_scale, agent.options().discount,
                             agent.value_range()});
    auto const trunk = from.critic_trunk_part(agent.parameters()), layer = from.value_part(agent.parameters());
    std::copy(layer.begin(), layer.end(), std::copy(trunk.begin(), trunk.end(), value.parameters().begin()));
    return value;
}

/// What an agent expects whose observations and rewards are normalised by `worlds`, as deploy() has them.
template <class Agent, class Worlds>
    requires requires(Worlds const& worlds) { worlds.observation_statistics(); }
[[nodiscard]] auto deploy_value(Agent const& agent, Worlds const& worlds) {
    auto const& options = worlds.options();
    auto value = deploy_value(agent, options.observations ? std::optional(options.observation_clip) : std::nullopt,
                              options.rewards ? 1.0 / worlds.return_statistics().scale(0, options.epsilon) : 1.0);
    detail::take_statistics(worlds, agent.value_range().has_value(), value);
    return value;
}

} // namespace gmac::inline GMAC_ABI
