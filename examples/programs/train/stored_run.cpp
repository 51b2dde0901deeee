// SPDX-License-Identifier: Apache-2.0
#include "stored_run.hpp"

#include "experiment.hpp"
#include "make_trainer.hpp"
#include "support/is_there.hpp"

#include <gmac/core/error.hpp>
#include <gmac/distributed/checkpoint.hpp>
#include <gmac/storage/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace gmac::examples::train {

namespace {

namespace fs = std::filesystem;

/// Refuses layers with more numbers than the file, before memory is taken for them.
void require_stored(std::vector<std::size_t> const& hidden, std::size_t bytes) {
    double inputs = 1.0;
    for (std::size_t const width : hidden) {
        require(inputs * static_cast<double>(width) * sizeof(float) <= static_cast<double>(bytes),
                "the layers have {} units, which is more than the file holds", fmt::join(hidden, ", "));
        inputs = static_cast<double>(width);
    }
}

} // namespace

fs::path checkpoint_of(registry const& known, fs::path const& path) {
    require(is_there(path), "there is no file or folder {}", path.string());
    if (!fs::is_directory(path))
        return path;
    fs::path const file = path / "checkpoint.safetensors";
    require(fs::exists(file), "the folder {} has no checkpoint.safetensors, so it is not one of {}", path.string(),
            known.program);
    return file;
}

settings settings_of(registry const& known, checkpoint const& stored, fs::path const& file) {
    auto const found = stored.metadata.find("settings");
    require(found != stored.metadata.end(), "{} has no settings, so {} did not write it", file.string(), known.program);
    auto const json =
        parse_json<nlohmann::ordered_json>(found->second, fmt::format("\"settings\" in {}", file.string()));
    try {
        settings all = from_json(known, json);
        require_stored(all.agent.hidden, stored.state.bytes());
        return all;
    } catch (error const& problem) {
        fail("the settings in {} cannot be used: {}", file.string(), problem.what());
    }
}

stored_run::stored_run(registry const& known, fs::path const& path, executor& tasks) {
    fs::path const file = checkpoint_of(known, path);
    checkpoint const stored = read_checkpoint(file);
    settings_ = settings_of(known, stored, file);
    worlds_ = std::make_unique<observed_environments>(settings_,
                                                      make_environments(known, settings_, 1, settings_.seed, tasks),
                                                      settings_.seed);
    auto small = settings_; // no rollout will be made
    small.environments = small.agent.steps = small.agent.minibatch = 1;
    small.critics.clear();
    small.intrinsic = curiosity::none;
    trainer_ = make_trainer(known, small, worlds_->batch(), tasks);
    load_checkpoint(
        stored, "checkpoint " + file.string(),
        [this](archive& state) {
            trainer_->persist_parameters(state);
            state("frames", frames_);
            state.inside(learns_a_range(settings_) ? "environments.worlds" : "environments",
                         [&] { worlds_->normalized().persist_statistics(state); });
        },
        unasked::ignore);
}

std::uint64_t frames_of(checkpoint const& stored, std::string_view where) {
    std::uint64_t frames = 0;
    stored.state.restore([&](archive& state) { state("frames", frames); }, unasked::ignore, where);
    return frames;
}

bool load_rank(checkpoint const& stored, std::string_view where, communicator const* ranks, experiment& to) {
    return distributed::load_checkpoint(
        stored, where, ranks, [&](archive& state) { to.persist(state); },
        [&](archive& state) { to.persist_shared(state); });
}

} // namespace gmac::examples::train
