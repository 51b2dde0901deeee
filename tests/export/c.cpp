// SPDX-License-Identifier: Apache-2.0
// What gmac-export --c writes, compiled by each compiler that there is and run here and on an emulated ARM, acts as the library.
#include "export/policies.hpp"
#include "support/says.hpp"

#include <gmac/actors/diagonal_gaussian.hpp>

#include <cstdio>
#include <filesystem>
#include <limits>

using namespace gmac;
using namespace gmac::testing;

namespace {

/// A compiler of C, and how its programs are run.
struct target {
    std::string name, compiler, runner;
};

[[nodiscard]] std::vector<target> targets() {
    std::vector<target> all{{"gcc", GMAC_C_GCC " -O1 -fsanitize=address,undefined -fno-sanitize-recover=all", ""}};
#ifdef GMAC_C_CLANG
    all.push_back({"clang", GMAC_C_CLANG " -O2", ""});
#endif
#ifdef GMAC_C_ARM
    // qemu-arm gives a program without a system its files, if it is for a processor that has a system.
    all.push_back({"arm",
                   GMAC_C_ARM " -O2 -march=armv7-a -mthumb -mfloat-abi=hard -mfpu=vfpv3-d16 --specs=rdimon.specs",
                   GMAC_QEMU_ARM});
#endif
    return all;
}

void compile(target const& t, std::filesystem::path const& folder) {
    auto const built =
        run_program(fmt::format("{} -std=c99 -Wall -Wextra -Wpedantic -Werror -I '{}' '{}/act.c' -o '{}' 2>&1",
                                t.compiler, folder.string(), GMAC_EXPORT_TESTS, (folder / t.name).string()));
    INFO(built.text);
    CHECK(built.text.empty());
    REQUIRE(built.status == 0);
}

/// Lets the compiled policy act on the observations in the folder.
[[nodiscard]] program_outcome run(target const& t, std::filesystem::path const& folder) {
    return run_program(
        fmt::format("cd '{}' && {} './{}' observations results 2>&1", folder.string(), t.runner, t.name));
}

/// Where its answers are not the wanted ones.
[[nodiscard]] std::string disagreement(target const& t, std::filesystem::path const& folder, answers const& wanted) {
    auto const ran = run(t, folder);
    INFO(ran.text);
    REQUIRE(ran.status == 0);
    auto const all = read_floats(folder / "results");
    std::vector<float> output, action;
    for (std::size_t i = 0; i < all.size(); ++i)
        (i % (wanted.outputs + wanted.actions) < wanted.outputs ? output : action).push_back(all[i]);
    return differences(wanted, output, action);
}

} // namespace

TEST_CASE("A policy in C acts as the library, by each compiler, here and on an ARM", "[export]") {
    for (subject const& one : policies()) {
        std::string const& name = one.name;
        scratch_folder folder;
        auto const file = folder.path / "policy.safetensors";
        save(one, file);
        answers const wanted = observe(one, one.images() ? 100 : 1000, folder / "observations");
        auto const written = run_export(fmt::format("'{0}' --c '{1}/policy.h'", file.string(), folder.path.string()));
        INFO(name << ": " << written.text);
        REQUIRE(written.status == 0);
        CHECK_FALSE(contains(slurp(folder / "policy.h"), "#include"));
        for (target const& t : targets()) {
            INFO(t.name);
            compile(t, folder.path);
            CHECK(disagreement(t, folder.path, wanted) == "");
        }
        auto const cpp =
            run_program(fmt::format("{} -x c++ -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I '{}' '{}/act.c' 2>&1",
                                    GMAC_C_GCC, folder.path.string(), GMAC_EXPORT_TESTS));
        CHECK(cpp.text == "");
    }
}

TEST_CASE("The hyperbolic tangent of a policy in C is exact to a millionth", "[export]") {
    scratch_folder folder;
    deployed_policy<> policy(nn::mlp<backends::simd<float>>({1, 1}),
                             {actors::diagonal_gaussian{}, box::uniform(1, -9.0f, 9.0f)});
    policy.parameters()[0] = policy.parameters()[2] = 1.0f; // and without biases the action is tanh(x)
    save_policy(folder / "policy.safetensors", policy);
    REQUIRE(run_export(fmt::format("'{0}' --c '{0}/policy.h'", folder.path.string())).status == 0);
    std::vector<float> all;
    for (int i = -60'000; i <= 60'000; ++i)
        all.push_back(static_cast<float>(i) / 5'000.0f);
    for (float x = 1e-3f; x > 1e-37f; x *= 0.3f)
        all.push_back(x);
    for (float const x : {1e3f, -1e3f, 3e38f, -3e38f})
        all.push_back(x);
    spit(folder / "observations", {reinterpret_cast<char const*>(all.data()), sizeof(float) * all.size()});
    for (target const& t : targets()) {
        compile(t, folder.path);
        REQUIRE(run(t, folder.path).status == 0);
        auto const results = read_floats(folder / "results"); // the output and the action, which is the same
        REQUIRE(results.size() == 2 * all.size());
        double largest = 0.0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            double const exact = std::tanh(static_cast<double>(all[i]));
            double const error = std::abs(static_cast<double>(results[2 * i]) - exact);
            largest = std::max(largest, exact == 0.0 ? error : error / std::abs(exact));
        }
        INFO(t.name);
        CHECK(largest < 1e-6);
    }
}

