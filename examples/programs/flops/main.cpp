// SPDX-License-Identifier: Apache-2.0
// gmac-flops: Table 3 of the paper, counted, and what the losses alone cost.
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

void print_difference() {
    auto const iqac = flops::table_row(flops::method::iqac, 256), energy = flops::table_row(flops::method::iqac_e, 256);
    double const pairs = static_cast<double>(flops::steps * flops::quantiles * flops::quantiles);
    auto const per_pair = [&](double gibi) { return gibi * flops::gibi / pairs; };
    fmt::print(
        "\nThe paper's update column. Its figures are not printed here, since this program's authors have not seen them; what\n"
        "is known of them is that IQAC's update exceeds IQAC-E's by almost exactly 2^32 operations, 4 Gi, with the same\n"
        "network. The rollout has 128 x 64 x 64 pairs of a predicted and a target fraction, so that is {:.0f} operations for\n"
        "each pair. The Huber quantile loss as written needs {:.1f} a pair, value and gradient, and the sample energy {:.1f}\n"
        "(two pairs each, one with a particle and one with a sample): here IQAC's update differs from IQAC-E's by\n"
        "{:+.4f} Gi. The printed difference cannot come from the loss as written.\n",
        0x1p32 / pairs, per_pair(iqac.rollout(iqac.value_loss)), per_pair(energy.rollout(energy.value_loss)),
        iqac.update() - energy.update());
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
        losses::sample_energy energy;
        energy.algorithm = losses::sample_algorithm::sorted;
        line("energy, sorted", "N = 64, m = 64", flops::count_sample_loss(energy, 64, 64, gradient));
        energy.algorithm = losses::sample_algorithm::pairwise;
        line("energy, pairs", "N = 64, m = 64", flops::count_sample_loss(energy, 64, 64, gradient));
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
        fmt::print("Table 3 of the paper on Breakout's shapes, counted\n\n");
        print_key();
        print_table(256);
        print_table(512);
        print_difference();
        print_losses();
    });
}
