// SPDX-License-Identifier: Apache-2.0
#include "machine.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/json.hpp>
#include <gmac/version.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <xsimd/xsimd.hpp>

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace gmac::examples::report {

namespace {

using json = nlohmann::ordered_json;

/// What follows `key` and a separator in the first line of a file that begins so; empty if there is none.
[[nodiscard]] std::string value_in(char const* file, std::string_view key, char separator) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
        if (std::size_t const at = line.find(separator); line.starts_with(key) && at != line.npos) {
            std::string value = line.substr(at + 1);
            std::erase(value, '"');
            value.erase(0, value.find_first_not_of(" \t"));
            return value;
        }
    return {};
}

[[nodiscard]] std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "GCC " __VERSION__;
#else
    return "unknown";
#endif
}

[[nodiscard]] bool is_list(json const& value) {
    return value.is_object() && value.contains("processes") && value["processes"].is_array();
}

} // namespace

json this_machine(std::size_t threads, std::uint64_t frames) {
    utsname system{};
    ::uname(&system);
    std::string processor = value_in("/proc/cpuinfo", "model name", ':');
    std::string const distribution = value_in("/etc/os-release", "PRETTY_NAME", '=');
    double const bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
    return {{"began", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
            {"frames", frames},
            {"processor", processor.empty() ? std::string(system.machine) : processor},
            {"cores", (std::max)(1u, std::thread::hardware_concurrency())},
            {"threads", threads},
            {"memory_bytes", static_cast<std::uint64_t>(bytes)},
            {"system",
             fmt::format("{}{}{} {}", distribution, distribution.empty() ? "" : ", ", system.sysname, system.release)},
            {"compiler", compiler()},
            {"vectors", xsimd::default_arch::name()},
            {"gmac", fmt::format("{}.{}.{}", GMAC_VERSION_MAJOR, GMAC_VERSION_MINOR, GMAC_VERSION_PATCH)}};
}

void append_machine(std::filesystem::path const& file, std::size_t threads, std::uint64_t frames) {
    json list{{"format", "gmac-machine-1"}, {"processes", json::array()}};
    if (std::error_code none; std::filesystem::exists(file, none)) {
        json before;
        try {
            before = read_json<json>(file);
        } catch (error const&) {
        }
        if (is_list(before))
            list = std::move(before);
        else
            std::filesystem::rename(file, file.string() + ".damaged", none);
    }
    list["processes"].push_back(this_machine(threads, frames));
    replace_file(file, list.dump(4, ' ', false, json::error_handler_t::replace) + '\n');
}

} // namespace gmac::examples::report
