#include "cliff_walk.hpp"

#include <gmac/train/program.hpp>

#include <cstdint>
#include <string>

cliff_walk make_walk(gmac::train::environment_values const& values) {
    cliff_walk walk;
    walk.wind = static_cast<float>(values.get<double>("wind"));
    walk.columns = static_cast<int>(values.get<std::int64_t>("columns"));
    gmac::require(walk.wind >= 0.0f && walk.wind <= 1.0f, "wind is {}, but must be in [0, 1]", walk.wind);
    gmac::require(walk.columns >= 3 && walk.columns <= 100, "columns is {}, but must be in [3, 100]", walk.columns);
    return walk;
}

gmac::train::settings cliff_defaults(std::string const& algorithm) {
    gmac::train::settings all = gmac::train::own_defaults();
    all.frames = 100'000;
    all.agent.steps = 64;
    all.agent.learning_rate = algorithm == "ppo" ? 5e-4 : 1e-3;
    return all;
}

int main(int argc, char** argv) {
    gmac::train::settings calm = cliff_defaults("gmac");
    calm.environment = "mine/cliff";
    calm.environment_values = {{"wind", "0"}, {"columns", "5"}};
    return gmac::train::program("my-train")
        .environment("mine/cliff",
                     {.help = "a walk along a cliff",
                      .options = {{"wind", 0.1, "probability of a gust, in [0, 1]"},
                                  {"columns", 12, "from corner to corner, 3 to 100"}},
                      .defaults = cliff_defaults},
                     make_walk)
        .preset("calm", calm)
        .run(argc, argv);
}
