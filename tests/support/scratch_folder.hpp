// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace test {

/// An empty folder of its own that is gone at the end of the test.
class scratch_folder {
public:
    scratch_folder() : path_((std::filesystem::temp_directory_path() / "gmac-test-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error("no temporary folder");
    }
    scratch_folder(scratch_folder const&) = delete;
    scratch_folder& operator=(scratch_folder const&) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
        return std::filesystem::path(path_) / name;
    }
    [[nodiscard]] std::filesystem::path path() const { return path_; }
    [[nodiscard]] std::size_t files() const {
        auto const entries = std::filesystem::directory_iterator(path_);
        return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
    }

private:
    std::string path_;
};

inline std::string slurp(std::filesystem::path const& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot open " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void spit(std::filesystem::path const& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    if (!file.flush())
        throw std::runtime_error("cannot write " + path.string());
}

/// What the gmac::error thrown by `action` says; empty if none was thrown.
template <class Action>
std::string message_of(Action&& action) {
    try {
        std::forward<Action>(action)();
    } catch (gmac::error const& problem) {
        return problem.what();
    }
    return {};
}

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

} // namespace test
