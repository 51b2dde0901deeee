// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"
#include "session.hpp"
#include "support/run_main.hpp"

int main(int argc, char** argv) {
    namespace train = gmac::examples::train;
    return gmac::examples::run_main("gmac-train", [&] { return train::session(train::parse(argc, argv)).run(); });
}
