// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/detail/checks.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/plugin/detail/drawing_numbers.hpp>
#include <gmac/environment/plugin/detail/library.hpp>
#include <gmac/environment/plugin/detail/process.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gmac::inline GMAC_ABI {

namespace detail {

[[nodiscard]] inline std::unique_ptr<environment_source> open_environment(std::filesystem::path const& file,
                                                                          std::string const& options) {
    require(std::filesystem::exists(file), "there is no file {}", file.string());
    if (file.extension() == ".so")
        return std::make_unique<environment_library>(file);
    return std::make_unique<environment_process>(file, options);
}

} // namespace detail

/// Environments of a shared library (a file that ends in .so, see gmac/environment/plugin.h), stepped by this thread, or of a
/// program, which runs in a process of its own (gmac/environment/process.h):
///
///     gmac::plugin_environments worlds("./cliff.so", 16, /*seed*/ 1);
///     gmac::plugin_environments others("./pole.py", 16, /*seed*/ 1);
///
/// The constructor throws gmac::error, with the file's name, for what is no environment. What it gives is checked as
/// vector_environment checks its environments; what fails there is told with file, environment and step. Opt-in; needs Linux.
class plugin_environments final : public environment_batch {
public:
    plugin_environments(std::filesystem::path const& file, std::size_t count, std::uint64_t seed,
                        std::string const& options = {})
        : source_(detail::open_environment(file, options)), library_(**source_), count_(count) {
        require(count > 0, "plugin_environments: 0 environments were asked for, but at least 1 is needed");
        environments_ = {source_->make(count, seed, options), library_.destroy};
        require(environments_ != nullptr, "{}: the environments cannot be made: {}", source_->file(),
                source_->problem());
        observations_.resize(count * library_.observation_size);
        finals_.resize(count * library_.observation_size);
        actions_.resize(count * library_.action_size);
        masks_.resize(library_.allowed ? count * library_.actions : 0, 1);
        rewards_.resize(count);
        terminated_.resize(count);
        truncated_.resize(count);
        sums_.resize(count);
        lengths_.resize(count);
        finished_.reserve(count);
    }

    [[nodiscard]] std::size_t size() const noexcept override { return count_; }
    [[nodiscard]] std::size_t observation_size() const noexcept override { return library_.observation_size; }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept override { return source_->action_space(); }
    [[nodiscard]] matrix_view<std::uint8_t const> action_masks() const noexcept override {
        return masks_.empty() ? matrix_view<std::uint8_t const>()
                              : matrix_view<std::uint8_t const>(masks_.data(), count_, library_.actions);
    }
    /// From now on, what reset and step are to write is NaN before, and more memory lies behind it that nobody may write: so
    /// what a library leaves out, and what it writes past the end, is told like its other faults. For those who look for
    /// them; it takes time.
    void guard_memory() {
        guard_ = 64;
        observations_.resize(observations_.size() + guard_);
        finals_.resize(finals_.size() + guard_);
        rewards_.resize(rewards_.size() + guard_);
    }
    /// As the library names it.
    [[nodiscard]] std::string_view name() const noexcept { return library_.name; }

    void reset(matrix_view<float> observations) override {
        require_shape(observations, count_, observation_size(), "observations", "plugin_environments::reset");
        begin_change();
        clear();
        call("reset", library_.reset(environments_.get(), observations_.data()));
        check_guards("reset");
        std::ranges::fill(sums_, 0.0);
        std::ranges::fill(lengths_, 0);
        for (std::size_t e = 0; e < count_; ++e)
            check_observation(observations_, e, 0);
        look_at_masks();
        needs_reset_ = false;
        observe(observations);
    }

    void step(matrix_view<float const> actions, step_result const& result) override {
        require(!needs_reset_, "plugin_environments::step: reset has to be called first{}",
                started_ ? ", since the last step failed or the episodes could not be restored" : "");
        detail::check_step_shapes(actions, result, count_, observation_size(), library_.action_size,
                                  "plugin_environments::step");
        take_actions(actions);
        begin_change();
        std::ranges::fill(terminated_, std::uint8_t(0));
        std::ranges::fill(truncated_, std::uint8_t(0));
        clear();
        call("step", library_.step(environments_.get(), actions_.data(), observations_.data(), finals_.data(),
                                   rewards_.data(), terminated_.data(), truncated_.data()));
        check_guards("step");
        for (std::size_t e = 0; e < count_; ++e)
            finish_step(e, result);
        look_at_masks();
        needs_reset_ = false;
        observe(result.observations);
    }

