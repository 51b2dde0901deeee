// SPDX-License-Identifier: Apache-2.0
#include "show.hpp"

#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"
#include "film.hpp"
#include "recording.hpp"
#include "scene.hpp"
#include "train/environments.hpp"
#include "train/episode.hpp"
#include "train/our_environments.hpp"
#include "train/stored_run.hpp"

#include <gmac/core/executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

namespace {

constexpr std::string_view family = "bullet/";

[[nodiscard]] film_frame frame_of(bullet::locomotion const& robot, side_view const& view, double reward) {
    bullet::vector3 const torso = robot.world().position(robot.table().torso);
    double const seconds = static_cast<double>(robot.steps()) * bullet::locomotion::step_seconds;
    return {.shapes = view(robot.world()),
            .camera = torso.x,
            .caption = fmt::format("{:.2f} s    {:.2f} m    {:.1f} m/s    return so far {:.0f}", seconds, torso.x,
                                   robot.posture().velocity.x, reward),
            .value = {}};
}

[[nodiscard]] bullet::robot const& robot_of(stored_run const& run, std::filesystem::path const& path) {
    std::string const& name = run.settings().environment;
    require(
        name.starts_with(family),
        "--checkpoint {}: it is of a run on {}, but only robots ({}…) can be drawn; of any other environment gmac-train play "
        "makes a page",
        path.string(), name, family);
    return bullet::find_robot(std::string_view(name).substr(family.size()));
}

void check(show_options const& chosen) {
    require(chosen.steps > 0, "--steps is 0, but must be at least 1");
    require(chosen.every > 0 && chosen.every <= 100'000, "--every is {}, but must be in [1, 100000]", chosen.every);
    require(chosen.width >= 400 && chosen.width <= 4000, "--width is {}, but must be from 400 to 4000", chosen.width);
    require(chosen.height >= 200 && chosen.height <= 4000, "--height is {}, but must be from 200 to 4000",
            chosen.height);
}

} // namespace

void show(show_options chosen) {
    check(chosen);
    serial_executor tasks;
    auto const known = our_registry();
    stored_run run(known, chosen.checkpoint, tasks);
    bullet::robot const& table = robot_of(run, chosen.checkpoint);
    bool const draws = chosen.json.empty() || !chosen.out.empty();
    if (chosen.out.empty()) {
        bool const folder = std::filesystem::is_directory(chosen.checkpoint);
        chosen.out = (folder ? chosen.checkpoint : chosen.checkpoint.parent_path()) / "play.gif";
    }

    auto const& settings = run.settings();
    auto batch = std::make_unique<vector_environment<bullet::locomotion>>(
        1, chosen.seed,
        [&](std::size_t) {
            return bullet::locomotion(table, bullet::link_layout::separate, {.impulse = settings.pushes});
        },
        &tasks);
    bullet::locomotion const& robot = (*batch)[0];
    auto world = run.evaluation(std::move(batch), chosen.seed, chosen.risk);
    side_view const view(table);
    film what{.title = fmt::format("{} on {} after {} frames", settings.algorithm, settings.environment, run.frames()),
              .height = view.height(),
              .frames = {},
              .frame_hundredths = (std::max)(2, static_cast<int>(std::lround(100.0 * static_cast<double>(chosen.every) *
                                                                             bullet::locomotion::step_seconds))),
              .width = chosen.width,
              .pixels_high = chosen.height};
    recording record{.title = what.title,
                     .seconds = static_cast<double>(chosen.every) * bullet::locomotion::step_seconds,
                     .radii = {},
                     .sides = {},
                     .frames = {}};
    for (std::size_t i = 0; i < table.shapes.size(); ++i) {
        record.radii.push_back(table.shapes[i].radius);
        record.sides.emplace_back(name_of(view.sides()[i]));
    }
    double reward = 0.0;
    episode const played = play_episode(run.agent(), world.batch(), chosen.steps, [&] {
        reward += robot.terms().sum();
        if (robot.steps() % chosen.every != 0)
            return;
        what.frames.push_back(frame_of(robot, view, reward));
        recording::frame& now = record.frames.emplace_back();
        for (std::size_t i = 0; i < table.shapes.size(); ++i)
            now.ends.push_back(ends_in(robot.world(), table, i));
        now.speed = robot.posture().velocity.x;
        now.reward = robot.terms().sum();
        now.earned = reward;
    });
    double const scale = reward_scale(world.normalized());
    auto const returns = returns_of(run.agent(), played, settings.agent.discount);
    for (std::size_t i = 0; i < what.frames.size(); ++i)
        record.frames[i].value = what.frames[i].value = value_at(run.agent(), played, i * chosen.every, returns, scale);
    auto const tell = [&](std::filesystem::path const& file) {
        fmt::print("{}: {} frames of an episode of {} steps{}\n", file.string(), what.frames.size(),
                   played.rewards.size(), played.terminated ? ", which ended in a fall" : "");
    };
    if (!chosen.json.empty()) {
        write_recording(chosen.json, record);
        tell(chosen.json);
    }
    if (draws) {
        draw_film(chosen.out, what);
        tell(chosen.out);
    }
}

} // namespace gmac::examples::train
