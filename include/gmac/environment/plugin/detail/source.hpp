// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/environment/plugin.h>
#include <gmac/core/error.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/environment.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace gmac::inline GMAC_ABI::detail {

/// Where environments come from, with their description, which was found to be whole.
class environment_source {
public:
    explicit environment_source(std::filesystem::path const& file) : file_(file.string()) {}
    environment_source(environment_source const&) = delete;
    environment_source& operator=(environment_source const&) = delete;
    virtual ~environment_source() = default;

    [[nodiscard]] gmac_environment const& operator*() const noexcept { return *description_; }
    [[nodiscard]] std::string const& file() const noexcept { return file_; }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept { return space_; }

    /// What the functions of the description are called with; null if it cannot be made.
    [[nodiscard]] virtual void* make(std::size_t count, std::uint64_t seed, std::string const& options) {
        return description_->make(count, seed, options.c_str());
    }
    /// Why the call that failed did so.
    [[nodiscard]] virtual std::string problem() const {
        char const* const text = description_->problem ? description_->problem() : nullptr;
        return text && *text ? text : "it gives no reason";
    }

protected:
    /// Throws gmac::error unless everything is there that must be.
    void take(gmac_environment const& is) {
        require(is.version == GMAC_ENVIRONMENT_VERSION,
                "{} was made for version {} of gmac/environment/plugin.h, but this program has version {}", file_,
                is.version, GMAC_ENVIRONMENT_VERSION);
        for (auto const& [there, name] :
             {std::pair(is.name != nullptr, "name"), std::pair(is.make != nullptr, "make"),
              std::pair(is.destroy != nullptr, "destroy"), std::pair(is.reset != nullptr, "reset"),
              std::pair(is.step != nullptr, "step")})
            require(there, "{}: the environment's {} is NULL", file_, name);
        require((is.state_size != nullptr) == (is.save != nullptr) && (is.save != nullptr) == (is.load != nullptr),
                "{}: state_size, save and load must all be there or all be NULL", file_);
        constexpr std::size_t most = std::size_t(1) << 32; // so that no size overflows
        require(is.observation_size <= most && is.actions <= most && is.action_size <= most,
                "{}: an observation has {} numbers, an action {}, and there are {} actions, but none may be above {}",
                file_, is.observation_size, is.action_size, is.actions, most);
        require(is.actions == 0 || is.action_size > 0,
                "{}: there are {} discrete actions, but action_size is 0, and must be 1, or how many are done at once",
                file_, is.actions);
        require(is.actions > 0 || is.allowed == nullptr, "{}: `allowed` is for discrete actions", file_);
        require(is.actions > 0 || is.action_size == 0 || (is.low != nullptr && is.high != nullptr),
                "{}: the actions are vectors, but their bounds are NULL", file_);
        if (is.actions == 0)
            space_ = box{{is.low, is.low + is.action_size}, {is.high, is.high + is.action_size}};
        else if (is.action_size == 1)
            space_ = discrete{is.actions};
        else
            space_ = several(is);
        check_space(file_, space_, is.observation_size);
        description_ = &is;
    }

private:
    [[nodiscard]] multi_discrete several(gmac_environment const& is) const {
        require(is.high != nullptr,
                "{}: there are {} discrete actions at once, but `high`, the last value of each, is NULL", file_,
                is.action_size);
        multi_discrete space;
        std::size_t sum = 0;
        for (std::size_t k = 0; k < is.action_size; ++k) {
            float const low = is.low != nullptr ? is.low[k] : 0.0f, high = is.high[k];
            require(low == 0.0f && high >= 0.0f && high < 0x1p24f && high == std::floor(high),
                    "{}: component {} of the actions has the bounds {} and {}, but must begin at 0 and end at a whole "
                    "number below 16777216",
                    file_, k, low, high);
            space.counts.push_back(static_cast<std::size_t>(high) + 1);
            sum += space.counts.back();
        }
        require(sum == is.actions, "{}: the {} discrete actions at once have {} values together, but `actions` is {}",
                file_, is.action_size, sum, is.actions);
        return space;
    }

    std::string file_;
    gmac_environment const* description_ = nullptr;
    gmac::action_space space_;
};

} // namespace gmac::inline GMAC_ABI::detail
