// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy_layers.hpp"

#include <string>

namespace gmac::examples::exporting {

/// The version of ONNX's operators that the model uses; it came with ONNX 1.8 (2020).
inline constexpr int onnx_opset = 13;

/// A model of ONNX as the bytes of its file. Input: `observation`, [batch, size] floats, or [batch, channels, height, width] or
/// [batch, height, width, channels] bytes. Output: `action`, [batch] whole numbers or [batch, size] floats; with
/// `distribution` also `log_probabilities` [batch, actions], or `mean` and `deviation` [batch, size]; with `value`, which sees the
/// same observations, also `value` [batch] and the distribution that it is the mean of. Layers that both networks begin with are
/// there once. Throws gmac::error if the networks see different observations.
[[nodiscard]] std::string write_onnx(policy_layers const& policy, bool distribution, value_layers const* value);

} // namespace gmac::examples::exporting
