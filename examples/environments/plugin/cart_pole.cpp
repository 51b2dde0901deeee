// SPDX-License-Identifier: Apache-2.0
// An environment in C++ as a shared library: any struct that is a gmac::environment.
//
//     c++ -std=c++20 -O2 -shared -fPIC -I include -I examples/environments -o cart_pole.so
//         examples/environments/plugin/cart_pole.cpp -lfmt
//     gmac-train --env ./cart_pole.so
#include "classic/cart_pole.hpp"

#include <gmac/environment/plugin/export.hpp>

GMAC_EXPORT_ENVIRONMENT(classic::cart_pole)
