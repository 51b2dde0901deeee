// SPDX-License-Identifier: Apache-2.0
#include "real_pictures.hpp"

#include "report/tables.hpp"

#include <utility>
#include <vector>

namespace gmac::examples::train {

using json = nlohmann::ordered_json;

real_pictures::real_pictures(environment_batch& world, std::unique_ptr<picture_source> source)
    : world_(&world), source_(std::move(source)) {}

report::watched_episode real_pictures::empty_episode() const {
    report::watched_episode episode{.kind = "numbers"};
    if (source_) {
        source_->describe(episode);
    } else if (auto const drawn = world_->draw(0)) {
        episode.kind = "lines";
        episode.step_seconds = static_cast<double>(drawn->seconds);
        episode.header = {{"window", report::json_numbers(
                                         std::vector<double>{drawn->left, drawn->right, drawn->bottom, drawn->top})}};
    }
    return episode;
}

json real_pictures::now() const {
    if (source_)
        return source_->now();
    if (auto const drawn = world_->draw(0)) {
        json lines = json::array();
        for (auto const& line : drawn->lines) {
            std::vector<double> places;
            for (auto const& [x, y] : line.points)
                places.insert(places.end(), {static_cast<double>(x), static_cast<double>(y)});
            lines.push_back({{"colour", line.colour}, {"places", report::json_numbers(places)}});
        }
        return {{"lines", lines}};
    }
    std::vector<float> observation(world_->observation_size());
    world_->observe({observation.data(), 1, observation.size()});
    return {{"numbers", report::json_numbers(std::vector<double>(observation.begin(), observation.end()))}};
}

} // namespace gmac::examples::train
