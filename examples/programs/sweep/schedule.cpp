// SPDX-License-Identifier: Apache-2.0
#include "schedule.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace gmac::examples::sweep {

namespace {

constexpr std::chrono::milliseconds pause(20); // between two looks at the processes

/// The last lines of what a run said since it was begun last.
[[nodiscard]] std::string end_of(std::filesystem::path const& log) {
    auto const bytes = read_file(log);
    std::string_view text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    std::size_t const begun = text.rfind("\n$ ");
    text = text.substr(begun == text.npos ? 0 : begun + 1);
    std::size_t constexpr most = 1500;
    if (text.size() > most)
        text = text.substr(text.find('\n', text.size() - most) + 1);
    std::string lines;
    while (!text.empty()) {
        std::size_t const end = (std::min)(text.find('\n'), text.size() - 1) + 1;
        lines += fmt::format("    {}", text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

class schedule {
public:
    schedule(std::vector<task> const& tasks, trainer const& by) : by_(by) {
        for (task const& one : tasks)
            if (!one.what->reached(one.frames))
                waiting_.push_back(one);
        total_ = waiting_.size();
    }

    [[nodiscard]] bool done() const noexcept { return waiting_.empty() && active_.empty(); }

    void begin(std::size_t at_once) {
        while (active_.size() < at_once && !waiting_.empty()) {
            active_.push_back({waiting_.front(), std::nullopt});
            waiting_.pop_front();
            begin(active_.back());
        }
    }
    /// Nothing more is begun.
    void interrupt() {
        waiting_.clear();
        std::erase_if(active_, [](active const& one) { return !one.process; });
        for (active& one : active_)
            one.process->interrupt();
    }
    void wait() {
        for (active& one : active_)
            while (!one.process->ended())
                std::this_thread::sleep_for(pause);
        active_.clear();
    }
    void look() {
        for (auto one = active_.begin(); one != active_.end();)
            one = is_over(*one) ? active_.erase(one) : std::next(one);
    }
    [[nodiscard]] std::vector<run const*> failed() && { return std::move(failed_); }

private:
    struct active {
        task what;
        std::optional<child> process; ///< nothing while a process that is not ours trains into the folder
    };

    void begin(active& one) {
        run const& what = *one.what.what;
        if (what.in_use())
            say(fmt::format("{}: another process trains it, which is waited for", what.name));
        else
            one.process.emplace(what.next_command(by_), what.log);
    }

    [[nodiscard]] bool is_over(active& one) {
        run const& what = *one.what.what;
        if (!one.process) {
            if (what.in_use())
                return false;
            if (!what.reached(one.what.frames)) {
                begin(one);
                return false;
            }
            tell(one.what);
            return true;
        }
        auto const end = one.process->ended();
        if (!end) {
            if (one.what.frames && !one.process->interrupted() && what.reached(one.what.frames))
                one.process->interrupt();
            return false;
        }
        if (what.reached(one.what.frames)) {
            tell(one.what);
        } else if (!end->well() && what.in_use()) { // by one that was quicker
            one.process.reset();
            return false;
        } else if (!one.process->interrupted()) {
            failed_.push_back(&what);
            say(fmt::format("{} has failed: it {}; its folder is {}, and {} ends with\n{}", what.name, end->text(),
                            what.folder.string(), what.log.string(), end_of(what.log)));
        }
        return true;
    }

    void tell(task const& one) {
        auto const found = outcome_of(*one.what, one.frames, score_kind::last);
        say(fmt::format("[{}/{}] {}: {:.0f} frames in {:.1f} s, {}", ++ended_, total_, one.what->name, found.frames,
                        found.seconds,
                        found.score ? fmt::format("mean return {:.4g}", *found.score) : "no episode has ended"));
    }
    static void say(std::string const& line) {
        fmt::print("{}\n", line);
        std::fflush(stdout);
    }

    trainer const& by_;
    std::deque<task> waiting_;
    std::list<active> active_;
    std::size_t total_ = 0, ended_ = 0;
    std::vector<run const*> failed_;
};

} // namespace

std::vector<run const*> do_tasks(std::vector<task> const& tasks, std::size_t at_once, trainer const& by,
                                 train::stop_signal const& stop) {
    schedule all(tasks, by);
    try {
        while (!all.done()) {
            if (stop.requested())
                all.interrupt();
            else
                all.begin(at_once);
            std::this_thread::sleep_for(pause);
            all.look();
        }
    } catch (...) { // such as a full disk: no process is left behind
        all.interrupt();
        all.wait();
        throw;
    }
    return std::move(all).failed();
}

} // namespace gmac::examples::sweep
