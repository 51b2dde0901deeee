// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/buffer.hpp>
#include <gmac/core/detail/registers.hpp>
#include <gmac/core/lanes.hpp>
#include <gmac/core/random.hpp>
#include <gmac/heads/quantile_outputs.hpp>
#include <gmac/nn/cosine_embedding.hpp>
#include <gmac/nn/linear.hpp>

#include <algorithm>
#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>

namespace gmac::inline GMAC_ABI::nn {

struct implicit_quantile_options {
    std::size_t samples = 64;          ///< N, fractions of a state
    std::size_t embedding = 64;        ///< cosines of a fraction
    std::size_t hidden = 256;          ///< units between the product and the value
    double gain = std::numbers::sqrt2; ///< of the orthogonal initialisation of the two hidden layers
    double last_gain = 1.0;            ///< of the last layer
    bool shared = false;               ///< `predict` draws one set of fractions for the whole batch
};

/// The quantile function as a network of the fraction (Dabney et al. 2018; IQAC in the paper). With the trunk's
/// features ψ [B, F] and fractions τ [B, N]:
///
///     φ = relu(W₁ cos(π i τ) + b₁) [F],  h = relu(W₂ (φ ∘ ψ) + b₂) [hidden],  value = W₃ h + b₃.
///
/// There are B·N rows of each. They are gone through a few states at a time, in memory that fits a cache. The workspace keeps
/// φ and h of all of them only for the backward pass: it takes that memory, B·N·(F + hidden) numbers, when backward is
/// first called with it, so a workspace for predictions alone stays small. Fractions that all states share are embedded once.
///
/// Flat layout: W₁ [embedding, F], b₁, W₂ [F, hidden], b₂, W₃ [hidden, 1], b₃.
template <class Backend>
class implicit_quantile_network {
    static_assert(backend<Backend>);

public:
    using backend_type = Backend;
    using scalar = typename Backend::scalar;

    class workspace {
        friend class implicit_quantile_network;
        std::size_t capacity = 0;       // states
        std::size_t rows = 0;           // states of the last forward pass
        bool shared = false;            // its fractions
        bool keep = false;              // φ and h of all rows
        buffer<scalar> fractions;       // [B, N], or [1, N] if shared
        buffer<scalar> values;          // [B, N]
        buffer<scalar> shared_phi;      // [N, F]
        buffer<scalar> shared_gradient; // [N, F]
        buffer<scalar> kept_phi, kept_hidden;
        // One chunk of rows.
        buffer<scalar> cosines, phi, product, hidden, feature;
        buffer<scalar> value_gradient, hidden_gradient, product_gradient, sums;
    };

    /// Throws gmac::error if a size is zero or too large to count, or a gain is not finite.
    implicit_quantile_network(std::size_t features, implicit_quantile_options options)
        : options_(options),
          embedding_(options.embedding, features, {activation::relu, options.gain}),
          hidden_(features, options.hidden, {activation::relu, options.gain}),
          value_(options.hidden, 1, {activation::none, options.last_gain}) {
        constexpr std::size_t most = std::size_t{1} << 24u; // states × samples × units does not overflow
        require(options.samples > 0 && options.samples <= most,
                "implicit_quantile_network: samples is {}, but must be in [1, {}]", options.samples, most);
    }
    /// For a head with the members samples_per_state, embedding, hidden and shared.
    template <class Head>
        requires requires(Head const& h) { h.samples_per_state, h.embedding, h.hidden, h.shared; }
    implicit_quantile_network(Head const& head, std::size_t features, double last_gain)
        : implicit_quantile_network(features, {.samples = head.samples_per_state,
                                               .embedding = head.embedding,
                                               .hidden = head.hidden,
                                               .last_gain = last_gain,
                                               .shared = head.shared}) {}

