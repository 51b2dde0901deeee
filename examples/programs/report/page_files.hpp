// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gmac::examples::report {

/// The files of a page, of the folder page/, which CMake puts into the program.
struct page_files {
    char const *html, *style, *scripts;
};
extern page_files const report_files, play_files, comparison_files;

} // namespace gmac::examples::report
