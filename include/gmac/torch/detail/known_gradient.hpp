// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace gmac::inline GMAC_ABI::torch::detail {

/// A gradient with respect to `outputs` that must not be differentiated with respect to them again: there are no second
/// derivatives, and none must be taken for zero.
class first_derivative : public ::torch::autograd::Function<first_derivative> {
public:
    using context = ::torch::autograd::AutogradContext;
    using list = ::torch::autograd::variable_list;

    // By pointer, so that libtorch takes the outputs alone for an argument that may be differentiated.
    static at::Tensor forward(context*, at::Tensor const& /*outputs*/, at::Tensor const* gradient) { return *gradient; }
    static list backward(context*, list const&) {
        fail("gmac::torch: the second derivative of a loss is asked for, but there is only the first");
    }
};

/// A number whose gradient with respect to `outputs` was computed with it.
class known_gradient : public ::torch::autograd::Function<known_gradient> {
public:
    using context = ::torch::autograd::AutogradContext;
    using list = ::torch::autograd::variable_list;

    static at::Tensor forward(context* saved, at::Tensor const& outputs, at::Tensor const* value,
                              at::Tensor const* gradient) {
        saved->save_for_backward({*gradient});
        saved->saved_data["outputs"] = outputs; // not among the above, since it may be changed before the backward pass
        return *value;
    }
    static list backward(context* saved, list const& of_value) {
        at::Tensor gradient = of_value[0].detach().mul(saved->get_saved_variables()[0]);
        if (at::GradMode::is_enabled()) // create_graph
            gradient = first_derivative::apply(saved->saved_data["outputs"].toTensor(), &gradient);
        return {gradient, {}, {}};
    }
};

} // namespace gmac::inline GMAC_ABI::torch::detail
