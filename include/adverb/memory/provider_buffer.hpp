// SPDX-License-Identifier: MIT
// Provider buffers: memory of the process that the provider allocates.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/memory/protection_domain.hpp>

// Later headers declare it, and none defines it.
struct ibv_buf;

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// A buffer that `allocate_buffer` returned, and its memory.
struct allocated_buffer {
  ibv_buf* buffer = nullptr;
  void* memory = nullptr;
};

/// Implements the constructor of a provider buffer. `ibv_alloc_buf`, `ibv_free_buf` and
/// `ibv_reg_buf_mr` came with rdma-core 64, `ibv_export_buf_dmabuf_fd` with 65.
template <class Domain>
[[nodiscard]] allocated_buffer allocate_buffer(Domain* domain, std::size_t size,
                                               describe_failure describe, on_failure policy) {
  allocated_buffer made;
  call_if_declared<void*>(
      policy, "ibv_alloc_buf", describe,
      [&](auto* native)
        requires requires(ibv_buf* any) { ibv_alloc_buf(native, 1, &any); }
      {
        return made.memory = check_pointer(
                   policy, "ibv_alloc_buf",
                   [&] { return ibv_alloc_buf(native, size, &made.buffer); }, describe);
      },
      domain);
  return made.memory != nullptr ? made : allocated_buffer{};
}

/// Frees a provider buffer. Returns 0, or EOPNOTSUPP if the headers lack the call.
template <class Buffer>
int free_buffer(Buffer* buffer) noexcept {
  if constexpr (requires { ibv_free_buf(buffer); }) {
    ibv_free_buf(buffer);
    return 0;
  } else {
    return EOPNOTSUPP;
  }
}

/// Registers a provider buffer. Returns null and sets errno on failure.
template <class Domain, class Buffer>
[[nodiscard]] ibv_mr* register_buffer(Domain* domain, Buffer* buffer, std::span<std::byte> bytes,
                                      int access) noexcept {
  if constexpr (requires { ibv_reg_buf_mr(domain, buffer, bytes.data(), bytes.size(), access); }) {
    return ibv_reg_buf_mr(domain, buffer, bytes.data(), bytes.size(), access);
  } else {
    errno = EOPNOTSUPP;
    return nullptr;
  }
}

/// Implements `export_dmabuf` of a provider buffer.
template <class Buffer>
[[nodiscard]] int export_buffer(Buffer* buffer, describe_failure describe, on_failure policy) {
  int descriptor = -1;
  call_if_declared<bool>(
      policy, "ibv_export_buf_dmabuf_fd", describe,
      [&](auto* native)
        requires requires { ibv_export_buf_dmabuf_fd(native); }
      {
        return check_minus_one(
            policy, "ibv_export_buf_dmabuf_fd",
            [&] { return descriptor = ibv_export_buf_dmabuf_fd(native); }, describe);
      },
      buffer);
  return descriptor;
}

/// The operations of a provider buffer, whether it is owned or referred to. Holds its memory and
/// its domain, which the C API does not return. Thread safe.
class provider_buffer_base : public handle_base<ibv_buf> {
 public:
  provider_buffer_base() noexcept = default;
  provider_buffer_base(ibv_buf* buffer, protection_domain_ref domain,
                       std::span<std::byte> bytes) noexcept
      : handle_base{buffer}, domain_{domain}, bytes_{bytes} {}

  /// Returns the protection domain that the buffer was allocated in.
  [[nodiscard]] protection_domain_ref protection_domain() const noexcept { return domain_; }
  /// Returns the memory, which begins at a page boundary.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

  /// Returns a new file descriptor of the dma-buf behind the buffer, for other drivers. The caller
  /// closes it (close(2)). Fails with ENODATA, and returns -1, if the provider allocated ordinary
  /// memory. Wraps: ibv_export_buf_dmabuf_fd(3).
  [[nodiscard]] int export_dmabuf(on_failure policy = throwing{}) const;

 protected:
  /// Makes the object empty after its buffer went elsewhere.
  void forget() noexcept { *this = {}; }

 private:
  protection_domain_ref domain_;
  std::span<std::byte> bytes_;
};

}  // namespace detail

/// A non-owning reference to a provider buffer, which must outlive the reference. It is four words.
class provider_buffer_ref : public detail::reference_to<detail::provider_buffer_base> {
 public:
  using reference_to::reference_to;

  /// Views a buffer of the C API, with the domain that it was allocated in and its memory.
  provider_buffer_ref(adopt_t, ibv_buf* buffer, protection_domain_ref domain,
                      std::span<std::byte> bytes) noexcept
      : reference_to{detail::provider_buffer_base{buffer, domain, bytes}} {}
};

namespace detail {

/// Gets the domain from the lifetime checker, because the C struct is opaque.
struct provider_buffer_traits {
  using native_type = ibv_buf;
  static constexpr const char* destroy_verb = "ibv_free_buf";
  static int destroy(ibv_buf* buffer) noexcept { return free_buffer(buffer); }
  static void list_parents(const ibv_buf* buffer, parent_visitor& parents) noexcept {
    parents.add_noted_of(buffer);
  }
  static void describe(const ibv_buf*, text_writer& writer) noexcept {
    writer.put("provider buffer");
  }
};

}  // namespace detail

/// Memory of the process that the provider allocates, as the protection domain demands: for example
/// unencrypted memory in a confidential virtual machine. Most providers return ordinary memory.
/// Register it with memory_region::of_provider_buffer, and destroy that region first. Needs the
/// headers of rdma-core 64.
class [[nodiscard]] provider_buffer
    : public detail::owner<detail::provider_buffer_base, detail::provider_buffer_traits> {
 public:
  provider_buffer() noexcept = default;

  /// Allocates `size` bytes. Wraps: ibv_alloc_buf(3).
  provider_buffer(protection_domain_ref domain, std::size_t size, on_failure policy = throwing{})
      : provider_buffer{make(domain, size, policy)} {}

  /// Takes ownership of a buffer of the C API, with the domain that it was allocated in and its
  /// memory.
  provider_buffer(adopt_t, ibv_buf* buffer, protection_domain_ref domain,
                  std::span<std::byte> bytes) noexcept
      : owner{adverb::adopt, detail::with_parents(buffer, {domain.native_handle()}), domain,
              bytes} {}

 private:
  static provider_buffer make(protection_domain_ref domain, std::size_t size, on_failure policy);
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/memory/impl/provider_buffer.ipp>
#endif
