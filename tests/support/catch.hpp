// SPDX-License-Identifier: Apache-2.0
#pragma once

// Catch2 2 (Debian 12) and Catch2 3 under the names of version 2.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;
namespace Catch {
using Matchers::ContainsSubstring;
}
#else
#include <catch2/catch.hpp>
#endif
