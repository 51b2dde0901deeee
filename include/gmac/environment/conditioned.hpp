// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/random.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/decorator.hpp>
#include <gmac/environment/environment.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

/// Gives each observation one more number, its last, which stays the same for an episode and is drawn anew, uniform in [low,
/// high], for the next: a goal, a task or an attitude to risk (statistic_range) that actor and critic are told of, such that
/// one policy learns to act by any (Schaul et al. 2015, "Universal value function approximators"). Observations are [E, inner
/// observation size + 1]. Put it around all that changes observations, such as normalized_environments.
class conditioned_environments final : public environment_batch_decorator {
public:
    /// Draws by a stream of `seed` for each environment, so that two of these around each other need two seeds; with low == high
    /// all numbers are this one. Throws gmac::error unless low <= high, both and their distance finite. Decorates a batch that the caller keeps alive, or owns it.
    explicit conditioned_environments(environment_batch& worlds, std::uint64_t seed = 0, float low = -1.0f,
                                      float high = 1.0f)
        : environment_batch_decorator(worlds), low_(low), high_(high) {
        prepare(seed);
    }
    explicit conditioned_environments(std::unique_ptr<environment_batch> worlds, std::uint64_t seed = 0,
                                      float low = -1.0f, float high = 1.0f)
        : environment_batch_decorator(std::move(worlds)), low_(low), high_(high) {
        prepare(seed);
    }

    /// The numbers of the episodes that go on, [E].
    [[nodiscard]] std::span<float const> conditions() const noexcept { return conditions_; }

    [[nodiscard]] std::size_t observation_size() const noexcept override { return inner_size() + 1; }

    void reset(matrix_view<float> observations) override {
        require_shape(observations, size(), observation_size(), "observations", "conditioned_environments::reset");
        worlds().reset(observations.middle_cols(0, inner_size()));
        for (std::size_t e = 0; e < size(); ++e)
            draw_condition(e);
        write(observations);
    }

    void step(matrix_view<float const> actions, step_result const& result) override {
        require_shape(result.observations, size(), observation_size(), "observations",
                      "conditioned_environments::step");
        step_result inner = result;
        inner.observations = result.observations.middle_cols(0, inner_size());
        bool const wants_finals = !result.final_observations.empty();
        if (wants_finals) {
            require_shape(result.final_observations, size(), observation_size(), "final observations",
                          "conditioned_environments::step");
            inner.final_observations = result.final_observations.middle_cols(0, inner_size());
        }
        worlds().step(actions, inner);
        for (std::size_t e = 0; e < size(); ++e)
            if (result.terminated[e] != 0 || result.truncated[e] != 0) {
                if (wants_finals)
                    result.final_observations(e, inner_size()) = conditions_[e];
                draw_condition(e);
            }
        write(result.observations);
    }

    void observe(matrix_view<float> observations) const override {
        require_shape(observations, size(), observation_size(), "observations", "conditioned_environments::observe");
        worlds().observe(observations.middle_cols(0, inner_size()));
        write(observations);
    }

    void persist(archive& state) override {
        state("conditions", std::span(conditions_));
        std::vector<std::uint64_t> positions;
        for (random_stream const& stream : streams_)
            positions.push_back(stream.position());
        state("condition_streams", std::span(positions));
        if (state.loading())
            for (std::size_t e = 0; e < size(); ++e)
                streams_[e].seek(positions[e]);
        state.inside("worlds", [&] { worlds().persist(state); });
    }
    void persist_shared(archive& state) override {
        state.inside("worlds", [&] { worlds().persist_shared(state); });
    }

private:
    void prepare(std::uint64_t seed) {
        require(std::isfinite(low_) && std::isfinite(high_) && low_ <= high_,
                "conditioned_environments: the numbers are to be drawn in [{}, {}]", low_, high_);
        require(std::isfinite(high_ - low_),
                "conditioned_environments: the numbers are to be drawn in [{}, {}], whose width a float cannot hold",
                low_, high_);
        for (std::size_t e = 0; e < size(); ++e)
            streams_.push_back(stream_for(seed, stream_purpose::condition, e));
        conditions_.assign(size(), low_);
    }
    [[nodiscard]] std::size_t inner_size() const noexcept { return worlds().observation_size(); }
    void draw_condition(std::size_t e) {
        float const u = streams_[e].uniform<float>();
        conditions_[e] = (std::min)(high_, low_ + u * (high_ - low_));
    }
    void write(matrix_view<float> const& observations) const noexcept {
        for (std::size_t e = 0; e < size(); ++e)
            observations(e, inner_size()) = conditions_[e];
    }

    float low_, high_;
    std::vector<random_stream> streams_;
    std::vector<float> conditions_;
};

} // namespace gmac::inline GMAC_ABI
