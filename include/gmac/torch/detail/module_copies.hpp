// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::torch::detail {

/// A module of libtorch of any type, and as many more like it as are asked for: by clone(), or by the caller's function.
class module_copies {
public:
    using module_type = ::torch::nn::Module;

    /// A holder, a shared pointer, or a function that returns one of these.
    template <class Module>
    explicit module_copies(Module module) {
        if constexpr (requires { module.ptr(); })
            take(module.ptr());
        else if constexpr (requires { module.get(); })
            take(module);
        else
            take_maker(std::move(module));
    }

    /// The first one. Nobody else has it, unless the caller's function kept it.
    [[nodiscard]] module_type& original() const noexcept { return *original_; }
    [[nodiscard]] at::Tensor forward(module_type& module, at::Tensor const& input) const {
        return forward_(module, input);
    }

    /// One more, with the first one's buffers and choice of the parameters that learn. Throws gmac::error if it is not like
    /// the first one.
    [[nodiscard]] std::shared_ptr<module_type> make() const {
        at::NoGradGuard const unrecorded;
        std::shared_ptr<module_type> made = make_();
        require_alike(made != original_);
        hand_on(*original_, *made);
        auto const from = original_->buffers(), to = made->buffers();
        require_alike(from.size() == to.size());
        for (std::size_t i = 0; i < from.size(); ++i)
            at::Tensor(to[i]).copy_(from[i]);
        return made;
    }

    /// Each parameter once, even if it is registered under two names.
    [[nodiscard]] static std::vector<at::Tensor> parameters_of(module_type const& module,
                                                               std::vector<std::string>* names = nullptr) {
        std::vector<at::Tensor> parameters;
        for (auto const& named : module.named_parameters()) {
            bool const known = std::ranges::any_of(parameters, [&](at::Tensor const& parameter) {
                return parameter.is_same(named.value());
            });
            if (known)
                continue;
            parameters.push_back(named.value());
            if (names != nullptr)
                names->push_back(named.key());
        }
        return parameters;
    }

private:
    template <class Impl>
    void take(std::shared_ptr<Impl> const& module) {
        require(module != nullptr, "torch trunk: the module is a null pointer");
        use_forward_of(*module);
        original_ = module->clone(); // the caller may go on with his own
        hand_on(*module, *original_);
        make_ = [original = original_] { return original->clone(); };
    }
    template <class Make>
    void take_maker(Make make) {
        auto pointer = [make = std::move(make)]() mutable {
            auto made = make();
            if constexpr (requires { made.ptr(); })
                return made.ptr();
            else
                return made;
        };
        make_ = pointer;
        auto const first = pointer();
        require(first != nullptr, "torch trunk: the module is a null pointer");
        use_forward_of(*first);
        original_ = first;
    }
    template <class Impl>
    void use_forward_of(Impl const&) {
        forward_ = [](module_type& module, at::Tensor const& input) -> at::Tensor {
            return dynamic_cast<Impl&>(module).forward(input);
        };
    }

    static void require_alike(bool alike) {
        require(alike, "torch trunk: a copy of the module is not like the module, but must have the same parameters");
    }
    /// libtorch does not clone which parameters learn, nor that two of them are one.
    static void hand_on(module_type const& from, module_type const& to) {
        auto const originals = parameters_of(from), copies = parameters_of(to);
        require_alike(originals.size() == copies.size());
        for (std::size_t i = 0; i < originals.size(); ++i) {
            require_alike(originals[i].sizes() == copies[i].sizes());
            copies[i].set_requires_grad(originals[i].requires_grad());
        }
    }

    std::shared_ptr<module_type> original_;
    std::function<std::shared_ptr<module_type>()> make_;
    at::Tensor (*forward_)(module_type&, at::Tensor const&) = nullptr;
};

} // namespace gmac::inline GMAC_ABI::torch::detail