    [[nodiscard]] std::size_t inputs() const noexcept { return hidden_.inputs(); }
    /// N
    [[nodiscard]] std::size_t outputs() const noexcept { return options_.samples; }
    [[nodiscard]] implicit_quantile_options const& options() const noexcept { return options_; }
    [[nodiscard]] std::size_t parameter_count() const noexcept {
        return embedding_.parameter_count() + hidden_.parameter_count() + value_.parameter_count();
    }

    void initialize(std::span<scalar> parameters, random_stream& stream) const {
        detail::require_parameters(parameters.size(), parameter_count(), "implicit_quantile_network::initialize");
        for_each_layer([&](std::string_view, layer const& l, std::size_t first) {
            l.initialize(parameters.subspan(first, l.parameter_count()), stream);
        });
    }

    /// Names are "embedding.weight", "embedding.bias", "hidden.weight", …
    template <class Visit>
    void describe(Visit&& visit) const {
        for_each_layer(
            [&](std::string_view name, layer const& l, std::size_t first) { describe_part(l, name, first, visit); });
    }

    /// For batches of up to `rows` states.
    [[nodiscard]] workspace make_workspace(std::size_t rows) const {
        std::size_t const n = options_.samples;
        std::size_t const chunk = (std::min)(rows, chunk_states()) * n;
        workspace t;
        t.capacity = rows;
        t.fractions = buffer<scalar>((std::max)(rows, std::size_t{1}) * n);
        t.values = buffer<scalar>(rows * n);
        t.shared_phi = buffer<scalar>(n * inputs());
        t.shared_gradient = buffer<scalar>(n * inputs());
        t.cosines = buffer<scalar>((std::max)(chunk, n) * options_.embedding);
        t.phi = buffer<scalar>(chunk * inputs());
        t.product = buffer<scalar>(chunk * inputs());
        t.hidden = buffer<scalar>(chunk * options_.hidden);
        t.feature = buffer<scalar>(inputs());
        t.value_gradient = buffer<scalar>(chunk);
        t.hidden_gradient = buffer<scalar>(chunk * options_.hidden);
        t.product_gradient = buffer<scalar>(chunk * inputs());
        t.sums = buffer<scalar>((std::max)(inputs(), options_.hidden));
        return t;
    }

    /// Draws fractions uniform on [0, 1), N for each state or, if shared, N in all, row by row: features [B, F] → the values
    /// and fractions of their quantiles, [B, N] both, valid until the workspace's next use.
    [[nodiscard]] quantile_outputs<scalar const> predict(std::span<scalar const> parameters,
                                                         matrix_view<scalar const> features, random_stream& random,
                                                         workspace& t) const {
        require_rows(features.rows(), t);
        std::size_t const rows = options_.shared ? 1 : features.rows();
        for (std::size_t i = 0; i < rows * outputs(); ++i)
            t.fractions[i] = random.uniform<scalar>();
        t.shared = options_.shared;
        run_forward(parameters, features, t);
        return {values(t), fractions(t)};
    }

    /// The same for fractions of the caller's choice, [B, N], or shared by all states: one row, or row stride 0.
    [[nodiscard]] quantile_outputs<scalar const> predict(std::span<scalar const> parameters,
                                                         matrix_view<scalar const> features,
                                                         matrix_view<scalar const> fractions_of_states,
                                                         workspace& t) const {
        std::size_t const rows = features.rows();
        require_rows(rows, t);
        std::size_t const given = fractions_of_states.rows();
        require(fractions_of_states.cols() == outputs() && (given == 1 || given == rows),
                "implicit_quantile_network::predict: the fractions are {} x {}, but must be {} x {} or 1 x {}", given,
                fractions_of_states.cols(), rows, outputs(), outputs());
        t.shared = rows > 1 && (given == 1 || fractions_of_states.row_stride() == 0);
        for (std::size_t i = 0; i < (t.shared ? 1 : rows); ++i)
            for (std::size_t j = 0; j < outputs(); ++j)
                t.fractions[i * outputs() + j] = fractions_of_states(i, j);
        run_forward(parameters, features, t);
        return {values(t), fractions(t)};
    }

