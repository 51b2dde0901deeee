// SPDX-License-Identifier: Apache-2.0
// gmac-evaluate: how well agents do that gmac-train has trained.
#include "train/commands.hpp"
#include "train/our_environments.hpp"

int main(int argc, char** argv) {
    return gmac::examples::train::evaluate_command(gmac::examples::train::our_registry(), "gmac-evaluate", argc, argv);
}
