// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace gmac::torch::detail {

/// A gradient that must not be differentiated: there are no second derivatives, and none must be taken for zero.
class first_derivative : public ::torch::autograd::Function<first_derivative> {
public:
    using context = ::torch::autograd::AutogradContext;
    using list = ::torch::autograd::variable_list;

    static at::Tensor forward(context*, at::Tensor const& gradient) { return gradient.view(gradient.sizes()); }
    static list backward(context*, list const&) {
        fail("gmac::torch: the second derivative of a loss is asked for, but there is only the first");
    }
};

/// A number whose gradient with respect to `outputs` was computed with it.
class known_gradient : public ::torch::autograd::Function<known_gradient> {
public:
    using context = ::torch::autograd::AutogradContext;
    using list = ::torch::autograd::variable_list;

    // By pointers, so that libtorch takes the outputs alone for arguments that may be differentiated.
    static at::Tensor forward(context* saved, at::Tensor const& /*outputs*/, at::Tensor const* value,
                              at::Tensor const* gradient) {
        saved->save_for_backward({*gradient});
        return *value;
    }
    static list backward(context* saved, list const& of_value) {
        at::Tensor gradient = of_value[0].detach().mul(saved->get_saved_variables()[0]);
        // As once_differentiable does in Python: with create_graph the result has a history, which refuses.
        if (at::GradMode::is_enabled())
            gradient = first_derivative::apply(gradient.detach().requires_grad_());
        return {gradient, {}, {}};
    }
};

} // namespace gmac::torch::detail