    /// The values of a prediction, [B, N].
    template <class T>
    [[nodiscard]] static matrix_view<T> columns(quantile_outputs<T> const& prediction) noexcept {
        return prediction.values;
    }

    /// After predict with the same parameters, features and workspace: from the gradient of the values [B, N] to that
    /// of the parameters (overwritten) and of the features [B, F] (overwritten unless the view is empty).
    void backward(std::span<scalar const> parameters, matrix_view<scalar const> features, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> feature_gradient) const {
        detail::require_parameters(parameter_gradient.size(), parameter_count(), "implicit_quantile_network::backward");
        require(features.rows() == t.rows,
                "implicit_quantile_network::backward: {} states given, but the last forward pass had {}",
                features.rows(), t.rows);
        require_shape(output_gradient, t.rows, outputs(), "the output gradient", "implicit_quantile_network::backward");
        if (!feature_gradient.empty())
            require_shape(feature_gradient, t.rows, inputs(), "the feature gradient",
                          "implicit_quantile_network::backward");
        if (!t.keep) {
            t.keep = true;
            t.kept_phi = buffer<scalar>(t.capacity * outputs() * inputs());
            t.kept_hidden = buffer<scalar>(t.capacity * outputs() * options_.hidden);
            run_forward(parameters, features, t);
        }
        std::fill(parameter_gradient.begin(), parameter_gradient.end(), scalar(0));
        t.shared_gradient.fill(scalar(0));
        for (std::size_t first = 0; first < t.rows; first += chunk_states())
            backward_chunk(parameters, features, t, output_gradient, parameter_gradient, feature_gradient, first,
                           (std::min)(chunk_states(), t.rows - first));
        if (t.shared && t.rows > 0) {
            matrix_view<scalar> const gradient(t.shared_gradient.data(), outputs(), inputs());
            Backend::activate_backward(activation::relu, shared_phi(t), gradient, gradient);
            matrix_view<scalar> const cosines(t.cosines.data(), outputs(), options_.embedding);
            cosine_embedding<scalar>({t.fractions.data(), outputs()}, cosines);
            add_gradient(embedding_, cosines, gradient, parameter_gradient.first(embedding_.parameter_count()), t);
        }
    }

private:
    using layer = linear<Backend>;
    using V = lanes::lane_for_t<scalar>;

    /// States of a chunk: some hundred rows, so that the weights are read rarely and the chunk stays in an L2 cache.
    [[nodiscard]] std::size_t chunk_states() const noexcept {
        return (std::max)(std::size_t{1}, 256 / options_.samples);
    }

    [[nodiscard]] matrix_view<scalar const> values(workspace const& t) const noexcept {
        return {t.values.data(), t.rows, outputs()};
    }
    [[nodiscard]] matrix_view<scalar const> fractions(workspace const& t) const noexcept {
        return {t.fractions.data(), t.rows, outputs(), t.shared ? 0 : static_cast<std::ptrdiff_t>(outputs()), 1};
    }
    [[nodiscard]] matrix_view<scalar const> shared_phi(workspace const& t) const noexcept {
        return {t.shared_phi.data(), outputs(), inputs()};
    }

    static void require_rows(std::size_t rows, workspace const& t) {
        require(rows <= t.capacity, "implicit_quantile_network: {} states given, but the workspace was made for {}",
                rows, t.capacity);
    }

    template <class Visit>
    void for_each_layer(Visit&& visit) const {
        visit(std::string_view("embedding"), embedding_, std::size_t{0});
        visit(std::string_view("hidden"), hidden_, embedding_.parameter_count());
        visit(std::string_view("value"), value_, embedding_.parameter_count() + hidden_.parameter_count());
    }
    template <class T>
    [[nodiscard]] std::span<T> embedding_part(std::span<T> all) const noexcept {
        return all.first(embedding_.parameter_count());
    }
    template <class T>
    [[nodiscard]] std::span<T> hidden_part(std::span<T> all) const noexcept {
        return all.subspan(embedding_.parameter_count(), hidden_.parameter_count());
    }
    template <class T>
    [[nodiscard]] std::span<T> value_part(std::span<T> all) const noexcept {
        return all.last(value_.parameter_count());
    }

