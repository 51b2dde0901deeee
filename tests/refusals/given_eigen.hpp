// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/random.hpp>
#include <gmac/heads.hpp>
#include <gmac/losses.hpp>
#include <gmac/targets.hpp>

#include <Eigen/Core>

#include <utility>
#include <vector>

namespace heads = gmac::heads;
namespace losses = gmac::losses;
namespace targets = gmac::targets;

/// What a user has at hand.
struct given {
    losses::gaussian_mixture_energy mixture;
    heads::gaussian_mixture<5> head;
    Eigen::MatrixXd matrix, other;
    Eigen::MatrixXf floats;
    Eigen::VectorXd vector;
    std::vector<double> numbers;
    std::vector<bool> bits;
    targets::clipped_returns<double const> clipped;
    targets::dirac_particles<double const> points;
    targets::gaussian_particles<double const> components;
    targets::rollout_view<double> rollout;
    targets::gaussian_particles<double> drawn;
    gmac::random_stream random;
};

#ifdef GMAC_CONTROL
/// The calls whose misuse is refused.
inline void use(given& x) {
    targets::gae{}(x.rollout, x.vector, x.vector, x.vector);
    targets::sr_lambda{}(x.rollout, targets::gaussian_source{x.matrix, x.matrix, x.matrix}, x.random, x.drawn);
    losses::squared_error{}.value_and_gradient(heads::scalar(), x.matrix, x.vector, x.other);
    losses::clipped_squared_error{}.value_and_gradient(heads::scalar(), x.matrix, x.clipped, x.other);
    losses::huber_quantile{}.value_and_gradient(heads::dirac<5>(), x.matrix, x.points, x.other);
    losses::sample_energy{}.value_and_gradient(heads::dirac<5>(), x.matrix, x.points, x.other);
    losses::categorical_energy{}.value_and_gradient(heads::categorical<5>(), x.matrix, x.points, x.other);
    x.mixture.value_and_gradient(x.head, x.matrix, x.components, x.other);
    heads::categorical<5>().mean(x.matrix, x.vector);
    x.head.distribution(x.matrix, x.other, x.other, x.other);
    gmac::quantile_outputs const quantiles{x.matrix, x.other};
    static_cast<void>(losses::expectile{}.value(heads::implicit_quantile(), quantiles, x.points));
    static_cast<void>(losses::sample_energy{}.value(heads::implicit_quantile(), x.matrix, x.points));
    static_cast<void>(targets::rollout_view{x.numbers});
}
#endif
