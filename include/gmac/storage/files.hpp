// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/error.hpp>

#include <boost/crc.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Whole files, read and written such that a crash, a full disk or a kill never leaves half of one. Needs POSIX.
namespace gmac {

/// CRC-32C (Castagnoli): of "123456789" it is e3069283.
class crc32c {
public:
    crc32c& add(std::span<std::byte const> bytes) noexcept {
        crc_.process_bytes(bytes.data(), bytes.size());
        return *this;
    }
    [[nodiscard]] std::uint32_t value() const noexcept { return crc_.checksum(); }

private:
    boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc_;
};

namespace detail {

[[nodiscard]] inline std::string system_message(int number) {
    return std::error_code(number, std::generic_category()).message();
}

/// A file descriptor that is closed with its owner.
class descriptor {
public:
    explicit descriptor(int number = -1) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~descriptor() { close(); }

    void close() noexcept {
        if (number_ >= 0)
            ::close(std::exchange(number_, -1));
    }
    [[nodiscard]] bool open() const noexcept { return number_ >= 0; }
    [[nodiscard]] int get() const noexcept { return number_; }

private:
    int number_;
};

/// Writes all bytes; returns 0 or the error number.
[[nodiscard]] inline int write_all(int file, std::span<std::byte const> bytes) noexcept {
    while (!bytes.empty()) {
        ssize_t const written = ::write(file, bytes.data(), bytes.size());
        if (written > 0)
            bytes = bytes.subspan(static_cast<std::size_t>(written));
        else if (written == 0)
            return ENOSPC;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

[[nodiscard]] inline std::filesystem::path folder_of(std::filesystem::path const& path) {
    auto const folder = path.parent_path();
    return folder.empty() ? std::filesystem::path(".") : folder;
}

/// The open file is still the one of this name.
[[nodiscard]] inline bool is_at(int file, std::filesystem::path const& path) noexcept {
    struct stat opened {};
    struct stat named {};
    return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/// `path` with ".partial" behind it, open and locked, so that two writers of one file do not mix. Unless it was
/// renamed to `path`, it is gone when this object is; only SIGKILL or a crash leaves one behind, which the next
/// writer takes over.
class partial_file {
public:
    explicit partial_file(std::filesystem::path target)
        : target_(std::move(target)), path_(target_.string() + ".partial") {
        // Who held the lock may have renamed its file meanwhile: then what we opened is not at `path_` any more.
        for (int attempt = 0; attempt < 16 && !file_.open(); ++attempt) {
            file_ = descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
            if (!file_.open())
                give_up("open", errno);
            if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
                file_.close();
                fail("cannot write {}: another writer is at it now", target_.string());
            }
            if (!is_at(file_.get(), path_))
                file_.close();
        }
        require(file_.open(), "cannot write {}: other writers keep replacing it", target_.string());
        if (::ftruncate(file_.get(), 0) != 0)
            give_up("truncate", errno);
    }
    partial_file(partial_file const&) = delete;
    partial_file& operator=(partial_file const&) = delete;
    ~partial_file() { discard(); }

    void write(std::span<std::byte const> bytes) {
        if (int const problem = write_all(file_.get(), bytes); problem != 0)
            give_up("write", problem);
    }

    /// Puts the file in the place of `target` and waits until both are on the disk.
    void commit() {
        if (::fsync(file_.get()) != 0)
            give_up("sync", errno);
        if (::rename(path_.c_str(), target_.c_str()) != 0)
            give_up("rename", errno);
        file_.close();
        auto const folder = folder_of(target_);
        descriptor const directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        // Some file systems cannot sync a folder and say EINVAL; there the rename is as safe as it gets.
        if (!directory.open() || (::fsync(directory.get()) != 0 && errno != EINVAL))
            fail("{} is written, but its folder could not be synced: {}", target_.string(), system_message(errno));
    }

private:
    void discard() noexcept {
        if (file_.open()) {
            ::unlink(path_.c_str());
            file_.close();
        }
    }
    [[noreturn]] void give_up(std::string_view action, int number) {
        discard();
        fail("cannot write {}: {} of {} failed: {}; what was there before is left as it was", target_.string(), action,
             path_.string(), system_message(number));
    }

    std::filesystem::path target_;
    std::filesystem::path path_;
    descriptor file_;
};

} // namespace detail

/// Writes the parts, one after the other, as the file `path`. Whatever happens, `path` is afterwards either wholly the
/// new file, on the disk, or what it was before: the parts go to `path`.partial, which is synced and renamed.
/// Throws gmac::error that names the path and what the system said; the partial file is removed then.
inline void replace_file(std::filesystem::path const& path, std::span<std::span<std::byte const> const> parts) {
    detail::partial_file file(path);
    for (auto const part : parts)
        file.write(part);
    file.commit();
}
inline void replace_file(std::filesystem::path const& path, std::string_view text) {
    std::span<std::byte const> const part = std::as_bytes(std::span(text));
    replace_file(path, std::span(&part, 1));
}

/// The bytes of a regular file. Throws gmac::error that names the path and what the system said.
[[nodiscard]] inline std::vector<std::byte> read_file(std::filesystem::path const& path) {
    // Without O_NONBLOCK a pipe without a writer would be waited for.
    detail::descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    require(file.open(), "cannot read {}: {}", path.string(), detail::system_message(errno));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
        fail("cannot read {}: {}", path.string(), detail::system_message(errno));
    require(S_ISREG(status.st_mode), "cannot read {}: it is not a regular file", path.string());
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        ssize_t const got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
        require(got >= 0 || errno == EINTR, "cannot read {}: {}", path.string(), detail::system_message(errno));
        if (got == 0)
            break;
        if (got > 0)
            done += static_cast<std::size_t>(got);
    }
    bytes.resize(done); // shorter if someone cut the file meanwhile
    return bytes;
}

} // namespace gmac
