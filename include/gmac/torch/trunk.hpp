// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/initialization.hpp>
#include <gmac/nn/module.hpp>
#include <gmac/torch/detail/module_copies.hpp>
#include <gmac/torch/tensors.hpp>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::torch {

/// How a trunk's parameters are at the start.
struct trunk_options {
    /// Without a value: as they are in the module. With one: weights (tensors of two and more dimensions) orthogonal with
    /// this gain, biases zero, both from the agent's seed, everything else as in the module. The library's own networks
    /// have √2.
    std::optional<double> orthogonal_gain{};
};

/// A network of libtorch as the trunk of an agent, or anywhere else where a gmac::nn::module goes:
///
///     torch::nn::Sequential net(torch::nn::Linear(4, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64), torch::nn::Tanh());
///     using agent_type = gmac::actor_critic<actor, head, loss, gmac::backends::simd<float>, gmac::torch::trunk<float>>;
///     agent_type agent(worlds, gmac::torch::trunk<float>(net, 4), options, seed);
///
/// Its parameters are views of the agent's one flat buffer, where they lie in the order of named_parameters(), each
/// row-major: the optimiser writes them, a checkpoint has them by their names. Gradients are copied from autograd into the
/// flat gradient. Parameters that do not require a gradient stay in the buffer with a gradient of zero.
///
/// Each workspace has a module of its own, so that threads may work at once. A module must be a function of its parameters and
/// input alone, or a run could not be resumed: one that draws random numbers or changes its buffers (dropout, batch
/// normalisation; call eval() first) is refused. Results are the same bits if libtorch's are: torch::set_num_threads(1),
/// and OPENBLAS_NUM_THREADS=1 where its matrix products come from OpenBLAS. libtorch allocates in each pass.
///
/// With bytes as Input the module gets tensors of type uint8, such as frames: it scales and shapes them in its forward.
template <std::floating_point T = float, class Input = T>
    requires std::same_as<Input, T> || std::same_as<Input, std::uint8_t>
class trunk {
public:
    using scalar = T;
    using input_type = Input;

    /// Movable, not copyable: a pass records its graph here.
    class workspace {
    public:
        workspace(workspace&&) noexcept = default;
        workspace& operator=(workspace&&) noexcept = default;

    private:
        friend class trunk;
        workspace() = default;

        std::size_t rows = 0;
        std::shared_ptr<::torch::nn::Module> module;
        std::vector<at::Tensor> parameters; // of the module
        T const* start = nullptr;           // of the flat range that they are views of
        at::Tensor input, output;           // of the last forward pass
    };

    /// `module`: a holder such as torch::nn::Sequential or a std::shared_ptr, of a module with a forward that takes the
    /// states [n, inputs] and returns the features [n, outputs]. A module that cannot be cloned (it is no
    /// torch::nn::Cloneable) is given as a function that makes one; all that it makes must be alike but for their numbers.
    ///
    /// Throws gmac::error if the module has parameters of another type than T or on another device, if its features are
    /// not [n, outputs], and if it draws random numbers or changes its buffers.
    template <class Module>
    explicit trunk(Module module, std::size_t inputs, trunk_options options = {})
        : inputs_(inputs), options_(options), modules_(std::move(module)) {
        require(inputs > 0, "torch trunk: inputs is 0, but must be positive");
        list_parameters();
        probe();
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return inputs_; }
    [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
    [[nodiscard]] std::size_t parameter_count() const noexcept { return parameter_count_; }

    void initialize(std::span<T> parameters, random_stream& stream) const {
        require_parameters(parameters.size(), "torch trunk: initialize");
        auto const values = copies::parameters_of(modules_.original());
        for (std::size_t i = 0; i < values.size(); ++i) {
            placed const& p = placed_[i];
            std::span<T> const here = parameters.subspan(p.offset, p.count());
            bool const bias = p.name == "bias" || p.name.ends_with(".bias");
            if (options_.orthogonal_gain && p.sizes.size() > 1)
                nn::initialize_orthogonal(matrix_view<T>(here.data(), p.rows(), p.cols()),
                                          static_cast<T>(*options_.orthogonal_gain), stream);
            else if (options_.orthogonal_gain && bias)
                std::ranges::fill(here, T(0));
            else
                copy(values[i], here, p);
        }
    }

    /// Names are the module's, such as "0.weight"; a tensor is [its first size, the product of the others].
    template <class Visit>
    void describe(Visit&& visit) const {
        for (placed const& p : placed_)
            visit(std::string_view(p.name), p.offset, p.rows(), p.cols());
    }

    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        workspace t;
        t.rows = rows;
        t.module = modules_.make();
        t.parameters = copies::parameters_of(*t.module);
        return t;
    }

