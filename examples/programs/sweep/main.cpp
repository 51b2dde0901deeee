// SPDX-License-Identifier: Apache-2.0
// gmac-sweep: many settings of gmac-train, each with several seeds.
#include "sweep.hpp"

#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>

namespace {

namespace fs = std::filesystem;
using namespace gmac::examples;

/// What is beside this program.
[[nodiscard]] fs::path neighbour() {
    std::error_code none;
    return fs::read_symlink("/proc/self/exe", none).parent_path() / "gmac-train";
}

[[nodiscard]] int run(int argc, char** argv) {
    sweep::request asked;
    CLI::App app(
        "gmac-sweep trains many settings of gmac-train, each with several seeds, and ends with a table of them, best first.\n"
        "FILE is JSON with \"options\", those of gmac-train that are the same for all; a \"grid\" of values, or a \"random\" search;\n"
        "\"seeds\", and if wanted \"algorithms\", \"halving\" and \"score\". The same command goes on after a kill. For example\n"
        "  {\"options\": {\"env\": \"classic/cart_pole\", \"frames\": 50000},\n"
        "   \"grid\": {\"learning-rate\": [3e-4, 1e-3], \"epochs\": [5, 10, 20]}, \"seeds\": [1, 2, 3]}",
        "gmac-sweep");
    app.add_option("FILE", asked.file, "what is to be trained")->required();
    add_option(app, "--out", asked.out,
               "folder of all runs and of what they come to; by default sweeps/FILE without its ending");
    add_option(app, "--jobs", asked.jobs, "runs at a time; by default as many as there are cores for, by --threads", 1)
        ->default_str("cores");
    add_option(app, "--threads", asked.threads, "of each run", 1);
    add_option(
        app, "--program", asked.program,
        "the program that trains: gmac-train, or one of your own that is a gmac::train::program; by default gmac-train "
        "beside this program");
    add_flag(app, "--dry-run", asked.dry_run, "lists the commands that would be run first, and runs none");
    parse_options(app, argc, argv);
    std::size_t const cores = (std::max)(1u, std::thread::hardware_concurrency());
    if (asked.jobs == 0)
        asked.jobs = (std::max)(std::size_t{1}, cores / asked.threads);
    if (asked.out.empty())
        asked.out = fs::path("sweeps") / asked.file.stem();
    bool const found_here = asked.program.empty();
    asked.program = found_here ? neighbour() : fs::absolute(asked.program);
    gmac::require(fs::is_regular_file(asked.program), "there is no program {}: {}", asked.program.string(),
                  found_here ? "say where it is by --program" : "--program must be a file");
    return sweep::do_sweep(asked);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-sweep", [&] { return run(argc, argv); });
}
