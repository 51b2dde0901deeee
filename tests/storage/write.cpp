// SPDX-License-Identifier: Apache-2.0
// Writing that fails leaves the old checkpoint and no litter; writing that is killed leaves one that loads.
#include "samples.hpp"
#include "support/catch.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using gmac::testing::contains;
using gmac::testing::message_of;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;

namespace {

/// Runs `action` in a process of its own, whose limits and user may be changed; true if it returned true.
bool in_child(std::function<bool()> const& action) {
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        bool good = false;
        try {
            good = action();
        } catch (...) {
            good = false;
        }
        ::_exit(good ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string save(std::filesystem::path const& path, std::vector<double>& numbers) {
    return message_of([&] {
        gmac::save_checkpoint(path, {}, [&](gmac::archive& state) { state("numbers", std::span<double>(numbers)); });
    });
}

} // namespace

TEST_CASE("a file that may not grow is a clear error, and the old checkpoint stays") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    std::vector<double> numbers(10, 1.0);
    REQUIRE(save(path, numbers).empty());
    auto const old = slurp(path);
    CHECK(in_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        rlimit const limit{100'000, 100'000};
        std::vector<double> many(100'000, 2.0);
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
            return false;
        auto const message = save(path, many);
        return contains(message, "cannot write " + path.string() + ": write of ") &&
               contains(message, "File too large") && contains(message, "left as it was");
    }));
    CHECK(slurp(path) == old);
    CHECK(folder.files() == 1);
}

