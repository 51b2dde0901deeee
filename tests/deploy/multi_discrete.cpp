// SPDX-License-Identifier: Apache-2.0
// Policies that do several discrete actions at once: deployed, saved and loaded.
#ifdef GMAC_ACT
#include "deploy/program.hpp"
#endif
#include "deploy/trained.hpp"
#include "support/catch.hpp"
#include "support/dials.hpp"
#include "support/says.hpp"

#include <gmac/actors/multi_categorical.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

using several_agent = agents::ppo<actors::multi_categorical>;
using trained_several = trained<several_agent, masked_dials>;

/// The two numbers of an observation are the logits: of the first action 0, x, 1, of the second 0, y.
deployed_policy<> telling_policy() {
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({2, 2}, {.function = nn::activation::none}),
                             {actors::multi_categorical{{{3, 2}}}, multi_discrete{{3, 2}}});
    auto const parameters = policy.parameters();
    parameters[0] = parameters[3] = 1.0f; // the trunk
    parameters[6 + 1] = 1.0f;             // x
    parameters[6 + 5 + 4] = 1.0f;         // y
    parameters[6 + 10 + 2] = 1.0f;        // a bias
    return policy;
}

/// What load_policy says of the policy whose description was changed.
std::string message_with(std::string const& place, nlohmann::json const& value) {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save_policy(file, telling_policy());
    checkpoint contents = read_checkpoint(file);
    auto json = nlohmann::json::parse(contents.metadata.at("policy"));
    json[nlohmann::json::json_pointer(place)] = value;
    contents.metadata["policy"] = json.dump();
    write_checkpoint(file, contents);
    std::string message = message_of([&] { return load_policy(file); });
    std::string const where = "policy " + file.string() + ": ";
    return message.starts_with(where) ? message.substr(where.size()) : message;
}

} // namespace

TEST_CASE("A deployed policy sets the dials as its agent does, also from a file", "[deploy]") {
    actors::multi_categorical const actor{dials::action_space()};
    trained_several source(actor);
    auto const policy = deploy(source.agent, source.normalized);
    scratch_folder folder;
    save_policy(folder.path / "policy.safetensors", policy);
    auto const any = load_any_policy(folder.path / "policy.safetensors");
    auto const& loaded = std::get<0>(any);
    CHECK(std::get<multi_discrete>(loaded.action_space()).counts == std::vector<std::size_t>{3, 4, 2});
    CHECK(std::get<actors::multi_categorical>(loaded.description().actor).space.counts ==
          std::vector<std::size_t>{3, 4, 2});
    CHECK(loaded.action_size() == 3);

    constexpr std::size_t rows = 200;
    random_stream random(4);
    std::vector<float> raw(rows * 10);
    for (float& x : raw)
        x = random.normal<float>();
    std::vector<std::uint8_t> masks(rows * 9, 1);
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t const first : {0u, 3u, 7u}) // one of two in each component, at most
            masks[i * 9 + first + random.below(2)] = static_cast<std::uint8_t>(random.below(2));
    auto const seen = normalised(raw, source.normalized);
    auto agent = source.agent.policy(rows);
    auto own = policy.make_memory(rows), other = loaded.make_memory(rows);
    for (bool const masked : {false, true}) {
        matrix_view<std::uint8_t const> const rule(masks.data(), masked ? rows : 0, 9);
        std::vector<float> wanted(rows * 3), acted(rows * 3), read(rows * 3);
        agent.act({seen.data(), rows, 10}, {wanted.data(), rows, 3}, rule);
        policy.act({raw.data(), rows, 10}, {acted.data(), rows, 3}, own, rule);
        loaded.act({raw.data(), rows, 10}, {read.data(), rows, 3}, other, rule);
        CHECK(acted == wanted);
        CHECK(read == wanted);
        std::vector<random_stream> streams, same;
        for (std::size_t i = 0; i < rows; ++i) {
            streams.emplace_back(7, i);
            same.emplace_back(7, i);
        }
        agent.sample({seen.data(), rows, 10}, streams, {wanted.data(), rows, 3}, rule);
        loaded.sample({raw.data(), rows, 10}, same, {read.data(), rows, 3}, other, rule);
        CHECK(read == wanted);
        std::size_t forbidden = 0;
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0, first = 0; k < 3; first += dials::counts[k], ++k)
                forbidden += masks[i * 9 + first + static_cast<std::size_t>(read[i * 3 + k])] == 0 ? 1u : 0u;
        CHECK((forbidden == 0) == masked);
    }
}

TEST_CASE("A file whose several actions make no sense is refused", "[deploy]") {
    CHECK(message_with("/actions", {3, 2}) == "");
    CHECK(message_with("/actions", nlohmann::json::array()) ==
          "/actions is [], but must be at least 1 positive whole numbers");
    CHECK(message_with("/actions", {3, 0}) == "/actions is [3,0], but must be at least 1 positive whole numbers");
    CHECK(message_with("/actions", {3, "two"}) ==
          "/actions is [3,\"two\"], but must be at least 1 positive whole numbers");
    CHECK(message_with("/actions", {3, 18446744073709551615u}) ==
          "a policy with [3,18446744073709551615] actions has more numbers than the file");
    CHECK(message_with("/actions", {3, 3}).find("actor.weight is F32 [2, 5] but must be F32 [2, 6]") !=
          std::string::npos);
    CHECK(message_with("/actions", 5)
              .find("multi_categorical: the action space is discrete, but must be multi-discrete") !=
          std::string::npos);
    CHECK(message_with("/actor/kind", "categorical")
              .find("categorical: the action space is multi-discrete, but must be discrete") != std::string::npos);
}

#ifdef GMAC_ACT
TEST_CASE("gmac-act writes all actions of a line, by the masks", "[deploy]") {
    scratch_folder folder;
    auto const file = (folder.path / "policy.safetensors").string();
    save_policy(file, telling_policy());
    auto const after = [&](std::string const& text, std::string const& options) {
        std::ofstream(folder.path / "input") << text;
        return act(fmt::format("'{}' {} <'{}'", file, options, (folder.path / "input").string()));
    };
    CHECK(after("2 1\n0.5 -1\n-1 0.5\n", "").text == "1 1\n2 0\n2 1\n");
    CHECK(after("2 1 1 0 1 1 1\n0.5 -1 1 1 0 0 1\n-1 0.5 1 1 0 1 0\n", "--masks").text == "2 1\n1 1\n0 0\n");
    auto const fails = [&](std::string const& text, std::string const& why) {
        auto const result = after(text, "--masks");
        INFO(result.text);
        CHECK(result.status == 1);
        CHECK(result.text.ends_with(why + "\n"));
    };
    fails("2 1 1 1 1 1\n", "line 1 has 6 numbers, but an observation has 2, and its mask 5");
    fails("2 1 1 1 1 1 1\n2 1 1 1 1 0 0\n", "line 2: its mask forbids all of the 2 values of component 1");
}
#endif
