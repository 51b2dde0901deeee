// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "folder_lock.hpp"
#include "shell_word.hpp"
#include "support/is_there.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// The folder of one training run. A run is there if it has a config.json, and finished if it has a summary.json. While
/// this object lives, no other process can use the folder as a run. It is this folder that is meant wherever it is moved
/// to, and not another one that takes its old place.
class run_folder {
public:
    /// Makes the folder, or takes an empty one. Refuses one that holds a run, unless `overwrite`, and one that holds
    /// other files in any case. What is in it stays until `begin`.
    /// Throws gmac::error that names the folder and says what to do.
    [[nodiscard]] static run_folder create(std::filesystem::path path, bool overwrite = false) {
        std::error_code problem;
        bool const made = std::filesystem::create_directories(path, problem);
        // An existing file in the way gives an error here or a success that is none, whatever the library's version.
        gmac::require(!problem && std::filesystem::is_directory(path, problem), "cannot create the folder {}: {}",
                      path.string(), problem ? problem.message() : "there is a file of that name");
        run_folder folder(std::move(path));
        folder.unused_ = made;
        if (folder.started() && !overwrite)
            folder.refuse_run();
        gmac::require(folder.started() || folder.holds_nothing(),
                      "{} is not empty and not the folder of a run: choose another folder with --out",
                      folder.path_.string());
        return folder;
    }

    run_folder(run_folder&&) = default;
    run_folder& operator=(run_folder&&) = default;
    /// A run that was refused leaves no folder behind.
    ~run_folder() {
        if (unused_)
            ::rmdir(path_.c_str());
    }

    /// Takes the folder of a run that has a checkpoint. Throws gmac::error that names the folder.
    [[nodiscard]] static run_folder resume(std::filesystem::path path) {
        gmac::require(is_folder(path), "cannot resume {}: there is no such folder", path.string());
        run_folder folder(std::move(path));
        gmac::require(folder.started(), "cannot resume {}: there is no config.json, so it is not the folder of a run",
                      folder.path_.string());
        gmac::require(std::filesystem::exists(folder.checkpoint()),
                      "cannot resume {}: the run was stopped before its first checkpoint; start it again with "
                      "--overwrite",
                      folder.path_.string());
        return folder;
    }

    /// Where the folder is now. Throws gmac::error if it is gone.
    [[nodiscard]] std::filesystem::path const& path() const {
        if (!gmac::detail::is_at(lock_.get(), path_)) {
            std::error_code unknown;
            auto const now = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", lock_.get()), unknown);
            gmac::require(!unknown && gmac::detail::is_at(lock_.get(), now),
                          "the folder {} was removed or moved away while the run wrote into it", path_.string());
            path_ = now;
        }
        return path_;
    }
    [[nodiscard]] std::filesystem::path config() const { return path() / "config.json"; }
    [[nodiscard]] std::filesystem::path summary() const { return path() / "summary.json"; }
    [[nodiscard]] std::filesystem::path metrics() const { return path() / "metrics.csv"; }
    [[nodiscard]] std::filesystem::path episodes() const { return path() / "episodes.csv"; }
    [[nodiscard]] std::filesystem::path evaluations() const { return path() / "evaluations.csv"; }
    [[nodiscard]] std::filesystem::path checkpoint() const { return path() / "checkpoint.safetensors"; }
    /// The policy of the checkpoint by itself, for gmac::load_policy.
    [[nodiscard]] std::filesystem::path policy() const { return path() / "policy.safetensors"; }
    /// The critic of the checkpoint by itself, for gmac::load_value.
    [[nodiscard]] std::filesystem::path value() const { return path() / "value.safetensors"; }
    /// The policy of the best evaluation so far; its metadata say which that was.
    [[nodiscard]] std::filesystem::path best_policy() const { return path() / "best_policy.safetensors"; }
    /// The checkpoint kept after so many frames; by name they are in their order.
    [[nodiscard]] std::filesystem::path kept_checkpoint(std::uint64_t frames) const {
        return path() / fmt::format("checkpoint-{:012}.safetensors", frames);
    }
    // Pictures, without their endings: each is written as .png and as .svg.
    [[nodiscard]] std::filesystem::path learning_curve() const { return path() / "learning_curve"; }
    [[nodiscard]] std::filesystem::path value_densities() const { return path() / "value_densities"; }

    [[nodiscard]] bool started() const { return std::filesystem::exists(config()); }
    [[nodiscard]] bool finished() const { return std::filesystem::exists(summary()); }

