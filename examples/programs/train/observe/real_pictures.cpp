// SPDX-License-Identifier: Apache-2.0
#include "real_pictures.hpp"

#include "report/tables.hpp"

#if defined(GMAC_TRAIN_WITH_BULLET)
#include "bullet/locomotion.hpp"
#include "train/play/scene.hpp"

#include <gmac/environment/vector_environment.hpp>
#endif

#include <cmath>
#include <string_view>
#include <vector>

namespace gmac::examples::train {

using json = nlohmann::ordered_json;

#if defined(GMAC_TRAIN_WITH_BULLET)

struct real_pictures::robot {
    bullet::locomotion const* world;
    side_view view;

    [[nodiscard]] static std::unique_ptr<robot> in(environment_batch& worlds) {
        auto* const robots = dynamic_cast<vector_environment<bullet::locomotion>*>(&worlds);
        if (robots == nullptr)
            return nullptr;
        bullet::locomotion const& first = (*robots)[0];
        return std::make_unique<robot>(robot{&first, side_view(first.table())});
    }
    void describe(report::watched_episode& episode) const {
        constexpr std::string_view names[]{"left", "middle", "right"};
        json radii = json::array(), sides = json::array();
        for (std::size_t i = 0; i < world->table().shapes.size(); ++i) {
            radii.push_back(report::json_number(world->table().shapes[i].radius));
            sides.push_back(names[static_cast<std::size_t>(view.sides()[i])]);
        }
        episode.kind = "robot";
        episode.step_seconds = bullet::locomotion::step_seconds;
        episode.header = {{"radii", radii}, {"sides", sides}};
    }
    /// To a millimetre.
    [[nodiscard]] json shapes() const {
        json all = json::array();
        for (std::size_t i = 0; i < world->table().shapes.size(); ++i) {
            auto const [from, to] = ends_in(world->world(), world->table(), i);
            for (double const x : {from.x, from.y, from.z, to.x, to.y, to.z})
                all.push_back(std::round(1e3 * x) / 1e3 + 0.0);
        }
        return {{"shapes", all}};
    }
};

#else

struct real_pictures::robot {
    [[nodiscard]] static std::unique_ptr<robot> in(environment_batch&) { return nullptr; }
    void describe(report::watched_episode&) const {}
    [[nodiscard]] json shapes() const { return {}; }
};

#endif

real_pictures::real_pictures(environment_batch& world) : world_(&world), robot_(robot::in(world)) {}
real_pictures::~real_pictures() = default;
real_pictures::real_pictures(real_pictures&&) noexcept = default;

report::watched_episode real_pictures::empty_episode() const {
    report::watched_episode episode{.kind = "numbers"};
    if (robot_) {
        robot_->describe(episode);
    } else if (auto const drawn = world_->draw(0)) {
        episode.kind = "lines";
        episode.step_seconds = static_cast<double>(drawn->seconds);
        episode.header = {{"window", report::json_numbers(
                                         std::vector<double>{drawn->left, drawn->right, drawn->bottom, drawn->top})}};
    }
    return episode;
}

json real_pictures::now() const {
    if (robot_)
        return robot_->shapes();
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
