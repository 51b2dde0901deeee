// SPDX-License-Identifier: Apache-2.0
#include "make_trainer.hpp"

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

namespace {

template <class O>
[[nodiscard]] method_parts<O> const* parts_of(method const& one) {
    if constexpr (std::same_as<O, float>)
        return one.real;
    else
        return one.images;
}

/// `what` is what an error calls a method.
template <class O>
[[nodiscard]] std::unique_ptr<basic_trainer<O>> make_of(std::string_view what, registry const& known,
                                                        settings const& settings, basic_environment_batch<O>& worlds,
                                                        executor& tasks, communicator* ranks) {
    std::vector<std::string> names;
    for (method const& one : known.methods)
        if (parts_of<O>(one) != nullptr)
            names.push_back(one.name);
    auto const named = [&](std::string_view kind, std::string_view name) -> method_parts<O> const& {
        require_known(kind, name, names);
        for (method const& one : known.methods)
            if (one.name == name && parts_of<O>(one) != nullptr)
                return *parts_of<O>(one);
        fail("{} is no method", name);
    };
    auto const& agent = named(what, settings.algorithm);
    auto const critics = critics_of(settings);
    for (std::string const& name : critics)
        static_cast<void>(named("method in --critics", name));
    auto made = agent.make(settings, worlds, tasks, ranks);
    // Each has streams of its own; those of environments with these seeds are for another purpose (stream_purpose).
    std::uint64_t seed = settings.seed;
    for (std::string const& name : critics)
        made->critics.push_back({name, &made->watch(*named(what, name).watch, seed += 3'000'000)});
    return made;
}

} // namespace

std::unique_ptr<trainer> make_trainer(registry const& known, settings const& settings, environment_batch& worlds,
                                      executor& tasks, communicator* ranks) {
    return make_of<float>("algorithm", known, settings, worlds, tasks, ranks);
}

std::unique_ptr<image_trainer> make_image_trainer(registry const& known, settings const& settings,
                                                  image_trainer::batch& worlds, executor& tasks, communicator* ranks) {
    return make_of<std::uint8_t>("algorithm for images", known, settings, worlds, tasks, ranks);
}

} // namespace gmac::examples::train
