// SPDX-License-Identifier: Apache-2.0
// Catch2 2 brings main as a macro; with version 3 the library Catch2WithMain is linked in place of this file.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
