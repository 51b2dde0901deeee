// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/environment/process.h>
#include <gmac/core/error.hpp>
#include <gmac/environment/plugin/detail/source.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace gmac::inline GMAC_ABI::detail {

/// Memory that a program shares with the child to which its descriptor is given. The beginning is a gmac_process.
class shared_memory {
public:
    shared_memory() {
        int const file = ::memfd_create("gmac", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        // No standard stream, since the child gets others. Nobody may shorten it: where it ends a signal ends this program.
        if (file >= 0) {
            descriptor_ = ::fcntl(file, F_DUPFD_CLOEXEC, GMAC_PROCESS_DESCRIPTOR);
            ::close(file);
        }
        require(descriptor_ >= 0 && ::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) == 0,
                "there is no shared memory: {}", std::generic_category().message(errno));
    }
    shared_memory(shared_memory const&) = delete;
    shared_memory& operator=(shared_memory const&) = delete;
    ~shared_memory() {
        unmap();
        ::close(descriptor_);
    }

    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    [[nodiscard]] gmac_process* operator->() const noexcept { return static_cast<gmac_process*>(start_); }
    [[nodiscard]] std::byte* at(std::size_t byte) const noexcept { return static_cast<std::byte*>(start_) + byte; }

    /// So many bytes from now on, of a file that only grows; false if there are not so many.
    [[nodiscard]] bool resize(std::size_t size) {
        if (size > file_size() && ::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
            return false;
        unmap();
        void* const start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
        if (start == MAP_FAILED)
            return false;
        start_ = start;
        size_ = size;
        return true;
    }

    /// Bytes that the file has, whoever made it longer.
    [[nodiscard]] std::size_t file_size() const noexcept {
        struct stat found {};
        return ::fstat(descriptor_, &found) == 0 ? static_cast<std::size_t>(found.st_size) : 0;
    }
    /// Copies to or from what lies behind `from`; false if it is not all there.
    [[nodiscard]] bool read(std::size_t from, std::byte* to, std::size_t count) const noexcept {
        return whole(count, [&](std::size_t done) {
            return ::pread(descriptor_, to + done, count - done, static_cast<off_t>(from + done));
        });
    }
    [[nodiscard]] bool write(std::size_t to, std::byte const* from, std::size_t count) const noexcept {
        return whole(count, [&](std::size_t done) {
            return ::pwrite(descriptor_, from + done, count - done, static_cast<off_t>(to + done));
        });
    }

private:
    template <class Some>
    [[nodiscard]] static bool whole(std::size_t count, Some&& some) noexcept {
        for (std::size_t done = 0; done < count;) {
            ssize_t const part = some(done);
            if (part <= 0 && !(part < 0 && errno == EINTR))
                return false;
            done += part > 0 ? static_cast<std::size_t>(part) : 0;
        }
        return true;
    }
    void unmap() noexcept {
        if (start_)
            ::munmap(start_, size_);
        start_ = nullptr;
    }

    int descriptor_ = -1;
    void* start_ = nullptr;
    std::size_t size_ = 0;
};

/// A child process in a group of its own, so that signals of the terminal do not reach it before its parent has done with it.
/// It reads nothing, and what it prints goes to the standard error.
class child_process {
public:
    /// `descriptor` is its third. Throws gmac::error if it cannot be started.
    child_process(std::string const& file, int descriptor) {
        posix_spawn_file_actions_t files;
        posix_spawnattr_t how;
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
        ::posix_spawn_file_actions_adddup2(&files, descriptor, GMAC_PROCESS_DESCRIPTOR);
        ::posix_spawnattr_init(&how);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&how, &none);
        ::posix_spawnattr_setsigdefault(&how, &all);
        ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        std::string const path = std::filesystem::absolute(file).string();
        std::array<char*, 2> arguments{const_cast<char*>(path.c_str()), nullptr};
        int const problem = ::posix_spawn(&id_, path.c_str(), &files, &how, arguments.data(), environ);
        ::posix_spawnattr_destroy(&how);
        ::posix_spawn_file_actions_destroy(&files);
        std::string_view const advice = problem == EACCES ? "; it must be a program that may be executed (chmod +x)"
                                        : problem == ENOEXEC
                                            ? "; a script must begin with a line such as #!/usr/bin/env python3"
                                            : "";
        require(problem == 0, "cannot start {}: {}{}", file, std::generic_category().message(problem), advice);
        running_ = true;
    }
    child_process(child_process const&) = delete;
    child_process& operator=(child_process const&) = delete;
    ~child_process() {
        // It was told to end, or has failed.
        for (int turn = 0; running() && turn < 100; ++turn)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        kill();
    }

    [[nodiscard]] bool running() noexcept {
        if (running_)
            wait(WNOHANG);
        return running_;
    }
    /// With all that it has started, as scripts do that begin others.
    void kill() noexcept {
        if (!running_)
            return;
        ::kill(-id_, SIGKILL);
        wait(0);
    }
    /// Of one that does not run any more.
    [[nodiscard]] std::string end() const {
        if (!is_known_)
            return "ended";
        return WIFSIGNALED(status_) ? fmt::format("was ended by signal {}", WTERMSIG(status_))
                                    : fmt::format("ended with exit status {}", WEXITSTATUS(status_));
    }

private:
    void wait(int how) noexcept {
        pid_t const found = ::waitpid(id_, &status_, how);
        running_ = found == 0;
        is_known_ = found == id_; // else this program ignores SIGCHLD, and the system keeps no status
    }

