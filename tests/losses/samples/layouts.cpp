// SPDX-License-Identifier: Apache-2.0
// The same answer, bit for bit, from every layout and container; and no allocation.
#include "losses/samples/problems.hpp"
#include "support/allocation_counter.hpp"
#include "support/catch.hpp"
#include "support/matrices.hpp"

#include <gmac/heads/dirac.hpp>
#include <gmac/heads/implicit_quantile.hpp>
#include <gmac/losses/expectile.hpp>
#include <gmac/losses/huber_quantile.hpp>
#include <gmac/losses/sample_energy.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <vector>

using namespace gmac;
using namespace gmac::testing;

namespace {

template <class T, class Loss>
void same_in_every_layout(Loss const& loss, problem<T> const& p) {
    heads::implicit_quantile const head{.samples_per_state = p.samples};
    std::vector<T> wanted(p.values.size());
    T const value =
        loss.value_and_gradient(head, p.outputs(), p.target_view(), matrix_view<T>(wanted.data(), p.states, p.samples));
    auto const equal = [&](matrix_view<T const> const& gradient) {
        for (std::size_t i = 0; i < p.states; ++i)
            for (std::size_t j = 0; j < p.samples; ++j)
                if (gradient(i, j) != wanted[i * p.samples + j])
                    return false;
        return true;
    };
    auto const outputs = p.outputs();
    auto const targets = p.target_view();
    CAPTURE(Loss::name, p.states, p.samples, p.particles, sizeof(T));

    for (bool backwards : {false, true}) {
        strided<T> const values(outputs.values, backwards);
        strided<T> const fractions(outputs.fractions, backwards);
        strided<T> const particles(targets.values, backwards);
        strided<T> const weights(targets.weights, backwards);
        strided<T> const gradient(p.states, p.samples, backwards);
        auto before = gradient.memory;
        CHECK(loss.value_and_gradient(head, quantile_outputs<T>{values.view, fractions.view},
                                      targets::dirac_particles<T>{particles.view, weights.view},
                                      gradient.view) == value);
        CHECK(equal(gradient.view));
        // Nothing between the elements was touched.
        for (std::size_t i = 0; i < p.states; ++i)
            for (std::size_t j = 0; j < p.samples; ++j)
                before[static_cast<std::size_t>(&gradient.view(i, j) - gradient.memory.data())] = gradient.view(i, j);
        CHECK(before == gradient.memory);
    }

    auto const values = eigen_copy(outputs.values);
    auto const fractions = eigen_copy(outputs.fractions);
    auto const particles = eigen_copy(targets.values);
    auto const weights = eigen_copy(targets.weights);
    column_major<T> gradient(values.rows(), values.cols());
    CHECK(loss.value_and_gradient(head, quantile_outputs<T const>{values, fractions},
                                  targets::dirac_particles<T const>{particles, weights}, gradient) == value);
    CHECK(equal(gradient));
    // A block of a larger matrix of Eigen's.
    column_major<T> large = column_major<T>::Zero(values.rows() + 2, values.cols() + 3);
    CHECK(loss.value_and_gradient(head, quantile_outputs<T const>{values, fractions},
                                  targets::dirac_particles<T const>{particles, weights},
                                  large.block(1, 2, values.rows(), values.cols())) == value);
    CHECK(equal(large.block(1, 2, values.rows(), values.cols())));
}

template <class T>
void all_losses_in_every_layout(random_stream& random, std::size_t states, std::size_t samples, std::size_t particles) {
    auto const p = random_problem<T>(random, states, samples, particles, {.weighted = true});
    same_in_every_layout(losses::expectile{}, p);
    same_in_every_layout(losses::huber_quantile{}, p);
    same_in_every_layout(losses::huber_quantile{.kappa = 0.0}, p);
    same_in_every_layout(losses::sample_energy{}, p);
}

} // namespace

TEST_CASE("Any strides and any container give the same, bit for bit") {
    random_stream random(1);
    all_losses_in_every_layout<float>(random, 37, 5, 7);
    all_losses_in_every_layout<double>(random, 19, 33, 21);
    all_losses_in_every_layout<float>(random, 18, 64, 70);
    all_losses_in_every_layout<double>(random, 2, 600, 1700); // state by state
}

TEST_CASE("Fractions shared by the batch are the same fractions in every row") {
    random_stream random(2);
    auto p = random_problem<float>(random, 21, 17, 9);
    for (std::size_t i = p.samples; i < p.fractions.size(); ++i)
        p.fractions[i] = p.fractions[i - p.samples];
    heads::implicit_quantile const head{.samples_per_state = p.samples, .shared = true};
    quantile_outputs<float const> const shared{p.value_view(),
                                               shared_fractions(vector_view<float const>(p.fractions.data(), p.samples),
                                                                p.states)};
    CHECK(shared.fractions.row_stride() == 0);
    CHECK(losses::huber_quantile{}.value(head, shared, p.target_view()) ==
          losses::huber_quantile{}.value(head, p.outputs(), p.target_view()));
    CHECK(losses::expectile{}.value(head, shared, p.target_view()) ==
          losses::expectile{}.value(head, p.outputs(), p.target_view()));
}

TEST_CASE("A head at the midpoints is a head that was given the midpoints") {
    random_stream random(3);
    auto p = random_problem<double>(random, 13, 6, 9);
    for (std::size_t i = 0; i < p.fractions.size(); ++i)
        p.fractions[i] = (static_cast<double>(i % 6) + 0.5) / 6.0;
    heads::implicit_quantile const given{.samples_per_state = 6};
    CHECK(losses::huber_quantile{}.value(heads::dirac<6>{}, p.value_view(), p.target_view()) ==
          losses::huber_quantile{}.value(given, p.outputs(), p.target_view()));
    CHECK(losses::sample_energy{}.value(heads::dirac<6>{}, p.value_view(), p.target_view()) ==
          losses::sample_energy{}.value(given, p.outputs(), p.target_view()));
}

TEST_CASE("No loss allocates, however many samples") {
    random_stream random(4);
    for (std::size_t size : {7u, 64u, 700u, 2500u}) {
        auto const p = random_problem<float>(random, 3, size, size, {.weighted = true});
        heads::implicit_quantile const head{.samples_per_state = size};
        std::vector<float> gradient(p.values.size());
        matrix_view<float> const to(gradient.data(), p.states, p.samples);
        auto const work = [&] {
            losses::huber_quantile{}.value_and_gradient(head, p.outputs(), p.target_view(), to);
            losses::sample_energy{.target_term = true}.value_and_gradient(head, p.outputs(), p.target_view(), to);
            losses::expectile{}.value_and_gradient(head, p.outputs(), p.target_view(), to);
        };
        CHECK(testing::allocations_during(work) == 0);
    }
}
