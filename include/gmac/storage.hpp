// SPDX-License-Identifier: Apache-2.0
#pragma once

// Snapshots of what persists, in memory. Files are opt-in: gmac/storage/checkpoint.hpp, target gmac::checkpoint.
#include <gmac/storage/snapshot.hpp>