    pid_t id_ = 0;
    int status_ = 0;
    bool running_ = false, is_known_ = false;
};

/// A program that runs environments (gmac/environment/process.h). It ends with this object.
class environment_process final : public environment_source {
public:
    environment_process(std::filesystem::path const& file, std::string const& options)
        : environment_source(file), child_((begin(options), file.string()), memory_.descriptor()) {
        if (!answered(std::chrono::seconds(60))) {
            bool const slow = child_.running();
            child_.kill();
            fail("{} {} its environment (gmac/environment/process.h)", this->file(),
                 slow ? "runs for a minute and has not described" : child_.end() + " before it described");
        }
        require(memory_->failed == 0, "{}: there is no environment: {}", this->file(), problem());
        describe();
        take(description_);
    }
    ~environment_process() override {
        memory_->command = gmac_process_end;
        ::sem_post(&memory_->asked.semaphore);
    }

    [[nodiscard]] void* make(std::size_t count, std::uint64_t seed, std::string const&) override {
        std::size_t const floats = count * sizeof(float);
        std::array<std::size_t, gmac_process_arrays> const sizes{floats * description_.action_size,
                                                                 floats * description_.observation_size,
                                                                 floats * description_.observation_size,
                                                                 floats,
                                                                 count,
                                                                 count,
                                                                 count * description_.actions};
        count_ = count;
        size_ = sizeof(gmac_process);
        for (std::size_t i = 0; i < at_.size(); ++i) {
            at_[i] = size_;
            size_ += (sizes[i] + 63) / 64 * 64;
        }
        if (!memory_.resize(size_)) {
            problem_ = fmt::format("{} bytes cannot be shared: {}", size_, std::generic_category().message(errno));
            require(memory_.resize(sizeof(gmac_process)), "{}: the shared memory is lost", file());
            return nullptr;
        }
        std::ranges::copy(at_, memory_->at);
        memory_->count = count_;
        memory_->seed = seed;
        memory_->size = size_;
        return ask(gmac_process_make) ? this : nullptr;
    }

    [[nodiscard]] std::string problem() const override { return problem_.empty() ? "it gives no reason" : problem_; }

private:
    [[nodiscard]] static environment_process& self(void* environments) noexcept {
        return *static_cast<environment_process*>(environments);
    }
    template <std::size_t N>
    [[nodiscard]] static std::string text(char const (&bytes)[N]) {
        return {bytes, std::find(bytes, bytes + N, '\0')};
    }

    void begin(std::string const& options) {
        require(options.size() < sizeof(gmac_process::options),
                "{}: the options have {} bytes, but may have {} at most", file(), options.size(),
                sizeof(gmac_process::options) - 1);
        require(memory_.resize(sizeof(gmac_process)), "there is no shared memory: {}",
                std::generic_category().message(errno));
        memory_->version = GMAC_PROCESS_VERSION;
        memory_->process = static_cast<std::uint32_t>(::getpid());
        std::ranges::copy(options, memory_->options);
        ::sem_init(&memory_->asked.semaphore, 1, 0);
        ::sem_init(&memory_->answered.semaphore, 1, 0);
    }

    void describe() {
        constexpr std::size_t most = std::size(gmac_process{}.bounds) / 2;
        description_.observation_size = memory_->observation_size;
        description_.actions = memory_->discrete_actions;
        description_.action_size = memory_->action_size;
        require(description_.action_size <= most, "{}: an action has {} numbers, but may have {} at most", file(),
                description_.action_size, most);
        name_ = text(memory_->name);
        std::ranges::copy(memory_->bounds, bounds_.begin());
        description_.name = name_.c_str();
        description_.low = bounds_.data();
        description_.high = bounds_.data() + description_.action_size;
        if (memory_->has_masks != 0)
            description_.allowed = allowed;
        if (memory_->has_drawing != 0)
            description_.draw = draw;
        if (memory_->has_state != 0) {
            description_.state_size = state_size;
            description_.save = save;
            description_.load = load;
        }
    }

    /// False if the program ended, or does not answer in time.
    [[nodiscard]] bool answered(std::chrono::seconds patience) {
        auto const end = std::chrono::steady_clock::now() + patience;
        while (true) {
            std::timespec until{};
            ::clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 100'000'000;
            until.tv_sec += until.tv_nsec / 1'000'000'000;
            until.tv_nsec %= 1'000'000'000;
            if (::sem_timedwait(&memory_->answered.semaphore, &until) == 0) {
                problem_ = memory_->failed != 0 ? text(memory_->problem) : std::string();
                return true;
            }
            // Its last answer may have come just before its end.
            if (errno != EINTR && (!child_.running() || std::chrono::steady_clock::now() > end))
                return ::sem_trywait(&memory_->answered.semaphore) == 0;
        }
    }