    matrix_view<T const> forward(std::span<T const> parameters, matrix_view<Input const> input, workspace& t) const {
        require_parameters(parameters.size(), "torch trunk: forward");
        require_shape(input, input.rows(), inputs_, "the input", "torch trunk: forward");
        require(input.rows() <= t.rows,
                "torch trunk: forward: the input has {} rows, but the workspace was made for {}", input.rows(), t.rows);
        at::AutoGradMode const recording(true);
        place(parameters, t);
        t.input = detail::tensor_over(input);
        if constexpr (std::same_as<Input, T>)
            t.input.requires_grad_();
        t.output = modules_.forward(*t.module, t.input).contiguous();
        require_features(t.output, input.rows());
        return detail::to_write<T>(t.output);
    }

    /// The gradient of bytes must be an empty view.
    void backward(std::span<T const> parameters, matrix_view<Input const> input, workspace& t,
                  matrix_view<T const> output_gradient, std::span<T> parameter_gradient,
                  matrix_view<T> input_gradient) const {
        require_parameters(parameters.size(), "torch trunk: backward");
        require_parameters(parameter_gradient.size(), "torch trunk: backward");
        require(t.output.defined() && t.start == parameters.data() && t.input.data_ptr() == input.data() &&
                    detail::extent(t.output.size(0)) == input.rows(),
                "torch trunk: backward: the parameters and input are not those of the workspace's last forward pass");
        require_shape(output_gradient, input.rows(), outputs_, "the output gradient", "torch trunk: backward");
        std::vector<at::Tensor> wanted;
        for (at::Tensor const& parameter : t.parameters)
            if (parameter.requires_grad())
                wanted.push_back(parameter);
        if (!input_gradient.empty()) {
            require(std::same_as<Input, T>, "torch trunk: backward: there is no gradient of bytes");
            require_shape(input_gradient, input.rows(), inputs_, "the input gradient", "torch trunk: backward");
            wanted.push_back(t.input);
        }
        std::vector<at::Tensor> gradients(wanted.size());
        if (!wanted.empty() && t.output.requires_grad())
            gradients = ::torch::autograd::grad({t.output}, wanted, {detail::tensor_over(output_gradient)},
                                                /*retain_graph*/ true, /*create_graph*/ false, /*allow_unused*/ true);
        auto next = gradients.begin();
        for (std::size_t i = 0; i < placed_.size(); ++i)
            copy(t.parameters[i].requires_grad() ? *next++ : at::Tensor(),
                 parameter_gradient.subspan(placed_[i].offset, placed_[i].count()), placed_[i]);
        if (!input_gradient.empty())
            copy(*next, detail::tensor_over(input_gradient));
    }

    /// A module like the caller's with these parameters, in memory of its own: to go on with, or for torch::save. An
    /// agent's trunk comes first in agent.parameters().
    [[nodiscard]] std::shared_ptr<::torch::nn::Module> module_with(std::span<T const> parameters) const {
        require_parameters(parameters.size(), "torch trunk: module_with");
        std::shared_ptr<::torch::nn::Module> made = modules_.make();
        auto const tensors = copies::parameters_of(*made);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            copy(placed_[i].in(parameters.data()), tensors[i]);
        return made;
    }

private:
    using copies = detail::module_copies;

