// SPDX-License-Identifier: Apache-2.0
// Policies with the convolutional trunk of Atari games.
#include "deploy/program.hpp"
#include "deploy/trained.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/nn/image_trunk.hpp>

#include <fmt/ranges.h>

#include <fstream>
#include <sstream>

using namespace gmac;
using namespace gmac::testing;

namespace {

using backend = backends::simd<float>;
using trunk_type = nn::image_trunk<backend>;
using screens_policy = deployed_policy<backend, trunk_type>;

/// Random weights, on a stack of two frames.
screens_policy some_policy() {
    trunk_type const trunk({.input = {84, 84, 2}, .hidden = {8}});
    screens_policy policy(trunk, {actors::categorical{}, discrete{4}});
    random_stream random(1);
    trunk.initialize(policy.parameters().first(trunk.parameter_count()), random);
    for (float& weight : policy.parameters().last(8 * 4 + 4))
        weight = random.normal<float>();
    return policy;
}

/// A state in which some rows are bright, [2, 84, 84].
std::vector<std::uint8_t> some_state(std::uint64_t seed) {
    random_stream random(2, seed);
    std::vector<std::uint8_t> state(2 * 84 * 84);
    for (std::size_t row = 0; row < 2 * 84; row += 12)
        std::fill_n(state.begin() + static_cast<std::ptrdiff_t>(84 * row), 12 * 84,
                    static_cast<std::uint8_t>(random.below(256)));
    return state;
}

} // namespace

TEST_CASE("A policy of Atari games is saved, loaded and acts as before, bit for bit; gmac-act acts like it",
          "[deploy]") {
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    auto const input = (folder.path / "observations.txt").string();
    auto const policy = some_policy();
    save_policy(file, policy);
    auto const any = load_any_policy(file);
    REQUIRE(std::holds_alternative<screens_policy>(any));
    auto const& loaded = std::get<screens_policy>(any);
    CHECK(std::ranges::equal(loaded.parameters(), policy.parameters()));
    auto own = policy.make_memory(), other = loaded.make_memory();
    std::vector<float> actions;
    std::ofstream observations(input);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        auto const state = some_state(seed);
        float action = -1.0f, wanted = -2.0f;
        policy.act(state, {&wanted, 1}, own);
        loaded.act(state, {&action, 1}, other);
        CHECK(action == wanted);
        actions.push_back(action);
        observations << fmt::format("{}\n", fmt::join(state, " "));
    }
    observations.close();
    CHECK(std::ranges::count(actions, actions[0]) < 12); // not always the same
    CHECK(act(fmt::format("{} <{}", file, input)).text == fmt::format("{}\n", fmt::join(actions, "\n")));

    std::ofstream(input) << "17 256";
    CHECK(act(fmt::format("{} <{}", file, input)).text ==
          "gmac-act: line 1, number 2: \"256\" is not a pixel, a whole number from 0 to 255\n");
    std::ofstream(input) << "17 255";
    CHECK(act(fmt::format("{} <{}", file, input)).text ==
          "gmac-act: line 1 has 2 numbers, but an observation has 14112\n");
}

TEST_CASE("A policy whose strides leave pixels over is loaded as it was saved", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    trunk_type const trunk({.input = {10, 10, 4},
                            .layout = nn::image_layout::channels_last,
                            .byte_scale = 1.0,
                            .convolutions = {{2, 4, 5}, {3, 1, 2}},
                            .hidden = {64}});
    screens_policy policy(trunk, {actors::categorical{}, discrete{2}});
    random_stream random(1);
    trunk.initialize(policy.parameters().first(trunk.parameter_count()), random);
    save_policy(file, policy);
    auto const loaded = std::get<screens_policy>(load_any_policy(file));
    CHECK(std::ranges::equal(loaded.parameters(), policy.parameters()));
    CHECK(loaded.trunk().options().convolutions == trunk.options().convolutions);
    CHECK(loaded.trunk().options().layout == nn::image_layout::channels_last);
    CHECK(loaded.trunk().options().byte_scale == 1.0);
}

TEST_CASE("A file of Atari games that makes no sense is refused", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, some_policy());
    CHECK_THROWS_WITH(load_policy(file), says("it sees images: read it by load_any_policy"));
    auto const with = [&](char const* place, nlohmann::json const& value) {
        checkpoint contents = read_checkpoint(file);
        auto json = nlohmann::json::parse(contents.metadata.at("policy"));
        json[nlohmann::json::json_pointer(place)] = value;
        contents.metadata["policy"] = json.dump();
        auto const changed = folder.path / "changed.safetensors";
        write_checkpoint(changed, contents);
        return changed;
    };
    auto const refuses = [&](char const* place, nlohmann::json const& value, char const* sentence) {
        CHECK_THROWS_WITH(load_any_policy(with(place, value)), says(sentence));
    };
    refuses("/trunk/input", {84, 84, 0}, "/trunk/input is [84,84,0], but must be 3 positive whole numbers");
    refuses("/trunk/input", {84, 84}, "/trunk/input is [84,84], but must be 3 positive whole numbers");
    refuses("/trunk/input", {84, 84, 1}, "but must be F32");
    refuses("/trunk/input", {84, 84, 3}, "the trunk has more numbers than the file");
    refuses("/trunk/input", {7, 84, 2},
            "the trunk cannot be made: conv2d: kernel is 8, but must fit into images of 7 x 84 pixels");
    refuses("/trunk/hidden", {-8}, "/trunk/hidden is [-8], but must be at least 1 positive whole numbers");
    refuses("/trunk/hidden", {1'000'000'000'000}, "the trunk has more numbers than the file");
    refuses("/trunk/convolutions", "two", "/trunk/convolutions is \"two\", but must be a list");
    refuses("/trunk/convolutions/1", {64, 4}, "/trunk/convolutions/1 is [64,4], but must be 3 positive whole numbers");
    refuses("/trunk/convolutions/0", {1'000'000'000'000, 8, 4}, "the trunk has more numbers than the file");
    refuses("/trunk/channels_first", 1, "/trunk/channels_first is not a boolean");
    refuses("/trunk/byte_scale", "infinity", "byte_scale is inf, but must be finite");
    CHECK_THROWS_WITH(load_any_policy(with("/trunk/kind", "custom")), says("give it to load_policy, with its trunk"));
    CHECK_THROWS_WITH(load_any_policy(with("/observation_clip", 1.0)), says("observations are not floats"));
}