    void observe(matrix_view<float> observations) const override {
        require_shape(observations, count_, observation_size(), "observations", "plugin_environments::observe");
        for (std::size_t e = 0; e < count_; ++e)
            detail::copy_row(row(observations_, e), observations.row(e));
    }
    [[nodiscard]] std::uint64_t changes() const noexcept override { return changes_; }
    [[nodiscard]] std::optional<drawing> draw(std::size_t environment) const override {
        require(environment < count_, "plugin_environments::draw: environment {} of {}", environment, count_);
        if (library_.draw == nullptr)
            return std::nullopt;
        std::vector<float> numbers(1024);
        auto const ask = [&] {
            return library_.draw(environments_.get(), environment, numbers.data(), numbers.size());
        };
        if (std::size_t const all = ask(); all > numbers.size()) {
            require_at_most(all, std::size_t(1) << 24, "numbers of a drawing");
            numbers.resize(all);
            numbers.resize((std::min)(all, ask()));
        } else {
            numbers.resize(all);
        }
        require(!numbers.empty(), "{}: environment {} cannot be drawn: {}", source_->file(), environment,
                source_->problem());
        return detail::drawing_of(fmt::format("{}: environment {}", source_->file(), environment), numbers);
    }
    [[nodiscard]] std::span<finished_episode const> finished() const noexcept override { return finished_; }
    [[nodiscard]] bool checkpointable() const noexcept override { return library_.save != nullptr; }

    /// The library's state and the episodes so far; if the library stores none, a mark says so, and the batch that loads it
    /// asks for `reset`.
    void persist(archive& state) override {
        if (state.loading()) {
            begin_change();
            started_ = true;
        }
        std::uint8_t restorable = checkpointable() && !needs_reset_ ? 1 : 0;
        state("restorable", restorable);
        require(restorable == 0 || checkpointable(),
                "{}: the checkpoint holds states of the environments, but they cannot be restored", source_->file());
        if (!checkpointable())
            return;
        std::vector<std::byte> bytes;
        if (!state.loading() && restorable != 0) {
            std::size_t const size = library_.state_size(environments_.get());
            require(size != 0, "{}: the states cannot be stored: {}", source_->file(), source_->problem());
            require_at_most(size, std::size_t(1) << 40, "bytes of the states");
            bytes.resize(size);
            call("save", library_.save(environments_.get(), bytes.data()));
        }
        state("state", bytes);
        state("observations", std::span(observations_).first(count_ * observation_size()), count_, observation_size());
        state("reward_sums", std::span(sums_));
        state("lengths", std::span(lengths_));
        if (!state.loading() || restorable == 0)
            return;
        call("load", library_.load(environments_.get(), bytes.data(), bytes.size()));
        look_at_masks();
        needs_reset_ = false;
    }

private:
    [[nodiscard]] std::span<float const> row(std::vector<float> const& of, std::size_t e) const noexcept {
        return std::span(of).subspan(e * observation_size(), observation_size());
    }

    [[nodiscard]] std::span<std::uint8_t const> mask(std::size_t e) const noexcept {
        return std::span(masks_).subspan(e * library_.actions, library_.actions);
    }

    void call(std::string_view what, int code) const {
        require(code == 0, "{}: {} failed: {}", source_->file(), what, code == 0 ? "" : source_->problem());
    }

    /// Of what the library says that it will write.
    void require_at_most(std::size_t size, std::size_t most, std::string_view what) const {
        require(size <= most, "{}: it says that there are {} {}, but {} is the most", source_->file(), size, what,
                most);
    }

    void clear() {
        for (std::vector<float>* const written : {&observations_, &finals_, &rewards_})
            if (guard_ > 0)
                std::ranges::fill(*written, std::numeric_limits<float>::quiet_NaN());
    }
    void check_guards(std::string_view after) const {
        for (auto const& [written, name] : {std::pair(&observations_, "observations"),
                                            std::pair(&finals_, "final observations"), std::pair(&rewards_, "rewards")})
            require(std::ranges::all_of(std::span(*written).last(guard_), [](float x) { return x != x; }),
                    "{}: {} writes past the end of the {} {}", source_->file(), after, written->size() - guard_, name);
    }

