// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/train/registry.hpp>

#include <vector>

namespace gmac::inline GMAC_ABI::train {

/// The methods of gmac/agents.hpp, compiled into the library gmac::train (those of them that GMAC_TRAIN_METHODS named when it
/// was built), each in a file of its own: a program holds those that it names, and the linker leaves out the others.
namespace methods {
[[nodiscard]] method gmac();
[[nodiscard]] method ppo();
[[nodiscard]] method iqac();
[[nodiscard]] method iqac_e();
[[nodiscard]] method dirac_huber_quantile();
[[nodiscard]] method dirac_expectile();
[[nodiscard]] method dirac_energy();
[[nodiscard]] method c51();
[[nodiscard]] method hl_gauss();
[[nodiscard]] method categorical_energy();
} // namespace methods

/// All that there are.
[[nodiscard]] std::vector<method> all_methods();

} // namespace gmac::inline GMAC_ABI::train
