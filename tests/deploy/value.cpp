// SPDX-License-Identifier: Apache-2.0
// What an agent expects, by itself: as the agent's own head has it, from memory and from a file.
#include "deploy/trained.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/deploy/value_file.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <variant>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using gaussian = actors::diagonal_gaussian;
using world = gmac::testing::continuous_line;
constexpr double tolerance = 2e-6; // of heads in single precision

struct parts_of_state {
    std::vector<float> weights, means, deviations;
};

/// By the members of the library's heads.
template <class Head>
[[nodiscard]] parts_of_state by_head(Head const& head, matrix_view<float const> outputs) {
    auto const row = [](std::vector<float>& all) { return matrix_view<float>(all.data(), 1, all.size()); };
    if constexpr (requires { Head::components; }) {
        std::vector<float> weights(Head::components), means(weights), deviations(weights);
        head.distribution(outputs, row(weights), row(means), row(deviations));
        return {weights, means, deviations};
    } else if constexpr (requires { head.template grid<float>(); }) {
        std::vector<float> points(head.support_size()), weights(points);
        head.support(outputs, row(points), row(weights));
        return {weights, points, std::vector<float>(points.size())};
    } else {
        std::vector<float> const points(outputs.data(), outputs.data() + outputs.cols());
        return {std::vector<float>(points.size(), 1.0f / static_cast<float>(points.size())), points,
                std::vector<float>(points.size())};
    }
}

[[nodiscard]] std::vector<float> tensor(snapshot const& all, std::string const& name) {
    for (auto const& one : all.tensors())
        if (one.name == name) {
            std::vector<float> numbers(one.data.size() / sizeof(float));
            std::copy_n(one.data.data(), one.data.size(), reinterpret_cast<std::byte*>(numbers.data()));
            return numbers;
        }
    FAIL("no tensor " << name);
    return {};
}

/// f(x W + b), number by number.
[[nodiscard]] std::vector<double> layer(snapshot const& all, std::string const& name, std::vector<double> const& x,
                                        std::function<double(double)> const& f) {
    auto const weight = tensor(all, name + ".weight"), bias = tensor(all, name + ".bias");
    std::vector<double> y(bias.begin(), bias.end());
    for (std::size_t j = 0; j < y.size(); ++j) {
        for (std::size_t i = 0; i < x.size(); ++i)
            y[j] += x[i] * static_cast<double>(weight[i * y.size() + j]);
        y[j] = f(y[j]);
    }
    return y;
}

template <class Agent>
void check_against_agent(bool shared) {
    vector_environment<world> worlds(5, 3);
    normalized_environments normalized(worlds, {.observation_clip = 0.8});
    auto options = small_options();
    options.shared_trunk = shared;
    Agent agent(normalized, options, {.seed = 11});
    static_cast<void>(agent.update());
    auto const value = deploy_value(agent, normalized);
    auto const& returns = normalized.return_statistics();
    double const unit = std::sqrt(returns.variance(0) + normalized.options().epsilon);
    CHECK(value.description().reward_scale == Approx(unit));
    CHECK(value.description().discount == options.discount);
    auto own = agent.policy();
    auto memory = value.make_memory();
    random_stream random(1);
    auto const raw = raw_observations(50), seen = normalised(raw, normalized);
    for (std::size_t i = 0; i < raw.size(); i += 2) {
        auto const wanted = by_head(agent.head(), own.value_outputs({&seen[i], 1, 2}, random));
        auto const parts = value.predict(std::span(raw).subspan(i, 2), memory);
        REQUIRE(parts.size() == wanted.weights.size());
        REQUIRE(parts.size() == value.part_count());
        for (std::size_t k = 0; k < parts.size(); ++k) {
            CHECK(parts[k].weight == Approx(static_cast<double>(wanted.weights[k])).margin(tolerance));
            CHECK(parts[k].mean / unit == Approx(static_cast<double>(wanted.means[k])).margin(tolerance));
            CHECK(parts[k].deviation / unit == Approx(static_cast<double>(wanted.deviations[k])).margin(tolerance));
        }
    }
}

/// Random numbers, and means and scales of observations.
[[nodiscard]] deployed_value<> some_value(value_outputs const& head, double reward_scale = 2.0) {
    deployed_value<> value(nn::mlp<backends::simd<float>>({2, 4, 3}), {head, 10.0, reward_scale, 0.9});
    random_stream random(1);
    for (float& parameter : value.parameters())
        parameter = random.normal<float>();
    value.observation_means()[1] = 0.5;
    value.observation_scales()[0] = 3.0;
    return value;
}

