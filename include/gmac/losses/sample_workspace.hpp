// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/losses/detail/energy_rows.hpp>
#include <gmac/losses/detail/quantile_rows.hpp>
#include <gmac/losses/detail/radix_sort.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gmac::losses {

/// Memory that the sorting algorithms of huber_quantile and sample_energy need beyond what they take on the stack: with more
/// than 4,096 target particles, or 8,192 samples and particles. Without it they compare all pairs there, which gives the same
/// more slowly. One workspace serves one call at a time, for batches of any number of states.
template <class T>
    requires std::same_as<T, float> || std::same_as<T, double>
class sample_workspace {
public:
    sample_workspace() = default;
    sample_workspace(std::size_t samples, std::size_t particles) { reserve(samples, particles); }

    /// Room for so many predicted samples and target particles of a state. The only function that allocates.
    void reserve(std::size_t samples, std::size_t particles) {
        samples_ = (std::max)(samples_, samples);
        particles_ = (std::max)(particles_, particles);
        for (auto& keys : keys_)
            keys.resize(samples_ + particles_);
        for (auto& tags : tags_)
            tags.resize(samples_ + particles_);
        slopes_.resize(samples_ + 1);
        sums_.resize(particles_ + 1);
    }

    [[nodiscard]] std::size_t samples() const noexcept { return samples_; }
    [[nodiscard]] std::size_t particles() const noexcept { return particles_; }
    [[nodiscard]] bool fits(std::size_t samples, std::size_t particles) const noexcept {
        return samples <= samples_ && particles <= particles_;
    }

    [[nodiscard]] detail::row_memory<T> for_energy() noexcept { return {buffers(), slopes_.data()}; }
    [[nodiscard]] detail::quantile_memory<T> for_quantiles() noexcept { return {buffers(), sums_.data()}; }

private:
    [[nodiscard]] detail::row_buffers<T> buffers() noexcept {
        return {{keys_[0].data(), keys_[1].data()}, {tags_[0].data(), tags_[1].data()}};
    }

    std::size_t samples_ = 0, particles_ = 0;
    std::array<std::vector<T>, 2> keys_;
    std::array<std::vector<std::uint32_t>, 2> tags_;
    std::vector<T> slopes_;
    std::vector<detail::running_sums<T>> sums_;
};

} // namespace gmac::losses
