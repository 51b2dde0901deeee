// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/heads/categorical.hpp>
#include <gmac/targets/particles.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// Random losses on atoms, and the definitions in long double to judge them by.
namespace gmac::testing {

/// Logits [states, N] against target particles [states, particles], row-major.
template <class T>
struct atom_problem {
    std::size_t states, atoms, particles;
    std::vector<T> logits, points, weights; ///< weights may be empty

    [[nodiscard]] matrix_view<T const> outputs() const { return {logits.data(), states, atoms}; }
    [[nodiscard]] targets::dirac_particles<T const> targets() const {
        matrix_view<T const> const none;
        return {{points.data(), states, particles},
                weights.empty() ? none : matrix_view<T const>(weights.data(), states, particles)};
    }
    [[nodiscard]] long double weight(std::size_t state, std::size_t j) const {
        return weights.empty() ? 1.0L / static_cast<long double>(particles)
                               : static_cast<long double>(weights[state * particles + j]);
    }
    [[nodiscard]] long double point(std::size_t state, std::size_t j) const {
        return static_cast<long double>(points[state * particles + j]);
    }
};

/// A head with some range, which may lie on one side of zero.
template <std::size_t N>
[[nodiscard]] heads::categorical<N> random_head(random_stream& random) {
    double const scale = std::pow(10.0, 3.0 * random.uniform<double>() - 1.0);
    double const middle = random.below(2) == 0 ? 0.0 : 2.0 * scale * random.normal<double>();
    double const low = middle - scale * (0.2 + random.uniform<double>());
    double const high = middle + scale * (0.2 + random.uniform<double>());
    return {.minimum = low, .maximum = high, .symlog = random.below(2) == 0};
}

/// The atoms as they are defined.
template <std::size_t N>
[[nodiscard]] std::vector<long double> atoms_of(heads::categorical<N> const& head) {
    auto const symlog = [](long double z) { return std::copysign(std::log1p(std::abs(z)), z); };
    auto const symexp = [](long double y) { return std::copysign(std::expm1(std::abs(y)), y); };
    long double const low = head.symlog ? symlog(head.minimum) : static_cast<long double>(head.minimum);
    long double const high = head.symlog ? symlog(head.maximum) : static_cast<long double>(head.maximum);
    std::vector<long double> atoms;
    for (std::size_t i = 0; i < N; ++i) {
        long double const y = low + (high - low) * static_cast<long double>(i) / static_cast<long double>(N - 1);
        atoms.push_back(head.symlog ? symexp(y) : y);
    }
    return atoms;
}

/// Normal logits, some states nearly certain; particles within the atoms and some on them, beyond them if `beyond`.
template <class T, std::size_t N>
[[nodiscard]] atom_problem<T> random_problem(random_stream& random, heads::categorical<N> const& head,
                                             std::size_t states, std::size_t particles, bool weighted,
                                             bool beyond = true) {
    atom_problem<T> result{states, N, particles, {}, {}, {}};
    auto const atoms = head.template grid<T>().atoms;
    for (std::size_t s = 0; s < states; ++s) {
        double const sharpness = random.below(4) == 0 ? 20.0 : 1.0;
        for (std::size_t i = 0; i < N; ++i)
            result.logits.push_back(static_cast<T>(sharpness * random.normal<double>()));
        double const centre = random.uniform<double>();
        double const width = 0.3 * random.uniform<double>();
        std::vector<double> row(particles);
        double sum = 0.0;
        for (std::size_t j = 0; j < particles; ++j) {
            double const share = centre + width * random.normal<double>();
            double const x = head.minimum + (head.maximum - head.minimum) * share;
            double const inside = std::clamp(x, head.minimum, head.maximum);
            bool const on_atom = random.below(8) == 0;
            result.points.push_back(on_atom ? atoms[random.below(N)] : static_cast<T>(beyond ? x : inside));
            sum += (row[j] = random.below(4) == 0 ? 0.0 : random.uniform<double>());
        }
        if (sum == 0.0)
            sum = row[0] = 1.0;
        for (std::size_t j = 0; j < particles && weighted; ++j)
            result.weights.push_back(static_cast<T>(row[j] / sum));
    }
    return result;
}

/// The masses of a state's particles at the atoms, as Bellemare et al. write them: [1 − |x − z_i| / gap] between 0 and 1.
template <class T>
[[nodiscard]] std::vector<long double> projected(std::vector<long double> const& atoms, atom_problem<T> const& p,
                                                 std::size_t state) {
    std::vector<long double> masses(atoms.size(), 0.0L);
    for (std::size_t j = 0; j < p.particles; ++j) {
        long double const x = std::clamp(p.point(state, j), atoms.front(), atoms.back());
        for (std::size_t i = 0; i < atoms.size(); ++i) {
            std::size_t const other = x < atoms[i] ? i - 1 : (std::min)(i + 1, atoms.size() - 1);
            long double const gap = other == i ? 1.0L : std::abs(atoms[other] - atoms[i]);
            masses[i] += p.weight(state, j) * (std::max)(0.0L, 1.0L - std::abs(x - atoms[i]) / gap);
        }
    }
    return masses;
}

/// Their Gaussian histogram, σ in bins.
template <std::size_t N, class T>
[[nodiscard]] std::vector<long double> gaussian_histogram(heads::categorical<N> const& head, atom_problem<T> const& p,
                                                          std::size_t state, long double deviation) {
    auto const bend = [&](long double z) { return head.symlog ? std::copysign(std::log1p(std::abs(z)), z) : z; };
    long double const low = bend(head.minimum);
    long double const high = bend(head.maximum);
    std::vector<long double> masses(N, 0.0L);
    for (std::size_t j = 0; j < p.particles; ++j) {
        long double const x = std::clamp(bend(p.point(state, j)), low, high);
        long double const place = (x - low) / (high - low) * static_cast<long double>(N - 1);
        auto const between = [&](long double from, long double to) { // the tail that both lie in keeps its digits
            long double const scale = deviation * std::sqrt(2.0L);
            long double const a = (from - place) / scale;
            long double const b = (to - place) / scale;
            return 0.5L * (a > 0.0L ? std::erfc(a) - std::erfc(b) : std::erfc(-b) - std::erfc(-a));
        };
        long double const all = between(-0.5L, static_cast<long double>(N) - 0.5L);
        for (std::size_t i = 0; i < N; ++i) {
            auto const middle = static_cast<long double>(i);
            masses[i] += p.weight(state, j) * between(middle - 0.5L, middle + 0.5L) / all;
        }
    }
    return masses;
}

/// softmax and its logarithm by definition, on any numbers.
template <class D>
struct distribution_on_atoms {
    std::vector<D> probabilities, logarithms;

