// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/deploy/policy_file.hpp>
#include <gmac/deploy/value_file.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/convolution.hpp>
#include <gmac/nn/module.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

/// A policy as a list of layers, from which every format is written.
namespace gmac::examples::exporting {

/// (x − mean) · scale, clipped at ± clip, in single precision: `rest` is what a float cannot hold of the mean, so that
/// ((x − mean) − rest) · scale is the library's double to rounding, also where the mean is large.
struct normalisation {
    std::vector<float> mean, rest, scale;
    float clip = 0.0f; ///< may be infinite

    bool operator==(normalisation const&) const = default;
};

/// An image of bytes, each multiplied by `scale`; whatever its layout, the next layer's weights want the channels last.
struct pixels {
    nn::image_shape shape;
    bool channels_first = false;
    float scale = 1.0f;

    bool operator==(pixels const&) const = default;
};

/// The numbers of a layer: weight [rows, outputs], row-major, and bias [outputs]. If there are `steps` [outputs], the weights
/// are whole numbers from −127 to 127, and steps of their column.
struct numbers {
    std::size_t outputs = 0;
    std::vector<float> weight, bias, steps{};

    [[nodiscard]] std::size_t rows() const noexcept { return weight.size() / outputs; }
    bool operator==(numbers const&) const = default;
};

/// f(x W + b)
struct dense {
    numbers of;
    nn::activation function = nn::activation::none;

    bool operator==(dense const&) const = default;
};

/// f(x * W + b), rows of W are [kernel, kernel, channels].
struct convolution {
    nn::convolution_shape shape;
    numbers of;
    nn::activation function = nn::activation::none;

    bool operator==(convolution const&) const = default;
};

using layer = std::variant<normalisation, pixels, convolution, dense>;

struct policy_layers {
    std::size_t observation_size = 0;
    std::vector<layer> layers; ///< the last one's outputs are the actor's
    gmac::action_space action_space;
    policy_actor actor;
    /// Of a Gaussian actor whose deviations do not depend on the state, [action size]; of state-dependent exploration
    /// [action size, features].
    std::vector<float> log_deviations{};
    std::map<std::string, std::string> notes{}; ///< what is known of the training, by name

    [[nodiscard]] numbers const& last() const { return std::get<dense>(layers.back()).of; }
    /// Bytes of an image, or floats.
    [[nodiscard]] bool sees_images() const noexcept { return std::holds_alternative<pixels>(layers.front()); }
};

/// The network that predicts the value distribution.
struct value_layers {
    std::size_t observation_size = 0;
    std::vector<layer> layers; ///< the last one's outputs are the head's, or the features of implicit quantiles
    value_description description;
    /// Of implicit quantiles: what multiplies the features for each fraction, [fractions, features], and the layers behind.
    std::vector<float> embedded{};
    dense hidden{}, quantile{};
};

/// Throws gmac::error for what no float can hold.
[[nodiscard]] policy_layers layers_of(any_policy<> const& policy);
[[nodiscard]] value_layers layers_of(any_value<> const& value);

/// The fractions of so many quantiles.
[[nodiscard]] std::vector<double> midpoints(std::size_t count);

/// Rounds all weights to whole steps, 127 of which are the largest of their column.
void round_weights(policy_layers& policy);

/// How a policy with these weights acts beside the one that they were made of, on random observations.
struct difference {
    std::size_t observations = 0;
    double largest = 0.0; ///< of an element of an action; real actions
    double other = 0.0;   ///< the share of the observations with another action; discrete actions
};
[[nodiscard]] difference compare(any_policy<> const& rounded, any_policy<> const& policy);

/// The policy with the weights of these layers, which were made of it.
[[nodiscard]] any_policy<> with_weights(policy_layers const& layers, any_policy<> const& policy);

} // namespace gmac::examples::exporting
