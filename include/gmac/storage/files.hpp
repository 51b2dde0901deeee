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
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// Whole files, read and written such that a crash, a full disk or a kill never leaves half of one. Needs POSIX.
namespace gmac::inline GMAC_ABI {

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

/// Opens a file of ours, which must be a regular one: anything else would be written into in vain, or waited for for
/// ever as a pipe is. `flags` as for open(2). Throws gmac::error that names the file and what the system said.
[[nodiscard]] inline descriptor open_regular(std::filesystem::path const& path, int flags) {
    std::string_view const action = (flags & O_ACCMODE) == O_RDONLY ? "read" : "write";
    descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666));
    require(file.open() || errno == ENXIO, "cannot {} {}: {}", action, path.string(), system_message(errno));
    struct stat status {};
    if (file.open() && ::fstat(file.get(), &status) != 0)
        fail("cannot {} {}: {}", action, path.string(), system_message(errno));
    require(file.open() && S_ISREG(status.st_mode), "cannot {} {}: it is not a regular file", action, path.string());
    return file;
}

/// Where what is written to a path goes.
struct destination {
    std::filesystem::path file; ///< to be replaced: the one at the end of all symbolic links, which need not be there
    descriptor open_file;       ///< to be written into instead, if there is something that is no regular file
};

/// Follows symbolic links, and opens a device, a pipe or what /proc/self/fd says is open. Throws gmac::error.
[[nodiscard]] inline destination destination_of(std::filesystem::path const& path) {
    std::filesystem::path place = path;
    for (int links = 0; links < 40; ++links) {
        struct stat status {};
        if (::lstat(place.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
            return {place, descriptor()}; // whatever is wrong with it is seen when it is written
        std::error_code none;
        auto const folder = folder_of(place);
        bool const link = S_ISLNK(status.st_mode);
        if (link && !std::filesystem::equivalent(folder, "/proc/self/fd", none)) {
            place = folder / std::filesystem::read_symlink(place, none);
            continue;
        }
        // To open what is open here already would begin at its start again, over what was written before.
        std::fflush(stdout);
        descriptor file(link ? ::fcntl(std::atoi(place.filename().c_str()), F_DUPFD_CLOEXEC, 0)
                             : ::open(place.c_str(), O_WRONLY | O_CLOEXEC));
        require(file.open(), "cannot write {}: {}", path.string(), system_message(errno));
        return {place, std::move(file)};
    }
    fail("cannot write {}: {}", path.string(), system_message(ELOOP));
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
            file_ = open_regular(path_, O_WRONLY | O_CREAT | O_NOFOLLOW);
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
/// new file, on the disk, or what it was before: the parts go to `path`.partial, which is synced and renamed. Symbolic
/// links stay, and what they lead to is replaced. What is no regular file, such as /dev/stdout or a pipe, is written
/// into. Throws gmac::error that names the path and what the system said; the partial file is removed then.
inline void replace_file(std::filesystem::path const& path, std::span<std::span<std::byte const> const> parts) {
    auto const place = detail::destination_of(path);
    if (place.open_file.open()) {
        for (auto const part : parts)
            if (int const problem = detail::write_all(place.open_file.get(), part); problem != 0)
                fail("cannot write {}: {}", path.string(), detail::system_message(problem));
        return;
    }
    detail::partial_file file(place.file);
    for (auto const part : parts)
        file.write(part);
    file.commit();
}
inline void replace_file(std::filesystem::path const& path, std::string_view text) {
    std::span<std::byte const> const part = std::as_bytes(std::span(text));
    replace_file(path, std::span(&part, 1));
}

namespace detail {

/// A regular file, to be read in parts.
class open_file {
public:
    explicit open_file(std::filesystem::path path) : path_(std::move(path)), file_(open_regular(path_, O_RDONLY)) {
        struct stat status {};
        if (::fstat(file_.get(), &status) != 0)
            give_up(system_message(errno));
        size_ = static_cast<std::size_t>(status.st_size);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// The bytes [begin, begin + count), which must lie within the file. Throws gmac::error, also for want of memory.
    [[nodiscard]] std::vector<std::byte> read(std::size_t begin, std::size_t count) const {
        void* const memory = ::operator new(count, std::nothrow); // the vector's own request could only throw bad_alloc
        if (memory == nullptr)
            give_up("there is no memory for " + std::to_string(count) + " bytes");
        ::operator delete(memory);
        std::vector<std::byte> bytes(count);
        for (std::size_t done = 0; done < count;) {
            ssize_t const got =
                ::pread(file_.get(), bytes.data() + done, count - done, static_cast<::off_t>(begin + done));
            if (got > 0)
                done += static_cast<std::size_t>(got);
            else if (got == 0)
                give_up("it was cut meanwhile");
            else if (errno != EINTR)
                give_up(system_message(errno));
        }
        return bytes;
    }

private:
    [[noreturn]] void give_up(std::string_view reason) const { fail("cannot read {}: {}", path_.string(), reason); }

    std::filesystem::path path_;
    descriptor file_;
    std::size_t size_ = 0;
};

} // namespace detail

/// The bytes of a regular file, of which there may be so many at most. Throws gmac::error that names the path and what
/// the system said.
[[nodiscard]] inline std::vector<std::byte> read_file(std::filesystem::path const& path,
                                                      std::size_t most = (std::numeric_limits<std::size_t>::max)()) {
    detail::open_file const file(path);
    require(file.size() <= most, "cannot read {}: it has {} bytes, but may have {} at most", path.string(), file.size(),
            most);
    return file.read(0, file.size());
}

} // namespace gmac::inline GMAC_ABI
