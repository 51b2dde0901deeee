// SPDX-License-Identifier: Apache-2.0
#pragma once

// A trained policy by itself, and what its agent expects. Their files are gmac/deploy/policy_file.hpp and value_file.hpp,
// which need gmac::checkpoint.
#include <gmac/deploy/policy.hpp>
#include <gmac/deploy/value.hpp>
