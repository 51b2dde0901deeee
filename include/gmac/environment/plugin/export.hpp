// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/environment/plugin.h>
#include <gmac/core/archive.hpp>
#include <gmac/core/error.hpp>
#include <gmac/core/view.hpp>
#include <gmac/environment/environment.hpp>
#include <gmac/environment/plugin/detail/drawing_numbers.hpp>
#include <gmac/environment/requirements.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// Makes a C++ environment one of a shared library (gmac/environment/plugin.h).
namespace gmac::inline GMAC_ABI::detail {

/// A state as bytes, one array after the other with its size before it.
class byte_archive final : public archive {
public:
    byte_archive() = default;
    /// Reads what another one wrote.
    explicit byte_archive(std::span<std::byte const> written)
        : loading_(true), bytes_(written.begin(), written.end()) {}

    [[nodiscard]] bool loading() const noexcept override { return loading_; }
    [[nodiscard]] std::span<std::byte const> written() const noexcept { return bytes_; }
    /// Throws gmac::error if not all was asked for.
    void finish() const {
        require(position_ == bytes_.size(), "the stored state has {} bytes more than the environments ask for",
                bytes_.size() - position_);
    }

    void array(std::string const& name, element_type type, std::span<std::size_t const> shape, void* data) override {
        std::size_t const size = size_of(type, shape);
        if (!loading_) {
            append(size);
            auto const* const from = static_cast<std::byte const*>(data);
            bytes_.insert(bytes_.end(), from, from + size);
            return;
        }
        std::size_t const stored = take(name);
        require(stored == size, "the stored state has {} bytes for {}, but the environments have {}", stored, name,
                size);
        std::copy_n(bytes_.data() + position_, size, static_cast<std::byte*>(data));
        position_ += size;
    }
    void bytes(std::string const& name, std::vector<std::byte>& data) override {
        if (!loading_) {
            append(data.size());
            bytes_.insert(bytes_.end(), data.begin(), data.end());
            return;
        }
        std::size_t const size = take(name);
        data.assign(bytes_.data() + position_, bytes_.data() + position_ + size);
        position_ += size;
    }

private:
    void append(std::uint64_t size) {
        std::array<std::byte, sizeof size> number;
        std::memcpy(number.data(), &size, sizeof size);
        bytes_.insert(bytes_.end(), number.begin(), number.end());
    }
    /// The size of the next array, which is all there.
    [[nodiscard]] std::size_t take(std::string const& name) {
        std::uint64_t size = 0;
        bool const there = bytes_.size() - position_ >= sizeof size;
        if (there)
            std::memcpy(&size, bytes_.data() + position_, sizeof size);
        require(there && size <= bytes_.size() - position_ - sizeof size, "the stored state ends before {}", name);
        position_ += sizeof size;
        return static_cast<std::size_t>(size);
    }

    bool loading_ = false;
    std::vector<std::byte> bytes_;
    std::size_t position_ = 0;
};

/// The functions of the C interface for environments of type E: default-constructible, or made of a std::string, the options.
template <class E>
class exported_environment {
public:
    /// Null if an environment cannot be made.
    [[nodiscard]] static gmac_environment const* library(char const* name) noexcept {
        gmac_environment const* made = nullptr;
        attempt([&] {
            static gmac_environment const description = described().describe(name);
            made = &description;
        });
        if (made == nullptr) // nothing else of the interface can tell
            std::fprintf(stderr, "%s: %s\n", name, problem());
        return made;
    }

private:
    struct batch {
        batch(std::size_t count, std::uint64_t seed, std::string const& options)
            : worlds(count, seed, [&](std::size_t) { return make_one(options); }) {
            require(
                worlds.history().frames == 1,
                "the environment asks for states of {} observations, which the interface of shared libraries does not "
                "know: let an observation be all of the state",
                worlds.history().frames);
            exported_environment const here(worlds);
            exported_environment const& told = described();
            require(
                here.observation_size_ == told.observation_size_ && here.bounds_.low == told.bounds_.low &&
                    here.bounds_.high == told.bounds_.high && here.actions_ == told.actions_,
                "with the options \"{}\" observations have {} numbers and actions {}, without options {} and {}, or "
                "other bounds: a shared library must tell its spaces before it is given options",
                options, here.observation_size_, here.action_size_, told.observation_size_, told.action_size_);
        }

        vector_environment<E> worlds;
        byte_archive stored;
    };

    [[nodiscard]] static exported_environment const& described() {
        static exported_environment const without_options(
            vector_environment<E>(1, 0, [](std::size_t) { return make_one({}); }));
        return without_options;
    }

    explicit exported_environment(vector_environment<E> const& one) {
        observation_size_ = one.observation_size();
        action_size_ = gmac::action_size(one.action_space());
        actions_ = mask_size(one.action_space());
        if (auto const* const bounds = std::get_if<box>(&one.action_space()))
            bounds_ = *bounds;
        else
            for (std::size_t const count : action_counts(one.action_space())) {
                bounds_.low.push_back(0.0f);
                bounds_.high.push_back(static_cast<float>(count - 1));
            }
    }

