// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/nn/mlp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gmac::testing {

/// Screens of random bytes; an episode ends by chance, in either way, sometimes after a single step. A reward for the
/// action that the first byte of the screen two steps before asks for.
struct screens {
    using observation_type = std::uint8_t;

    observation_history wanted{};
    std::array<std::uint8_t, 3> first_bytes{}; // of the last three screens, newest first

    static std::size_t observation_size() { return 5; }
    static discrete action_space() { return {2}; }
    [[nodiscard]] observation_history history() const { return wanted; }

    void reset(random_stream& random, std::span<std::uint8_t> screen) {
        draw(random, screen);
        first_bytes.fill(screen[0]);
    }
    transition step(int action, random_stream& random, std::span<std::uint8_t> screen) {
        bool const right = first_bytes[2] < 128;
        draw(random, screen);
        first_bytes = {screen[0], first_bytes[0], first_bytes[1]};
        return {.reward = (action == 1) == right ? 1.0 : 0.0,
                .terminated = random.below(9) == 0,
                .truncated = random.below(9) == 0};
    }
    void persist(archive& state) { state("first_bytes", std::span<std::uint8_t>(first_bytes)); }

private:
    static void draw(random_stream& random, std::span<std::uint8_t> screen) {
        for (auto& pixel : screen)
            pixel = static_cast<std::uint8_t>(1 + random.below(255)); // a zero can only be padding
    }
};

/// A multilayer perceptron that reads bytes, scaled to [0, 1].
template <class Backend>
class byte_mlp {
public:
    using scalar = typename Backend::scalar;
    using input_type = std::uint8_t;

    struct tape {
        typename nn::mlp<Backend>::tape inner;
        buffer<scalar> scaled;
    };

    byte_mlp(std::size_t inputs, std::size_t outputs) : inner_({inputs, outputs}) {}

    [[nodiscard]] std::size_t inputs() const { return inner_.inputs(); }
    [[nodiscard]] std::size_t outputs() const { return inner_.outputs(); }
    [[nodiscard]] std::size_t parameter_count() const { return inner_.parameter_count(); }
    void initialize(std::span<scalar> parameters, random_stream& random) const {
        inner_.initialize(parameters, random);
    }
    template <class Visit>
    void describe(Visit&& visit) const {
        inner_.describe(visit);
    }
    [[nodiscard]] tape make_tape(std::size_t rows) const {
        return {inner_.make_tape(rows), buffer<scalar>(rows * inputs())};
    }
    matrix_view<scalar const> forward(std::span<scalar const> parameters, matrix_view<std::uint8_t const> input,
                                      tape& t) const {
        for (std::size_t i = 0; i < input.rows(); ++i)
            for (std::size_t j = 0; j < inputs(); ++j)
                t.scaled[i * inputs() + j] = static_cast<scalar>(input(i, j)) / scalar(255);
        return inner_.forward(parameters, scaled(t, input.rows()), t.inner);
    }
    void backward(std::span<scalar const> parameters, matrix_view<std::uint8_t const> input, tape& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> gradient, matrix_view<scalar>) const {
        inner_.backward(parameters, scaled(t, input.rows()), t.inner, output_gradient, gradient, {});
    }

private:
    [[nodiscard]] matrix_view<scalar const> scaled(tape const& t, std::size_t rows) const {
        return {t.scaled.data(), rows, inputs()};
    }
    nn::mlp<Backend> inner_;
};

} // namespace gmac::testing
