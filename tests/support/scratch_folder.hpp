// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace gmac::testing {

/// An empty folder of its own that is gone at the end of the test.
struct scratch_folder {
    std::filesystem::path path;

    scratch_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "gmac-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no temporary folder");
        path = name;
    }
    scratch_folder(scratch_folder const&) = delete;
    scratch_folder& operator=(scratch_folder const&) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }

    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path / name; }
    [[nodiscard]] std::size_t files() const {
        auto const entries = std::filesystem::directory_iterator(path);
        return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
    }
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

} // namespace gmac::testing
