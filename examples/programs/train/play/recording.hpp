// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "film.hpp"
#include "scene.hpp"

#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// An episode as docs/playground replays it: where the robot's shapes are, and what is expected.
struct recording {
    std::string title;
    double seconds = 0.0;           ///< from one frame to the next
    std::vector<double> radii;      ///< m, of each shape
    std::vector<std::string> sides; ///< of each shape: left, middle or right
    struct frame {
        std::vector<std::pair<bullet::vector3, bullet::vector3>> ends; ///< of each shape, m, in the world
        double speed = 0.0;                                            ///< m/s
        double reward = 0.0;                                           ///< of the step before
        double earned = 0.0;                                           ///< so far, not discounted
        value_panel value;                                             ///< in reward units
    };
    std::vector<frame> frames;
};

/// Writes it as JSON: numbers to a tenth of a millimetre, densities at even places of one range for all frames.
inline void write_recording(std::filesystem::path const& file, recording const& what) {
    constexpr int places = 120; // and one more
    using json = nlohmann::ordered_json;
    auto const rounded = [](double x, double steps) { return std::round(x * steps) / steps + 0.0; };
    std::vector<detail::density_panel> panels;
    detail::interval shown;
    for (auto const& frame : what.frames) {
        panels.emplace_back(frame.value);
        shown.include(panels.back().range.low, panels.back().range.high);
    }
    auto radii = json::array();
    for (double const radius : what.radii)
        radii.push_back(rounded(radius, 1e4));
    json all{{"format", "gmac-episode-1"}, {"title", what.title},
             {"seconds", what.seconds},    {"radii", radii},
             {"sides", what.sides},        {"range", {shown.low, shown.high}},
             {"frames", json::array()}};
    for (std::size_t i = 0; i < panels.size(); ++i) {
        auto const& frame = what.frames[i];
        auto shapes = json::array(), density = json::array();
        for (auto const& [from, to] : frame.ends)
            for (double const x : {from.x, from.y, from.z, to.x, to.y, to.z})
                shapes.push_back(rounded(x, 1e4));
        for (int j = 0; j <= places; ++j)
            density.push_back(
                json::parse(fmt::format("{:.3g}", detail::density_at(panels[i].components,
                                                                     shown.low + shown.width() * j / places))));
        all["frames"].push_back({{"shapes", shapes},
                                 {"speed", rounded(frame.speed, 1e3)},
                                 {"reward", rounded(frame.reward, 1e4)},
                                 {"earned", rounded(frame.earned, 1e2)},
                                 {"followed", rounded(frame.value.return_to_go, 1e2)},
                                 {"mean", rounded(panels[i].mean, 1e2)},
                                 {"density", density}});
    }
    replace_file(file, all.dump() + '\n');
}

} // namespace gmac::examples::train
