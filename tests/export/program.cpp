// SPDX-License-Identifier: Apache-2.0
// What gmac-export makes of a run and of what is none.
#include "export/policies.hpp"
#include "support/says.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <utility>

using namespace gmac;
using namespace gmac::testing;

TEST_CASE("gmac-export takes the folder of a run, and tells what trained it", "[export]") {
    scratch_folder folder;
    save(policies()[2], folder / "policy.safetensors");
    spit(folder / "config.json", R"({"env": "my/\"$ole\"\\?", "algorithm": "gmac", "seed": 3})");
    auto const written = run_export(fmt::format("'{0}' --c '{0}/robot.h' --name my_Robot2", folder.path.string()));
    INFO(written.text);
    REQUIRE(written.status == 0);
    spit(folder / "test.c", R"(#include "robot.h"
#include <stdio.h>
int main(void) {
    float observation[MY_ROBOT2_OBSERVATION_SIZE] = {0.0f};
    printf("%s|%s|%d|%d", MY_ROBOT2_ENVIRONMENT, MY_ROBOT2_ALGORITHM, MY_ROBOT2_ACTIONS, my_Robot2_act(observation) < 5);
    return 0;
}
)");
    auto const ran =
        run_program(fmt::format("cd '{}' && {} -std=c99 -Wall -Wextra -Wpedantic -Werror test.c -o test && ./test",
                                folder.path.string(), GMAC_C_GCC));
    CHECK(ran.text == "my/\"$ole\"\\?|gmac|5|1");
    CHECK(ran.status == 0);
}

TEST_CASE("a policy that is told of a statistic says so in C", "[export]") {
    // The action is the last number.
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({2, 1}, {.function = nn::activation::none}),
                             {actors::diagonal_gaussian{},
                              box::uniform(1, -HUGE_VALF, HUGE_VALF),
                              {},
                              statistic_range{statistic_kind::cvar, 0.25, 1.0}});
    policy.parameters()[1] = 1.0f;
    policy.parameters()[3] = 1.0f;
    scratch_folder folder;
    save_policy(folder / "policy.safetensors", policy);
    auto const written = run_export(fmt::format("'{0}' --c '{0}/policy.h' --int8", folder.path.string()));
    INFO(written.text);
    REQUIRE(written.status == 0);
    spit(folder / "test.c", R"(#include "policy.h"
#include <stdio.h>
int main(void) {
    float observation[POLICY_OBSERVATION_SIZE] = {5.0f, -0.5f}, action[POLICY_ACTION_SIZE];
    policy_act(observation, action);
    printf("%s|%d|%g", POLICY_STATISTIC, POLICY_OBSERVATION_SIZE, action[0]);
    return 0;
}
)");
    auto const ran =
        run_program(fmt::format("cd '{}' && {} -std=c99 -Wall -Wextra -Wpedantic -Werror test.c -o test && ./test",
                                folder.path.string(), GMAC_C_GCC));
    CHECK(ran.text == "cvar:0.25..1|2|-0.5");
    CHECK(slurp(folder / "policy.h").find("for cvar and upper_cvar in the") != std::string::npos);
}

TEST_CASE("gmac-export plays what rounded weights lose, in the episodes by which the run was judged", "[export]") {
    scratch_folder folder;
    auto const path = folder.path.string();
    for (auto const& [name, what] :
         {std::pair("pole", "--env classic/cart_pole --frames 4096"),
          std::pair("range", "--env classic/windy_cliff --frames 1024 --statistic cvar:0.2..1"),
          std::pair("game", "--env minatar/breakout --frames 64 --envs 2 --steps 32 --minibatch 32 --epochs 1")}) {
        auto const trained = run_program(fmt::format("'{}' {} --evaluation-episodes 7 --no-pictures --out '{}/{}' 2>&1",
                                                     GMAC_TRAIN, what, path, name));
        INFO(trained.text);
        REQUIRE(trained.status == 0);
        auto const mean =
            nlohmann::json::parse(slurp(folder.path / name / "summary.json"))["evaluation"]["mean"].get<double>();
        auto const played = run_export(fmt::format("'{0}/{1}' --c '{0}/p.h' --int8 --evaluate 7", path, name));
        INFO(played.text);
        CHECK(played.status == 0);
        CHECK_THAT(played.text, says("mean return of 7 episodes "));
        CHECK_THAT(played.text, says(fmt::format(", with exact weights {:.1f} ± ", mean)));
        CHECK_THAT(played.text, says("; by rounding the same episodes lose "));
    }
    auto const refuses = [&](std::string const& arguments, std::string const& sentence) {
        auto const outcome = run_export(arguments);
        CHECK(outcome.status != 0);
        CHECK_THAT(outcome.text, says(sentence));
    };
    refuses(fmt::format("'{0}/pole' --c '{0}/p.h' --evaluate 7", path), "--evaluate requires --int8");
    refuses(fmt::format("'{0}/pole' --c '{0}/p.h' --int8 --evaluate 1", path),
            "--evaluate is 1, but must be at least 2");
    refuses(fmt::format("'{0}/pole/policy.safetensors' --c '{0}/new.h' --int8 --evaluate 7", path),
            fmt::format("--evaluate needs the folder of a run, but {}/pole/policy.safetensors is a file", path));
    std::filesystem::remove(folder.path / "pole" / "checkpoint.safetensors");
    refuses(fmt::format("'{0}/pole' --c '{0}/new.h' --int8 --evaluate 7", path),
            fmt::format("cannot read {}/pole/checkpoint.safetensors", path));
    CHECK_FALSE(std::filesystem::exists(folder.path / "new.h"));
}

