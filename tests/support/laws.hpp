// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>
#include <vector>

/// Laws that hold for any input, tried on random ones by RapidCheck.
namespace gmac::testing {

// The same cases in every run, unless the user wants others; RapidCheck reads this at the first law.
[[maybe_unused]] inline int const laws_are_seeded = setenv("RC_PARAMS", "seed=20210718 max_success=300", 0);

template <class Property>
void law(char const* description, Property&& property) {
    INFO(description);
    CHECK(rc::check(description, std::forward<Property>(property)));
}

/// At least one and about `most` multiples of 1/8 in [−8, 8]: sums and differences of them are exact, and many coincide.
[[nodiscard]] inline rc::Gen<std::vector<double>> points(std::size_t most) {
    return rc::gen::map(rc::gen::resize(static_cast<int>(most), rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(
                                                                    rc::gen::inRange(-64, 65)))),
                        [](std::vector<int> const& eighths) {
                            std::vector<double> result;
                            for (int e : eighths)
                                result.push_back(e / 8.0);
                            return result;
                        });
}

[[nodiscard]] inline bool near(double a, double b, double scale = 1.0) {
    return std::abs(a - b) <= 1e-12 * (scale + std::abs(a) + std::abs(b));
}

} // namespace gmac::testing
