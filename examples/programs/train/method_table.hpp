// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"
#include "trainer.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

/// What one method's file makes: an agent, and a critic that watches one.
template <class O>
struct method {
    using trainer_factory = std::unique_ptr<basic_trainer<O>>(settings const&, basic_environment_batch<O>&, executor&);

    std::string_view name;
    trainer_factory* make;
    typename basic_trainer<O>::critic_factory* watch;
};

/// The agent of settings.algorithm with the critics of settings.critics. `what` is what an error calls a method.
template <class O>
[[nodiscard]] std::unique_ptr<basic_trainer<O>> make_of(std::string_view what, std::span<method<O> const> methods,
                                                        settings const& settings, basic_environment_batch<O>& worlds,
                                                        executor& tasks) {
    std::vector<std::string_view> names;
    for (auto const& one : methods)
        names.push_back(one.name);
    auto const named = [&](std::string_view kind, std::string_view name) -> method<O> const& {
        require_known(kind, name, names);
        return *std::ranges::find(methods, name, &method<O>::name);
    };
    auto const& agent = named(what, settings.algorithm);
    auto const critics = critics_of(settings);
    for (std::string const& name : critics)
        static_cast<void>(named("method in --critics", name));
    auto made = agent.make(settings, worlds, tasks);
    // Each has streams of its own; those of environments with these seeds are for another purpose (stream_purpose).
    std::uint64_t seed = settings.seed;
    for (std::string const& name : critics)
        made->critics.push_back({name, &made->watch(*named(what, name).watch, seed += 3'000'000)});
    return made;
}

} // namespace gmac::examples::train
