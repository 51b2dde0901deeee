// SPDX-License-Identifier: Apache-2.0
// A file that is no whole policy is refused with a message that says why.
#include "deploy/trained.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/nn/activation.hpp>
#include <gmac/nn/sequential.hpp>

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>

using namespace gmac;
using namespace gmac::testing;

namespace {

/// A small policy on real actions.
deployed_policy<> some_policy() {
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({2, 4, 3}),
                             {actors::diagonal_gaussian{}, box::uniform(2, -1.0f, 1.0f), 10.0});
    random_stream random(1);
    for (float& parameter : policy.parameters())
        parameter = random.normal<float>();
    return policy;
}

/// What load_policy says of a policy whose file was changed and signed anew.
std::string message_after(std::function<void(checkpoint&)> const& change) {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, some_policy());
    checkpoint contents = read_checkpoint(file);
    change(contents);
    write_checkpoint(file, contents);
    std::string message = message_of([&] { return load_policy(file); });
    std::string const where = "policy " + file.string() + ": ";
    return message.starts_with(where) ? message.substr(where.size()) : message;
}

/// The same for a change of the description.
std::string message_with(std::string const& place, nlohmann::json const& value) {
    return message_after([&](checkpoint& file) {
        auto json = nlohmann::json::parse(file.metadata.at("policy"));
        json[nlohmann::json::json_pointer(place)] = value;
        file.metadata["policy"] = json.dump();
    });
}

} // namespace

TEST_CASE("What is saved is what is loaded", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    auto saved = some_policy();
    save_policy(file, saved);
    auto loaded = load_policy(file);
    auto const state_of = [](auto& policy) { return snapshot::of([&](archive& state) { policy.persist(state); }); };
    CHECK(state_of(loaded) == state_of(saved));
    CHECK(loaded.description().observation_clip == 10.0);
    CHECK(message_after([](checkpoint&) {}) == "");

    // With what its writer notes.
    save_policy(file, saved, {{"frames", "240"}});
    CHECK(read_checkpoint(file).metadata.at("frames") == "240");
    auto noted = load_policy(file);
    CHECK(state_of(noted) == state_of(saved));
    CHECK(message_of([&] {
              save_policy(file, saved, {{"policy", "mine"}});
          }) == "policy " + file.string() + ": a note is named \"policy\", but that is the policy's description");
}

TEST_CASE("Whatever a policy may be is loaded as it was saved", "[deploy]") {
    using limits = std::numeric_limits<double>;
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    for (double const extreme : {limits::denorm_min(), limits::min(), 0.1, 1.0 / 3.0, 1e22, limits::max()})
        for (bool const clipped_at_infinity : {false, true}) {
            CAPTURE(extreme, clipped_at_infinity);
            actors::diagonal_gaussian const actor{.deviations = actors::deviation_model::state_independent,
                                                  .initial_deviation = extreme,
                                                  .floor = extreme};
            double const clip = clipped_at_infinity ? limits::infinity() : extreme;
            deployed_policy<> policy(nn::mlp<backends::simd<float>>({3, 1}),
                                     {actor, box::uniform(2, -HUGE_VALF, HUGE_VALF), clip});
            std::ranges::fill(policy.parameters(), -std::numeric_limits<float>::denorm_min());
            std::ranges::fill(policy.observation_means(), extreme);
            std::ranges::fill(policy.observation_scales(), -extreme);
            save_policy(file, policy);
            auto const loaded = load_policy(file);
            CHECK(std::ranges::equal(loaded.parameters(), policy.parameters()));
            CHECK(loaded.description().observation_clip == clip);
            auto const& read = std::get<actors::diagonal_gaussian>(loaded.description().actor);
            CHECK(read.initial_deviation == extreme);
            CHECK(read.floor == extreme);
            CHECK(read.deviations == actor.deviations);
            auto const& bounds = std::get<box>(loaded.action_space());
            CHECK(bounds.low == std::vector(2, -HUGE_VALF));
            CHECK(bounds.high == std::vector(2, HUGE_VALF));
        }
    for (bool const learns : {false, true}) {
        deployed_policy<> policy(nn::mlp<backends::simd<float>>({3, 4}),
                                 {actors::state_dependent_exploration{.initial_deviation = 0.7,
                                                                      .floor = 0.02,
                                                                      .noise_steps = 9,
                                                                      .learn_features = learns},
                                  box::uniform(2, -1.0f, 1.0f)});
        CHECK(policy.parameters().size() == 4 * 4 + 2 * 5 + 2 * 4);
        save_policy(file, policy);
        auto const loaded = load_policy(file);
        auto const& read = std::get<actors::state_dependent_exploration>(loaded.description().actor);
        CHECK(read.initial_deviation == 0.7);
        CHECK(read.floor == 0.02);
        CHECK(read.noise_steps == 9);
        CHECK(read.learn_features == learns);

        auto broken = read_checkpoint(file);
        auto json = nlohmann::json::parse(broken.metadata.at("policy"));
        for (nlohmann::json const& steps : {nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json("4")}) {
            json["actor"]["noise_steps"] = steps;
            broken.metadata["policy"] = json.dump();
            save_checkpoint(file, broken.metadata, [&](archive& state) { policy.persist(state); });
            CHECK(message_of([&] { (void)load_policy(file); }) ==
                  "policy " + file.string() + ": /actor/noise_steps is not a whole number");
        }
    }
    for (auto const function : {nn::activation::none, nn::activation::tanh, nn::activation::relu})
        for (bool const last : {false, true})
            for (std::vector<std::size_t> const& widths : {std::vector<std::size_t>{1, 1}, {2, 3, 4}}) {
                deployed_policy<> policy(nn::mlp<backends::simd<float>>(widths,
                                                                        {.function = function, .activate_last = last}),
                                         {actors::categorical{}, discrete{1000}});
                random_stream random(1);
                for (float& parameter : policy.parameters())
                    parameter = random.normal<float>();
                save_policy(file, policy);
                auto const loaded = load_policy(file);
                CHECK(std::ranges::equal(loaded.parameters(), policy.parameters()));
                CHECK(std::get<discrete>(loaded.action_space()).count == 1000);
                std::vector<float> const observation(widths.front(), 0.7f);
                float action = -1.0f, wanted = -2.0f;
                auto own = policy.make_memory(), other = loaded.make_memory();
                policy.act(observation, {&wanted, 1}, own);
                loaded.act(observation, {&action, 1}, other);
                CHECK(action == wanted);
            }
}