    void run_forward(std::span<scalar const> parameters, matrix_view<scalar const> features, workspace& t) const {
        detail::require_parameters(parameters.size(), parameter_count(), "implicit_quantile_network::predict");
        require_shape(features, features.rows(), inputs(), "the feature matrix", "implicit_quantile_network::predict");
        t.rows = features.rows();
        if (t.shared && t.rows > 0)
            embed(parameters, {t.fractions.data(), outputs()}, t,
                  matrix_view<scalar>(t.shared_phi.data(), outputs(), inputs()));
        for (std::size_t first = 0; first < t.rows; first += chunk_states()) {
            std::size_t const count = (std::min)(chunk_states(), t.rows - first);
            std::size_t const rows = count * outputs();
            if (!t.shared)
                embed(parameters, {t.fractions.data() + first * outputs(), rows}, t, phi(t, first, rows));
            multiply_features(features, t, first, count);
            hidden_.apply(hidden_part(parameters), matrix_view<scalar const>(t.product.data(), rows, inputs()),
                          hidden(t, first, rows));
            value_.apply(value_part(parameters), hidden(t, first, rows),
                         matrix_view<scalar>(t.values.data() + first * outputs(), rows, 1));
        }
    }

    void embed(std::span<scalar const> parameters, vector_view<scalar const> taus, workspace& t,
               matrix_view<scalar> result) const {
        matrix_view<scalar> const cosines(t.cosines.data(), taus.size(), options_.embedding);
        cosine_embedding(taus, cosines);
        embedding_.apply(embedding_part(parameters), cosines, result);
    }

    /// φ and h of `rows` rows from state `first` on.
    [[nodiscard]] matrix_view<scalar> phi(workspace& t, std::size_t first, std::size_t rows) const noexcept {
        return {t.keep ? t.kept_phi.data() + first * outputs() * inputs() : t.phi.data(), rows, inputs()};
    }
    [[nodiscard]] matrix_view<scalar> hidden(workspace& t, std::size_t first, std::size_t rows) const noexcept {
        return {t.keep ? t.kept_hidden.data() + first * outputs() * options_.hidden : t.hidden.data(), rows,
                options_.hidden};
    }
    /// φ of fraction n of state first + s.
    [[nodiscard]] scalar const* phi_row(workspace& t, std::size_t first, std::size_t s, std::size_t n) const noexcept {
        return t.shared ? t.shared_phi.data() + n * inputs() : phi(t, first, 0).data() + (s * outputs() + n) * inputs();
    }

    /// t.product = φ ∘ ψ
    void multiply_features(matrix_view<scalar const> features, workspace& t, std::size_t first,
                           std::size_t count) const {
        for (std::size_t s = 0; s < count; ++s) {
            copy_feature(features, t, first + s);
            for (std::size_t n = 0; n < outputs(); ++n) {
                scalar const* const p = phi_row(t, first, s, n);
                scalar* const z = t.product.data() + (s * outputs() + n) * inputs();
                lanes::for_each_register<V>(inputs(), [&](std::size_t j, auto width) {
                    V const product =
                        lanes::load_partial<V>(p + j, width) * lanes::load_partial<V>(&t.feature[j], width);
                    lanes::store_partial<V>(product, z + j, width);
                });
            }
        }
    }
    void copy_feature(matrix_view<scalar const> features, workspace& t, std::size_t state) const noexcept {
        for (std::size_t j = 0; j < inputs(); ++j)
            t.feature[j] = features(state, j);
    }

