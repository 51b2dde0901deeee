// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// Finds a parameter that is not a finite number, and throws gmac::error that names it.
class finite_parameters final : public archive {
public:
    explicit finite_parameters(std::string where) : where_(std::move(where)) {}
    [[nodiscard]] bool loading() const noexcept override { return false; }
    void array(std::string const& name, element_type type, std::span<std::size_t const> shape, void* data) override {
        // Of the agent, and of the critics that watch it.
        if (type != element_type::f32 || ("." + name).find(".parameters.") == std::string::npos)
            return;
        std::size_t size = 1;
        for (std::size_t const extent : shape)
            size *= extent;
        for (float const value : std::span(static_cast<float const*>(data), size))
            require(std::isfinite(value), "{}: {} has the value {}, but all must be finite", where_, name, value);
    }
    void bytes(std::string const&, std::vector<std::byte>&) override {}

private:
    std::string where_;
};

} // namespace gmac::examples::train
