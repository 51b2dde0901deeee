// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/output/metrics_table.hpp"

#include <gmac/storage/checkpoint.hpp>

#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/scratch_folder.hpp"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

/// gmac-train as a program that runs, is stopped, and leaves files.
namespace gmac::testing {

namespace fs = std::filesystem;

/// Its parts as text for a command line.
struct scratch : scratch_folder {
    [[nodiscard]] std::string operator/(std::string const& name) const { return (path / name).string(); }
};

inline program_outcome train(std::string const& arguments) {
    return run_program(fmt::format("'{}' {} 2>&1", GMAC_TRAIN, arguments));
}

inline std::string const quiet = " --no-pictures --no-report --evaluation-episodes 0 ";

/// Every file of a folder and what is in it.
inline std::map<std::string, std::string> files_in(fs::path const& folder) {
    std::map<std::string, std::string> files;
    for (auto const& file : fs::directory_iterator(folder))
        files[file.path().filename().string()] = slurp(file.path());
    return files;
}

/// A process of a line of the shell, which it is to begin with `exec`; ended at the latest with this object.
class running_program {
public:
    explicit running_program(std::string const& line) : child_(::fork()) {
        if (child_ == 0) {
            ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
            ::_exit(127);
        }
        REQUIRE(child_ > 0);
    }
    running_program(running_program const&) = delete;
    running_program& operator=(running_program const&) = delete;
    ~running_program() {
        if (child_ > 0)
            (void)end(SIGKILL);
    }

    void signal(int number) const { ::kill(child_, number); }
    /// Waits for the end: the exit code, or 128 and the signal that ended it.
    int wait() {
        int status = 0;
        ::waitpid(child_, &status, 0);
        child_ = 0;
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    int end(int number) {
        signal(number);
        return wait();
    }

private:
    pid_t child_;
};

/// A process of gmac-train with what the shell takes besides, such as redirections.
class running_train : public running_program {
public:
    explicit running_train(std::string const& arguments, std::string const& before = {})
        : running_program(fmt::format("{}exec '{}' {}", before, GMAC_TRAIN, arguments)) {}
};

/// Waits until something is so; fails after a minute.
inline void wait_until(std::function<bool()> const& so) {
    for (int turn = 0; turn < 6000 && !so(); ++turn)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(so());
}

/// The frames that the checkpoint in a folder was trained for; 0 if there is none.
inline std::uint64_t frames_in(fs::path const& folder, std::string const& name = "checkpoint.safetensors") {
    std::uint64_t frames = 0;
    if (fs::exists(folder / name))
        load_checkpoint(
            folder / name, [&](archive& state) { state("frames", frames); }, unasked::ignore);
    return frames;
}

/// The stored state without the strings, of which the seconds differ.
inline snapshot state_of(fs::path const& folder) {
    return read_checkpoint(folder / "checkpoint.safetensors").state;
}

/// All columns of a table but the times.
inline std::vector<std::vector<double>> numbers_of(fs::path const& folder, std::string const& name = "metrics") {
    auto const table = examples::train::read_csv(folder / (name + ".csv"));
    std::vector<std::vector<double>> columns;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        if (!table.columns[i].ends_with("seconds") && table.columns[i] != "frames_per_second") {
            columns.push_back(table.values[i]);
            for (double& value : columns.back())
                value = value == value ? value : -1e300; // NaN before the first episode equals itself here
        }
    return columns;
}

/// A deployed network holds tensors of the run's parameters, bit for bit; `part` is the one whose trunk it has. Gives their number.
template <class Network>
std::size_t check_part_of(snapshot const& run, Network& network, std::string const& part) {
    auto const own = snapshot::of([&](archive& state) { network.persist(state); });
    for (auto const& tensor : own.tensors()) {
        std::string const name = "parameters." + (tensor.name.starts_with("trunk") ? part + "_" : "") + tensor.name;
        auto const stored = std::ranges::find(run.tensors(), name, &snapshot::tensor::name);
        INFO(name);
        REQUIRE(stored != run.tensors().end());
        CHECK(stored->data == tensor.data);
    }
    return own.tensors().size();
}

} // namespace gmac::testing