    /// Whether all the pictures are there, and none is older than the checkpoint.
    [[nodiscard]] bool has_pictures() const {
        std::error_code none;
        auto const trained = std::filesystem::last_write_time(checkpoint(), none);
        for (auto const& stem : {learning_curve(), value_densities()})
            for (char const* const ending : {".png", ".svg"}) {
                auto const drawn = std::filesystem::last_write_time(stem.string() + ending, none);
                if (none || drawn < trained)
                    return false;
            }
        return true;
    }

    /// Begins a new run: removes the files of the one that is there, and nothing else.
    void begin(nlohmann::ordered_json const& values) const {
        unused_ = false;
        remove_run();
        write_config(values);
    }
    void write_config(nlohmann::ordered_json const& values) const { write_json(config(), values); }
    [[nodiscard]] nlohmann::ordered_json read_config() const { return read_object(config()); }

    /// Marks the run as finished; `values` says how it ended.
    void finish(nlohmann::ordered_json const& values) const { write_json(summary(), values); }
    /// What was given to `finish`.
    [[nodiscard]] nlohmann::ordered_json read_summary() const { return read_object(summary()); }
    /// A finished run that goes on is not finished any more.
    void reopen() const {
        std::error_code problem;
        std::filesystem::remove(summary(), problem);
        gmac::require(!problem, "cannot remove {}: {}", summary().string(), problem.message());
    }

private:
    explicit run_folder(std::filesystem::path path)
        : path_(std::move(path)), lock_(lock_folder(path_, "another process is training into it")) {}

    [[noreturn]] void refuse_run() const {
        if (finished())
            gmac::fail("{} holds a finished run: choose another folder with --out, or replace the run with --overwrite",
                       path_.string());
        if (std::filesystem::exists(checkpoint()))
            gmac::fail(
                "{} holds a run that is not finished: go on with it by --resume {}, or replace it with "
                "--overwrite",
                path_.string(), shell_word(path_.string()));
        gmac::fail("{} holds a run that was stopped before its first checkpoint: replace it with --overwrite",
                   path_.string());
    }

    /// A run that was killed while it wrote its config leaves the partial file, which is nothing.
    [[nodiscard]] bool holds_nothing() const {
        for (auto const& file : std::filesystem::directory_iterator(path_))
            if (file.path().filename() != "config.json.partial")
                return false;
        return true;
    }

    /// The config stays, to be replaced: a run half removed is still seen as one.
    void remove_run() const {
        std::vector<std::filesystem::path> files;
        for (auto const& file : std::filesystem::directory_iterator(path()))
            if (std::string const name = file.path().filename().string(); file.is_regular_file() && is_ours(name))
                files.push_back(file.path());
        for (auto const& file : files) {
            std::error_code problem;
            std::filesystem::remove(file, problem);
            gmac::require(!problem, "cannot remove {}: {}", file.string(), problem.message());
        }
    }
    [[nodiscard]] static bool is_ours(std::string_view name) {
        for (std::string_view const ours : {"summary.json", "metrics.csv", "episodes.csv", "evaluations.csv",
                                            "checkpoint.safetensors", "policy.safetensors", "value.safetensors",
                                            "best_policy.safetensors", "machine.json", "observed.json", "report.html"})
            if (name == ours || name == std::string(ours) + ".partial")
                return true;
        for (std::string_view const picture : {"learning_curve.", "value_densities.", "play."})
            if (name.starts_with(picture))
                for (std::string_view const ending : {".png", ".svg", ".gif", ".json", ".html"})
                    if (name.ends_with(ending) || name.ends_with(std::string(ending) + ".partial"))
                        return true;
        if (name.starts_with("checkpoint-") && (name.ends_with(".safetensors") || name.ends_with(".partial")))
            return true;
        return name == "config.json.partial" || name.starts_with("events.out.tfevents.");
    }

    static void write_json(std::filesystem::path const& path, nlohmann::ordered_json const& values) {
        gmac::replace_file(path, values.dump(4, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
    }
    [[nodiscard]] static nlohmann::ordered_json read_object(std::filesystem::path const& path) {
        auto values = gmac::read_json<nlohmann::ordered_json>(path);
        gmac::require(values.is_object(), "{} is not a JSON object", path.string());
        return values;
    }

    std::filesystem::path mutable path_; // where the folder was when that was last asked
    gmac::detail::descriptor lock_;
    mutable bool unused_ = false; ///< made for a run that has not begun
};

} // namespace gmac::examples::train
