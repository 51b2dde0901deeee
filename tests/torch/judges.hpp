// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

// libtorch's headers bring glog's CHECK.
#undef CHECK
#include "support/catch.hpp"
#include "support/says.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>

#include <cstddef>
#include <string>

namespace gmac::testing {

inline void check_refused(std::string const& message, std::string const& part) {
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
}

/// The largest difference between two tensors of one shape.
[[nodiscard]] inline double distance(at::Tensor const& a, at::Tensor const& b) {
    REQUIRE(a.sizes() == b.sizes());
    return (a - b).abs().max().item<double>();
}

/// A view that is made here, by hand, of a contiguous tensor.
template <class T>
[[nodiscard]] matrix_view<T const> rows_of(at::Tensor const& tensor) {
    REQUIRE(tensor.is_contiguous());
    return {tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.size(0)), static_cast<std::size_t>(tensor.size(1))};
}
template <class T>
[[nodiscard]] matrix_view<T> rows_to(at::Tensor const& tensor) {
    REQUIRE(tensor.is_contiguous());
    return {tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.size(0)), static_cast<std::size_t>(tensor.size(1))};
}

} // namespace gmac::testing
