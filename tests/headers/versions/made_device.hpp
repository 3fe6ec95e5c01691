// SPDX-License-Identifier: MIT
// C objects of a device that is not there, for tests that define functions of later libraries.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <infiniband/verbs.h>

#include <adverb/device/context_ref.hpp>
#include <adverb/memory/protection_domain.hpp>

// No device is behind the context.
#undef ibv_query_port
extern "C" {
int ibv_query_device(ibv_context*, ibv_device_attr*) { return ENOSYS; }
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr*) { return ENOSYS; }
}

/// A context and a domain of the device "made0".
struct made_device {
  ibv_device native_device{};
  ibv_context native_context{};
  ibv_pd native_domain{};
  adverb::context_ref context{&native_context};
  adverb::protection_domain_ref domain{&native_domain};

  made_device() {
    std::strcpy(native_device.name, "made0");
    native_context.device = &native_device;
    native_domain.context = &native_context;
  }
};

/// Fails a call of the provider: sets errno and returns the result.
template <class Result>
Result failed(Result result, int error) {
  errno = error;
  return result;
}
