// SPDX-License-Identifier: Apache-2.0
#include "robot_pictures.hpp"

#if defined(GMAC_TRAIN_WITH_BULLET)
#include "bullet/locomotion.hpp"
#include "report/tables.hpp"
#include "train/play/scene.hpp"

#include <gmac/environment/vector_environment.hpp>

#include <cmath>
#include <string_view>

namespace gmac::examples::train {

namespace {

using json = nlohmann::ordered_json;

class robot_shapes final : public picture_source {
public:
    explicit robot_shapes(bullet::locomotion const& world) : world_(world), view_(world.table()) {}

    void describe(report::watched_episode& episode) const override {
        json radii = json::array(), sides = json::array();
        for (std::size_t i = 0; i < world_.table().shapes.size(); ++i) {
            radii.push_back(report::json_number(world_.table().shapes[i].radius));
            sides.push_back(name_of(view_.sides()[i]));
        }
        episode.kind = "robot";
        episode.step_seconds = bullet::locomotion::step_seconds;
        episode.header = {{"radii", radii}, {"sides", sides}};
    }
    /// To a millimetre.
    [[nodiscard]] json now() const override {
        json all = json::array();
        for (std::size_t i = 0; i < world_.table().shapes.size(); ++i) {
            auto const [from, to] = ends_in(world_.world(), world_.table(), i);
            for (double const x : {from.x, from.y, from.z, to.x, to.y, to.z})
                all.push_back(std::round(1e3 * x) / 1e3 + 0.0);
        }
        return {{"shapes", all}};
    }

private:
    bullet::locomotion const& world_;
    side_view view_;
};

} // namespace

std::unique_ptr<picture_source> robot_pictures(environment_batch& worlds) {
    auto* const robots = dynamic_cast<vector_environment<bullet::locomotion>*>(&worlds);
    return robots == nullptr ? nullptr : std::make_unique<robot_shapes>((*robots)[0]);
}

} // namespace gmac::examples::train

#else

namespace gmac::examples::train {

std::unique_ptr<picture_source> robot_pictures(environment_batch&) {
    return nullptr;
}

} // namespace gmac::examples::train

#endif
