// SPDX-License-Identifier: Apache-2.0
#pragma once

// A trained policy by itself. Its file is gmac/deploy/policy_file.hpp, which needs gmac::checkpoint.
#include <gmac/deploy/policy.hpp>