TEST_CASE("A policy in C with weights of a byte is the policy with rounded weights", "[export]") {
    for (subject const& one : policies()) {
        std::string const& name = one.name;
        if (name == "discrete" || name == "deviations") // of the kinds of others
            continue;
        scratch_folder folder;
        auto const file = folder.path / "policy.safetensors";
        save(one, file);
        answers const wanted = observe(one, 100, folder / "observations", true);
        auto const written =
            run_export(fmt::format("'{0}' --c '{1}/policy.h' --int8", file.string(), folder.path.string()));
        INFO(name << ": " << written.text);
        REQUIRE(written.status == 0);
        target const gcc = targets()[0];
        compile(gcc, folder.path);
        CHECK(disagreement(gcc, folder.path, wanted) == "");
    }
}

TEST_CASE("The rounding's error is measured, and none where nothing is rounded", "[export]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    auto const said = [&](deployed_policy<> const& policy) {
        save_policy(file, policy);
        auto const written =
            run_export(fmt::format("'{0}' --c '{1}/policy.h' --int8", file.string(), folder.path.string()));
        REQUIRE(written.status == 0);
        return written.text;
    };
    deployed_policy<> one(nn::mlp<backends::simd<float>>({1, 1}, {.function = nn::activation::none}),
                          {actors::diagonal_gaussian{}, box::uniform(1, -9.0f, 9.0f)});
    one.parameters()[0] = 1.0f;
    one.parameters()[2] = 0.5f;
    CHECK(contains(said(one), "largest difference of an action's element on 10000 random observations is 0\n"));
    // A step is 1, so the weight 1.4 is 0.4 off, times the largest of 10000 normal numbers.
    deployed_policy<> two(nn::mlp<backends::simd<float>>({2, 1}, {.function = nn::activation::none}),
                          {actors::diagonal_gaussian{}, box::uniform(1, -900.0f, 900.0f)});
    two.parameters()[0] = 127.0f;
    two.parameters()[1] = 1.4f;
    two.parameters()[3] = 1.0f;
    auto const text = said(two);
    auto const at = text.find("observations is ");
    REQUIRE(at != text.npos);
    double const largest = std::stod(text.substr(at + 16));
    CHECK(largest > 0.4 * 3.0); // 10000 normal numbers go beyond 3, and not to 6
    CHECK(largest < 0.4 * 6.0);
    save(policies()[2], file);
    auto const discrete =
        run_export(fmt::format("'{0}' --c '{1}/policy.h' --int8", file.string(), folder.path.string()));
    CHECK(contains(discrete.text, "% of 10000 random observations have another action\n"));
}

TEST_CASE("The sizes that gmac-export prints are those of the header", "[export]") {
    scratch_folder folder;
    auto const file = folder.path / "policy.safetensors";
    save(policies()[0], file); // 11 -> 64 -> 32 -> 3
    auto const sizes = [&](std::string const& option, std::size_t flash) {
        auto const written =
            run_export(fmt::format("'{0}' --c '{1}/policy.h'{2}", file.string(), folder.path.string(), option));
        std::size_t const memory = 4 * (64 + 32 + 3); // a layer's output where the layer before has its input
        CHECK(
            contains(written.text, fmt::format("{}/policy.h: flash {} bytes of numbers beside the code, RAM {} bytes\n",
                                               folder.path.string(), flash, memory)));
        CHECK(contains(slurp(folder / "policy.h"), fmt::format("#define POLICY_CONSTANT_BYTES {}\n", flash)));
#ifdef GMAC_C_ARM
        // What the linker counts, of a program that holds nothing else.
        spit(folder / "one.c",
             "#define POLICY_STATIC\n#include \"policy.h\"\nvoid act(const float *x, float *y);\n"
             "void act(const float *x, float *y) { policy_act(x, y); }\n");
        auto const counted = run_program(fmt::format(
            "cd '{}' && {} -std=c99 -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -c one.c && {} one.o | tail -1",
            folder.path.string(), GMAC_C_ARM, GMAC_ARM_SIZE));
        std::size_t text = 0, data = 0, zero = 0;
        REQUIRE(std::sscanf(counted.text.c_str(), "%zu %zu %zu", &text, &data, &zero) == 3);
        CHECK(zero == memory);
        CHECK(data == 0);
        CHECK(text >= flash);
        CHECK(text < flash + 1500);
#endif
    };
    std::size_t const weights = 11 * 64 + 64 * 32 + 32 * 3, biases = 64 + 32 + 3;
    sizes("", 4 * (weights + biases + 3 * 11 + 2 * 3));
    sizes(" --int8", weights + 4 * (2 * biases + 3 * 11 + 2 * 3));
}

TEST_CASE("A NaN comes out of a policy in C", "[export]") {
    for (std::size_t const kind : {0u, 2u, 6u}) {
        scratch_folder folder;
        save(policies()[kind], folder / "policy.safetensors");
        REQUIRE(run_export(fmt::format("'{0}' --c '{0}/policy.h'", folder.path.string())).status == 0);
        std::vector<float> observation(kind == 0 ? 11 : kind == 2 ? 4 : 6, 0.5f);
        observation[1] = std::numeric_limits<float>::quiet_NaN();
        spit(folder / "observations", {reinterpret_cast<char const*>(observation.data()), 4 * observation.size()});
        target const gcc = targets()[0];
        compile(gcc, folder.path);
        REQUIRE(run_program(fmt::format("'{0}/gcc' '{0}/observations' '{0}/results'", folder.path.string())).status ==
                0);
        float const action = read_floats(folder / "results").back();
        if (kind == 0)
            CHECK(std::isnan(action));
        else
            CHECK(action == -1.0f);
    }
}
