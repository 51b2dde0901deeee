// SPDX-License-Identifier: Apache-2.0
#pragma once

// Networks over one flat parameter buffer, and their optimisers.
#include <gmac/nn/activation.hpp>
#include <gmac/nn/adam.hpp>
#include <gmac/nn/backend.hpp>
#include <gmac/nn/conv2d.hpp>
#include <gmac/nn/convolution.hpp>
#include <gmac/nn/cosine_embedding.hpp>
#include <gmac/nn/gradient_norm.hpp>
#include <gmac/nn/image_trunk.hpp>
#include <gmac/nn/implicit_quantile.hpp>
#include <gmac/nn/initialization.hpp>
#include <gmac/nn/linear.hpp>
#include <gmac/nn/mlp.hpp>
#include <gmac/nn/module.hpp>
#include <gmac/nn/optimizer.hpp>
#include <gmac/nn/rmsprop.hpp>
#include <gmac/nn/sequential.hpp>
