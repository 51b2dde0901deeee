// SPDX-License-Identifier: Apache-2.0
// gmac-curves: one picture and one table of several runs of gmac-train.
#include "commands.hpp"

int main(int argc, char** argv) {
    return gmac::examples::train::curves_command("gmac-train", "gmac-curves", argc, argv);
}
