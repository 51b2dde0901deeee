// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything for libtorch: the losses and the targets as functions of tensors, and torch::nn::Modules as trunks of
/// agents. Needs libtorch; link gmac::torch.
#include <gmac/torch/losses.hpp>
#include <gmac/torch/targets.hpp>
#include <gmac/torch/trunk.hpp>
