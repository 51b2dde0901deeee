// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmac/core/abi.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace gmac::inline GMAC_ABI {

/// A reference to a callable that takes the index of a task; it owns nothing and allocates nothing.
class task_ref {
public:
    template <std::invocable<std::size_t> F>
        requires(!std::same_as<std::remove_cvref_t<F>, task_ref>)
    task_ref(F&& task) noexcept
        : object_(const_cast<void*>(static_cast<void const*>(std::addressof(task)))),
          call_([](void* object, std::size_t index) { (*static_cast<std::remove_reference_t<F>*>(object))(index); }) {}

    void operator()(std::size_t index) const { call_(object_, index); }

private:
    void* object_;
    void (*call_)(void*, std::size_t);
};

/// Runs independent tasks. What a task computes must not depend on which thread runs it or in what order: that is what
/// keeps a run the same for any number of threads. An exception thrown by a task reaches the caller of `run`.
class executor {
public:
    virtual ~executor() = default;
    /// How many tasks may run at the same time.
    [[nodiscard]] virtual std::size_t concurrency() const noexcept = 0;
    /// Runs task(0) … task(count − 1), each once, and returns when all are done.
    virtual void run(std::size_t count, task_ref task) = 0;
};

/// One task after the other, on the thread that asks.
class serial_executor final : public executor {
public:
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 1; }
    void run(std::size_t count, task_ref task) override {
        for (std::size_t i = 0; i < count; ++i)
            task(i);
    }
};

} // namespace gmac::inline GMAC_ABI