    explicit distribution_on_atoms(std::vector<D> const& logits) {
        using std::exp;
        using std::log;
        D const largest = *std::max_element(logits.begin(), logits.end());
        D sum(0);
        for (D const& l : logits)
            sum = sum + exp(l - largest);
        for (D const& l : logits) {
            logarithms.push_back(l - largest - log(sum));
            probabilities.push_back(exp(l - largest) / sum);
        }
    }
};

template <class D>
[[nodiscard]] D cross_entropy(std::vector<long double> const& masses, std::vector<D> const& logits) {
    distribution_on_atoms<D> const predicted(logits);
    D sum(0);
    for (std::size_t i = 0; i < masses.size(); ++i)
        sum = sum - D(static_cast<double>(masses[i])) * predicted.logarithms[i];
    return sum;
}

/// 2 ∫ (F − G)² dx between the predicted probabilities at the atoms and weighted points, piece by piece between all of them.
template <class D>
[[nodiscard]] D energy_by_definition(std::vector<long double> const& atoms, std::vector<D> const& logits,
                                     std::span<long double const> points, std::span<long double const> weights) {
    distribution_on_atoms<D> const predicted(logits);
    std::vector<long double> places(points.begin(), points.end());
    places.insert(places.end(), atoms.begin(), atoms.end());
    std::ranges::sort(places);
    D sum(0);
    for (std::size_t k = 0; k + 1 < places.size(); ++k) {
        D below(0);
        for (std::size_t i = 0; i < atoms.size(); ++i)
            if (atoms[i] <= places[k])
                below = below + predicted.probabilities[i];
        long double wanted = 0.0L;
        for (std::size_t j = 0; j < points.size(); ++j)
            if (points[j] <= places[k])
                wanted += weights[j];
        D const difference = below - D(static_cast<double>(wanted));
        sum = sum + D(static_cast<double>(2.0L * (places[k + 1] - places[k]))) * difference * difference;
    }
    return sum;
}

} // namespace gmac::testing
