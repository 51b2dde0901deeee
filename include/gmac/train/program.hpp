// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/vector_environment.hpp>
#include <gmac/train/environment_options.hpp>
#include <gmac/train/methods.hpp>
#include <gmac/train/registry.hpp>
#include <gmac/train/settings.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI::train {

/// What a program says of an environment of one's own.
struct environment_description {
    std::string help{}; ///< a few words for --help
    std::vector<environment_option> options{};
    /// What a run has unless it is told otherwise, for an algorithm; without it own_defaults().
    std::function<settings(std::string const& algorithm)> defaults{};
    /// What the bytes of an environment of bytes are an image of.
    std::optional<image_view> images{};
};

/// A program like gmac-train, for environments of your own: training with checkpoints, metrics, pictures and all options of
/// gmac-train, and the sub-commands evaluate, play, curves, act and report.
///
///     int main(int argc, char** argv) {
///         return gmac::train::program("my-train").environment<cliff_walk>("mine/cliff").run(argc, argv);
///     }
///
/// Link gmac::train, a static library: what trains, and the methods, are compiled there and not by you.
class program {
public:
    /// `name` is what messages call it. With fewer methods than all the program is smaller:
    ///     program("my-train", {gmac::train::methods::gmac()})
    explicit program(std::string name, std::vector<train::method> methods = all_methods()) {
        known_.program = std::move(name);
        known_.methods = std::move(methods);
    }

    /// With all that is in a registry already.
    explicit program(registry known) : known_(std::move(known)) {}

    /// Environments of this type, made from the values of their options, or else by default.
    template <gmac::environment E>
        requires std::constructible_from<E, environment_values const&> || std::default_initializable<E>
    program& environment(std::string name, environment_description about = {}) {
        return environment(std::move(name), std::move(about), [](environment_values const& values) -> E {
            if constexpr (std::constructible_from<E, environment_values const&>)
                return E(values);
            else
                return E();
        });
    }
    /// The same of what `make` gives for the values of the options: for one with an argument, or with a time limit around it.
    template <class Make>
        requires std::invocable<Make const&, environment_values const&>
    program& environment(std::string name, environment_description about, Make make) {
        using E = std::invoke_result_t<Make const&, environment_values const&>;
        environment_entry entry{.name = std::move(name), .help = std::move(about.help), .options = about.options};
        if (about.defaults)
            entry.defaults = [defaults = std::move(about.defaults)](std::string const&, std::string const& algorithm) {
                return defaults(algorithm);
            };
        auto const batch = [options = std::move(about.options),
                            make = std::move(make)](settings const& settings, std::size_t count, std::uint64_t seed,
                                                    executor& tasks) {
            environment_values const values(options, settings.environment_values);
            auto const made = [&](std::size_t) -> E {
                try {
                    return make(values);
                } catch (error const& problem) {
                    fail("{}: {}", settings.environment, problem.what());
                }
            };
            return std::make_unique<vector_environment<E>>(count, seed, made, &tasks);
        };
        if constexpr (std::same_as<observation_of<E>, float>)
            entry.make = batch;
        else
            entry.make_images = [batch](settings const& settings, executor& tasks) -> image_games {
                return [batch, settings, &tasks](image_games_for, std::size_t count, std::uint64_t seed) {
                    return batch(settings, count, seed, tasks);
                };
            };
        if (about.images)
            entry.images = [view = *about.images](settings const&) { return view; };
        return environment(std::move(entry));
    }
    /// Whatever makes batches, such as one of your own.
    program& environment(environment_entry entry) {
        known_.environments.push_back(std::move(entry));
        return *this;
    }

    /// Settings with a name, for --preset.
    program& preset(std::string name, settings settings) {
        known_.presets.push_back({std::move(name), std::move(settings)});
        return *this;
    }

    /// A method of your own, compiled here: include gmac/train/method.hpp, which says what an agent is.
    template <class Agent>
    program& method(std::string name) {
        return method(detail::method_maker<Agent>::named(std::move(name)));
    }
    /// One that was compiled in another file.
    program& method(train::method one) {
        known_.methods.push_back(std::move(one));
        return *this;
    }

    [[nodiscard]] registry const& known() const noexcept { return known_; }

    /// The whole program: returns what main returns, and throws nothing. With `ranks` they train together, and rank 0 does all
    /// else: see gmac/distributed/mpi.hpp.
    [[nodiscard]] int run(int argc, char const* const* argv, communicator* ranks = nullptr) const;

private:
    registry known_;
};

} // namespace gmac::inline GMAC_ABI::train
