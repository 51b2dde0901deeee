// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/actors/categorical.hpp>
#include <gmac/agents.hpp>
#include <gmac/backends/simd.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/nn/mlp.hpp>

#include <cstddef>
#include <span>

/// Parts of an agent that lack something, or do not fit each other.
namespace my {

using gmac::actors::categorical;
using backend = gmac::backends::simd<float>;

struct actor : categorical {
    void mode() = delete;
};
struct trunk : gmac::nn::mlp<backend> {
    void describe() = delete;
};
struct slow_backend : backend {
    static void affine() = delete;
};
using trunk_of_doubles = gmac::nn::mlp<gmac::backends::simd<double>>;
using trunk_of_screens = gmac::nn::image_trunk<backend>;

template <class Actor, class Backend = backend, class Trunk = gmac::default_trunk<Backend>>
using agent = gmac::agents::gmac<Actor, Backend, Trunk>;

/// An environment where a batch of them is wanted.
struct world {
    static std::size_t observation_size() { return 2; }
    static gmac::discrete action_space() { return {3}; }
    void reset(gmac::random_stream&, std::span<float>) {}
    gmac::transition step(int, gmac::random_stream&, std::span<float>) { return {}; }
};

} // namespace my
