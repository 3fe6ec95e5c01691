// SPDX-License-Identifier: MIT
// Address lookup by host name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <adverb/cm/address_info.hpp>
#include <adverb/cm/detail/explain_lookup.hpp>
#include <adverb/cm/lookup_error.hpp>
#include <adverb/cm/port_space.hpp>
#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// Options for a lookup.
struct lookup_options {
  /// Returns a local address to listen on instead of one to connect to. Without a host, it is the
  /// wildcard.
  bool passive = false;
  /// Treats the host as a numeric address, without a name service.
  bool numeric_host = false;
  /// Omits the route even if a service knows it.
  bool no_route = false;
  /// Returns only addresses of this family. With `infiniband` and `numeric_host`, the host is a GID
  /// in IPv6 notation.
  address_family family = address_family::unspecified;
  /// Returns only addresses for this transport and its port space.
  std::optional<adverb::transport> transport{};
  std::optional<cm::port_space> port_space{};
  /// The local address to connect from.
  socket_address from{};
};

/// The addresses of a host, as a range of `address_info`, best first. rdma-core finds one address.
/// On InfiniBand it finds more if a service (ibacm) knows native addresses:
///
///     for (const cm::address_info& way : cm::address_list{"storage-1", 7471})
///       try_to_connect(way.destination());
///
/// Blocks during name resolution. Lookup failures have the error category of `lookup_error`.
/// Wraps: rdma_getaddrinfo(3), rdma_freeaddrinfo(3).
class [[nodiscard]] address_list {
 public:
  class iterator {
   public:
    using value_type = address_info;
    using difference_type = std::ptrdiff_t;

    constexpr iterator() noexcept = default;
    constexpr explicit iterator(rdma_addrinfo* position) noexcept : position_{position} {}
    constexpr address_info operator*() const noexcept { return position_; }
    constexpr iterator& operator++() noexcept {
      position_ = position_->ai_next;
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(iterator, iterator) noexcept = default;

   private:
    rdma_addrinfo* position_ = nullptr;
  };

  /// Creates an empty list.
  address_list() noexcept = default;

  /// Looks up a host by name or numeric address, with a port.
  address_list(std::string_view host, std::uint16_t port, const lookup_options& options = {},
               on_failure policy = throwing{});
  /// Looks up a host and a service, given by name (services(5)) or number.
  address_list(std::string_view host, std::string_view service, const lookup_options& options = {},
               on_failure policy = throwing{}) {
    look_up(host, service, options, policy);
  }
  /// Looks up a known address, and adds the route if a service knows it.
  explicit address_list(const socket_address& to, const lookup_options& options = {},
                        on_failure policy = throwing{});
  /// Takes ownership of a list returned by `rdma_getaddrinfo`.
  address_list(adopt_t, rdma_addrinfo* first) noexcept : first_{first} {}

  address_list(address_list&& other) noexcept : first_{std::exchange(other.first_, nullptr)} {}
  address_list& operator=(address_list&& other) noexcept;
  ~address_list() { free(); }

  [[nodiscard]] iterator begin() const noexcept { return iterator{first_}; }
  [[nodiscard]] iterator end() const noexcept { return {}; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// Returns the first address. The list must not be empty; this is unchecked.
  [[nodiscard]] address_info front() const noexcept { return first_; }

  /// Returns the first C API entry, or null if the list is empty. The list keeps ownership.
  [[nodiscard]] rdma_addrinfo* native_handle() const noexcept { return first_; }
  /// Releases ownership without freeing the list.
  [[nodiscard]] rdma_addrinfo* release() noexcept { return std::exchange(first_, nullptr); }

 private:
  /// Returns the C API hints, which point into `options`.
  [[nodiscard]] static rdma_addrinfo native(const lookup_options& options) noexcept;

  void look_up(std::string_view host, std::string_view service, const lookup_options& options,
               on_failure policy);

  void find(const char* node, const char* service, const rdma_addrinfo& hints, on_failure policy,
            detail::describe_failure describe) {
    detail::check_looked_up(
        policy, "rdma_getaddrinfo", lookup_category(),
        [&] { return rdma_getaddrinfo(node, service, &hints, &first_); }, describe);
  }

  void free() noexcept {
    if (first_ != nullptr) rdma_freeaddrinfo(first_);
  }

  rdma_addrinfo* first_ = nullptr;
};

}  // namespace adverb::inline ADVERB_ABI::cm

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/cm/impl/address_list.ipp>
#endif
