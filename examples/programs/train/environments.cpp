// SPDX-License-Identifier: Apache-2.0
#include "environments.hpp"

#include <gmac/core/error.hpp>
#include <gmac/environment/plugin/environments.hpp>
#include <gmac/environment/vector_environment.hpp>

#include "classic/cart_pole.hpp"
#include "classic/deep_sea.hpp"
#include "classic/pendulum.hpp"
#include "classic/windy_cliff.hpp"
#if defined(GMAC_TRAIN_WITH_BULLET)
#include "bullet/locomotion.hpp"
#include "bullet/robots.hpp"
#endif

namespace gmac::examples::train {

namespace {

std::unique_ptr<environment_batch> make_robots(std::string const& robot, [[maybe_unused]] double pushes,
                                               [[maybe_unused]] std::size_t count, [[maybe_unused]] std::uint64_t seed,
                                               [[maybe_unused]] executor& tasks) {
#if defined(GMAC_TRAIN_WITH_BULLET)
    bullet::robot const& table = bullet::find_robot(robot);
    return std::make_unique<vector_environment<bullet::locomotion>>(
        count, seed,
        [&table, pushes](std::size_t) {
            return bullet::locomotion(table, bullet::link_layout::separate, {.impulse = pushes});
        },
        &tasks);
#else
    fail(
        "bullet/{} needs the Bullet library, which was missing when this program was built; install libbullet-dev and "
        "configure again",
        robot);
#endif
}

} // namespace

std::unique_ptr<environment_batch> make_environments(settings const& settings, std::size_t count, std::uint64_t seed,
                                                     executor& tasks) {
    std::string const& name = settings.environment;
    require_environment(name);
    require(!sees_images(name), "{} shows images, and this program looks at environments with real observations only",
            name);
    if (is_file(name))
        return std::make_unique<plugin_environments>(name, count, seed, settings.environment_options);
    if (name == "classic/cart_pole")
        return std::make_unique<vector_environment<classic::cart_pole>>(count, seed, &tasks);
    if (name == "classic/pendulum")
        return std::make_unique<vector_environment<classic::pendulum>>(count, seed, &tasks);
    if (name == "classic/windy_cliff")
        return std::make_unique<vector_environment<classic::windy_cliff>>(
            count, seed, [start = settings.exploring_starts](std::size_t) { return classic::windy_cliff(start); },
            &tasks);
    if (auto const size = deep_sea_size(name))
        return std::make_unique<vector_environment<classic::deep_sea>>(
            count, seed,
            [size, stochastic = name.find("stochastic") != name.npos](std::size_t) {
                return classic::deep_sea(*size, stochastic);
            },
            &tasks);
    return make_robots(name.substr(name.find('/') + 1), settings.pushes, count, seed, tasks);
}

} // namespace gmac::examples::train
