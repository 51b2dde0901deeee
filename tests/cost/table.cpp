// SPDX-License-Identifier: Apache-2.0
// Table 3 of the paper: what its key gives, against the printed figures.
#include "flops/table.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace flops = gmac::flops;

TEST_CASE("parameters and inference are those of Table 3", "[cost]") {
    for (std::size_t i = 0; i < flops::names.size(); ++i) {
        CAPTURE(flops::names[i]);
        flops::row const row = flops::table_row(static_cast<flops::method>(i), 256);
        CHECK(std::round(1000.0 * row.parameters()) == std::round(1000.0 * flops::paper_parameters[i]));
        CHECK(row.inference() == Approx(flops::paper_inference[i]).margin(0.01).epsilon(0.0));
        // To the printed digits, in fact.
        CHECK(std::round(1000.0 * row.inference()) == std::round(1000.0 * flops::paper_inference[i]));
        // What the layers do besides products would not change the first two digits.
        CHECK(row.activations() < 0.01);
    }
}

TEST_CASE("the networks of Table 3 by hand", "[cost]") {
    // conv 8x8x4 -> 32 on 20 x 20, 4x4x32 -> 64 on 9 x 9, 3x3x64 -> 32 on 7 x 7; 1568 -> 256 -> 4 and 1.
    std::uint64_t const products = 400 * 32 * 256 + 81 * 64 * 512 + 49 * 32 * 576 + 1568 * 256 + 256 * 4 + 256;
    std::uint64_t const parameters = 257 * 32 + 513 * 64 + 577 * 32 + 1569 * 256 + 257 * 4 + 257;
    flops::row const ppo = flops::table_row(flops::method::ppo, 256);
    CHECK(ppo.network.products == 2 * products);
    CHECK(ppo.network.parameters == parameters);
    flops::row const iqac = flops::table_row(flops::method::iqac, 256);
    CHECK(iqac.network.products - ppo.network.products == 2 * (64 * (64 * 256 + 256 * 256 + 256) - 256));
    flops::row const mixture = flops::table_row(flops::method::gmac, 256);
    CHECK(mixture.network.parameters - ppo.network.parameters == 257 * 14);
    // With 512 units the fully connected layer alone exceeds the printed 0.441 Mi.
    CHECK(flops::table_row(flops::method::ppo, 512).parameters() > 0.8);
}

TEST_CASE("the library's backward pass costs twice its forward pass", "[cost]") {
    gmac::nn::linear<flops::counting_backend> const layer(96, 32, {gmac::nn::activation::none, 1.0});
    std::vector<double> const parameters(layer.parameter_count(), 0.1), input(8 * 96, 1.0), slopes(8 * 32, 1.0);
    std::vector<double> gradient(layer.parameter_count()), input_gradient(8 * 96);
    auto tape = layer.make_tape(8);
    gmac::matrix_view<double const> const rows(input.data(), 8, 96);
    flops::network_cost const forward = flops::counted_pass(0, [&] { layer.forward(parameters, rows, tape); });
    flops::network_cost const backward = flops::counted_pass(0, [&] {
        layer.backward(parameters, rows, tape, {slopes.data(), 8, 32}, gradient, {input_gradient.data(), 8, 96});
    });
    CHECK(forward.products == 2 * 8 * 96 * 32);
    // Two products, whose first addition to zero is counted, and a sum over the rows for the bias.
    CHECK(backward.products == 2 * forward.products + 8 * 32);
}

TEST_CASE("an update is three times a forward pass, and the losses are small beside it", "[cost]") {
    flops::row const ppo = flops::table_row(flops::method::ppo, 256), iqac = flops::table_row(flops::method::iqac, 256),
                     energy = flops::table_row(flops::method::iqac_e, 256),
                     gmac = flops::table_row(flops::method::gmac, 256);
    CHECK(ppo.update() == Approx(3.0 * 1.72541).margin(0.001));
    // GMAC's whole update costs a thousandth more than PPO's; the authors' target term 4 parts in a thousand.
    CHECK(gmac.update() / ppo.update() == Approx(1.0008).margin(1e-4));
    CHECK(gmac.update_of_authors() / ppo.update() == Approx(1.0034).margin(1e-4));
    // The paper's update of IQAC is 4 Gi above that of IQAC-E: 8,192 operations for each pair of fractions. Here the
    // quantile loss takes 11.1 a pair, less than the energy.
    double const pairs = 128.0 * 64.0 * 64.0;
    CHECK(0x1p32 / pairs == 8192.0);
    CHECK(static_cast<double>(iqac.value_loss) * 128.0 / pairs == Approx(11.094).margin(0.001));
    CHECK(std::abs(iqac.update() - energy.update()) < 0.002);
}
