// SPDX-License-Identifier: Apache-2.0
#include "state_densities.hpp"

#include "episode.hpp"
#include "stored_run.hpp"

#include "ale/atari.hpp"
#include "minatar/picture.hpp"

#include <gmac/core/error.hpp>
#include <gmac/distributions/dirac_mixture.hpp>
#include <gmac/distributions/energy.hpp>
#include <gmac/distributions/gaussian_mixture.hpp>
#include <gmac/storage/checkpoint.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] settings settings_in(registry const& known, fs::path const& run) {
    fs::path const latest = run / "checkpoint.safetensors";
    require(fs::exists(latest), "{} has no checkpoint", run.string());
    settings found = settings_of(known, read_checkpoint(latest), latest);
    require(sees_images(found), "{} is a run on {}, which is no Atari game and no game of MinAtar", run.string(),
            found.environment);
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

/// The pixel maximum of the frames of a state, in greys.
[[nodiscard]] std::vector<std::uint8_t> maximum_screen(std::vector<std::uint8_t> const& state, std::size_t pixels) {
    std::vector<std::uint8_t> screen(3 * pixels);
    for (std::size_t i = 0; i < state.size(); ++i)
        for (std::size_t k = 0; k < 3; ++k) {
            auto& pixel = screen[3 * (i % pixels) + k];
            pixel = (std::max)(pixel, state[i]);
        }
    return screen;
}

/// The energy distance of a predicted distribution and of the returns that came.
[[nodiscard]] double distance_of(value_panel const& predicted, std::vector<double> const& returns) {
    dirac_mixture<double> const played(returns);
    if (!predicted.samples.empty())
        return energy(dirac_mixture<double>(predicted.samples), played);
    std::vector<normal_component<double>> components;
    for (auto const& [weight, mean, deviation] : predicted.components)
        components.push_back({weight, mean, deviation});
    return energy(gaussian_mixture<double>(std::move(components)), played);
}

} // namespace

density_picture state_densities(registry const& known, std::span<fs::path const> runs, state_choice const& choice,
                                std::function<std::unique_ptr<image_experiment>(settings const&)> const& make) {
    density_picture picture;
    std::optional<image_moment> moment;
    std::string environment;
    for (std::size_t left = runs.size(); left-- > 0;) {
        fs::path const& run = runs[left];
        settings const of_run = settings_in(known, run);
        if (environment.empty())
            environment = of_run.environment;
        require(of_run.environment == environment,
                "{} is a run on {}, but the last one is on {}: a state is of one game", run.string(),
                of_run.environment, environment);
        auto const checkpoints = checkpoints_in(run);
        auto const experiment = make(of_run);
        auto const load = [&](fs::path const& checkpoint) {
            load_rank(read_checkpoint(checkpoint), "checkpoint " + checkpoint.string(), nullptr, *experiment);
        };
        if (!moment) {
            load(checkpoints.back());
            moment = choice.before_end ? experiment->moment_before_end(choice.step, choice.seed)
                                       : experiment->moment_after(choice.step, choice.seed);
            picture.title = fmt::format("{}, step {}", of_run.environment, moment->step);
            if (of_run.images->cells) {
                picture.side = minatar::side;
                picture.screen = minatar::picture(moment->state);
            } else {
                picture.side = ale::atari_side;
                picture.screen = maximum_screen(moment->state, picture.side * picture.side);
            }
        }
        auto& agent = experiment->agent();
        std::vector<density_history> histories{{.method = of_run.algorithm, .moments = {}}};
        for (auto const& one : agent.critics)
            histories.push_back({.method = fmt::format("{} on {}", one.name, of_run.algorithm), .moments = {}});
        for (auto const& checkpoint : checkpoints) {
            load(checkpoint);
            std::vector<double> const returns = experiment->returns_from(*moment, choice.plays, choice.seed);
            for (std::size_t i = 0; i < histories.size(); ++i) {
                auto const parts = i == 0 ? agent.value_distribution(moment->state)
                                          : agent.critics[i - 1].critic->value_distribution(moment->state);
                density_moment now{.panel = panel_of(static_cast<std::size_t>(experiment->frames()), 0.0, parts, 1.0),
                                   .returns = returns};
                now.panel.return_to_go = mean_of(now.panel); // there is no one episode
                if (!returns.empty())
                    now.distance = distance_of(now.panel, returns);
                histories[i].moments.push_back(std::move(now));
            }
        }
        picture.methods.insert(picture.methods.begin(), histories.begin(), histories.end());
    }
    return picture;
}

} // namespace gmac::examples::train