TEST_CASE("What could not be loaded is not saved, and the old file stays", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, some_policy());
    auto const old = read_file(file);
    auto const message = [&](deployed_policy<> const& policy) {
        return message_of([&] {
            save_policy(file, policy);
            return 0;
        });
    };
    auto policy = some_policy();
    policy.parameters()[3] = HUGE_VALF;
    CHECK(message(policy) == "policy " + file.string() + ": parameter 3 is inf, but must be finite");
    policy = some_policy();
    policy.observation_scales()[1] = std::nan("");
    CHECK(message(policy) == "policy " + file.string() + ": observation scale 1 is nan, but must be finite");
    CHECK(read_file(file) == old);
}

TEST_CASE("A file that was cut short or changed is refused", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    CHECK(message_of([&] { return load_policy(file); }).find("cannot read " + file.string()) != std::string::npos);
    save_policy(file, some_policy());
    auto const bytes = read_file(file);
    auto const with = [&](std::vector<std::byte> const& changed) {
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<char const*>(changed.data()), static_cast<std::streamsize>(changed.size()));
        return message_of([&] { return load_policy(file); });
    };
    CHECK(with(bytes) == "");
    for (std::size_t const size : {std::size_t(0), std::size_t(7), std::size_t(100), bytes.size() - 1}) {
        CAPTURE(size);
        auto const message = with({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
        CHECK(message.find("truncated") != std::string::npos);
        CHECK(message.find(file.string()) != std::string::npos);
    }
    auto flipped = bytes;
    flipped[bytes.size() - 9] ^= std::byte{1};
    CHECK(with(flipped).find("the checkpoint is corrupted") != std::string::npos);
}

TEST_CASE("A checkpoint of a run is no policy", "[deploy]") {
    trained<discrete_agent, gmac::testing::line> subject;
    scratch_folder folder;
    auto const file = folder.path / "checkpoint.safetensors";
    save_checkpoint(file, {}, [&](archive& state) { subject.agent.persist(state); });
    CHECK(message_of([&] { return load_policy(file); }).find("this is a checkpoint, not a policy") !=
          std::string::npos);
}

TEST_CASE("A policy is no checkpoint of a run", "[deploy]") {
    trained<discrete_agent, gmac::testing::line> subject;
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, some_policy());
    auto const message =
        message_of([&] { return load_checkpoint(file, [&](archive& state) { subject.agent.persist(state); }); });
    CHECK(message.starts_with("checkpoint " + file.string() + ": this is a policy, not a checkpoint, and "));
}

