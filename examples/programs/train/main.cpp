// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"
#include "session.hpp"

#include <gmac/core/error.hpp>

#include <cstdio>
#include <exception>
#include <utility>

int main(int argc, char** argv) {
    namespace train = gmac::examples::train;
    try {
        auto line = train::parse(argc, argv);
        if (!line.asked)
            return line.exit_code;
        return train::session(std::move(*line.asked)).run();
    } catch (gmac::error const& problem) {
        std::fprintf(stderr, "gmac-train: %s\n", problem.what());
    } catch (std::exception const& problem) {
        std::fprintf(stderr, "gmac-train: unexpected: %s\n", problem.what());
    }
    return 1;
}
