// SPDX-License-Identifier: Apache-2.0
#include "run_report.hpp"

#include "report/machine.hpp"
#include "report/report_data.hpp"
#include "report/report_page.hpp"

#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <exception>
#include <utility>

namespace gmac::examples::train {

namespace {

template <class Work>
[[nodiscard]] std::optional<std::string> attempt(char const* lacking, Work&& work) {
    try {
        std::forward<Work>(work)();
        return std::nullopt;
    } catch (evaluation_stopped const&) {
        return fmt::format("{}: it was stopped", lacking);
    } catch (std::exception const& problem) {
        return fmt::format("{}: {}", lacking, problem.what());
    }
}

} // namespace

std::optional<std::string> note_machine(std::filesystem::path const& run, std::size_t threads, std::uint64_t frames) {
    return attempt("machine.json is not written",
                   [&] { report::append_machine(run / "machine.json", threads, frames); });
}

std::optional<std::string> observe_run(std::filesystem::path const& run, experiment& played,
                                       std::function<bool()> stop) {
    return attempt("the report has no episode and no calibration", [&] {
        auto const seen = played.observed(std::move(stop));
        replace_file(run / "observed.json",
                     seen.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
    });
}

std::optional<std::string> write_report(registry const& known, std::filesystem::path const& run) {
    return attempt("no report",
                   [&] { replace_file(run / "report.html", report::report_page(report::report_data(known, run))); });
}

} // namespace gmac::examples::train
