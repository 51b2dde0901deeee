// SPDX-License-Identifier: Apache-2.0
// A state is loaded wholly or not at all.
#include "samples.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using gmac::testing::contains;
using gmac::testing::message_of;
using gmac::testing::other_state;
using gmac::testing::sample_state;
using gmac::testing::scratch_folder;

namespace {

/// Three arrays whose sizes and types can be chosen; the last may refuse what it is given.
struct picky_state {
    std::vector<float> first = std::vector<float>(4, 1.0f);
    std::vector<double> second = std::vector<double>(6, 1.0);
    std::vector<std::byte> world = std::vector<std::byte>(3);
    std::string third_name = "third";
    std::uint64_t third = 1;
    std::size_t rows = 2;
    bool second_as_float = false;

    void persist(gmac::archive& state) {
        state("first", std::span(first));
        if (second_as_float) {
            std::vector<float> copy(second.size());
            state("second", std::span(copy), rows, second.size() / rows);
        } else {
            state("second", std::span(second), rows, second.size() / rows);
        }
        state("world", world);
        gmac::require(!state.loading() || world.size() < 8, "the world has {} bytes, but must have less than 8",
                      world.size());
        state(third_name, third);
    }
    [[nodiscard]] auto visit() {
        return [this](gmac::archive& state) { persist(state); };
    }
};

struct loading {
    scratch_folder folder;
    std::filesystem::path path = folder / "checkpoint.safetensors";

    explicit loading(picky_state saved) {
        saved.first.assign(saved.first.size(), 5.0f);
        saved.third = 5;
        gmac::save_checkpoint(path, {}, saved.visit());
    }
    /// The refusal; the state must be what it was.
    std::string refusal(picky_state state, gmac::unasked rest = gmac::unasked::refuse) const {
        auto const before = gmac::snapshot::of(state.visit());
        auto message = message_of([&] { gmac::load_checkpoint(path, state.visit(), rest); });
        CHECK(gmac::snapshot::of(state.visit()) == before);
        return message;
    }
};

} // namespace

TEST_CASE("arrays and vectors of numbers are stored as spans of them are") {
    scratch_folder const folder;
    std::array<float, 3> fixed{1, 2, 3};
    std::int32_t plain[2]{4, 5};
    std::vector<double> many{6, 7, 8, 9};
    auto const visit = [&](gmac::archive& state) {
        state("fixed", fixed);
        state("plain", plain);
        state("many", many);
    };
    auto const as_spans = [&](gmac::archive& state) {
        state("fixed", std::span<float>(fixed));
        state("plain", std::span<std::int32_t>(plain));
        state("many", std::span<double>(many));
    };
    CHECK(gmac::snapshot::of(visit) == gmac::snapshot::of(as_spans));
    gmac::save_checkpoint(folder / "state", {}, visit);
    fixed = {};
    plain[1] = 0;
    many.assign(4, 0.0);
    gmac::load_checkpoint(folder / "state", visit);
    CHECK(fixed == std::array<float, 3>{1, 2, 3});
    CHECK(plain[1] == 5);
    CHECK(many == std::vector<double>{6, 7, 8, 9});
    many.push_back(0.0);
    CHECK(contains(message_of([&] { gmac::load_checkpoint(folder / "state", visit); }),
                   "many is F64 [4] but must be F64 [5]"));
}

TEST_CASE("a mismatch is named with both shapes, and nothing is loaded") {
    loading const file{picky_state{}};
    picky_state state;
    state.second.resize(8, 1.0);
    CHECK(contains(file.refusal(state), "second is F64 [2, 3] but must be F64 [2, 4]"));
    CHECK(contains(file.refusal(state), file.path.string()));
    state = {};
    state.rows = 3;
    CHECK(contains(file.refusal(state), "second is F64 [2, 3] but must be F64 [3, 2]"));
    state = {};
    state.second_as_float = true;
    CHECK(contains(file.refusal(state), "second is F64 [2, 3] but must be F32 [2, 3]"));
    state = {};
    state.third_name = "fourth";
    CHECK(contains(file.refusal(state), "missing: fourth; wanted by nothing: third"));
    state.second.resize(4);
    CHECK(contains(file.refusal(state),
                   "second is F64 [2, 3] but must be F64 [2, 2]; missing: fourth; wanted by "
                   "nothing: third"));
}

