// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bullet/world.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// A robot as it is seen from its right side: an orthographic view along +y, with x to the right and z up.
namespace gmac::examples::train {

/// A point of the picture, m.
struct point {
    double x = 0.0, z = 0.0;
};

enum class body_side { left, middle, right };
[[nodiscard]] constexpr std::string_view name_of(body_side side) noexcept {
    return side == body_side::left ? "left" : side == body_side::middle ? "middle" : "right";
}

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

/// The ends of the line that the sphere of a shape is swept along, in the world, m.
[[nodiscard]] inline std::pair<bullet::vector3, bullet::vector3> ends_in(bullet::world const& world,
                                                                         bullet::robot const& table,
                                                                         std::size_t index) {
    bullet::shape const& s = table.shapes[index];
    bullet::vector3 const centre =
        s.link < 0 ? table.base_centre : table.links[static_cast<std::size_t>(s.link)].pivot_to_centre;
    bullet::vector3 const place = world.position(s.link);
    bullet::quaternion const turn = world.orientation(s.link);
    auto const to_world = [&](bullet::vector3 v) {
        bullet::vector3 const turned = detail::rotate(turn, {v.x - centre.x, v.y - centre.y, v.z - centre.z});
        return bullet::vector3{place.x + turned.x, place.y + turned.y, place.z + turned.z};
    };
    auto const [first, last] = detail::ends_of(s);
    return {to_world(first), to_world(last)};
}

/// Looks at a robot of a table, wherever its world puts it.
class side_view {
public:
    /// The robot must outlive it.
    explicit side_view(bullet::robot const& table) : table_(&table), sides_(table.shapes.size(), body_side::middle) {
        bullet::world const at_reset(table);
        double front = -std::numeric_limits<double>::infinity();
        double back = -front;
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            silhouette const shape = look(at_reset, i);
            sides_[i] = side_at_reset(table.shapes[i], shape.depth);
            for (point const& end : {shape.from, shape.to}) {
                height_ = (std::max)(height_, 1.3 * (end.z + shape.radius));
                front = (std::max)(front, end.x + shape.radius);
                back = (std::min)(back, end.x - shape.radius);
            }
        }
        height_ = (std::max)(height_, 0.8 * (front - back));
    }

    /// What a picture should show above the floor, m: room over the robot's head, and for its length if it turns over.
    [[nodiscard]] double height() const noexcept { return height_; }

    /// Of each shape of the table.
    [[nodiscard]] std::vector<body_side> const& sides() const noexcept { return sides_; }

    /// The shapes where they are now, the farthest first; of those equally far the left ones first.
    [[nodiscard]] std::vector<silhouette> operator()(bullet::world const& world) const {
        std::vector<silhouette> all;
        for (std::size_t i = 0; i < sides_.size(); ++i)
            all.push_back(look(world, i));
        // To a tenth of a millimetre: in a robot that moves in a plane all are equally far, but for rounding.
        std::ranges::stable_sort(all, {}, [](silhouette const& one) {
            return std::tuple(-std::round(1e4 * one.depth), one.side);
        });
        return all;
    }

private:
    [[nodiscard]] silhouette look(bullet::world const& world, std::size_t index) const {
        auto const [from, to] = ends_in(world, *table_, index);
        return {{from.x, from.z}, {to.x, to.z}, table_->shapes[index].radius, 0.5 * (from.y + to.y), sides_[index]};
    }

    /// By where it is when the robot looks ahead, since the ant's names are those of a robot that walks another way; in
    /// a plane, by its name.
    [[nodiscard]] body_side side_at_reset(bullet::shape const& s, double depth) const noexcept {
        constexpr double tolerance = 0.001; // m
        if (std::abs(depth) > tolerance)
            return depth > 0.0 ? body_side::left : body_side::right;
        bool const left =
            s.link >= 0 && table_->links[static_cast<std::size_t>(s.link)].name.find("left") != std::string_view::npos;
        return left ? body_side::left : body_side::middle;
    }

    bullet::robot const* table_;
    std::vector<body_side> sides_; // a shape each
    double height_ = 0.0;
};

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
