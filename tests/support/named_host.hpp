// SPDX-License-Identifier: MIT
// A host whose name resolves to addresses that a test chooses, in their order: to be included by
// the one source file of a test program, whose getaddrinfo this is.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <netdb.h>

/// During its lifetime, its name resolves to these addresses, in numbers. One at a time.
class named_host {
 public:
  static constexpr const char* name = "host-with-a-name";

  explicit named_host(std::vector<std::string> addresses) {
    known_addresses() = std::move(addresses);
  }
  /// Its name cannot be looked up: EAI_SYSTEM, with this errno.
  explicit named_host(int error) { system_error = error; }
  ~named_host() {
    known_addresses().clear();
    system_error = 0;
  }
  named_host(const named_host&) = delete;
  named_host& operator=(const named_host&) = delete;

  [[nodiscard]] static std::vector<std::string>& known_addresses() {
    static std::vector<std::string> addresses;
    return addresses;
  }
  static inline int system_error = 0;
  /// While true, a lookup of the name waits.
  static inline std::atomic<bool> is_slow = false;
};

/// The C library frees a list entry by entry, so lists of one make one of many.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  static const auto real =
      reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (host == nullptr || std::strcmp(host, named_host::name) != 0)
    return real(host, service, hints, result);
  named_host::is_slow.wait(true);
  if (named_host::system_error != 0) {
    errno = named_host::system_error;
    return EAI_SYSTEM;
  }
  int error = EAI_NONAME;
  addrinfo** last = result;
  *last = nullptr;
  for (const std::string& address : named_host::known_addresses()) {
    // Addresses of a family that was not requested are left out.
    const int failed = real(address.c_str(), service, hints, last);
    if (failed == 0) {
      error = 0;
      last = &(*last)->ai_next;
    }
  }
  return error;
}
