// SPDX-License-Identifier: Apache-2.0
#include "watched_episode.hpp"

#include "tables.hpp"

#include <gmac/core/error.hpp>

#include <algorithm>
#include <utility>

namespace gmac::examples::report {

namespace {

using json = nlohmann::ordered_json;
constexpr int places = 120; // of a density, and one more

[[nodiscard]] bool has_density(train::detail::density_panel const& panel) {
    return std::ranges::any_of(panel.components, [](auto const& one) { return one.deviation > 0.0; });
}

/// Three digits, of which a picture shows no more.
[[nodiscard]] json short_number(double value) {
    return json::parse(fmt::format("{:.3g}", value));
}

/// The mean density around each place, halfway to the next ones, so that a narrow peak between two is not missed; without
/// the points.
[[nodiscard]] json density_of(train::detail::density_panel const& panel, train::detail::interval const& shown) {
    auto spread = panel.components;
    std::erase_if(spread, [](auto const& one) { return one.deviation == 0.0; });
    json heights = json::array();
    double const step = shown.width() / places;
    double before = train::detail::probability_up_to(spread, shown.low - 0.5 * step);
    for (int j = 0; j <= places; ++j) {
        double const below = train::detail::probability_up_to(spread, shown.low + (j + 0.5) * step);
        heights.push_back(short_number((below - std::exchange(before, below)) / step));
    }
    return heights;
}

[[nodiscard]] json points_of(train::detail::density_panel const& panel) {
    json points = json::array();
    for (auto const& [weight, place, deviation] : panel.components)
        if (deviation == 0.0 && weight > 0.0)
            points.push_back({json_number(place), json_number(weight)});
    return points;
}

} // namespace

json episode_json(watched_episode const& played, std::size_t most_frames, std::size_t most_bytes) {
    require(!played.steps.empty() && most_frames > 0, "episode: there is no step to show");
    std::size_t const steps = played.steps.size();
    std::size_t bytes = 0;
    for (watched_step const& one : played.steps)
        bytes += one.picture.dump().size();
    std::size_t const every =
        (std::max)({std::size_t{1}, (steps + most_frames - 1) / most_frames, (bytes + most_bytes - 1) / most_bytes});

    std::vector<train::detail::density_panel> panels;
    train::detail::interval shown;
    for (std::size_t i = 0; i < steps; i += every) {
        panels.emplace_back(played.steps[i].value);
        shown.include(panels.back().range.low, panels.back().range.high);
    }
    double earned = 0.0;
    json frames = json::array();
    for (std::size_t i = 0; i < steps; ++i) {
        watched_step const& now = played.steps[i];
        if (i % every == 0) {
            auto const& panel = panels[i / every];
            json frame{{"step", i},
                       {"reward", json_number(now.reward)},
                       {"earned", json_number(earned)},
                       {"came", json_number(now.value.return_to_go)},
                       {"mean", json_number(panel.mean)}};
            if (i >= played.known)
                frame["cut"] = true;
            if (has_density(panel)) {
                frame["low"] = json_number(train::detail::quantile(panel.components, 0.1));
                frame["high"] = json_number(train::detail::quantile(panel.components, 0.9));
                frame["density"] = density_of(panel, shown);
            }
            if (json const points = points_of(panel); !points.empty())
                frame["points"] = points;
            frame.update(now.picture);
            frames.push_back(std::move(frame));
        }
        earned += now.reward;
    }
    json all{{"kind", played.kind},
             {"steps", steps},
             {"every", every},
             {"ended", played.ended},
             {"total", json_number(earned)},
             {"seconds", played.step_seconds * static_cast<double>(every)},
             {"range", {json_number(shown.low), json_number(shown.high)}}};
    if (played.header.is_object())
        all.update(played.header);
    all["frames"] = std::move(frames);
    return all;
}

std::string runs_of_greys(std::span<std::uint8_t const> pixels) {
    std::vector<std::uint8_t> runs;
    for (std::size_t i = 0; i < pixels.size();) {
        auto const grey = static_cast<std::uint8_t>(pixels[i] >> 4);
        std::size_t length = 1;
        while (length < 16 && i + length < pixels.size() && pixels[i + length] >> 4 == grey)
            ++length;
        runs.push_back(static_cast<std::uint8_t>(16 * (length - 1) + grey));
        i += length;
    }
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < runs.size(); i += 3) {
        std::uint32_t three = 0;
        std::size_t const count = (std::min)(std::size_t{3}, runs.size() - i);
        for (std::size_t k = 0; k < 3; ++k)
            three = three << 8 | (k < count ? runs[i + k] : 0u);
        for (std::size_t k = 0; k < 4; ++k)
            text += k <= count ? letters[three >> (18 - 6 * k) & 63u] : '=';
    }
    return text;
}

} // namespace gmac::examples::report