    void backward_chunk(std::span<scalar const> parameters, matrix_view<scalar const> features, workspace& t,
                        matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                        matrix_view<scalar> feature_gradient, std::size_t first, std::size_t count) const {
        std::size_t const rows = count * outputs();
        matrix_view<scalar> const d_value(t.value_gradient.data(), rows, 1);
        for (std::size_t s = 0; s < count; ++s)
            for (std::size_t n = 0; n < outputs(); ++n)
                d_value(s * outputs() + n, 0) = output_gradient(first + s, n);
        matrix_view<scalar const> const h = hidden(t, first, rows);
        add_gradient(value_, h, d_value, value_part(parameter_gradient), t);

        matrix_view<scalar> const d_hidden(t.hidden_gradient.data(), rows, options_.hidden);
        product_backward<Backend>(d_value, transposed(value_.weight(value_part(parameters))), activation::relu, h,
                                  d_hidden);
        multiply_features(features, t, first, count);
        add_gradient(hidden_, matrix_view<scalar const>(t.product.data(), rows, inputs()), d_hidden,
                     hidden_part(parameter_gradient), t);

        matrix_view<scalar> const d_product(t.product_gradient.data(), rows, inputs());
        Backend::product(d_hidden, transposed(hidden_.weight(hidden_part(parameters))), d_product);
        split_product_gradient(features, t, feature_gradient, first, count);
        if (!t.shared) {
            Backend::activate_backward(activation::relu, phi(t, first, rows), d_product, d_product);
            matrix_view<scalar> const cosines(t.cosines.data(), rows, options_.embedding);
            cosine_embedding<scalar>({t.fractions.data() + first * outputs(), rows}, cosines);
            add_gradient(embedding_, cosines, d_product, embedding_part(parameter_gradient), t);
        }
    }

    /// From the gradient of φ ∘ ψ to that of ψ, summed over the fractions, and of φ: in place, or added to that of the
    /// shared φ.
    void split_product_gradient(matrix_view<scalar const> features, workspace& t, matrix_view<scalar> feature_gradient,
                                std::size_t first, std::size_t count) const {
        for (std::size_t s = 0; s < count; ++s) {
            copy_feature(features, t, first + s);
            std::fill(t.sums.begin(), t.sums.end(), scalar(0));
            for (std::size_t n = 0; n < outputs(); ++n) {
                scalar const* const p = phi_row(t, first, s, n);
                scalar* const d = t.product_gradient.data() + (s * outputs() + n) * inputs();
                scalar* const d_phi = t.shared ? t.shared_gradient.data() + n * inputs() : d;
                lanes::for_each_register<V>(inputs(), [&](std::size_t j, auto width) {
                    V const gradient = lanes::load_partial<V>(d + j, width);
                    V const sum = lanes::load_partial<V>(&t.sums[j], width);
                    lanes::store_partial<V>(sum + gradient * lanes::load_partial<V>(p + j, width), &t.sums[j], width);
                    V const of_phi = gradient * lanes::load_partial<V>(&t.feature[j], width);
                    lanes::store_partial<V>(t.shared ? V(of_phi + lanes::load_partial<V>(d_phi + j, width)) : of_phi,
                                            d_phi + j, width);
                });
            }
            if (!feature_gradient.empty())
                for (std::size_t j = 0; j < inputs(); ++j)
                    feature_gradient(first + s, j) = t.sums[j];
        }
    }

    /// Adds a layer's gradient, from its input and the gradient before its activation.
    static void add_gradient(layer const& l, matrix_view<scalar const> input, matrix_view<scalar const> gradient,
                             std::span<scalar> sum, workspace& t) {
        Backend::product_add(transposed(input), gradient, l.weight(sum));
        Backend::column_sums(gradient, vector_view<scalar>(t.sums.data(), l.outputs()));
        vector_view<scalar> const bias = l.bias(sum);
        for (std::size_t j = 0; j < l.outputs(); ++j)
            bias[j] += t.sums[j];
    }

    implicit_quantile_options options_;
    layer embedding_, hidden_, value_;
};

} // namespace gmac::inline GMAC_ABI::nn
