// SPDX-License-Identifier: Apache-2.0
#include "arcade.hpp"

#include <gmac/core/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ale_interface.hpp>

#include <algorithm>
#include <cstring>

namespace gmac::examples::ale {

namespace {

namespace fs = std::filesystem;

/// The game whose ROM the file is; nothing if the Arcade Learning Environment does not know it. ALE ends the program
/// when it is told to load such a file, so no file gets there unasked.
[[nodiscard]] std::optional<std::string> game_of(fs::path const& file) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored))
        return std::nullopt;
    try {
        return ::ale::ALEInterface::isSupportedROM(file);
    } catch (std::exception const&) {
        return std::nullopt;
    }
}

void require_readable(fs::path const& file) {
    std::error_code problem;
    require(fs::exists(file, problem), "there is no ROM {}: give a file by --rom FILE, or a folder by --roms DIR",
            file.string());
    require(fs::is_regular_file(file, problem), "the ROM {} is not a file: --rom takes a file, --roms a folder",
            file.string());
    require(std::ifstream(file, std::ios::binary).good(), "the ROM {} cannot be read: look at its permissions",
            file.string());
}

[[nodiscard]] fs::path rom_file(std::string const& game, fs::path const& file) {
    require_readable(file);
    auto const found = game_of(file);
    require(found.has_value(),
            "{} is not a ROM that the Arcade Learning Environment supports: it knows ROMs by their MD5 sums, which "
            "`ale-import-roms` of its Python package checks too",
            file.string());
    require(*found == game, "{} is the ROM of {}, not of {}: --env ale/{} would play it", file.string(), *found, game,
            *found);
    return file;
}

[[nodiscard]] fs::path rom_in_folder(std::string const& game, fs::path const& folder) {
    std::error_code problem;
    require(fs::is_directory(folder, problem),
            "there is no folder of ROMs {}: give one by --roms DIR, or a file by "
            "--rom FILE",
            folder.string());
    fs::path const usual = folder / (game + ".bin");
    if (fs::exists(usual))
        return rom_file(game, usual);
    std::vector<std::string> others;
    for (auto const& entry : fs::directory_iterator(folder, problem))
        if (auto const found = game_of(entry.path())) {
            if (*found == game)
                return entry.path();
            others.push_back(*found);
        }
    std::ranges::sort(others);
    fail("there is no ROM of {} in {}: {}", game, folder.string(),
         others.empty() ? std::string("none of its files is a ROM that the Arcade Learning Environment supports")
                        : fmt::format("it has those of {}", fmt::join(others, ", ")));
}

template <class Numbers>
void require_available(char const* what, int asked, Numbers const& available, fs::path const& rom) {
    require(asked >= 0 && std::ranges::find(available, static_cast<unsigned>(asked)) != available.end(),
            "the game of {} has no {} {}, only {}", rom.string(), what, asked, fmt::join(available, ", "));
}

} // namespace

fs::path find_rom(std::string const& game, fs::path const& file, fs::path const& folder) {
    if (!file.empty())
        return rom_file(game, file);
    require(!folder.empty(),
            "a ROM is needed to play {}: give its file by --rom FILE, or a folder that has it by "
            "--roms DIR",
            game);
    return rom_in_folder(game, folder);
}

struct arcade::machine {
    ::ale::ALEInterface interface;
};

arcade::~arcade() = default;
arcade::arcade(arcade&&) noexcept = default;
arcade& arcade::operator=(arcade&&) noexcept = default;

arcade::arcade(fs::path const& rom, arcade_options const& options) {
    require_readable(rom);
    require(game_of(rom).has_value(), "{} is not a ROM that the Arcade Learning Environment supports", rom.string());
    ::ale::Logger::setMode(::ale::Logger::Error);
    machine_ = std::make_unique<machine>();
    auto& interface = machine_->interface;
    // What follows takes effect when the ROM is loaded. Actions are made sticky and games cut by our own wrappers.
    interface.setInt("random_seed", 0);
    interface.setFloat("repeat_action_probability", 0.0f);
    interface.setInt("max_num_frames_per_episode", 0);
    interface.loadROM(rom);
    if (options.mode) {
        require_available("mode", *options.mode, interface.getAvailableModes(), rom);
        interface.setMode(static_cast<unsigned>(*options.mode));
    }
    require_available("difficulty", options.difficulty, interface.getAvailableDifficulties(), rom);
    interface.setDifficulty(static_cast<unsigned>(options.difficulty));
    interface.reset_game();
    auto const& screen = interface.getScreen();
    rows_ = screen.height();
    columns_ = screen.width();
    screen_ = {screen.getArray(), rows_ * columns_};
    for (std::size_t i = 0; i < colours_.size(); ++i)
        colours_[i] = interface.theOSystem->colourPalette().getRGB(static_cast<int>(2 * i));
    for (auto const action : options.full_action_set ? interface.getLegalActionSet() : interface.getMinimalActionSet())
        actions_.push_back(static_cast<int>(action));
}

int arcade::lives() const {
    return machine_->interface.lives();
}
bool arcade::game_over() const {
    return machine_->interface.game_over();
}
void arcade::reset() {
    machine_->interface.reset_game();
}
int arcade::act(int action) {
    return machine_->interface.act(static_cast<::ale::Action>(action));
}

/// The emulator's own state, with its random numbers.
void arcade::persist(archive& state) {
    std::vector<std::byte> bytes;
    if (!state.loading()) {
        std::string const text = machine_->interface.cloneSystemState().serialize();
        bytes.resize(text.size());
        std::memcpy(bytes.data(), text.data(), text.size());
    }
    state("state", bytes);
    if (state.loading())
        machine_->interface.restoreSystemState(
            ::ale::ALEState(std::string(reinterpret_cast<char const*>(bytes.data()), bytes.size())));
}

} // namespace gmac::examples::ale
