// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/settings.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace gmac::examples::report {

/// Everything that the page of a run of a program shows, read from the files of its folder and from nothing else: config.json,
/// machine.json, metrics.csv, episodes.csv, evaluations.csv, summary.json and observed.json. A file that is missing or
/// damaged is no error: what is wrong with it is a line in "problems", {"where": FILE, "what": SENTENCE}, and the rest is
/// there.
///
/// "format" is "gmac-report-1"; "program" is the name of the program; "run" says what was run and how far; "settings" lists all with their defaults; "machines"
/// are the processes that trained; "metrics", "episodes" and "evaluations" are the tables, thinned if they are long (see
/// tables.hpp); "summary" and "observed" are the files of these names, or null.
[[nodiscard]] nlohmann::ordered_json report_data(train::registry const& known, std::filesystem::path const& run);

} // namespace gmac::examples::report
