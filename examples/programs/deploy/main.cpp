// SPDX-License-Identifier: Apache-2.0
// gmac-act: acts by a policy that gmac-train has learned, without the training code.
#include "train/commands.hpp"

int main(int argc, char** argv) {
    return gmac::examples::train::act_command("gmac-train", "gmac-act", argc, argv);
}
