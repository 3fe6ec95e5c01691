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

#include <dlfcn.h>
#include <infiniband/verbs.h>
#if __has_include(<rdma/rdma_cma.h>)
#include <rdma/rdma_cma.h>
#endif

// Macros of <infiniband/verbs.h>, which inline functions serve.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace {

/// A shared library that is loaded once and stays loaded. If it cannot be loaded, `handle` is null.
struct loaded_library {
  // RTLD_NOW: a library that cannot be bound fails here, not in a call. RTLD_LOCAL: the providers
  // and librdmacm are linked with libibverbs, and find its functions without the global scope.
  explicit loaded_library(const char* name) noexcept
      : handle{::dlopen(name, RTLD_NOW | RTLD_LOCAL)} {
    const char* const why = handle == nullptr ? ::dlerror() : nullptr;
    if (why != nullptr) std::snprintf(reason, sizeof reason, "%s", why);
  }

  void* handle;
  char reason[256] = "";
};

struct loaded_function;

/// A library, and its functions that were called although the loaded library lacks them.
struct library {
  const char* name;
  const char* packages;
  const loaded_library& (*load)() noexcept;
  std::atomic<loaded_function*> missing{nullptr};
};

constinit library libibverbs{"libibverbs.so.1",
                             "libibverbs1 (Debian, SUSE), libibverbs (Fedora) or rdma-core (Arch)",
                             []() noexcept -> const loaded_library& {
                               static const loaded_library loaded{"libibverbs.so.1"};
                               return loaded;
                             }};

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
    void* const handle = version.from.load().handle;
    if (handle == nullptr) return nullptr;
    void* const symbol = in(handle);
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
      errno = ENOSYS;                                                          \
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
  const loaded_library& loaded = from->load();
  if (loaded.handle == nullptr)
    written = std::snprintf(text, size, "%s could not be loaded: %s; install %s", from->name,
                            loaded.reason, from->packages);
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
