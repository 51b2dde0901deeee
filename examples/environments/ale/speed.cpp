// SPDX-License-Identifier: Apache-2.0
// gmac-ale-speed: emulated frames per second with all preprocessing, beside the bare emulator with the same frame skip.
#include "arcade.hpp"
#include "atari.hpp"

#include "support/parse_options.hpp"

#include <gmac/core/error.hpp>
#include <gmac/core/tbb_executor.hpp>
#include <gmac/environment/vector_environment.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ale = gmac::examples::ale;

/// The emulator, with a count of the frames that it played; those of its own resets are none of ours.
class counted_arcade : public ale::arcade {
public:
    using ale::arcade::arcade;
    int act(int action) {
        ++frames;
        return ale::arcade::act(action);
    }
    std::uint64_t frames = 0;
};

/// Random actions, each for `skip` frames, and nothing else, in several emulators in turn.
class bare_play {
public:
    bare_play(std::filesystem::path const& rom, ale::preprocessing const& rules, std::size_t emulators)
        : skip_(rules.skip) {
        for (std::size_t i = 0; i < emulators; ++i)
            machines_.emplace_back(rom, ale::arcade_options{.full_action_set = rules.full_action_set});
    }

    std::uint64_t play(std::size_t steps) {
        std::uint64_t frames = 0;
        for (std::size_t i = 0; i < steps; ++i) {
            ale::arcade& machine = machines_[i % machines_.size()];
            int const action = machine.actions()[random_.below(static_cast<std::uint32_t>(machine.actions().size()))];
            for (std::size_t frame = 0; frame < skip_ && !machine.game_over(); ++frame, ++frames)
                machine.act(action);
            if (machine.game_over())
                machine.reset();
        }
        return frames;
    }

private:
    std::vector<ale::arcade> machines_;
    std::size_t skip_;
    gmac::random_stream random_{1};
};

/// The same in a batch of environments with all preprocessing.
class preprocessed_play {
public:
    preprocessed_play(std::filesystem::path const& rom, ale::preprocessing const& rules, std::size_t environments,
                      gmac::executor* tasks)
        : worlds_(
              environments, 1,
              [&](std::size_t) {
                  counted_arcade machine(rom, {.full_action_set = rules.full_action_set});
                  if (!grey_)
                      grey_ = std::make_shared<ale::grey_maximum const>(machine.colours(), rules.grey);
                  return ale::atari(std::move(machine), rules, grey_);
              },
              tasks),
          observations_(environments * worlds_.observation_size()),
          actions_(environments),
          rewards_(environments),
          ends_(2 * environments) {
        worlds_.reset(seen());
    }

    std::uint64_t play(std::size_t steps) {
        std::size_t const count = worlds_.size();
        std::uint64_t const before = frames();
        auto const choices = static_cast<std::uint32_t>(std::get<gmac::discrete>(worlds_.action_space()).count);
        for (std::size_t i = 0; i < steps; i += count) {
            for (float& action : actions_)
                action = static_cast<float>(random_.below(choices));
            std::span<std::uint8_t> const ends(ends_);
            worlds_.step({actions_.data(), count, 1}, {seen(), {}, rewards_, ends.first(count), ends.last(count)});
        }
        return frames() - before;
    }

private:
    [[nodiscard]] gmac::matrix_view<std::uint8_t> seen() {
        return {observations_.data(), worlds_.size(), worlds_.observation_size()};
    }
    [[nodiscard]] std::uint64_t frames() const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < worlds_.size(); ++i)
            sum += worlds_[i].machine().frames;
        return sum;
    }

    std::shared_ptr<ale::grey_maximum const> grey_;
    gmac::vector_environment<ale::atari<counted_arcade>> worlds_;
    std::vector<std::uint8_t> observations_;
    std::vector<float> actions_, rewards_;
    std::vector<std::uint8_t> ends_;
    gmac::random_stream random_{1};
};

template <class Play>
[[nodiscard]] double frames_per_second(Play& play, std::size_t steps) {
    auto const start = std::chrono::steady_clock::now();
    auto const frames = static_cast<double>(play.play(steps));
    return frames / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[nodiscard]] double median(std::vector<double> values) {
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void run(int argc, char** argv) {
    std::string rom, rules_name = "paper";
    std::size_t turns = 400, steps = 64, environments = 16;
    CLI::App app(
        "Emulated frames per second with random actions: the bare emulator, and the same with all preprocessing on\n"
        "one and on two threads, in turns. Medians over the turns, also of what is compared.",
        "gmac-ale-speed");
    gmac::examples::add_option(app, "--rom", rom, "a ROM")->required();
    gmac::examples::add_option(app, "--preprocessing", rules_name, "paper, machado2018 or ale_vector");
    gmac::examples::add_option(app, "--turns", turns, "of each", 1);
    gmac::examples::add_option(app, "--steps", steps, "of a turn", 1);
    gmac::examples::add_option(app, "--environments", environments, "games that are played in turn", 1);
    gmac::examples::parse_options(app, argc, argv);

    ale::preprocessing const rules = ale::preprocessing_named(rules_name);
    gmac::tbb_executor one_thread(1), two_threads(2);
    bare_play bare(rom, rules, environments);
    preprocessed_play single(rom, rules, environments, &one_thread), twice(rom, rules, environments, &two_threads);
    std::vector<double> bare_speed, single_speed, twice_speed, share, gain;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        bare_speed.push_back(frames_per_second(bare, steps));
        single_speed.push_back(frames_per_second(single, steps));
        twice_speed.push_back(frames_per_second(twice, steps));
        share.push_back(single_speed.back() / bare_speed.back());
        gain.push_back(twice_speed.back() / single_speed.back());
    }
    std::printf("%zu games, frames/s\n", environments);
    std::printf("bare emulator                       %8.0f\n", median(bare_speed));
    std::printf("with all preprocessing              %8.0f   %.3f of it\n", median(single_speed), median(share));
    std::printf("with all preprocessing, two threads %8.0f   %.2f times one\n", median(twice_speed), median(gain));
}

} // namespace

int main(int argc, char** argv) {
    return gmac::examples::run_main("gmac-ale-speed", [&] { run(argc, argv); });
}