    [[nodiscard]] bool ask(gmac_process_command what) {
        memory_->command = what;
        memory_->failed = 0;
        ::sem_post(&memory_->asked.semaphore);
        if (answered(std::chrono::hours(24 * 365)))
            return memory_->failed == 0;
        problem_ = "its process " + child_.end();
        return false;
    }

    template <class T>
    void put(gmac_process_array which, T const* from, std::size_t count) const {
        std::memcpy(memory_.at(at_[which]), from, count * sizeof(T));
    }
    template <class T>
    void get(gmac_process_array which, T* to, std::size_t count) const {
        std::memcpy(to, memory_.at(at_[which]), count * sizeof(T));
    }

    /// How many bytes the program has written behind the arrays; 0, and a problem, if they are not there.
    [[nodiscard]] std::size_t written() {
        std::size_t const there = memory_.file_size() - (std::min)(size_, memory_.file_size());
        if (memory_->state_size <= there)
            return memory_->state_size;
        problem_ = fmt::format("it says that it wrote {} bytes, but there are {}", memory_->state_size, there);
        return 0;
    }

    static void* make_none(std::size_t, std::uint64_t, char const*) { return nullptr; } // see make
    static void destroy(void*) {}                                                       // see the destructor
    static int reset(void* environments, float* observations) {
        auto& process = self(environments);
        std::size_t const elements = process.count_ * process.description_.observation_size;
        process.put(gmac_process_observations, observations, elements);
        if (!process.ask(gmac_process_reset))
            return 1;
        process.get(gmac_process_observations, observations, elements);
        return 0;
    }
    static int step(void* environments, float const* actions, float* observations, float* finals, float* rewards,
                    std::uint8_t* terminated, std::uint8_t* truncated) {
        auto& process = self(environments);
        std::size_t const count = process.count_;
        std::size_t const elements = count * process.description_.observation_size;
        process.put(gmac_process_actions, actions, count * process.description_.action_size);
        process.put(gmac_process_observations, observations, elements);
        process.put(gmac_process_finals, finals, elements);
        process.put(gmac_process_rewards, rewards, count);
        process.put(gmac_process_terminated, terminated, count);
        process.put(gmac_process_truncated, truncated, count);
        if (!process.ask(gmac_process_step))
            return 1;
        process.get(gmac_process_observations, observations, elements);
        process.get(gmac_process_finals, finals, elements);
        process.get(gmac_process_rewards, rewards, count);
        process.get(gmac_process_terminated, terminated, count);
        process.get(gmac_process_truncated, truncated, count);
        return 0;
    }
    static int allowed(void* environments, std::uint8_t* masks) {
        auto& process = self(environments);
        std::size_t const elements = process.count_ * process.description_.actions;
        process.put(gmac_process_masks, masks, elements);
        if (!process.ask(gmac_process_allowed))
            return 1;
        process.get(gmac_process_masks, masks, elements);
        return 0;
    }
    static std::size_t state_size(void* environments) {
        auto& process = self(environments);
        return process.stored_ = process.ask(gmac_process_save) ? process.written() : 0;
    }
    /// What was written when its size was asked for.
    static int save(void* environments, void* bytes) {
        auto const& process = self(environments);
        return process.memory_.read(process.size_, static_cast<std::byte*>(bytes), process.stored_) ? 0 : 1;
    }
    static int load(void* environments, void const* bytes, std::size_t size) {
        auto& process = self(environments);
        process.memory_->state_size = size;
        bool const handed = process.memory_.write(process.size_, static_cast<std::byte const*>(bytes), size);
        return handed && process.ask(gmac_process_load) ? 0 : 1;
    }

    static std::size_t draw(void* environments, std::size_t index, float* numbers, std::size_t most) {
        auto& process = self(environments);
        process.memory_->index = index;
        if (!process.ask(gmac_process_draw))
            return 0;
        std::size_t const count = process.written() / sizeof(float);
        bool const whole = process.memory_.read(process.size_, reinterpret_cast<std::byte*>(numbers),
                                                (std::min)(count, most) * sizeof(float));
        return whole ? count : 0;
    }

    shared_memory memory_;
    child_process child_;
    std::string name_, problem_;
    // What the program is told and could write over; a memory that it damages must lead nobody astray here.
    std::size_t count_ = 0, size_ = 0, stored_ = 0;
    std::array<std::uint64_t, gmac_process_arrays> at_{};
    std::array<float, std::size(gmac_process{}.bounds)> bounds_{};
    gmac_environment description_{.version = GMAC_ENVIRONMENT_VERSION,
                                  .name = nullptr,
                                  .observation_size = 0,
                                  .actions = 0,
                                  .action_size = 0,
                                  .low = nullptr,
                                  .high = nullptr,
                                  .make = make_none,
                                  .destroy = destroy,
                                  .reset = reset,
                                  .step = step,
                                  .allowed = nullptr,
                                  .state_size = nullptr,
                                  .save = nullptr,
                                  .load = nullptr,
                                  .draw = nullptr,
                                  .problem = nullptr};
};

} // namespace gmac::inline GMAC_ABI::detail