TEST_CASE("A description that makes no sense is refused", "[deploy]") {
    CHECK(message_after([](checkpoint& file) { file.metadata["policy"] = "{"; }) ==
          "the description of the policy is not JSON");
    CHECK(message_after([](checkpoint& file) { file.metadata["policy"] = "[]"; }) ==
          "the description of the policy is not a JSON object");
    CHECK(message_after([](checkpoint& file) { file.metadata["policy"] += std::string("\0{}", 3); }) ==
          "the description of the policy is not JSON");
    CHECK(message_after([](checkpoint& file) {
              file.metadata["policy"] = std::string(100'000, '[') + std::string(100'000, ']');
          }) == "the description of the policy has more than 64 arrays and objects within each other");
    CHECK(message_after([](checkpoint& file) { file.metadata["policy"] = "{\"trunk\": 3}"; }) ==
          "the description of the policy has no /trunk/kind");
    CHECK(message_with("/trunk/kind", 7) == "/trunk/kind is not a string");
    CHECK(message_with("/trunk/widths", {2, 0, 3}) ==
          "/trunk/widths is [2,0,3], but must be at least 2 positive whole numbers");
    CHECK(message_with("/trunk/widths", {2, -4, 3}) ==
          "/trunk/widths is [2,-4,3], but must be at least 2 positive whole numbers");
    CHECK(message_with("/trunk/widths", {2}) == "/trunk/widths is [2], but must be at least 2 positive whole numbers");
    CHECK(message_with("/trunk/widths", {2, 1'000'000'000'000, 3}) == "the trunk has more numbers than the file");
    CHECK(message_with("/trunk/widths", {2, 5, 3}).find("trunk.0.weight is F32 [2, 4] but must be F32 [2, 5]") !=
          std::string::npos);
    CHECK(message_with("/trunk/widths", {2, 4, 3, 1}).find("missing: trunk.2.weight") != std::string::npos);
    CHECK(message_with("/trunk/activation", "gelu") ==
          "the activation of the trunk is \"gelu\", but must be none, tanh or relu");
    CHECK(message_with("/trunk/activate_last", 1) == "/trunk/activate_last is not a boolean");
    CHECK(message_with("/actor/kind", "beta") ==
          "the actor is \"beta\", but must be \"categorical\", \"multi_categorical\", \"diagonal_gaussian\" or "
          "\"state_dependent_exploration\"");
    CHECK(message_with("/actor/deviations", "x") ==
          "the actor's deviations are \"x\", but must be \"state_dependent\" or \"state_independent\"");
    CHECK(message_with("/actor/floor", "low") == "/actor/floor is not a number");
    CHECK(message_with("/actor/floor", -1.0).find("floor is -1, but must be finite and not negative") !=
          std::string::npos);
    CHECK(message_with("/actor/kind", "categorical").find("the action space is a box, but must be discrete") !=
          std::string::npos);
    CHECK(message_with("/action_size", 0) == "the policy has 0 action elements, but must have at least 1");
    for (char const* const place : {"/action_size", "/actions"}) { // no memory is taken for them
        std::string const what = std::string(place) == "/actions" ? "actions" : "action elements";
        for (std::string const count : {"1000", "16777216", "18446744073709551615"}) {
            auto const message = message_after([&](checkpoint& file) {
                auto json = nlohmann::json::parse(file.metadata.at("policy"));
                json.erase("action_size");
                json[nlohmann::json::json_pointer(place)] = std::stoull(count);
                file.metadata["policy"] = json.dump();
            });
            CHECK(message == "a policy with " + count + " " + what + " has more numbers than the file");
        }
    }
    CHECK(message_with("/action_size", 3).find("action.low is F32 [2] but must be F32 [3]") != std::string::npos);
    CHECK(message_with("/observation_clip", -1.0).find("observation_clip is -1, but must be positive") !=
          std::string::npos);
}

TEST_CASE("Numbers that no policy has are refused", "[deploy]") {
    auto const with = [](std::string const& name, auto number) {
        return message_after([&](checkpoint& file) {
            auto tensors = std::move(file.state).tensors();
            for (auto& tensor : tensors)
                if (tensor.name == name)
                    std::memcpy(tensor.data.data(), &number, sizeof number);
            file.state = snapshot(std::move(tensors));
        });
    };
    CHECK(with("trunk.0.weight", std::nanf("")) == "parameter 0 is nan, but must be finite");
    CHECK(with("observation.mean", std::nan("")) == "observation mean 0 is nan, but must be finite");
    CHECK(with("observation.scale", HUGE_VAL) == "observation scale 0 is inf, but must be finite");
    CHECK(with("action.low", 2.0f) == "the bounds of action element 0 are [2, 1]");
    CHECK(with("action.low", -HUGE_VALF) == ""); // a box without a bound
}

TEST_CASE("A policy of another scalar type is refused", "[deploy]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, some_policy());
    CHECK(message_of([&] {
              return load_policy<backends::simd<double>>(file);
          }).find("trunk.0.weight is F32 [2, 4] but must be F64 [2, 4]") != std::string::npos);
}

TEST_CASE("A trunk of the user's own comes with load_policy", "[deploy]") {
    using backend = backends::simd<float>;
    nn::sequential const trunk(nn::linear<backend>(2, 5), nn::activation_layer<backend>(5, nn::activation::relu));
    using trunk_type = std::remove_cv_t<decltype(trunk)>;
    deployed_policy<backend, trunk_type> policy(trunk, {actors::categorical{}, discrete{3}});
    random_stream random(2);
    for (float& parameter : policy.parameters())
        parameter = random.normal<float>();
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, policy);
    CHECK(message_of([&] { return load_policy(file); }).find("its trunk is not a multilayer perceptron") !=
          std::string::npos);
    auto const loaded = load_policy<backend>(file, trunk);
    CHECK(std::ranges::equal(loaded.parameters(), policy.parameters()));
    nn::sequential const other(nn::linear<backend>(2, 6), nn::activation_layer<backend>(6, nn::activation::relu));
    CHECK(message_of([&] { return load_policy<backend>(file, other); }).find("trunk.0.weight is F32 [2, 5]") !=
          std::string::npos);
}
