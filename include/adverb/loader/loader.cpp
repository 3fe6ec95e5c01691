// SPDX-License-Identifier: MIT
// Defines the functions of libibverbs and librdmacm for a program that is linked with neither. The
// first call of a function loads its library. Compile this source once into the program, or link
// adverb::loader. See docs/building.md, "One program with or without RDMA".
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <type_traits>

#include <dlfcn.h>
#include <infiniband/verbs.h>
#if __has_include(<rdma/rdma_cma.h>)
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#endif

#if defined(RDMA_STATIC_PROVIDERS)
#error \
    "adverb::loader loads the C libraries at run time, so RDMA_STATIC_PROVIDERS must not be defined"
#endif

// Functions that are newer than the headers have no declaration there.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#endif

// Macros of <infiniband/verbs.h>, which inline functions serve.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace {

struct loaded_function;

/// A shared library, which stays loaded, and its functions that were called although it lacks them.
struct library {
  constexpr library(const char* of, const char* in) noexcept : name{of}, packages{in} {}

  /// Returns its handle; null if it cannot be loaded, which is tried once. Waits for nobody: while
  /// a thread loads it, it may need the lock of the dynamic linker that another caller holds.
  [[nodiscard]] void* load() noexcept {
    void* known = handle.load(std::memory_order_acquire);
    if (known != nullptr || has_failed.load(std::memory_order_acquire)) return known;
    // RTLD_NOW: a library that cannot be bound fails here, not in a call. RTLD_LOCAL: the providers
    // and librdmacm are linked with libibverbs, and find its functions without the global scope.
    void* const loaded = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
      const char* const why = ::dlerror();
      if (!has_reason.exchange(true)) {
        std::snprintf(reason, sizeof reason, "%s", why != nullptr ? why : "no reason is known");
        has_failed.store(true, std::memory_order_release);
      }
    } else if (!handle.compare_exchange_strong(known, loaded)) {
      // The same, counted twice.
      ::dlclose(loaded);
    }
    return loaded;
  }

  const char* const name;
  const char* const packages;
  std::atomic<void*> handle{nullptr};
  std::atomic<bool> has_failed{false};
  std::atomic<bool> has_reason{false};
  char reason[256] = "";
  std::atomic<loaded_function*> missing{nullptr};
};

constinit library libibverbs{"libibverbs.so.1",
                             "libibverbs1 (Debian, SUSE), libibverbs (Fedora) or rdma-core (Arch)"};

/// A version of symbols: its name, or null for symbols whose version differs between releases, and
/// the first rdma-core that has it, or 0 if all have it.
struct symbol_version {
  library& from;
  const char* name;
  int rdma_core;
};

/// A function of a library. Its address is looked up in the first call.
struct loaded_function {
  constexpr loaded_function(const symbol_version& of, const char* called) noexcept
      : version{of}, name{called} {}

  /// Returns the address; null if the library, or the function in it, is missing.
  [[nodiscard]] void* address() noexcept {
    void* const known = found.load(std::memory_order_acquire);
    return known != nullptr ? known : look_up();
  }

  const symbol_version& version;
  const char* const name;
  std::atomic<void*> found{nullptr};
  std::atomic<bool> listed{false};
  loaded_function* next = nullptr;

 private:
  [[gnu::cold, gnu::noinline]] void* look_up() noexcept {
    // The functions of the dynamic linker change it.
    const int before = errno;
    void* const handle = version.from.load();
    void* const symbol = handle != nullptr ? in(handle) : nullptr;
    errno = before;
    if (handle == nullptr) return nullptr;
    if (symbol != nullptr)
      found.store(symbol, std::memory_order_release);
    else if (!listed.exchange(true)) {
      next = version.from.missing.load();
      while (!version.from.missing.compare_exchange_weak(next, this)) {
      }
    }
    return symbol;
  }

  // The linker binds a program to the version that the headers had when it was linked. dlsym(3)
  // takes the version that is the default in the loaded library. musl has no versions.
  void* in(void* handle) const noexcept {
#if defined(__GLIBC__)
    if (version.name != nullptr) return ::dlvsym(handle, name, version.name);
#endif
    return ::dlsym(handle, name);
  }
};

/// The result of a list of devices that cannot be made.
[[nodiscard]] std::nullptr_t no_list(int* num_devices) noexcept {
  if (num_devices != nullptr) *num_devices = 0;
  return nullptr;
}

}  // namespace

/// Writes the reason why a function could not be called to `text`, and returns its length; 0 if the
/// loader is not the reason. adverb's failures call it with the name of the function.
extern "C" [[gnu::visibility("hidden")]] std::size_t adverb_loader_reason(const char* verb,
                                                                          std::size_t length,
                                                                          char* text,
                                                                          std::size_t size);

// ADVERB_LOADED(VERSION, RESULT, NAME, PARAMETERS, ARGUMENTS, OTHERWISE): a function. Without the
// library it sets errno and returns OTHERWISE. It is hidden: librdmacm and the providers call the
// real one, even if the program exports its symbols.
#define ADVERB_LOADED(version, result, name, parameters, arguments, otherwise) \
  extern "C" [[gnu::visibility("hidden")]] result name parameters {            \
    static constinit loaded_function adverb_loaded{version, #name};            \
    void* const adverb_address = adverb_loaded.address();                      \
    if (adverb_address == nullptr) [[unlikely]] {                              \
      /* A function that names something sets no errno. */                     \
      if constexpr (!std::is_same_v<result, const char*>) errno = ENOSYS;      \
      return otherwise;                                                        \
    }                                                                          \
    return reinterpret_cast<result(*) parameters>(adverb_address) arguments;   \
  }

#include <adverb/loader/impl/ibverbs.ipp>
#if __has_include(<rdma/rdma_cma.h>)
#include <adverb/loader/impl/rdmacm.ipp>
#endif

std::size_t adverb_loader_reason(const char* verb, std::size_t length, char* text,
                                 std::size_t size) {
  const std::string_view called{verb, length};
  library* from = nullptr;
  if (called.starts_with("ibv_")) from = &libibverbs;
#if __has_include(<rdma/rdma_cma.h>)
  if (called.starts_with("rdma_")) from = &librdmacm;
#endif
  if (from == nullptr) return 0;

  int written = 0;
  if (from->load() == nullptr)
    written = std::snprintf(text, size, "%s could not be loaded: %s; install %s", from->name,
                            from->has_failed.load(std::memory_order_acquire)
                                ? from->reason
                                : "another thread has just found that",
                            from->packages);
  for (const loaded_function* each = from->missing.load(); each != nullptr; each = each->next) {
    // An inline function of the headers calls one with a longer name: ibv_query_gid_ex calls
    // _ibv_query_gid_ex, and ibv_reg_mr may call ibv_reg_mr_iova2.
    if (std::string_view{each->name}.find(called) == std::string_view::npos) continue;
    written = std::snprintf(text, size, "%s lacks %s", from->name, each->name);
    if (each->version.rdma_core != 0 && written > 0 && static_cast<std::size_t>(written) < size)
      written += std::snprintf(text + written, size - static_cast<std::size_t>(written),
                               ", which rdma-core %d or later has", each->version.rdma_core);
    break;
  }
  if (written <= 0) return 0;
  const auto whole = static_cast<std::size_t>(written);
  return whole < size ? whole : size - 1;
}