    void begin_change() noexcept {
        ++changes_;
        started_ = needs_reset_ = true;
        finished_.clear();
    }

    /// `step` 0 is the reset.
    void check_observation(std::vector<float> const& of, std::size_t e, std::uint64_t step) const {
        auto const observation = row(of, e);
        for (std::size_t j = 0; j < observation.size(); ++j)
            if (!detail::is_finite(observation[j])) [[unlikely]]
                fail("{}: environment {}, {} of its episode: observation element {} is {}, but must be finite",
                     source_->file(), e, step == 0 ? "the reset" : fmt::format("step {}", step), j, observation[j]);
    }

    void take_actions(matrix_view<float const> const& actions) {
        for (std::size_t e = 0; e < count_; ++e) {
            for (std::size_t j = 0; j < actions.cols(); ++j) {
                float const action = actions(e, j);
                if (!detail::contains(action_space(), j, action)) [[unlikely]]
                    detail::raise_action(source_->file(), action_space(), e, lengths_[e] + 1, j, action);
                actions_[e * actions.cols() + j] = action;
            }
            if (!masks_.empty())
                detail::check_allowed(source_->file(), action_counts(action_space()), mask(e), e, lengths_[e] + 1,
                                      actions.row(e));
        }
    }

    void finish_step(std::size_t e, step_result const& result) {
        std::uint64_t const length = lengths_[e] += 1;
        require(detail::is_finite(rewards_[e]),
                "{}: environment {}, step {} of its episode: the reward is {}, but must be finite", source_->file(), e,
                length, rewards_[e]);
        require(
            terminated_[e] <= 1 && truncated_[e] <= 1,
            "{}: environment {}, step {} of its episode: terminated is {} and truncated {}, but they must be 0 or 1",
            source_->file(), e, length, terminated_[e], truncated_[e]);
        check_observation(observations_, e, length);
        sums_[e] += static_cast<double>(rewards_[e]);
        result.rewards[e] = rewards_[e];
        result.terminated[e] = terminated_[e];
        result.truncated[e] = terminated_[e] != 0 ? std::uint8_t(0) : truncated_[e];
        if (terminated_[e] == 0 && truncated_[e] == 0)
            return;
        check_observation(finals_, e, length);
        if (!result.final_observations.empty())
            detail::copy_row(row(finals_, e), result.final_observations.row(e));
        finished_.push_back({sums_[e], static_cast<std::size_t>(length), e});
        sums_[e] = 0.0;
        lengths_[e] = 0;
    }

    void look_at_masks() {
        if (masks_.empty())
            return;
        std::ranges::fill(masks_, std::uint8_t(1));
        call("allowed", library_.allowed(environments_.get(), masks_.data()));
        auto const counts = action_counts(action_space());
        for (std::size_t e = 0; e < count_; ++e) {
            std::size_t const k = detail::component_without_choice(counts, mask(e));
            require(
                k == counts.size() || counts.size() > 1,
                "{}: environment {}, after step {} of its episode: all of the {} actions are forbidden, but at least one "
                "must be allowed",
                source_->file(), e, lengths_[e], library_.actions);
            require(
                k == counts.size(),
                "{}: environment {}, after step {} of its episode: all of the {} values of component {} are forbidden, "
                "but at least one must be allowed",
                source_->file(), e, lengths_[e], k == counts.size() ? 0 : counts[k], k);
        }
    }

    std::unique_ptr<detail::environment_source> source_;
    gmac_environment const& library_;
    std::size_t count_;
    std::unique_ptr<void, void (*)(void*)> environments_{nullptr, nullptr};
    std::vector<float> observations_, finals_, actions_, rewards_;
    std::vector<std::uint8_t> masks_, terminated_, truncated_;
    std::vector<double> sums_; // of the episodes so far
    std::vector<std::uint64_t> lengths_;
    std::vector<finished_episode> finished_;
    bool needs_reset_ = true, started_ = false;
    std::uint64_t changes_ = 0;
    std::size_t guard_ = 0; // elements behind the numbers that the library writes
};

} // namespace gmac::inline GMAC_ABI