[[nodiscard]] std::vector<value_outputs> all_heads() {
    return {heads::scalar{}, mixture_outputs{3, 0.3, 0.1}, point_outputs{7}, atom_outputs{{-1.5, 0.1, 7.25}},
            heads::implicit_quantile{.samples_per_state = 9, .embedding = 6, .hidden = 5}};
}

/// What load_value says of a value whose description was changed.
[[nodiscard]] std::string message_with(value_outputs const& head, std::string const& place,
                                       nlohmann::json const& replacement) {
    scratch_folder folder;
    auto const file = folder.path / "value.safetensors";
    save_value(file, some_value(head));
    checkpoint contents = read_checkpoint(file);
    auto json = nlohmann::json::parse(contents.metadata.at("value"));
    json[nlohmann::json::json_pointer(place)] = replacement;
    contents.metadata["value"] = json.dump();
    write_checkpoint(file, contents);
    std::string message = message_of([&] { return load_value(file); });
    std::string const where = "value " + file.string() + ": ";
    return message.starts_with(where) ? message.substr(where.size()) : message;
}

} // namespace

TEST_CASE("A deployed value says what the agent's head says, in the environment's rewards", "[deploy]") {
    bool const shared = GENERATE(false, true);
    check_against_agent<agents::ppo<gaussian>>(shared);
    check_against_agent<agents::gmac<gaussian>>(shared);
    check_against_agent<agents::dirac_energy<gaussian, 7>>(shared);
    check_against_agent<agents::c51<gaussian>>(shared);
}

TEST_CASE("A deployed value of implicit quantiles is the network's formula at the midpoints", "[deploy]") {
    auto const value = some_value(heads::implicit_quantile{.samples_per_state = 9, .embedding = 6, .hidden = 5});
    auto const state = snapshot::of([copy = value](archive& all) mutable { copy.persist(all); });
    auto const tanh = [](double x) { return std::tanh(x); };
    auto const relu = [](double x) { return x > 0.0 ? x : 0.0; };
    auto memory = value.make_memory();
    for (float const first : {-0.7f, 0.2f, 2.0f}) {
        std::array const observation{first, 0.9f};
        auto const features =
            layer(state, "trunk.1",
                  layer(state, "trunk.0", {3.0 * static_cast<double>(first), static_cast<double>(0.9f) - 0.5}, tanh),
                  tanh);
        auto const parts = value.predict(observation, memory);
        REQUIRE(parts.size() == 9);
        for (std::size_t k = 0; k < 9; ++k) {
            std::vector<double> cosines;
            for (int i = 1; i <= 6; ++i)
                cosines.push_back(std::cos(std::numbers::pi * i * (static_cast<double>(k) + 0.5) / 9.0));
            auto phi = layer(state, "value.embedding", cosines, relu);
            for (std::size_t j = 0; j < phi.size(); ++j)
                phi[j] *= features[j];
            auto const quantile = layer(state, "value.value", layer(state, "value.hidden", phi, relu), std::identity());
            CHECK(parts[k].mean == Approx(2.0 * quantile[0]).margin(1e-5));
            CHECK(parts[k].weight == Approx(1.0 / 9.0));
            CHECK(parts[k].deviation == 0.0);
        }
    }
}

TEST_CASE("A deployed value takes no other shape, and passes a NaN on", "[deploy]") {
    for (auto const& head : all_heads()) {
        auto const value = some_value(head);
        auto memory = value.make_memory();
        std::array const three{0.1f, 0.2f, 0.3f};
        CHECK(message_of([&] { return value.predict(three, memory); }) ==
              "value: observations is 1 x 3, but must be 1 x 2");
        std::array const none{std::nanf(""), 0.2f};
        CHECK(std::isnan(value.predict(none, memory)[0].mean) == !std::holds_alternative<atom_outputs>(head));
        CHECK(std::isnan(value.predict(none, memory)[0].weight) == (value.part_count() == 3));
    }
}

