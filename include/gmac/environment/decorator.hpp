// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/archive.hpp>
#include <gmac/core/communicator.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace gmac::inline GMAC_ABI {

/// A batch of environments that passes everything on to another: derive from it and override what shall be different.
template <observation_element O>
class basic_environment_batch_decorator : public basic_environment_batch<O> {
public:
    /// Decorates a batch that the caller keeps alive.
    explicit basic_environment_batch_decorator(basic_environment_batch<O>& worlds) noexcept : worlds_(&worlds) {}
    /// Decorates a batch and owns it.
    explicit basic_environment_batch_decorator(std::unique_ptr<basic_environment_batch<O>> worlds)
        : owned_(std::move(worlds)), worlds_(owned_.get()) {
        require(worlds_ != nullptr, "environment_batch_decorator: there is no batch to decorate");
    }

    [[nodiscard]] basic_environment_batch<O>& worlds() noexcept { return *worlds_; }
    [[nodiscard]] basic_environment_batch<O> const& worlds() const noexcept { return *worlds_; }

    [[nodiscard]] std::size_t size() const noexcept override { return worlds_->size(); }
    [[nodiscard]] std::size_t observation_size() const noexcept override { return worlds_->observation_size(); }
    [[nodiscard]] gmac::action_space const& action_space() const noexcept override { return worlds_->action_space(); }
    [[nodiscard]] observation_history history() const noexcept override { return worlds_->history(); }
    [[nodiscard]] matrix_view<std::uint8_t const> action_masks() const noexcept override {
        return worlds_->action_masks();
    }
    void set_discount(double discount) override { worlds_->set_discount(discount); }

    void reset(matrix_view<O> observations) override { worlds_->reset(observations); }
    void step(matrix_view<float const> actions, basic_step_result<O> const& result) override {
        worlds_->step(actions, result);
    }
    void observe(matrix_view<O> observations) const override { worlds_->observe(observations); }
    [[nodiscard]] std::uint64_t changes() const noexcept override { return worlds_->changes(); }
    [[nodiscard]] std::optional<drawing> draw(std::size_t environment) const override {
        return worlds_->draw(environment);
    }

    [[nodiscard]] std::span<finished_episode const> finished() const noexcept override { return worlds_->finished(); }
    [[nodiscard]] bool checkpointable() const noexcept override { return worlds_->checkpointable(); }
    void persist(archive& state) override { worlds_->persist(state); }
    void combine(communicator& ranks) override { worlds_->combine(ranks); }
    /// Whoever puts a name before what `persist` visits must do so here, too.
    void persist_shared(archive& state) override { worlds_->persist_shared(state); }

private:
    std::unique_ptr<basic_environment_batch<O>> owned_;
    basic_environment_batch<O>* worlds_;
};
using environment_batch_decorator = basic_environment_batch_decorator<float>;

} // namespace gmac::inline GMAC_ABI