TEST_CASE("a full disk is a clear error, and the old checkpoint stays") {
    // Only a mount of our own can be filled; where the system does not let us make one, /dev/full says what a full disk
    // says, and the test above shows what becomes of it.
    gmac::detail::descriptor const full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    REQUIRE(full.open());
    std::string const text = "text";
    CHECK(gmac::detail::write_all(full.get(), std::as_bytes(std::span(text))) == ENOSPC);

    scratch_folder const folder;
    auto const try_it = [&] {
        auto const path = folder / "checkpoint.safetensors";
        std::vector<double> numbers(1000, 1.0);
        std::vector<double> many(100'000, 2.0);
        if (!save(path, numbers).empty())
            return false;
        auto const old = slurp(path);
        auto const message = save(path, many);
        bool const good = contains(message, path.string()) && contains(message, "No space left on device") &&
                          slurp(path) == old && folder.files() == 1;
        return good && save(path, numbers).empty();
    };
    CHECK(in_child([&] {
        bool const own = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
        bool const mounted = own && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             ::mount("none", folder.path.c_str(), "tmpfs", 0, "size=256k") == 0;
        return !mounted || try_it();
    }));
}

TEST_CASE("a folder that cannot be written is a clear error") {
    scratch_folder const folder;
    std::vector<double> numbers(10);
    auto const missing = save(folder / "none" / "x", numbers);
    CHECK(contains(missing, (folder / "none" / "x").string()));
    CHECK(contains(missing, "No such file or directory"));
    spit(folder / "file", "");
    CHECK(contains(save(folder / "file" / "x", numbers), "Not a directory"));
    std::filesystem::create_directory(folder / "folder");
    CHECK(contains(save(folder / "folder", numbers), "rename of "));
    CHECK(contains(save(folder / "folder", numbers), "Is a directory"));
    CHECK(folder.files() == 2);

    std::filesystem::create_directory(folder / "locked");
    ::chmod((folder / "locked").c_str(), 0555);
    CHECK(in_child([&] { // root may write everywhere, so the child becomes nobody
        if (::geteuid() == 0 && (::chmod(folder.path.c_str(), 0755) != 0 || ::setuid(65534) != 0))
            return false;
        return contains(save(folder / "locked" / "x", numbers), "Permission denied");
    }));
}

TEST_CASE("what is no regular file is written into, and stays what it is") {
    struct stat before {};
    struct stat after {};
    REQUIRE(::stat("/dev/null", &before) == 0);
    gmac::replace_file("/dev/null", "text");
    REQUIRE(::stat("/dev/null", &after) == 0);
    CHECK(S_ISCHR(after.st_mode));
    CHECK(after.st_ino == before.st_ino);
    CHECK_FALSE(std::filesystem::exists("/dev/null.partial"));
    CHECK(message_of([] { gmac::replace_file("/dev/full", "text"); }) ==
          "cannot write /dev/full: No space left on device");

    scratch_folder const folder;
    auto const pipe = folder / "pipe";
    auto const link = folder / "link";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::filesystem::create_symlink("pipe", link);
    for (auto const& path : {pipe, link}) {
        std::string read;
        std::thread reader([&] { read = slurp(pipe); });
        std::string const text(300'000, 'x'); // more than a pipe holds
        gmac::replace_file(path, text);
        reader.join();
        CHECK(read == text);
    }
    CHECK(std::filesystem::is_fifo(pipe));
    CHECK(std::filesystem::is_symlink(link));
    CHECK(folder.files() == 2);
}

TEST_CASE("a descriptor is written into where it is, after what was printed before") {
    scratch_folder const folder;
    auto const path = folder / "output";
    for (std::string const name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
        CHECK(in_child([&] {
            if (std::freopen(path.c_str(), "w", stdout) == nullptr)
                return false;
            std::printf("before, ");
            gmac::replace_file(name, "between, ");
            std::printf("after");
            return std::fflush(stdout) == 0;
        }));
        CHECK(slurp(path) == "before, between, after");
    }
    CHECK(folder.files() == 1);
}

TEST_CASE("symbolic links stay, and the file at their end is replaced") {
    scratch_folder const folder;
    std::vector<double> numbers(10, 3.0);
    std::filesystem::create_directories(folder / "far/away");
    std::filesystem::create_directory(folder / "near");
    std::filesystem::create_symlink("../near/second", folder / "far/first");
    std::filesystem::create_symlink(folder / "far/away/file", folder / "near/second");
    for (int round = 0; round < 2; ++round) { // at first there is no file at their end
        CHECK(save(folder / "far/first", numbers).empty());
        CHECK(std::filesystem::read_symlink(folder / "far/first") == "../near/second");
        CHECK(std::filesystem::read_symlink(folder / "near/second") == folder / "far/away/file");
        CHECK_FALSE(std::filesystem::is_symlink(folder / "far/away/file"));
        CHECK(gmac::read_checkpoint(folder / "far/first").state.bytes() == numbers.size() * sizeof(double));
        numbers.assign(20, 4.0);
    }
    auto const old = slurp(folder / "far/away/file");
    gmac::detail::partial_file const other(folder / "far/away/file");
    CHECK(contains(save(folder / "far/first", numbers), "another writer is at it now")); // one file, one lock
    CHECK(slurp(folder / "far/away/file") == old);

    std::filesystem::create_symlink("loop", folder / "loop");
    CHECK(save(folder / "loop", numbers) ==
          "cannot write " + (folder / "loop").string() + ": Too many levels of symbolic links");
    std::filesystem::create_symlink("none/file", folder / "lost");
    CHECK(contains(save(folder / "lost", numbers), (folder / "none/file").string()));
    CHECK(std::filesystem::is_symlink(folder / "lost"));
}

TEST_CASE("a pipe in the place of the partial file is not waited for") {
    scratch_folder const folder;
    std::vector<double> numbers(10);
    auto const pipe = folder / "x.partial";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(contains(save(folder / "x", numbers), pipe.string() + ": it is not a regular file"));
    gmac::detail::descriptor const reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(reader.open());
    CHECK(contains(save(folder / "x", numbers), pipe.string() + ": it is not a regular file"));
    CHECK(std::filesystem::is_fifo(pipe));
    CHECK(folder.files() == 1);
}

TEST_CASE("a link in the place of the partial file is not followed") {
    scratch_folder const folder;
    std::vector<double> numbers(10);
    spit(folder / "victim", "precious");
    std::filesystem::create_symlink(folder / "victim", folder / "x.partial");
    CHECK(contains(save(folder / "x", numbers), "Too many levels of symbolic links"));
    CHECK(slurp(folder / "victim") == "precious");
}

TEST_CASE("what a killed writer left is taken over, what a living one holds is not") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    std::vector<double> numbers(10, 3.0);
    spit(folder / "checkpoint.safetensors.partial", std::string(5000, 'x'));
    CHECK(save(path, numbers).empty());
    CHECK(folder.files() == 1);
    CHECK(gmac::read_checkpoint(path).state.bytes() == 80); // nothing of the longer leftover is in it
    auto const old = slurp(path);

    {
        gmac::detail::partial_file other(path);
        CHECK(contains(save(path, numbers), "another writer is at it now"));
    }
    CHECK(slurp(path) == old);
    CHECK(folder.files() == 1);
}

TEST_CASE("an open file is told from another one that took its name") {
    scratch_folder const folder;
    spit(folder / "a", "");
    gmac::detail::descriptor const file(::open((folder / "a").c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(gmac::detail::is_at(file.get(), folder / "a"));
    std::filesystem::rename(folder / "a", folder / "b");
    CHECK_FALSE(gmac::detail::is_at(file.get(), folder / "a"));
    CHECK(gmac::detail::is_at(file.get(), folder / "b"));
    spit(folder / "a", "");
    CHECK_FALSE(gmac::detail::is_at(file.get(), folder / "a"));
}

TEST_CASE("threads that write one checkpoint at the same time leave a whole one") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    std::vector<int> written(3);
    {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < written.size(); ++i)
            threads.emplace_back([&, i] {
                std::vector<double> numbers(1000, static_cast<double>(i));
                for (int round = 0; round < 20; ++round) {
                    auto const message = save(path, numbers);
                    if (message.empty())
                        ++written[i];
                    else if (!contains(message, "another writer") && !contains(message, "keep replacing"))
                        written[i] = -1000;
                }
            });
        for (auto& thread : threads)
            thread.join();
    }
    CHECK(written[0] + written[1] + written[2] > 0);
    auto const whole = gmac::read_checkpoint(path);
    CHECK(whole.state.bytes() == 8000);
    CHECK(folder.files() == 1);
}

TEST_CASE("a run that is killed at any moment leaves its last checkpoint loadable") {
    scratch_folder const folder;
    auto const path = folder / "checkpoint.safetensors";
    gmac::random_stream random(1, 2);
    std::uint64_t last = 0;
    int killed = 0;
    int progressed = 0;
    for (int round = 0; round < 60; ++round) {
        pid_t const child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            // All numbers of one checkpoint are its count, so a mixture of two would be seen.
            std::vector<double> numbers(20'000);
            for (std::uint64_t count = last + 1;; ++count) {
                numbers.assign(numbers.size(), static_cast<double>(count));
                gmac::save_checkpoint(path, {{"count", std::to_string(count)}}, [&](gmac::archive& state) {
                    state("numbers", std::span<double>(numbers));
                    state("count", count);
                });
            }
        }
        timespec const pause{0, static_cast<long>(random.below(30'000'000))};
        ::nanosleep(&pause, nullptr);
        REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
        if (!std::filesystem::exists(path))
            continue; // killed before the first was written
        std::vector<double> numbers(20'000);
        std::uint64_t count = 0;
        auto const metadata = gmac::load_checkpoint(path, [&](gmac::archive& state) {
            state("numbers", std::span<double>(numbers));
            state("count", count);
        });
        REQUIRE(count >= last);
        REQUIRE(metadata.at("count") == std::to_string(count));
        REQUIRE(numbers == std::vector<double>(20'000, static_cast<double>(count)));
        progressed += count > last ? 1 : 0;
        last = count;
    }
    CHECK(killed == 60);
    CHECK(progressed > 0);
    CHECK(folder.files() <= 2); // the checkpoint, and what the last kill left of the next
}
