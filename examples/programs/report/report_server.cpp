// SPDX-License-Identifier: Apache-2.0
#include "report_server.hpp"

#include "report_data.hpp"
#include "report_page.hpp"

#include <gmac/core/error.hpp>
#include <gmac/storage/files.hpp>

#include <fmt/format.h>
#include <httplib.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <exception>
#include <mutex>
#include <semaphore>
#include <string_view>
#include <thread>
#include <utility>

namespace gmac::examples::report {

namespace {

using clock = std::chrono::steady_clock;
using shared_text = std::shared_ptr<std::string const>;

constexpr std::size_t workers = 16;     // a connection has a thread while it lives
constexpr std::size_t connections = 32; // with those that wait for a thread; more wait in the kernel
constexpr std::size_t most_streams = 8;
constexpr std::chrono::seconds patience(2);  // with a client that does not read, or not send its request
constexpr std::chrono::seconds heartbeat(2); // by which a client that has gone is found

/// Threads for connections, of which only so many are taken at a time: each has a file descriptor, and the training needs some.
class bounded_pool final : public httplib::TaskQueue {
public:
    void enqueue(std::function<void()> job) override {
        room_.acquire();
        pool_.enqueue([this, job = std::move(job)] {
            job();
            room_.release();
        });
    }
    void shutdown() override { pool_.shutdown(); }

private:
    httplib::ThreadPool pool_{workers};
    std::counting_semaphore<> room_{connections};
};

/// The type of a file that is served, by the ending of its name; nothing if such files are not.
[[nodiscard]] std::string_view type_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> types{{{".csv", "text/csv"},
                                                                                  {".gif", "image/gif"},
                                                                                  {".html", "text/html"},
                                                                                  {".json", "application/json"},
                                                                                  {".png", "image/png"},
                                                                                  {".svg", "image/svg+xml"}}};
    for (auto const& [ending, type] : types)
        if (name.ends_with(ending))
            return type;
    return {};
}

void answer(httplib::Response& response, int status, std::string const& sentence) {
    response.status = status;
    response.set_content(sentence + '\n', "text/plain");
}

/// Signals go to the thread that trains.
class without_signals {
public:
    without_signals() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~without_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    without_signals(without_signals const&) = delete;
    without_signals& operator=(without_signals const&) = delete;

private:
    sigset_t before_{};
};

} // namespace

