// SPDX-License-Identifier: Apache-2.0
#include "atari_densities.hpp"

#include "episode.hpp"
#include "stored_run.hpp"

#include "ale/atari.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] settings settings_in(fs::path const& run) {
    fs::path const latest = run / "checkpoint.safetensors";
    require(fs::exists(latest), "{} has no checkpoint", run.string());
    settings found = settings_of(read_checkpoint(latest), latest);
    require(is_atari(found.environment), "{} is a run on {}, which is no Atari game", run.string(), found.environment);
    return found;
}

/// Those that were kept, from the earliest on, or else the latest.
[[nodiscard]] std::vector<fs::path> checkpoints_in(fs::path const& run) {
    std::vector<fs::path> found;
    for (auto const& entry : fs::directory_iterator(run))
        if (std::string const name = entry.path().filename().string();
            name.starts_with("checkpoint-") && name.ends_with(".safetensors"))
            found.push_back(entry.path());
    std::ranges::sort(found);
    if (found.empty())
        found.push_back(run / "checkpoint.safetensors");
    return found;
}

/// The pixel maximum of the frames of a state.
[[nodiscard]] std::vector<std::uint8_t> maximum_screen(std::vector<std::uint8_t> const& state, std::size_t pixels) {
    std::vector<std::uint8_t> screen(pixels);
    for (std::size_t i = 0; i < state.size(); ++i)
        screen[i % pixels] = (std::max)(screen[i % pixels], state[i]);
    return screen;
}

} // namespace

density_picture atari_densities(std::span<fs::path const> runs, std::size_t step, std::uint64_t seed,
                                std::function<std::unique_ptr<image_experiment>(settings const&)> const& make) {
    density_picture picture;
    picture.side = ale::atari_side;
    std::vector<std::uint8_t> state;
    for (fs::path const& run : std::views::reverse(runs)) {
        settings const of_run = settings_in(run);
        auto const checkpoints = checkpoints_in(run);
        auto const experiment = make(of_run);
        auto const load = [&](fs::path const& checkpoint) {
            load_checkpoint(checkpoint, [&](archive& stored) { experiment->persist(stored); });
        };
        if (state.empty()) {
            load(checkpoints.back());
            state = experiment->state_after(step, seed);
            picture.title = fmt::format("{}, step {}", atari_game(of_run.environment), step);
        }
        density_history history{.method = of_run.algorithm, .moments = {}};
        for (auto const& checkpoint : checkpoints) {
            load(checkpoint);
            history.moments.push_back(panel_of(static_cast<std::size_t>(experiment->frames()), 0.0,
                                               experiment->agent().value_distribution(state), 1.0));
        }
        picture.methods.insert(picture.methods.begin(), std::move(history));
    }
    picture.screen = maximum_screen(state, picture.side * picture.side);
    return picture;
}

} // namespace gmac::examples::train