TEST_CASE("gmac-export refuses what is no policy, and writes nothing then", "[export]") {
    scratch_folder folder;
    auto const path = folder.path.string();
    auto const refuses = [&](std::string const& arguments, std::string const& sentence) {
        auto const outcome = run_export(arguments);
        CHECK(outcome.status != 0);
        CHECK_THAT(outcome.text, says(sentence));
    };
    refuses(fmt::format("'{0}' --c '{0}/p.h'", path),
            fmt::format("gmac-export: the folder {} has no policy.safetensors, which gmac-train leaves in its run's",
                        path));
    refuses(fmt::format("'{0}/none' --c '{0}/p.h'", path), fmt::format("cannot read {}/none: No such file", path));

    auto const file = folder.path / "policy.safetensors";
    save(policies()[0], file);
    std::string const whole = slurp(file);
    refuses(fmt::format("'{}'", path), "gmac-export: nothing to write: give --c FILE or --onnx FILE");
    refuses(fmt::format("'{}' --distribution", path), "--distribution requires --onnx");
    refuses(fmt::format("'{}' --int8", path), "--int8 requires --c");
    refuses(fmt::format("'{}' --value", path), "--value requires --onnx");
    refuses(fmt::format("'{0}' --onnx '{0}/p.onnx' --value", path),
            fmt::format("the folder {} has no value.safetensors, which gmac-train leaves in its run's", path));
    refuses(fmt::format("'{0}/policy.safetensors' --onnx '{0}/p.onnx' --value", path),
            fmt::format("--value needs the folder of a run, but {}/policy.safetensors is a file", path));
    std::visit([&](auto const& value) { save_value(folder / "value.safetensors", value); },
               value_for(policies()[1], heads::scalar{}, true));
    refuses(fmt::format("'{0}' --onnx '{0}/p.onnx' --value", path),
            "policy and value are of different runs: they see different observations");
    std::filesystem::remove(folder / "value.safetensors");
    refuses(fmt::format("'{}' --int4 --c x", path), "there is no option --int4; did you mean --int8?");
    refuses("", "run is required");
    refuses(fmt::format("'{0}' --c '{0}/p' --onnx '{0}/p'", path),
            fmt::format("--c and --onnx are one file, {}/p", path));
    spit(folder / "p.onnx", "precious");
    refuses(fmt::format("'{0}' --c '{0}/p.h' --name 1st --onnx '{0}/p.onnx'", path), "the name \"1st\" is none in C");
    CHECK(slurp(folder / "p.onnx") == "precious");
    for (std::string const name : {"1st", "a-b", "a b", "ü"})
        refuses(fmt::format("'{0}' --c '{0}/p.h' --name '{1}'", path, name),
                fmt::format("the name \"{}\" is none in C", name));
    refuses(fmt::format("'{0}' --c '{0}'", path), fmt::format("cannot write {}", path));
    refuses(fmt::format("'{0}' --c '{0}/no/such/p.h'", path), fmt::format("cannot write {}/no/such/p.h", path));

    // What was there is there still.
    spit(folder / "p.h", "precious");
    for (std::size_t const length : {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() - 1}) {
        spit(file, whole.substr(0, length));
        refuses(fmt::format("'{0}' --c '{0}/p.h'", path), "policy.safetensors: ");
    }
    spit(file, whole);
    auto const full = run_export(fmt::format("'{0}' --c /dev/full", path));
    CHECK(full.status == 1);
    CHECK_THAT(full.text, says("cannot write /dev/full: No space left on device"));
    auto const limited =
        run_program(fmt::format("( ulimit -f 2; trap '' XFSZ; '{}' '{}' --c '{}/p.h' 2>&1 )", GMAC_EXPORT, path, path));
    CHECK(limited.status == 1);
    CHECK_THAT(limited.text, says("what was there before is left as it was"));
    CHECK(slurp(folder / "p.h") == "precious");
    CHECK(folder.files() == 3); // the policy, p.h and p.onnx
    refuses(fmt::format("'{0}' --onnx '{0}/no/such/p.onnx'", path),
            fmt::format("cannot write {}/no/such/p.onnx", path));
    CHECK(run_export(fmt::format("'{0}' --c '{0}/p.h'", path)).status == 0);
    CHECK(slurp(folder / "p.h") != "precious");
}
