// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/environment/plugin.h>
#include <gmac/core/error.hpp>
#include <gmac/environment/plugin/detail/source.hpp>

#include <dlfcn.h>

#include <filesystem>
#include <memory>
#include <string>

namespace gmac::inline GMAC_ABI::detail {

/// A shared library that is open.
class environment_library final : public environment_source {
public:
    explicit environment_library(std::filesystem::path const& file) : environment_source(file) {
        // With a slash in it, or the system's folders would be searched.
        handle_.reset(dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL));
        require(handle_ != nullptr, "{} is no shared library that can be loaded: {}", this->file(), reason());
        void* const symbol = dlsym(handle_.get(), "gmac_environment_library");
        require(symbol != nullptr,
                "{} has no gmac_environment_library (gmac/environment/plugin.h), so it is no environment",
                this->file());
        gmac_environment const* const description = reinterpret_cast<gmac_environment const* (*)()>(symbol)();
        require(description != nullptr,
                "{}: gmac_environment_library returned no environment (a reason may stand above)", this->file());
        take(*description);
    }

private:
    struct closed {
        void operator()(void* handle) const noexcept { dlclose(handle); }
    };
    [[nodiscard]] static std::string reason() {
        char const* const text = dlerror();
        return text ? text : "no reason is known";
    }

    std::unique_ptr<void, closed> handle_;
};

} // namespace gmac::inline GMAC_ABI::detail