TEST_CASE("bytes may change their number, arrays may not") {
    picky_state saved;
    saved.world.assign(7, std::byte{4});
    loading const file{saved};
    picky_state state;
    gmac::load_checkpoint(file.path, state.visit());
    CHECK(state.world == saved.world);
    CHECK(state.first == std::vector<float>(4, 5.0f));
}

TEST_CASE("a state that throws while it is loaded is put back") {
    picky_state saved;
    saved.world.resize(9);
    loading const file{saved};
    picky_state state;
    auto const message = file.refusal(state);
    CHECK(message == "the world has 9 bytes, but must have less than 8");
}

TEST_CASE("part of a checkpoint can be loaded if that is asked for") {
    loading const file{picky_state{}};
    std::vector<float> first(4);
    auto const only_first = [&](gmac::archive& state) { state("first", std::span(first)); };
    auto const message = message_of([&] { gmac::load_checkpoint(file.path, only_first); });
    CHECK(contains(message, "wanted by nothing: second, third, world"));
    CHECK(first == std::vector<float>(4));
    gmac::load_checkpoint(file.path, only_first, gmac::unasked::ignore);
    CHECK(first == std::vector<float>(4, 5.0f));
    picky_state state;
    state.third_name = "fourth";
    CHECK(contains(file.refusal(state, gmac::unasked::ignore), "missing: fourth"));
}

TEST_CASE("many mismatches are counted, not listed") {
    std::vector<float> numbers(20);
    auto const visit = [&](std::string const& prefix) {
        return [&numbers, prefix](gmac::archive& state) {
            for (std::size_t i = 0; i < numbers.size(); ++i)
                state(prefix + std::to_string(i), numbers[i]);
        };
    };
    auto const stored = gmac::snapshot::of(visit("a"));
    auto const message = message_of([&] { stored.restore(visit("a")); });
    CHECK(message.empty());
    auto const wanted = gmac::snapshot::of(visit("b"));
    CHECK(contains(message_of([&] { stored.require_fits(wanted, gmac::unasked::refuse, "here"); }),
                   "missing: b0, b1, b2, b3, b4 and 15 more; wanted by nothing: a0, "));
}

TEST_CASE("a tensor has as many bytes as it says") {
    auto const made = [](std::size_t bytes) {
        return message_of([&] {
            return gmac::snapshot({{"x", gmac::element_type::f32, {2, 3}, std::vector<std::byte>(bytes)}});
        });
    };
    CHECK(made(24).empty());
    CHECK(made(28) == "the tensor x is F32 [2, 3], but has 28 bytes");
    CHECK(made(20) == "the tensor x is F32 [2, 3], but has 20 bytes");
}

TEST_CASE("a snapshot restores a state and tells what does not fit") {
    sample_state state;
    auto const taken = state.snapshot();
    CHECK(taken.bytes() == 6 * 4 + 2 * 8 + 4 + 8 + 8 + 1 + 3 + 3 * 8);
    auto other = other_state();
    taken.restore(other.visit());
    CHECK(other.snapshot() == taken);
    float wrong = 0.0f;
    auto const restore = [&](auto&& visit) { return message_of([&] { taken.restore(visit); }); };
    CHECK(restore([&](gmac::archive& archive) { archive("large", wrong); }) ==
          "snapshot: large is I64 [1], but the state wants F32 [1]");
    CHECK(restore([&](gmac::archive& archive) { archive("huge", wrong); }) ==
          "snapshot: there is no tensor huge, which the state wants");
    std::vector<std::byte> bytes;
    CHECK(restore([&](gmac::archive& archive) { archive("large", bytes); }) ==
          "snapshot: large is I64 [1], but the state wants U8 [any number]");
    CHECK(restore([](gmac::archive&) {}) == "snapshot: nothing in the state wants the tensor flag");
    // 0 and −0 are different states.
    state.weights[0] = 0.0f;
    auto const zero = state.snapshot();
    state.weights[0] = -0.0f;
    CHECK_FALSE(state.snapshot() == zero);
}
