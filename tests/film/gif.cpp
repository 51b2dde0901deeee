// SPDX-License-Identifier: Apache-2.0
#include "gif.hpp"

#include "support/scratch_folder.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

using gmac::testing::gif;

namespace {

class reader {
public:
    explicit reader(std::string bytes) : bytes_(std::move(bytes)) {}

    int byte() {
        if (at_ >= bytes_.size())
            throw std::runtime_error("the GIF ends too early");
        return static_cast<unsigned char>(bytes_[at_++]);
    }
    int word() {
        int const low = byte();
        return low + 256 * byte();
    }
    std::string text(std::size_t size) {
        std::string result;
        while (result.size() < size)
            result += static_cast<char>(byte());
        return result;
    }
    /// A chain of blocks, each with its size before it; an empty one is the last.
    std::string blocks() {
        std::string all;
        for (int size = byte(); size > 0; size = byte())
            all += text(static_cast<std::size_t>(size));
        return all;
    }
    void colour_table(int flags) {
        if ((flags & 0x80) != 0)
            text(std::size_t(3) << ((flags & 7) + 1));
    }
    [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

private:
    std::string bytes_;
    std::size_t at_ = 0;
};

void read_extension(reader& file, gif& result, int& delay) {
    int const label = file.byte();
    if (label == 0xff) {
        std::string const name = file.text(static_cast<std::size_t>(file.byte()));
        std::string const data = file.blocks();
        if (name == "NETSCAPE2.0" && data.size() == 3)
            result.repeats = static_cast<unsigned char>(data[1]) + 256 * static_cast<unsigned char>(data[2]);
        return;
    }
    std::string const data = file.blocks();
    if (label == 0xf9 && data.size() == 4)
        delay = static_cast<unsigned char>(data[1]) + 256 * static_cast<unsigned char>(data[2]);
}

} // namespace

gif gmac::testing::read_gif(std::filesystem::path const& path) {
    reader file(gmac::testing::slurp(path));
    gif result;
    if (file.text(6) != "GIF89a")
        throw std::runtime_error("not a GIF89a");
    result.width = file.word();
    result.height = file.word();
    int const flags = file.byte();
    file.text(2);
    file.colour_table(flags);
    int delay = 0;
    for (int kind = file.byte(); kind != 0x3b; kind = file.byte()) {
        if (kind == 0x21) {
            read_extension(file, result, delay);
            continue;
        }
        if (kind != 0x2c)
            throw std::runtime_error("an unknown block in a GIF");
        file.text(8);
        file.colour_table(file.byte());
        file.byte();
        if (file.blocks().empty())
            throw std::runtime_error("a frame without pixels");
        result.delays.push_back(delay);
    }
    result.whole = file.at_end();
    return result;
}
