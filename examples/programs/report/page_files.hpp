// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The files of page/, which CMake puts into the program.
namespace gmac::examples::report::page_files {

extern char const* const html;
extern char const* const style;
extern char const* const scripts;

} // namespace gmac::examples::report::page_files
