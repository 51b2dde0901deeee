// SPDX-License-Identifier: Apache-2.0
// odd-train: a program with one method of the library and one of its own, an environment of bytes and one of numbers; and what
// GMAC_FAULT names is registered wrongly.
#include <gmac/train/program.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

gmac::train::method three(); // of own_method.cpp

namespace {

/// A dot on a board of 5 x 4 fields, which is to leave it to the right.
struct screen {
    using observation_type = std::uint8_t;
    static constexpr int width = 5, height = 4;
    int x = 0, y = 0, steps = 0;

    static std::size_t observation_size() { return width * height; }
    static gmac::discrete action_space() { return {2}; }
    void reset(gmac::random_stream& random, std::span<std::uint8_t> observation) {
        x = steps = 0;
        y = static_cast<int>(random.uniform<float>() * height) % height;
        observe(observation);
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<std::uint8_t> observation) {
        x = std::max(0, x + (action == 1 ? 1 : -1));
        bool const left = x == width;
        x = std::min(x, width - 1);
        observe(observation);
        return {.reward = left ? 1.0 : 0.0, .terminated = left, .truncated = ++steps == 20};
    }
    void observe(std::span<std::uint8_t> observation) const {
        std::ranges::fill(observation, std::uint8_t(0));
        observation[static_cast<std::size_t>(y * width + x)] = 1;
    }
    void persist(gmac::archive& state) {
        state("x", x);
        state("y", y);
        state("steps", steps);
    }
};

/// As many fields in a row as its option says.
struct chain {
    int size = 4, place = 0, steps = 0;

    static std::size_t observation_size() { return 1; }
    static gmac::discrete action_space() { return {2}; }
    void reset(gmac::random_stream&, std::span<float> observation) {
        place = steps = 0;
        observation[0] = 0.0f;
    }
    gmac::transition step(int action, gmac::random_stream&, std::span<float> observation) {
        place = std::max(0, place + (action == 1 ? 1 : -1));
        observation[0] = static_cast<float>(place);
        return {.reward = -1.0, .terminated = place == size, .truncated = ++steps == 30};
    }
};

} // namespace

int main(int argc, char** argv) {
    using gmac::train::environment_values;
    gmac::train::image_view const board{.height = 4, .width = 5, .trunk = "conv:8x2x1", .cells = true};
    gmac::train::program odd("odd-train", {gmac::train::methods::ppo()});
    odd.method(three())
        .environment<screen>("mine/screen", {.images = board})
        .environment("mine/chain", {.options = {{"size", 4}}}, [](environment_values const& values) {
            return chain{.size = static_cast<int>(values.get<std::int64_t>("size"))};
        });

    char const* const named = std::getenv("GMAC_FAULT");
    std::string_view const fault = named != nullptr ? named : "";
    if (fault == "environment-twice")
        odd.environment<screen>("mine/screen", {.images = board});
    if (fault == "method-twice")
        odd.method(gmac::train::methods::ppo());
    if (fault == "blank")
        odd.environment<chain>("my task");
    if (fault == "file")
        odd.environment<chain>("./task");
    if (fault == "no-images")
        odd.environment<screen>("mine/bytes");
    if (fault == "option-twice")
        odd.environment<chain>("mine/options", {.options = {{"size", 1}, {"size", 2}}});
    if (fault == "preset") {
        auto far = gmac::train::own_defaults();
        far.environment = "mine/far";
        odd.preset("far", far);
    }
    return odd.run(argc, argv);
}
