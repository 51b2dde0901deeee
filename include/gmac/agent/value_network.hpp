// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/nn/linear.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// From the trunk's features to the raw outputs of a value head whose outputs are columns: one linear layer.
/// `predict` gives what the losses take. A head that needs another network has a member
/// `template <class Backend> using network`, a class with these members.
template <class Head, class Backend>
class linear_value_network {
public:
    using scalar = typename Backend::scalar;
    using workspace = typename nn::linear<Backend>::workspace;

    linear_value_network(Head const& head, std::size_t features, double gain)
        : layer_(features, head.output_size(), {.gain = gain}) {}

    [[nodiscard]] std::size_t parameter_count() const noexcept { return layer_.parameter_count(); }
    void initialize(std::span<scalar> parameters, random_stream& random) const {
        layer_.initialize(parameters, random);
    }
    template <class Visit>
    void describe(Visit&& visit) const {
        layer_.describe(std::forward<Visit>(visit));
    }
    [[nodiscard]] workspace make_workspace(std::size_t rows) const { return layer_.make_workspace(rows); }

    /// features [n, F] → what the losses take, valid until the workspace's next use. `random` is for heads that sample.
    [[nodiscard]] matrix_view<scalar const> predict(std::span<scalar const> parameters,
                                                    matrix_view<scalar const> features, random_stream& /*random*/,
                                                    workspace& t) const {
        return layer_.forward(parameters, features, t);
    }
    /// The columns of a prediction, [n, output size].
    [[nodiscard]] static matrix_view<scalar const> columns(matrix_view<scalar const> prediction) noexcept {
        return prediction;
    }
    void backward(std::span<scalar const> parameters, matrix_view<scalar const> features, workspace& t,
                  matrix_view<scalar const> output_gradient, std::span<scalar> parameter_gradient,
                  matrix_view<scalar> feature_gradient) const {
        layer_.backward(parameters, features, t, output_gradient, parameter_gradient, feature_gradient);
    }

private:
    nn::linear<Backend> layer_;
};

namespace detail {

template <class Head, class Backend>
struct value_network_of {
    using type = linear_value_network<Head, Backend>;
};
template <class Head, class Backend>
    requires requires { typename Head::template network<Backend>; }
struct value_network_of<Head, Backend> {
    using type = typename Head::template network<Backend>;
};

/// What a network's `predict` gives.
template <class T, class Network>
using prediction_by = decltype(std::declval<Network const&>().predict(std::declval<std::span<T const>>(),
                                                                      std::declval<matrix_view<T const>>(),
                                                                      std::declval<random_stream&>(),
                                                                      std::declval<typename Network::workspace&>()));

} // namespace detail

/// The network that an agent puts between its trunk and the head.
template <class Head, class Backend>
using value_network = typename detail::value_network_of<Head, Backend>::type;

} // namespace gmac::inline GMAC_ABI
