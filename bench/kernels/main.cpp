// SPDX-License-Identifier: Apache-2.0
// gmac-bench: what the kernels cost on this machine, on one core.
#include "harness.hpp"
#include "support/run_main.hpp"

#include <xsimd/xsimd.hpp>

#include <cstdlib>
#include <string>

int main(int argument_count, char** arguments) {
    return gmac::examples::run_main("gmac-bench", [&] {
        benchmark::Initialize(&argument_count, arguments);
        if (benchmark::ReportUnrecognizedArguments(argument_count, arguments))
            return EXIT_FAILURE;
        gmac::bench::register_machine();
        gmac::bench::register_losses();
        gmac::bench::register_losses_on_atoms();
        gmac::bench::register_heads();
        gmac::bench::register_targets();
        gmac::bench::register_updates();
        gmac::bench::register_convolutions();
        gmac::bench::register_networks();
        benchmark::AddCustomContext("gmac_lanes_float", std::to_string(xsimd::batch<float>::size));
#if defined(GMAC_BENCH_TORCH)
        benchmark::AddCustomContext("libtorch", "one thread");
#endif
        benchmark::RunSpecifiedBenchmarks();
        return EXIT_SUCCESS;
    });
}
