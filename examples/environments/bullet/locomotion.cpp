// SPDX-License-Identifier: Apache-2.0
#include "locomotion.hpp"

#include <gmac/core/error.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace gmac::examples::bullet {
namespace {

constexpr double target_x = 1000.0; // m; the target's y is 0
constexpr float observation_bound = 5.0f;

/// The sum in the order in which NumPy adds, with eight partial sums, so that means agree to the last bit.
template <class Term>
double numpy_sum(std::size_t count, Term&& term) {
    std::size_t i = 0;
    double sum = 0.0;
    if (count >= 8) {
        std::array<double, 8> part{};
        for (; i < 8; ++i)
            part[i] = term(i);
        for (; i + 8 <= count; i += 8)
            for (std::size_t k = 0; k < 8; ++k)
                part[k] += term(i + k);
        sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
    for (; i < count; ++i)
        sum += term(i);
    return sum;
}

struct euler_angles {
    double roll = 0.0, pitch = 0.0, yaw = 0.0;
};

/// PyBullet's angles, with its treatment of a pitch near ±90°.
euler_angles to_euler(quaternion q) {
    double const sine = -2 * (q.x * q.z - q.w * q.y);
    if (sine <= -0.99999)
        return {0.0, -0.5 * std::numbers::pi, 2 * std::atan2(q.x, -q.y)};
    if (sine >= 0.99999)
        return {0.0, 0.5 * std::numbers::pi, 2 * std::atan2(-q.x, q.y)};
    double const xx = q.x * q.x;
    double const yy = q.y * q.y;
    double const zz = q.z * q.z;
    double const ww = q.w * q.w;
    return {std::atan2(2 * (q.y * q.z + q.w * q.x), ww - xx - yy + zz), std::asin(sine),
            std::atan2(2 * (q.x * q.y + q.w * q.z), ww + xx - yy - zz)};
}

/// Not std::clamp's order of arguments, but its way with NaN: it passes.
template <class T>
constexpr T clip(T value, T bound) {
    return value < -bound ? -bound : (value > bound ? bound : value);
}

/// Minus the distance to the target over the duration of a step. NumPy's scalar product, which PyBullet's environment
/// uses, adds the second square with one rounding.
double potential_at(bullet::posture const& place) {
    double const dx = target_x - place.x;
    double const dy = 0.0 - place.y;
    return -std::sqrt(std::fma(dx, dx, dy * dy)) / locomotion::step_seconds;
}

/// Stores rows of numbers, whose count is not known before; returns those that are stored.
std::vector<double> visit_rows(gmac::archive& state, std::string const& name, std::vector<double> const& own,
                               std::size_t columns, std::string_view robot) {
    std::vector<std::byte> bytes(own.size() * sizeof(double));
    if (!bytes.empty())
        std::memcpy(bytes.data(), own.data(), bytes.size());
    state(name, bytes);
    gmac::require(bytes.size() % (columns * sizeof(double)) == 0,
                  "{}: the stored {} have {} bytes, which is no multiple of {}", robot, name, bytes.size(),
                  columns * sizeof(double));
    std::vector<double> values(bytes.size() / sizeof(double));
    if (!values.empty())
        std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

} // namespace

locomotion::locomotion(robot const& table, link_layout layout, random_pushes pushes)
    : table_(&table), pushes_(pushes), world_(table, layout) {
    gmac::require(pushes.impulse >= 0.0 && std::isfinite(pushes.impulse),
                  "{}: the impulse of its pushes is {} N s, but must be finite and not negative", table.name,
                  pushes.impulse);
    gmac::require(pushes.probability >= 0.0 && pushes.probability <= 1.0,
                  "{}: the probability of a push is {}, but must be in [0, 1]", table.name, pushes.probability);
    std::size_t const joints = table.action_size();
    initial_angles_.assign(joints, 0.0);
    actions_.reserve(time_limit * joints);
    if (pushes.impulse > 0.0)
        impulses_.reserve(2 * time_limit);
    torques_.assign(joints, 0.0);
    wide_action_.assign(joints, 0.0);
    places_.assign(table.parts.size(), {});
    joints_.assign(2 * joints, 0.0f);
    contacts_.assign(table.feet.size(), 0.0f);
    begin(std::vector<double>(joints, 0.0));
}

void locomotion::reset(gmac::random_stream& random, std::span<float> observation) {
    check_observation(observation);
    for (double& torque : torques_) // borrowed for the angles
        torque = -0.1 + 0.2 * random.uniform<double>();
    begin(torques_);
    write_observation(observation);
}

void locomotion::reset(std::span<double const> angles, std::span<float> observation) {
    check_observation(observation);
    begin(angles);
    write_observation(observation);
}

void locomotion::begin(std::span<double const> angles) {
    world_.reset(angles);
    initial_angles_.assign(angles.begin(), angles.end());
    actions_.clear();
    impulses_.clear();
    push_ = {};
    contacts_.assign(contacts_.size(), 0.0f);
    terms_ = {};
    steps_ = 0;
    sense();
    potential_ = potential_at(posture_);
}

vector3 locomotion::draw_push(gmac::random_stream& random) const {
    if (pushes_.impulse == 0.0 || random.uniform<double>() >= pushes_.probability)
        return {};
    double const turns = random.uniform<double>();
    if (!table_->free_base)
        return {turns < 0.5 ? pushes_.impulse : -pushes_.impulse, 0.0, 0.0};
    double const angle = 2.0 * std::numbers::pi * turns;
    return {pushes_.impulse * std::cos(angle), pushes_.impulse * std::sin(angle), 0.0};
}

gmac::transition locomotion::step(std::span<float const> action, gmac::random_stream& random,
                                  std::span<float> observation) {
    gmac::require(action.size() == action_size(),
                  "{}: an action of {} numbers was given, but it has {} actuated joints", table_->name, action.size(),
                  action_size());
    for (std::size_t i = 0; i < action.size(); ++i)
        wide_action_[i] = static_cast<double>(action[i]);
    return step(wide_action_, draw_push(random), observation);
}

gmac::transition locomotion::step(std::span<double const> action, std::span<float> observation) {
    return step(action, {}, observation);
}

gmac::transition locomotion::step(std::span<double const> action, vector3 const& push, std::span<float> observation) {
    gmac::require(action.size() == action_size(),
                  "{}: an action of {} numbers was given, but it has {} actuated joints", table_->name, action.size(),
                  action_size());
    check_observation(observation);
    for (std::size_t i = 0; i < action.size(); ++i)
        gmac::require(std::isfinite(action[i]), "{}: action {} is {} in step {}, but must be finite", table_->name, i,
                      action[i], steps_ + 1);
    push_ = push;
    terms_ = advance(action, observation);
    return {.reward = terms_.sum(),
            .terminated = table_->alive.fatal && terms_.alive < 0.0,
            .truncated = steps_ >= time_limit};
}

/// In PyBullet's order: the flags of the feet are refreshed only after the observation and the test of health.
reward_terms locomotion::advance(std::span<double const> action, std::span<float> observation) {
    robot const& r = *table_;
    actions_.insert(actions_.end(), action.begin(), action.end());
    if (pushes_.impulse > 0.0)
        impulses_.insert(impulses_.end(), {push_.x, push_.y});
    for (std::size_t i = 0; i < action.size(); ++i)
        torques_[i] = r.power * r.motors[i].coefficient * clip(action[i], 1.0);
    vector3 const force{push_.x / step_seconds, push_.y / step_seconds, 0.0};
    world_.advance(torques_, substeps, step_seconds / substeps, force);
    ++steps_;
    sense();
    write_observation(observation);

    reward_terms terms;
    terms.alive = healthy(observation[0]) ? r.alive.bonus : r.alive.penalty;
    double const before = potential_;
    potential_ = potential_at(posture_);
    terms.progress = potential_ - before;
    for (std::size_t i = 0; i < r.feet.size(); ++i)
        contacts_[i] = world_.touches_floor(r.feet[i]) ? 1.0f : 0.0f;

    auto const count = static_cast<double>(action.size());
    double const power = numpy_sum(action.size(), [&](std::size_t i) {
        return std::abs(action[i] * static_cast<double>(joints_[2 * i + 1]));
    });
    double const stall = numpy_sum(action.size(), [&](std::size_t i) { return action[i] * action[i]; });
    terms.electricity = r.electricity_cost * (power / count);
    terms.electricity += r.stall_torque_cost * (stall / count);
    int at_limit = 0;
    for (std::size_t i = 0; i < action.size(); ++i)
        at_limit += std::abs(joints_[2 * i]) > 0.99f ? 1 : 0;
    terms.joints_at_limit = r.joint_limit_cost * at_limit;
    return terms;
}

void locomotion::sense() {
    robot const& r = *table_;
    for (std::size_t i = 0; i < r.motors.size(); ++i) {
        int const row = r.motors[i].link;
        link const& l = r.links[static_cast<std::size_t>(row)];
        double const middle = 0.5 * (l.lower + l.upper);
        joints_[2 * i] = static_cast<float>(2 * (world_.angle(row) - middle) / (l.upper - l.lower));
        joints_[2 * i + 1] = static_cast<float>(0.1 * world_.speed(row));
    }
    for (std::size_t i = 0; i < places_.size(); ++i)
        places_[i] = world_.position(r.parts[i]);
    // The floor, at the origin, counts as the last part.
    std::size_t const parts = places_.size() + 1;
    auto const floor_or = [&](std::size_t i, double vector3::*coordinate) {
        return i + 1 == parts ? 0.0 : places_[i].*coordinate;
    };
    posture_.x = numpy_sum(parts, [&](std::size_t i) { return floor_or(i, &vector3::x); }) / static_cast<double>(parts);
    posture_.y = numpy_sum(parts, [&](std::size_t i) { return floor_or(i, &vector3::y); }) / static_cast<double>(parts);
    posture_.z = world_.position(r.torso).z;
    euler_angles const angles = to_euler(world_.orientation(r.torso));
    posture_.roll = angles.roll;
    posture_.pitch = angles.pitch;
    posture_.yaw = angles.yaw;
    posture_.velocity = world_.velocity(r.torso);
}

void locomotion::write_observation(std::span<float> observation) const {
    bullet::posture const& p = posture_;
    double const bearing = std::atan2(0.0 - p.y, target_x - p.x) - p.yaw;
    double const cosine = std::cos(-p.yaw);
    double const sine = std::sin(-p.yaw);
    double const forward = cosine * p.velocity.x - sine * p.velocity.y;
    double const sideways = sine * p.velocity.x + cosine * p.velocity.y;
    std::array<double, 8> const torso{p.z - table_->initial_height,
                                      std::sin(bearing),
                                      std::cos(bearing),
                                      0.3 * forward,
                                      0.3 * sideways,
                                      0.3 * p.velocity.z,
                                      p.roll,
                                      p.pitch};
    std::size_t at = 0;
    for (double const value : torso)
        observation[at++] = clip(static_cast<float>(value), observation_bound);
    for (float const value : joints_)
        observation[at++] = clip(value, observation_bound);
    for (float const value : contacts_)
        observation[at++] = value;
}

/// `height` is the observed one.
bool locomotion::healthy(float height) const noexcept {
    health const& rule = table_->alive;
    bool feet_are_free = true;
    for (std::size_t i = 0; i < contacts_.size(); ++i)
        feet_are_free = feet_are_free && !(((rule.forbidden_feet >> i) & 1u) != 0 && contacts_[i] != 0.0f);
    return static_cast<double>(height) + table_->initial_height > rule.minimum_height &&
           std::abs(posture_.pitch) < rule.maximum_pitch && feet_are_free;
}

void locomotion::check_observation(std::span<float const> observation) const {
    gmac::require(observation.size() == observation_size(),
                  "{}: the place for an observation has {} numbers, but an observation has {}", table_->name,
                  observation.size(), observation_size());
}

void locomotion::persist(gmac::archive& state) {
    auto const own_name = std::as_bytes(std::span(table_->name));
    std::vector<std::byte> name(own_name.begin(), own_name.end());
    state("robot", name);
    std::string const stored(reinterpret_cast<char const*>(name.data()), name.size());
    gmac::require(stored == table_->name, "the stored state is of the robot \"{}\", but this one is \"{}\"", stored,
                  table_->name);

    state("initial_angles", std::span<double>(initial_angles_));
    std::vector<double> const actions = visit_rows(state, "actions", actions_, action_size(), table_->name);
    std::vector<double> const pushes =
        pushes_.impulse > 0.0 ? visit_rows(state, "pushes", impulses_, 2, table_->name) : std::vector<double>();
    if (!state.loading())
        return;
    std::size_t const steps = actions.size() / action_size();
    gmac::require(pushes_.impulse == 0.0 || pushes.size() == 2 * steps,
                  "{}: there are {} stored actions, but {} stored pushes", table_->name, steps, pushes.size() / 2);
    for (double const push : pushes)
        gmac::require(std::isfinite(push), "{}: a stored push is {}, but must be finite", table_->name, push);
    std::vector<float> observation(observation_size());
    begin(std::vector<double>(initial_angles_));
    for (std::size_t i = 0; i < steps; ++i)
        step(std::span(actions).subspan(i * action_size(), action_size()),
             pushes.empty() ? vector3() : vector3{pushes[2 * i], pushes[2 * i + 1], 0.0}, observation);
}

} // namespace gmac::examples::bullet
