// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GMAC_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define GMAC_TEST_SANITIZED 1
#endif
#endif

/// Counts the allocations of the whole program, all threads and libraries included: malloc and its kin, and so
/// operator new, which calls them. Including this header is enough. It needs glibc, or a sanitizer's allocator.
namespace gmac::testing {

inline std::atomic<std::uint64_t>& allocation_count() noexcept {
    static std::atomic<std::uint64_t> count{0};
    return count;
}

/// How many allocations the program made while `work` ran.
template <class Work>
[[nodiscard]] std::uint64_t allocations_during(Work&& work) {
    std::uint64_t const before = allocation_count().load();
    std::forward<Work>(work)();
    return allocation_count().load() - before;
}

} // namespace gmac::testing

#if defined(GMAC_TEST_SANITIZED)

// The sanitizer owns malloc, but tells of each call.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(void const volatile*, std::size_t),
                                                         void (*)(void const volatile*));
namespace gmac::testing {
inline bool const allocation_hooks_installed =
    __sanitizer_install_malloc_and_free_hooks(
        [](void const volatile*, std::size_t) { allocation_count().fetch_add(1, std::memory_order_relaxed); },
        [](void const volatile*) {}) != 0;
} // namespace gmac::testing

#else

// Weak, so that several files of one program may include this header.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

__attribute__((weak)) void* malloc(std::size_t size) noexcept {
    gmac::testing::allocation_count().fetch_add(1, std::memory_order_relaxed);
    return __libc_malloc(size);
}
__attribute__((weak)) void* calloc(std::size_t count, std::size_t size) noexcept {
    gmac::testing::allocation_count().fetch_add(1, std::memory_order_relaxed);
    return __libc_calloc(count, size);
}
__attribute__((weak)) void* realloc(void* old, std::size_t size) noexcept {
    gmac::testing::allocation_count().fetch_add(1, std::memory_order_relaxed);
    return __libc_realloc(old, size);
}
__attribute__((weak)) void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    gmac::testing::allocation_count().fetch_add(1, std::memory_order_relaxed);
    return __libc_memalign(alignment, size);
}
// By its symbol: clang and glibc declare the name with different exception specifications.
int gmac_test_posix_memalign(void** result, std::size_t alignment, std::size_t size) __asm__("posix_memalign");
__attribute__((weak)) int gmac_test_posix_memalign(void** result, std::size_t alignment, std::size_t size) {
    gmac::testing::allocation_count().fetch_add(1, std::memory_order_relaxed);
    *result = __libc_memalign(alignment, size);
    return *result ? 0 : 12; // ENOMEM
}
}

#endif
