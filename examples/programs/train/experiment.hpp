// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output/value_panel.hpp"
#include "report/watched_episode.hpp"
#include "settings.hpp"
#include "stoppable.hpp"

#include <gmac/core/communicator.hpp>
#include <gmac/core/executor.hpp>
#include <gmac/core/random.hpp>
#include <gmac/storage/checkpoint.hpp>
#include <gmac/train/trainer.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gmac::examples::train {

/// Of a run that is done, or on the way, by other episodes: so the run is not judged by those that its best policy was
/// chosen by. Each plays the same ones every time.
enum class evaluation { final, interim };
/// The seed of its environments.
[[nodiscard]] constexpr std::uint64_t evaluation_seed(settings const& settings, evaluation which) noexcept {
    return settings.seed + (which == evaluation::final ? 1'000'000 : 3'000'000);
}

/// Most steps of an episode that is shown.
inline constexpr std::size_t observed_steps = 1'200;

/// Which episode is shown.
struct episode_choice {
    std::uint64_t seed = 1;
    std::optional<double> risk{}; ///< parameter of the statistic, of a run that has learned a range; or else drawn
    std::size_t steps = observed_steps;
};

/// The environments of a run and the agent that fits them.
class experiment {
public:
    virtual ~experiment() = default;
    virtual void train(train_options const& options) = 0;
    virtual void persist(archive& state) = 0;
    /// The part of `persist` that is the same on all ranks.
    virtual void persist_shared(archive& state) = 0;
    [[nodiscard]] virtual std::uint64_t frames() const = 0;
    /// Whether `persist` stores the episodes under way; if not, a resumed run begins new ones.
    [[nodiscard]] virtual bool stores_episodes() const = 0;
    [[nodiscard]] virtual std::size_t parameter_count() const = 0;
    /// What the critics that watch learned of the latest rollout, by the names of their methods.
    [[nodiscard]] virtual std::vector<std::pair<std::string, observer_report>> critics() const = 0;
    /// Writes what a program needs that acts and does not train, and notes for who reads the file.
    virtual void save_policy(std::filesystem::path const& file, checkpoint_metadata const& notes = {}) const = 0;
    /// Writes what a program needs that asks what the agent expects.
    virtual void save_value(std::filesystem::path const& file) const = 0;
    /// As many episodes with the most likely actions, in rewards as the environment gives them. `stop` is asked before
    /// each step; if it says so, evaluation_stopped is thrown. The training does not notice.
    [[nodiscard]] virtual std::vector<finished_episode> evaluate(evaluation which, std::size_t episodes,
                                                                 std::function<bool()> stop) = 0;
    /// A few states of one episode with the most likely actions: what the agent expects of them, and what they brought.
    [[nodiscard]] virtual std::vector<value_panel> value_panels() = 0;
    /// What observed.json holds, the same each time: how far the value distributions are right about what came with actions as
    /// in training, and an episode with the most likely ones; see observe/. `stop` is as in `evaluate`.
    [[nodiscard]] virtual nlohmann::ordered_json observed(std::function<bool()> stop) = 0;
    /// An episode with the most likely actions, or its first steps, with what the agent expects at each of them; `stop` is as in
    /// `evaluate`. Throws gmac::error for a parameter that was not learned.
    [[nodiscard]] virtual report::watched_episode watched(episode_choice const& choice, std::function<bool()> stop) = 0;
    /// What the agent expects now of a few states, evenly over its latest rollout, of which there must have been one; what
    /// they will bring is not known: NaN. Quick: no step is played. The training does not notice.
    [[nodiscard]] virtual std::vector<value_panel> latest_values() = 0;
};

/// States of a rollout that latest_values() looks at.
inline constexpr std::size_t latest_count = 16;

/// Throws gmac::error for an environment or an algorithm that is not known or was left out of this program, and if the
/// run takes more memory than there is. `known` must outlive it. With ranks they all make theirs at the same time, and train
/// together, each with as many environments of its own. `frames_before` are those of the run that it goes on with.
[[nodiscard]] std::unique_ptr<experiment> make_experiment(registry const& known, settings const& settings,
                                                          executor& tasks, communicator* ranks = nullptr,
                                                          std::uint64_t frames_before = 0);
/// The seed of a rank's environments. If the run goes on it is another one: environments whose states are not stored begin
/// anew, and would repeat the run's first episodes.
[[nodiscard]] inline std::uint64_t environment_seed(settings const& settings, communicator const* ranks,
                                                    std::uint64_t frames_before = 0) {
    std::uint64_t const seed = seed_of_rank(settings.seed, ranks ? ranks->rank() : 0);
    return seed_of_rank(seed, frames_before); // drawn as for a further rank, of which there are not so many
}

/// Six steps, evenly over an episode; fewer if it is shorter.
[[nodiscard]] inline std::vector<std::size_t> panel_steps(std::size_t length) {
    std::vector<std::size_t> steps;
    for (std::size_t i = 0; i < 6; ++i)
        if (std::size_t const step = i * length / 6; steps.empty() || step != steps.back())
            steps.push_back(step);
    return steps;
}

} // namespace gmac::examples::train