TEST_CASE("A value is loaded as it was saved", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "value.safetensors";
    for (auto const& head : all_heads())
        for (double const scale : {1.0 / 3.0, 1e-300, 1e300}) {
            auto saved = some_value(head, scale);
            save_value(file, saved);
            auto loaded = std::get<0>(load_value(file));
            auto const state_of = [](auto& value) { return snapshot::of([&](archive& all) { value.persist(all); }); };
            CHECK(state_of(loaded) == state_of(saved));
            CHECK(loaded.description().reward_scale == scale);
            CHECK(loaded.description().discount == 0.9);
            CHECK(loaded.description().observation_clip == 10.0);
            auto own = saved.make_memory(), other = loaded.make_memory();
            std::array const observation{0.3f, -0.4f};
            auto const wanted = saved.predict(observation, own), parts = loaded.predict(observation, other);
            REQUIRE(parts.size() == wanted.size());
            for (std::size_t k = 0; k < parts.size(); ++k) {
                CHECK(parts[k].weight == wanted[k].weight);
                CHECK(parts[k].mean == wanted[k].mean);
                CHECK(parts[k].deviation == wanted[k].deviation);
            }
        }
    // Of images, and told of a statistic.
    using images = nn::image_trunk<backends::simd<float>>;
    save_value(file, deployed_value<backends::simd<float>,
                                    images>(images({.input = {9, 8, 2}, .convolutions = {{3, 4, 2}}, .hidden = {5}}),
                                            {.head = point_outputs{4},
                                             .range = statistic_range{statistic_kind::cvar, 0.1, 1.0}}));
    auto const loaded = load_value(file);
    REQUIRE(loaded.index() == 1);
    CHECK(std::get<1>(loaded).observation_size() == 9 * 8 * 2);
    CHECK(std::get<1>(loaded).description().range->low == 0.1);
}

TEST_CASE("A file that is no value is refused", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "value.safetensors";
    deployed_policy<> const policy(nn::mlp<backends::simd<float>>({2, 3}), {actors::categorical{}, discrete{2}});
    save_policy(file, policy);
    CHECK_THAT(
        message_of([&] { return load_value(file); }),
        says("this is a policy, not a value, which gmac::save_value writes and gmac-train leaves in its folder as "
             "value.safetensors"));
    save_value(file, some_value(heads::scalar{}));
    CHECK_THAT(message_of([&] { return load_policy(file); }), says("this is a value, not a policy"));
    auto const bytes = read_file(file);
    spit(file, {reinterpret_cast<char const*>(bytes.data()), bytes.size() - 1});
    CHECK_THAT(message_of([&] { return load_value(file); }), says(file.string()));
    auto broken = some_value(heads::scalar{});
    broken.parameters()[2] = HUGE_VALF;
    CHECK(message_of([&] {
              save_value(file, broken);
              return 0;
          }) == "value " + file.string() + ": parameter 2 is inf, but must be finite");

    value_outputs const mixture = mixture_outputs{3, 0.3, 0.1}, atoms = atom_outputs{{-1.0, 1.0}};
    value_outputs const quantiles = heads::implicit_quantile{.samples_per_state = 9, .embedding = 6, .hidden = 5};
    CHECK(message_with(mixture, "/head/kind", "beta") ==
          "the head is \"beta\", but must be \"scalar\", \"gaussian_mixture\", \"dirac\", \"categorical\" or "
          "\"implicit_quantile\"");
    CHECK_THAT(message_with(mixture, "/head/components", 4),
               says("value.weight is F32 [3, 9] but must be F32 [3, 12]"));
    for (nlohmann::json const& count : {nlohmann::json(0), nlohmann::json(-3), nlohmann::json(1e12),
                                        nlohmann::json("x"), nlohmann::json(1'000'000'000'000)})
        CHECK_THAT(message_with(mixture, "/head/components", count), says("but must be a positive whole number"));
    // Each has three columns of four rows: more numbers than there are bytes.
    CHECK_THAT(message_with(mixture, "/head/components", 200), says("the file must have as many numbers"));
    CHECK_THAT(message_with(mixture, "/head/scale", -1.0), says("scale is -1, but must be positive and finite"));
    CHECK(message_with(mixture, "/reward_scale", 0.0) == "value: reward_scale is 0, but must be positive and finite");
    CHECK(message_with(mixture, "/discount", 1.5) == "value: discount is 1.5, but must be in [0, 1]");
    CHECK(message_with(mixture, "/discount", "x") == "/discount is not a number");
    CHECK(message_with(atoms, "/head/atoms", nlohmann::json::array()) == "/head/atoms is not a list of numbers");
    CHECK(message_with(atoms, "/head/atoms", {1.0, "x"}) == "/head/atoms/1 is not a number");
    CHECK_THAT(message_with(atoms, "/head/atoms", {1.0, 2.0, 3.0}), says("value.weight is F32 [3, 2]"));
    CHECK_THAT(message_with(quantiles, "/head/fractions", 1'000'000), says("must be a whole number from 1 to 65536"));
    CHECK_THAT(message_with(quantiles, "/head/hidden", 1'000'000), says("the file must have as many numbers"));
    CHECK_THAT(message_with(quantiles, "/trunk/kind", "custom"),
               says("its trunk is one of the program's that wrote it"));
}
