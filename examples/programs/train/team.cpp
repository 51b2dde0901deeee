// SPDX-License-Identifier: Apache-2.0
#include "team.hpp"

#include "output/stop_signal.hpp"
#include "stored_run.hpp"
#include "support/run_main.hpp"

#include <gmac/core/tbb_executor.hpp>
#include <gmac/distributed/checkpoint.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

namespace gmac::examples::train {

namespace {

enum class order : unsigned char { go_on, save, end };

void tell(communicator* ranks, order next) {
    if (ranks)
        ranks->broadcast(std::as_writable_bytes(std::span(&next, 1)));
}
[[nodiscard]] order hear(communicator& ranks) {
    order next{};
    ranks.broadcast(std::as_writable_bytes(std::span(&next, 1)));
    return next;
}

/// What rank 0 has.
[[nodiscard]] std::string shared_text(communicator& ranks, std::string text) {
    std::uint64_t size = text.size();
    ranks.broadcast(std::as_writable_bytes(std::span(&size, 1)));
    text.resize(size);
    ranks.broadcast(std::as_writable_bytes(std::span(text)));
    return text;
}

void save_all(std::filesystem::path const& file, checkpoint_metadata const& notes, communicator& ranks,
              experiment& here) {
    distributed::save_checkpoint(
        file, notes, ranks, [&](archive& state) { here.persist(state); },
        [&](archive& state) { here.persist_shared(state); });
}

} // namespace

team::~team() {
    try {
        if (!begun_)
            tell(ranks_, order::end);
    } catch (error const&) { // of MPI, which ends the others by itself then
    }
}

void team::begin(settings const& settings, std::optional<checkpoint> const& stored, std::size_t threads) {
    begun_ = true;
    if (!ranks_)
        return;
    tell(ranks_, order::go_on);
    static_cast<void>(shared_text(*ranks_, to_json(settings).dump()));
    std::array<double, 2> numbers{static_cast<double>(threads), stored ? 1.0 : 0.0};
    ranks_->broadcast(std::as_writable_bytes(std::span(numbers)));
    if (stored)
        static_cast<void>(distributed::broadcast_checkpoint(*ranks_, *stored));
}

void team::go_on() {
    tell(ranks_, order::go_on);
}

void team::save(std::filesystem::path const& file, checkpoint_metadata const& notes, experiment& here) {
    tell(ranks_, order::save);
    if (ranks_)
        save_all(file, notes, *ranks_, here);
    else
        save_checkpoint(file, notes, [&](archive& state) { here.persist(state); });
}

void team::end() {
    tell(ranks_, order::end);
}

namespace {

void train_with(registry const& known, communicator& ranks) {
    stop_signal const left_to_rank_0;
    if (hear(ranks) == order::end)
        return;
    settings const settings = from_json(known, nlohmann::ordered_json::parse(shared_text(ranks, {})));
    std::array<double, 2> numbers{};
    ranks.broadcast(std::as_writable_bytes(std::span(numbers)));
    std::optional<checkpoint> stored;
    if (numbers[1] > 0.0)
        stored = distributed::broadcast_checkpoint(ranks, {});
    tbb_executor tasks(static_cast<std::size_t>(numbers[0]));
    auto const where = "the checkpoint";
    auto const here = make_experiment(known, settings, tasks, &ranks, stored ? frames_of(*stored, where) : 0);
    if (stored)
        load_rank(*stored, where, &ranks, *here);
    auto const trains = [&] {
        order next = hear(ranks);
        for (; next == order::save; next = hear(ranks))
            save_all({}, {}, ranks, *here);
        return next == order::go_on;
    };
    while (trains())
        here->train({.frames = settings.frames, .stop = [&] { return !trains(); }});
}

} // namespace

int follow(registry const& known, communicator& ranks) {
    return run_main(fmt::format("{}: rank {}", known.program, ranks.rank()).c_str(), [&] {
        try {
            train_with(known, ranks);
        } catch (...) {
            // What all ranks have found is told by rank 0, which ends this one meanwhile.
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            throw;
        }
    });
}

} // namespace gmac::examples::train
