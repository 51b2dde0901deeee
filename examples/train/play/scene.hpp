// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bullet/world.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string_view>
#include <tuple>
#include <vector>

/// A robot as it is seen from its right side: an orthographic view along +y, with x to the right and z up.
namespace gmac::examples::train {

/// A point of the picture, m.
struct point {
    double x = 0.0, z = 0.0;
};

enum class body_side { left, middle, right };

/// A sphere of `radius` swept from one point to another, of which the view is exact: every shape of the tables is one.
struct silhouette {
    point from, to;
    double radius = 0.0;
    double depth = 0.0; ///< m, y of its middle: the larger, the farther away
    body_side side = body_side::middle;
};

namespace detail {

[[nodiscard]] inline bullet::vector3 cross(bullet::vector3 a, bullet::vector3 b) noexcept {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

[[nodiscard]] inline bullet::vector3 rotate(bullet::quaternion q, bullet::vector3 v) noexcept {
    bullet::vector3 const axis{q.x, q.y, q.z};
    bullet::vector3 const once = cross(axis, v);
    bullet::vector3 const twice = cross(axis, once);
    return {v.x + 2 * (q.w * once.x + twice.x), v.y + 2 * (q.w * once.y + twice.y), v.z + 2 * (q.w * once.z + twice.z)};
}

[[nodiscard]] inline body_side side_of(std::string_view name) noexcept {
    return name.find("left") != name.npos    ? body_side::left
           : name.find("right") != name.npos ? body_side::right
                                             : body_side::middle;
}

/// The ends of the line that the shape's sphere is swept along, in the axes of its body.
[[nodiscard]] inline std::pair<bullet::vector3, bullet::vector3> ends_of(bullet::shape const& s) {
    if (s.kind == bullet::shape_kind::sphere)
        return {s.from, s.from};
    if (s.kind == bullet::shape_kind::sweep)
        return {s.from, s.to};
    double const x = s.half_length * std::sin(s.angle);
    double const z = s.half_length * std::cos(s.angle);
    return {{s.from.x - x, s.from.y, s.from.z - z}, {s.from.x + x, s.from.y, s.from.z + z}};
}

} // namespace detail

/// The shapes of a robot where they are now, the farthest first; of those equally far the left ones first.
[[nodiscard]] inline std::vector<silhouette> side_view(bullet::robot const& table, bullet::world const& world) {
    std::vector<silhouette> all;
    for (bullet::shape const& s : table.shapes) {
        bullet::link const* const link = s.link < 0 ? nullptr : &table.links[static_cast<std::size_t>(s.link)];
        bullet::vector3 const centre = link ? link->pivot_to_centre : table.base_centre;
        bullet::vector3 const place = world.position(s.link);
        bullet::quaternion const turn = world.orientation(s.link);
        auto const to_world = [&](bullet::vector3 v) {
            bullet::vector3 const turned = detail::rotate(turn, {v.x - centre.x, v.y - centre.y, v.z - centre.z});
            return bullet::vector3{place.x + turned.x, place.y + turned.y, place.z + turned.z};
        };
        auto const ends = detail::ends_of(s);
        bullet::vector3 const from = to_world(ends.first);
        bullet::vector3 const to = to_world(ends.second);
        all.push_back({{from.x, from.z},
                       {to.x, to.z},
                       s.radius,
                       0.5 * (from.y + to.y),
                       link ? detail::side_of(link->name) : body_side::middle});
    }
    // To a tenth of a millimetre: in a robot that moves in a plane all are equally far, but for rounding.
    std::ranges::stable_sort(all, {},
                             [](silhouette const& one) { return std::tuple(-std::round(1e4 * one.depth), one.side); });
    return all;
}

/// The outline as a closed polygon: two half circles of `corners` + 1 points each, and the first point again.
[[nodiscard]] inline std::vector<point> outline(silhouette const& shape, std::size_t corners = 16) {
    double const along = std::atan2(shape.to.z - shape.from.z, shape.to.x - shape.from.x);
    std::vector<point> polygon;
    for (bool const far_end : {true, false})
        for (std::size_t i = 0; i <= corners; ++i) {
            double const angle = along + std::numbers::pi * (static_cast<double>(i) / static_cast<double>(corners) +
                                                             (far_end ? -0.5 : 0.5));
            point const& centre = far_end ? shape.to : shape.from;
            polygon.push_back({centre.x + shape.radius * std::cos(angle), centre.z + shape.radius * std::sin(angle)});
        }
    polygon.push_back(polygon.front());
    return polygon;
}

} // namespace gmac::examples::train
