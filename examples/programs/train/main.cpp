// SPDX-License-Identifier: Apache-2.0
// gmac-train: a gmac::train::program with the environments of this repository, on as many ranks as mpirun starts.
#include "our_environments.hpp"

#include <gmac/train/program.hpp>

#if defined(GMAC_TRAIN_WITH_MPI)
#include <gmac/distributed/mpi.hpp>
#endif

int main(int argc, char** argv) {
    gmac::train::program const program(gmac::examples::train::our_registry());
#if defined(GMAC_TRAIN_WITH_MPI)
    return gmac::distributed::run_with_or_without(argc, argv, [&](gmac::communicator* ranks) {
        return program.run(argc, argv, ranks);
    });
#else
    return program.run(argc, argv);
#endif
}
