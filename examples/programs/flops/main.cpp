// SPDX-License-Identifier: Apache-2.0
// gmac-flops: Table 1 of the paper, counted, and what the losses alone cost.
#include "flops/closed_forms.hpp"
#include "flops/table.hpp"
#include "support/run_main.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace {

namespace flops = gmac::flops;

void print_table(std::size_t units) {
    bool const papers = units == 256;
    fmt::print("\nTrunk with {} units{}\n\n", units,
               papers ? ", which reproduces the printed figures" : ", as the paper's architecture table says");
    fmt::print(
        "|        | parameters, Mi | inference, Gi | + maps, Gi | loss, Gi | update, Gi | update, authors' loss, Gi |\n");
    fmt::print(
        "|        | paper   here   | paper   here  |    here    |   here   |    here    |           here            |\n");
    fmt::print(
        "|--------|----------------|---------------|------------|----------|------------|---------------------------|\n");
    for (std::size_t i = 0; i < flops::names.size(); ++i) {
        flops::row const row = flops::table_row(static_cast<flops::method>(i), units);
        std::string const parameters = papers ? fmt::format("{:.3f}", flops::paper_parameters[i]) : "  -  ";
        std::string const inference = papers ? fmt::format("{:.3f}", flops::paper_inference[i]) : "  -  ";
        fmt::print(
            "| {:6} | {}   {:.3f}  | {}   {:.3f} |   {:.4f}   | {:.6f} |  {:7.4f}   |          {:7.4f}          |\n",
            flops::names[i], parameters, row.parameters(), inference, row.inference(), row.activations(), row.loss(),
            row.update(), row.update_of_authors());
    }
}

void print_key() {
    fmt::print(
        "How the two count. Units are binary (Mi = 2^20, Gi = 2^30), and the figures are for the 128 steps of one\n"
        "environment's rollout. A multiply-add is two operations. The trunk is 8x8/4 -> 32, 4x4/2 -> 64, 3x3/1 -> 32 on\n"
        "84 x 84 x 4 and one fully connected layer; quantiles are embedded 64 -> 256 -> 256 (cosines, the trunk's width,\n"
        "hidden units), 64 of them a state. Inference is the layers alone, as in the paper; what the activations, the\n"
        "product with the embedding and the cosines add stands in its own column. An update is three times a forward pass\n"
        "(backward is one product for the weights' gradient and one for the inputs') and the loss, value and gradient,\n"
        "where every addition, multiplication, division, comparison, root and function counts one.\n"
        "Here the losses, the actor and all layers are the library's own code run on counted<double>; only PPO's surrogate\n"
        "and the cosines are arithmetic. \"Authors' loss\" includes the distance of the target to itself,\n"
        "which the authors' code computes although no gradient depends on it.\n");
}

void print_update() {
    fmt::print(
        "\nThe paper's update column, Gi:\n\n"
        "|        | paper | 256 units | with the authors' loss | 512 units |\n"
        "|--------|-------|-----------|------------------------|-----------|\n");
    for (std::size_t i = 0; i < flops::names.size(); ++i) {
        auto const which = static_cast<flops::method>(i);
        flops::row const row = flops::table_row(which, 256);
        fmt::print("| {:6} | {:5.2f} |  {:6.3f}   |         {:6.3f}         |  {:6.3f}   |\n", flops::names[i],
                   flops::paper_update[i], row.update(), row.update_of_authors(),
                   flops::table_row(which, 512).update());
    }
    auto const iqac = flops::table_row(flops::method::iqac, 256), energy = flops::table_row(flops::method::iqac_e, 256);
    double const pairs = static_cast<double>(flops::steps * flops::quantiles * flops::quantiles);
    auto const per_pair = [&](std::uint64_t one_state) { return iqac.rollout(one_state) * flops::gibi / pairs; };
    fmt::print(
        "\nIQAC's printed update is that of a trunk with 512 units, while its parameters and inference and the other three\n"
        "rows were counted with 256. So what the column says of the energy distance and the Huber quantile loss compares two\n"
        "trunks. With one trunk the losses differ by {:+.4f} Gi: the Huber quantile loss as written needs {:.1f} operations for\n"
        "each pair of a predicted and a target fraction, value and gradient, and the sample energy {:.1f} (two pairs each, one\n"
        "with a particle and one with a sample). What GMAC's update exceeds PPO's by, {:.2f} Gi in print, is {:.0f} operations\n"
        "for each of the 17,049 pairs of a state, the target's pairs with itself among them.\n",
        iqac.update() - energy.update(), per_pair(iqac.value_loss), per_pair(energy.value_loss),
        flops::paper_update[3] - flops::paper_update[0],
        (flops::paper_update[3] - flops::paper_update[0]) * flops::gibi /
            (17049.0 * static_cast<double>(flops::steps)));
}