class report_server::server {
public:
    server(std::filesystem::path const& run, std::uint16_t port, report_source source,
           std::chrono::milliseconds between_events)
        : source_(std::move(source)),
          between_(between_events),
          folder_(::open(run.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        require(folder_.open(), "cannot serve the run in {}: {}", run.string(), gmac::detail::system_message(errno));
        http_.set_socket_options([](socket_t socket) { // not SO_REUSEPORT, which lets two programs have one port
            int const yes = 1;
            ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        });
        http_.set_tcp_nodelay(true);
        http_.set_keep_alive_timeout(1);
        http_.set_read_timeout(patience);
        http_.set_write_timeout(patience);
        http_.set_payload_max_length(0);
        http_.set_default_headers(
            {{"Cache-Control", "no-store"},
             {"X-Content-Type-Options", "nosniff"},
             {"Cross-Origin-Resource-Policy", "same-origin"},
             {"Content-Security-Policy",
              "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data: blob:; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}});
        http_.new_task_queue = [] { return new bounded_pool; }; // deleted by httplib
        // All is routed here: httplib's own routes are regular expressions, which recurse over a long path.
        http_.set_pre_routing_handler([this](httplib::Request const& request, httplib::Response& response) {
            try {
                route(request, response);
            } catch (std::exception const& problem) {
                answer(response, 500, problem.what());
            }
            return httplib::Server::HandlerResponse::Handled;
        });
        errno = 0;
        port_ = port == 0 ? http_.bind_to_any_port("127.0.0.1") : http_.bind_to_port("127.0.0.1", port) ? port : -1;
        require(port_ > 0, "cannot serve on port {} of 127.0.0.1: {}; --serve 0 takes a port that is free", port,
                errno != 0 ? gmac::detail::system_message(errno) : "the port cannot be had");
        without_signals const meanwhile;
        thread_ = std::thread([this] {
            http_.listen_after_bind();
            ended_listening_ = true;
        });
        while (!http_.is_running() && !ended_listening_)
            std::this_thread::yield();
    }

    ~server() {
        {
            std::unique_lock lock(mutex_);
            ++version_;
            hurry_ = true;
            news_.notify_all();
            std::size_t const listeners = streams_;
            fetched_ = 0;
            news_.wait_for(lock, patience, [&] { return fetched_ >= listeners; });
            ended_ = true;
        }
        news_.notify_all();
        http_.stop();
        thread_.join();
    }
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return static_cast<std::uint16_t>(port_); }

    void changed() noexcept {
        {
            std::lock_guard const lock(mutex_); // which nobody holds who waits for a client
            ++version_;
        }
        news_.notify_all();
    }

private:
    /// By a name of this machine. Else a page from elsewhere could give its own name our address, and read all.
    [[nodiscard]] bool is_ours(std::string host) const {
        std::ranges::transform(host, host.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        for (char const* const name : {"127.0.0.1", "localhost", "[::1]"})
            if (host == fmt::format("{}:{}", name, port_) || (port_ == 80 && host == name))
                return true;
        return false;
    }

    void route(httplib::Request const& request, httplib::Response& response) {
        if (request.get_header_value_count("Host") != 1 || !is_ours(request.get_header_value("Host")))
            return answer(response, 403,
                          fmt::format("only http://127.0.0.1:{} and http://localhost:{} are served here", port_,
                                      port_));
        if (std::string const origin = request.get_header_value("Origin");
            !origin.empty() && !(origin.starts_with("http://") && is_ours(origin.substr(7))))
            return answer(response, 403, "pages from elsewhere are not answered");
        if (request.method != "GET" && request.method != "HEAD") {
            response.set_header("Allow", "GET, HEAD");
            return answer(response, 405, "only GET and HEAD are answered");
        }
        constexpr std::string_view files = "/files/";
        if (request.path == "/")
            return send(response, make(source_.page), "text/html; charset=utf-8");
        if (request.path == "/data.json")
            return send(response, data(), "application/json", [this] {
                {
                    std::lock_guard const lock(mutex_);
                    ++fetched_;
                }
                news_.notify_all();
            });
        if (request.path == "/events")
            return send_events(request, response);
        if (request.path.starts_with(files))
            return send_file(response, request.path.substr(files.size()));
        answer(response, 404, "there is no such page: / is the report");
    }

    [[nodiscard]] shared_text make(std::function<std::string()> const& what) {
        std::lock_guard const one_at_a_time(making_);
        return std::make_shared<std::string const>(what());
    }
    /// Made once for all who ask for one version, if they do so at about the same time: the files may change by themselves.
    [[nodiscard]] shared_text data() {
        std::lock_guard const one_at_a_time(making_);
        std::uint64_t const version = [&] {
            std::lock_guard const lock(mutex_);
            return version_;
        }();
        if (!data_ || data_version_ != version || clock::now() - data_made_ >= between_) {
            data_ = std::make_shared<std::string const>(source_.data());
            data_version_ = version;
            data_made_ = clock::now();
        }
        return data_;
    }

    static void send(
        httplib::Response& response, shared_text text, std::string const& type,
        std::function<void()> const& when_sent = [] {}) {
        response.set_content_provider(
            text->size(), type,
            [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                return sink.write(text->data() + offset, (std::min)(length, piece));
            },
            [when_sent](bool) { when_sent(); });
    }

    /// A regular file of the folder itself, by its name there.
    void send_file(httplib::Response& response, std::string const& name) {
        auto const refuse = [&] {
            answer(response, 404, "there is no such table or picture in the folder of the run");
        };
        std::string_view const type = type_of(name);
        if (type.empty() || name.starts_with('.') || name.find('/') != std::string::npos ||
            name.find('\0') != std::string::npos)
            return refuse();
        auto const file = std::make_shared<gmac::detail::descriptor>(
            ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        struct stat found {};
        if (!file->open() || ::fstat(file->get(), &found) != 0 || !S_ISREG(found.st_mode))
            return refuse();
        if (found.st_size == 0)
            return response.set_content("", std::string(type));
        response.set_content_provider(static_cast<std::size_t>(found.st_size), std::string(type),
                                      [file](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
                                          std::string bytes((std::min)(length, piece), '\0');
                                          auto const read = ::pread(file->get(), bytes.data(), bytes.size(),
                                                                    static_cast<off_t>(offset));
                                          return read > 0 &&
                                                 sink.write(bytes.data(),
                                                            static_cast<std::size_t>(read)); // 0: it was cut meanwhile
                                      });
    }

    void send_events(httplib::Request const& request, httplib::Response& response) {
        if (request.method == "HEAD")
            return response.set_content("", "text/event-stream");
        {
            std::lock_guard const lock(mutex_);
            if (streams_ == most_streams)
                return answer(response, 503, fmt::format("{} pages listen already, and no more can", most_streams));
            ++streams_;
        }
        struct listener {
            std::uint64_t seen = 0;
            clock::time_point next{};
        };
        response.set_chunked_content_provider(
            "text/event-stream",
            [this, state = std::make_shared<listener>()](std::size_t, httplib::DataSink& sink) {
                std::string event = ":\n\n"; // says nothing
                {
                    std::unique_lock lock(mutex_);
                    news_.wait_until(lock, state->next, [&] { return hurry_; });
                    news_.wait_for(lock, heartbeat, [&] { return ended_ || version_ != state->seen; });
                    if (version_ != state->seen)
                        event = fmt::format("data: {}\n\n", state->seen = version_);
                    else if (ended_)
                        event.clear();
                }
                if (event.empty()) {
                    sink.done();
                    return true;
                }
                state->next = clock::now() + between_;
                return sink.write(event.data(), event.size());
            },
            [this](bool) {
                {
                    std::lock_guard const lock(mutex_);
                    --streams_;
                }
                news_.notify_all();
            });
    }

    static constexpr std::size_t piece = std::size_t{1} << 16u; // bytes that are given to a socket at a time

    report_source source_;
    std::chrono::milliseconds between_;
    gmac::detail::descriptor folder_;
    int port_ = -1;

    std::mutex making_; // of pages and data
    shared_text data_;
    std::uint64_t data_version_ = 0;
    clock::time_point data_made_{};

    std::mutex mutex_; // of what follows; held for a moment only
    std::condition_variable news_;
    std::uint64_t version_ = 1;
    std::size_t streams_ = 0, fetched_ = 0;
    bool hurry_ = false, ended_ = false;

    httplib::Server http_;
    std::atomic<bool> ended_listening_ = false;
    std::thread thread_;
};

report_server::report_server(std::filesystem::path const& run, std::uint16_t port, report_source source,
                             std::chrono::milliseconds between_events)
    : server_(std::make_unique<server>(run, port, std::move(source), between_events)) {}
report_server::~report_server() = default;

std::uint16_t report_server::port() const noexcept {
    return server_->port();
}
std::string report_server::address() const {
    return fmt::format("http://127.0.0.1:{}/", port());
}
void report_server::changed() noexcept {
    server_->changed();
}

std::unique_ptr<report_server> serve_report(train::registry const& known, std::filesystem::path const& run,
                                            std::uint16_t port) {
    auto const text = [](nlohmann::ordered_json const& data) {
        return data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    };
    return std::make_unique<report_server>(run, port,
                                           report_source{.page =
                                                             [&known, run] {
                                                                 return report_page(report_data(known, run), true);
                                                             },
                                                         .data = [&known, run,
                                                                  text] { return text(report_data(known, run)); }});
}

} // namespace gmac::examples::report
