// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/train/environment_options.hpp>
#include <gmac/train/settings.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gmac::inline GMAC_ABI::train {

enum class image_games_for { learning, scores };
/// Makes `count` environments of one game, as it is learned from or as it is scored.
using image_games =
    std::function<std::unique_ptr<basic_environment_batch<std::uint8_t>>(image_games_for use, std::size_t count,
                                                                         std::uint64_t seed)>;

/// Draws an environment for pages in a way of its own; of the programs of this library.
class picture_source;

/// What a program knows of an environment, or of a family of them.
struct environment_entry {
    std::string name;   ///< what --env takes, or what it begins with if there is a `rest`
    std::string rest{}; ///< stands for the remainder where names are listed, such as N for a size
    std::string help{}; ///< a few words
    std::vector<environment_option> options{}; ///< of its own, for --env-option
    std::vector<std::string> groups{}; ///< headings in --help whose options are of a few environments, such as this
    /// What a run has unless it is told otherwise, for an algorithm. It need not set environment and algorithm.
    std::function<settings(std::string const& environment, std::string const& algorithm)> defaults{};
    /// `count` environments as the settings have them. Throws gmac::error if that cannot be.
    std::function<std::unique_ptr<environment_batch>(settings const& settings, std::size_t count, std::uint64_t seed,
                                                     executor& tasks)>
        make{};
    /// Of bytes instead, with what they show.
    std::function<image_games(settings const& settings, executor& tasks)> make_images{};
    std::function<image_view(settings const& settings)> images{};
    /// Completes the settings of a new run; `roms` is a folder, or empty. Throws gmac::error for what cannot be.
    std::function<void(settings& settings, std::string const& roms)> prepare{};
    std::function<std::unique_ptr<picture_source>(environment_batch& worlds)> pictures{};

    [[nodiscard]] bool takes(std::string const& environment) const {
        return rest.empty() ? environment == name : environment.starts_with(name) && environment.size() > name.size();
    }
};

/// Settings with a name. Their environment must be one that the program knows.
struct preset {
    std::string name;
    train::settings settings;
};

template <observation_element O>
struct method_parts;

/// A way to learn, for real observations, for images, or for both. See gmac/train/methods.hpp for those of this library and
/// gmac/train/method.hpp for one of your own.
struct method {
    std::string name;
    method_parts<float> const* real = nullptr;
    method_parts<std::uint8_t> const* images = nullptr;
};

namespace detail {
/// In gmac/train/method.hpp, which a file that names a method of its own must include.
template <class Agent>
struct method_maker;
} // namespace detail

/// What a program can train, and its name in messages.
struct registry {
    std::string program;
    std::vector<method> methods{};
    std::vector<environment_entry> environments{};
    std::vector<preset> presets{};
    std::string shown{}; ///< environment whose defaults --help shows without --env; without a value the first one
};

} // namespace gmac::inline GMAC_ABI::train
