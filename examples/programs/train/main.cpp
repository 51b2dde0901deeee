// SPDX-License-Identifier: Apache-2.0
// gmac-train: a gmac::train::program with the environments of this repository.
#include "our_environments.hpp"

#include <gmac/train/program.hpp>

int main(int argc, char** argv) {
    return gmac::train::program(gmac::examples::train::our_registry()).run(argc, argv);
}