void print_loss(std::string_view loss, std::string_view sizes, gmac::operation_counts const& c) {
    fmt::print("| {:38} | {:16} | {:6} | {:6} | {:5} | {:6} | {:5} | {:5} | {:4} | {:5} | {:6} |\n", loss, sizes,
               c.additions, c.multiplications, c.divisions, c.comparisons, c.square_roots, c.exponentials, c.logarithms,
               c.error_functions, c.total());
}

/// Each loss with its value alone and with its gradient.
void print_losses() {
    namespace losses = gmac::losses;
    fmt::print(
        "\nThe losses alone, operations of one state, counted\n\n"
        "| {:38} | {:16} | {:6} | {:6} | {:5} | {:6} | {:5} | {:5} | {:4} | {:5} | {:6} |\n",
        "loss", "sizes", "+ -", "x", "/", "< >", "sqrt", "exp", "log", "erf", "total");
    fmt::print("|{:-<40}|{:-<18}|{:-<8}|{:-<8}|{:-<7}|{:-<8}|{:-<7}|{:-<7}|{:-<6}|{:-<7}|{:-<8}|\n", "", "", "", "", "",
               "", "", "", "", "", "");
    for (bool const gradient : {false, true}) {
        std::string_view const what = gradient ? " + gradient" : "";
        auto const line = [&](std::string_view loss, std::string_view sizes, gmac::operation_counts const& counts) {
            print_loss(fmt::format("{}{}", loss, what), sizes, counts);
        };
        line("squared", "", flops::count_squared_error(gradient));
        line("clipped squared", "", flops::count_clipped_squared_error(gradient));
        line("Huber quantile", "N = 64, m = 64", flops::count_sample_loss(losses::huber_quantile{}, 64, 64, gradient));
        line("expectile", "N = 64, m = 64", flops::count_sample_loss(losses::expectile{}, 64, 64, gradient));
        line("energy", "N = 64, m = 64", flops::count_sample_loss(losses::sample_energy{}, 64, 64, gradient));
        line("energy, pairs", "N = 64, m = 64", flops::count_energy_pairs(64, 64, false, gradient));
        line("mixture energy", "K = 5, m = 128", flops::count_mixture_energy<5>(128, false, gradient));
        line("mixture energy, target term", "K = 5, m = 128", flops::count_mixture_energy<5>(128, true, gradient));
    }
    auto const with = flops::count_mixture_energy<5>(128, true, true),
               without = flops::count_mixture_energy<5>(128, false, true);
    fmt::print(
        "\nThe target term. Written over all pairs, as the authors' code does, the mixture energy at K = 5 and m = 128 has\n"
        "5 x 128 + 5 x 5 + 128 x 128 = 17,049 pairs a state, of which the target with itself has 16,384, 96 in 100, and no\n"
        "gradient. Here the pairs that are equal by symmetry are computed once: {} error functions with the term, {}\n"
        "without, so that leaving it out saves {:.1f} in 100 of our operations and leaves {:.1f} in 100 of the authors' pairs.\n",
        with.error_functions, without.error_functions,
        100.0 * (1.0 - static_cast<double>(without.total()) / static_cast<double>(with.total())),
        100.0 * static_cast<double>(without.error_functions) / 17049.0);
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-flops", [&] {
        gmac::require(argc == 1, "it takes no arguments, but got {}", argv[1]);
        fmt::print("Table 1 of the paper on Breakout's shapes, counted\n\n");
        print_key();
        print_table(256);
        print_table(512);
        print_update();
        print_losses();
    });
}
