// SPDX-License-Identifier: Apache-2.0
#include <gmac/environment/running_statistics.hpp>