    /// A parameter's name, shape, and place in the flat range.
    struct placed {
        std::string name;
        std::vector<std::int64_t> sizes, strides;
        std::size_t offset;

        [[nodiscard]] std::size_t rows() const noexcept { return sizes.size() > 1 ? detail::extent(sizes[0]) : 1; }
        [[nodiscard]] std::size_t cols() const noexcept { return rows() > 0 ? count() / rows() : 0; }
        [[nodiscard]] std::size_t count() const noexcept {
            std::size_t product = 1;
            for (std::int64_t const size : sizes)
                product *= detail::extent(size);
            return product;
        }
        template <class U>
        [[nodiscard]] at::Tensor in(U* start) const {
            return detail::tensor_over(start + offset, sizes, strides);
        }
    };

    void list_parameters() {
        std::vector<std::string> names;
        auto const tensors = copies::parameters_of(modules_.original(), &names);
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            at::Tensor const& tensor = tensors[i];
            detail::require_readable<T>(tensor, names[i], "torch trunk", detail::role::differentiable);
            placed_.push_back({names[i], tensor.sizes().vec(), tensor.contiguous().strides().vec(), parameter_count_});
            parameter_count_ += placed_.back().count();
        }
    }

    /// Finds out how many features there are, and whether the module is a function of its input.
    void probe() {
        at::NoGradGuard const unrecorded;
        auto const buffers = modules_.original().buffers();
        auto const changes = [&buffers] {
            std::int64_t sum = 0;
            for (at::Tensor const& buffer : buffers)
                sum += buffer._version();
            return sum;
        };
        auto const generator = [] { return at::detail::getDefaultCPUGenerator().get_state(); };
        std::int64_t const changes_before = changes();
        at::Tensor const generator_before = generator();
        at::Tensor const features =
            modules_.forward(modules_.original(), at::zeros({2, detail::extent(inputs_)},
                                                            at::TensorOptions().dtype(detail::type_of<Input>)));
        require(generator_before.equal(generator()),
                "torch trunk: the module draws random numbers, but must be a function of its input: if it has dropout, "
                "call eval()");
        require(changes() == changes_before,
                "torch trunk: the module changes its buffers, but must be a function of its input: if it has batch "
                "normalisation, call eval()");
        require(features.defined() && features.dim() == 2 && features.size(0) == 2 && features.size(1) > 0,
                "torch trunk: of two states the module makes no matrix of two rows, but must make [2, features]");
        outputs_ = detail::extent(features.size(1));
        require_features(features, 2);
    }

    void require_features(at::Tensor const& features, std::size_t rows) const {
        auto const view = detail::matrix<T>(features, "the features", "torch trunk", detail::role::differentiable);
        require_shape(view, rows, outputs_, "the matrix of features", "torch trunk");
    }
    void require_parameters(std::size_t size, std::string_view where) const {
        require(size == parameter_count_, "{}: {} parameters given, but the module has {}", where, size,
                parameter_count_);
    }
    /// The workspace's module computes with these parameters where they lie.
    void place(std::span<T const> parameters, workspace& t) const {
        if (t.start == parameters.data())
            return;
        for (std::size_t i = 0; i < placed_.size(); ++i)
            t.parameters[i].set_data(placed_[i].in(parameters.data()));
        t.start = parameters.data();
    }

    /// An undefined tensor stands for zeros.
    static void copy(at::Tensor const& from, at::Tensor to) {
        at::NoGradGuard const unrecorded;
        if (from.defined())
            to.copy_(from);
        else
            to.zero_();
    }
    static void copy(at::Tensor const& from, std::span<T> to, placed const& p) {
        copy(from, detail::tensor_over(to.data(), p.sizes, p.strides));
    }

    std::size_t inputs_;
    std::size_t outputs_ = 0;
    std::size_t parameter_count_ = 0;
    trunk_options options_;
    copies modules_;
    std::vector<placed> placed_;
};

} // namespace gmac::inline GMAC_ABI::torch