    [[nodiscard]] gmac_environment describe(char const* name) const noexcept {
        bool const stored = checkpointable_environment<E>;
        return {GMAC_ENVIRONMENT_VERSION,
                name,
                observation_size_,
                actions_,
                action_size_,
                bounds_.low.data(),
                bounds_.high.data(),
                make,
                destroy,
                reset,
                step,
                masked_environment<E> ? allowed : nullptr,
                stored ? state_size : nullptr,
                stored ? save : nullptr,
                stored ? load : nullptr,
                drawn_environment<E> ? draw : nullptr,
                problem};
    }

    [[nodiscard]] static E make_one(std::string const& options) {
        if constexpr (std::constructible_from<E, std::string>) {
            return E(options);
        } else {
            require(options.empty(), "the environment has no options, but was given \"{}\"", options);
            return E();
        }
    }

    /// 0, or 1 and the reason in `reason()`: nothing is thrown through C.
    template <class Call>
    static int attempt(Call&& call) noexcept {
        try {
            call();
            return 0;
        } catch (std::exception const& caught) {
            reason() = caught.what();
        } catch (...) {
            reason() = "an exception that is no std::exception";
        }
        return 1;
    }
    [[nodiscard]] static std::string& reason() {
        static thread_local std::string text;
        return text;
    }
    [[nodiscard]] static char const* problem() { return reason().c_str(); }

    [[nodiscard]] static batch& of(void* environments) noexcept { return *static_cast<batch*>(environments); }
    [[nodiscard]] static matrix_view<float> rows(vector_environment<E> const& worlds, float* numbers) noexcept {
        return {numbers, worlds.size(), worlds.observation_size()};
    }

    [[nodiscard]] static void* make(std::size_t count, std::uint64_t seed, char const* options) {
        batch* made = nullptr;
        attempt([&] { made = new batch(count, seed, options); });
        return made;
    }
    static void destroy(void* environments) { delete &of(environments); }
    static int reset(void* environments, float* observations) {
        return attempt([&] {
            auto& worlds = of(environments).worlds;
            worlds.reset(rows(worlds, observations));
        });
    }
    static int step(void* environments, float const* actions, float* observations, float* finals, float* rewards,
                    std::uint8_t* terminated, std::uint8_t* truncated) {
        return attempt([&] {
            auto& worlds = of(environments).worlds;
            std::size_t const count = worlds.size();
            worlds.step({actions, count, gmac::action_size(worlds.action_space())}, {rows(worlds, observations),
                                                                                     rows(worlds, finals),
                                                                                     {rewards, count},
                                                                                     {terminated, count},
                                                                                     {truncated, count}});
        });
    }
    static int allowed(void* environments, std::uint8_t* allowed) {
        auto const masks = of(environments).worlds.action_masks();
        for (std::size_t e = 0; e < masks.rows(); ++e)
            for (std::size_t j = 0; j < masks.cols(); ++j)
                allowed[e * masks.cols() + j] = masks(e, j);
        return 0;
    }
    static std::size_t draw(void* environments, std::size_t index, float* numbers, std::size_t most) {
        std::vector<float> all;
        attempt([&] {
            if (auto const drawn = of(environments).worlds.draw(index))
                all = numbers_of(*drawn);
        });
        std::copy_n(all.begin(), (std::min)(most, all.size()), numbers);
        return all.size();
    }
    /// `save` copies what was written here.
    [[nodiscard]] static std::size_t state_size(void* environments) {
        batch& all = of(environments);
        all.stored = {};
        return attempt([&] { all.worlds.persist(all.stored); }) == 0 ? all.stored.written().size() : 0;
    }
    static int save(void* environments, void* bytes) {
        auto const written = of(environments).stored.written();
        std::copy(written.begin(), written.end(), static_cast<std::byte*>(bytes));
        return 0;
    }
    static int load(void* environments, void const* bytes, std::size_t size) {
        return attempt([&] {
            byte_archive stored({static_cast<std::byte const*>(bytes), size});
            of(environments).worlds.persist(stored);
            stored.finish();
        });
    }

    std::size_t observation_size_ = 0, actions_ = 0, action_size_ = 0;
    box bounds_;
};

/// What cannot go through the C interface is refused, in one sentence.
template <class E>
[[nodiscard]] gmac_environment const* exported_library([[maybe_unused]] char const* name) noexcept {
    static_assert(require_environment<E>());
    if constexpr (environment<E>) {
        constexpr bool real = std::same_as<gmac::observation_of<E>, float>;
        constexpr bool scores_episodes = !scored_environment<E>;
        static_assert(real, "this environment's observations are bytes, but those of a shared library are floats");
        static_assert(
            scores_episodes,
            "this environment scores whole games, which the interface of shared libraries does not know: let each "
            "game be an episode");
        if constexpr (real && scores_episodes)
            return exported_environment<E>::library(name);
    }
    return nullptr;
}

} // namespace gmac::inline GMAC_ABI::detail

/// In one source file of a shared library: `GMAC_EXPORT_ENVIRONMENT(my::cliff)`. What the environment throws becomes the reason
/// that the program gives. Its constructor takes nothing, or a std::string, the text of `gmac-train --env-options`; it is called with
/// an empty one too, to tell the spaces, which the options must not change.
#define GMAC_EXPORT_ENVIRONMENT(...)                                                                           \
    extern "C" __attribute__((visibility("default"))) gmac_environment const* gmac_environment_library(void) { \
        return gmac::detail::exported_library<__VA_ARGS__>(#__VA_ARGS__);                                      \
    }
