// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy_layers.hpp"

#include <string>

namespace gmac::examples::exporting {

/// The version of ONNX's operators that the model uses; it came with ONNX 1.8 (2020).
inline constexpr int onnx_opset = 13;

/// A model of ONNX as the bytes of its file. Input: `observation`, [batch, size] floats, or [batch, channels, height, width] or
/// [batch, height, width, channels] bytes. Output: `action`, [batch] whole numbers or [batch, size] floats; with
/// `distribution` also `log_probabilities` [batch, actions], or `mean` and `deviation` [batch, size].
[[nodiscard]] std::string write_onnx(policy_layers const& policy, bool distribution);

} // namespace gmac::examples::exporting
