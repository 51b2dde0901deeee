// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"
#include "session.hpp"
#include "support/run_main.hpp"

#include <utility>

int main(int argc, char** argv) {
    namespace train = gmac::examples::train;
    return gmac::examples::run_main("gmac-train", [&] {
        auto line = train::parse(argc, argv);
        return line.asked ? train::session(std::move(*line.asked)).run() : line.exit_code;
    });
}
