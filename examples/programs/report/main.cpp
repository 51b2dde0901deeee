// SPDX-License-Identifier: Apache-2.0
// gmac-report: the page of a run of gmac-train, or of several beside each other.
#include "train/commands.hpp"
#include "train/our_environments.hpp"

int main(int argc, char** argv) {
    return gmac::examples::train::report_command(gmac::examples::train::our_registry(), "gmac-report", argc, argv);
}
