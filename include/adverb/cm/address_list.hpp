// SPDX-License-Identifier: MIT
// Address lookup by host name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <rdma/rdma_cma.h>

#include <adverb/cm/socket_address.hpp>
#include <adverb/core/detail/check.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/transport.hpp>
#include <adverb/version.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// The errors of getaddrinfo(3). A std::error_code enum: compares with std::errc where one fits.
enum class lookup_error : int {
  host_not_found = EAI_NONAME,
  service_not_found = EAI_SERVICE,
  /// No name server answered, or it could not find out.
  try_again = EAI_AGAIN,
  name_server_failed = EAI_FAIL,
  family_not_supported = EAI_FAMILY,
  socket_type_not_supported = EAI_SOCKTYPE,
  invalid_flags = EAI_BADFLAGS,
  out_of_memory = EAI_MEMORY,
  system_error = EAI_SYSTEM,
  overflow = EAI_OVERFLOW,
#if defined(EAI_NODATA)
  /// The host exists but has no address (of the requested family).
  no_address = EAI_NODATA,
  no_address_of_family = EAI_ADDRFAMILY,
#endif
};

/// Returns the error category of `lookup_error`.
[[nodiscard, gnu::visibility("default")]] const std::error_category& lookup_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(lookup_error error) noexcept {
  return {static_cast<int>(error), lookup_category()};
}

}  // namespace adverb::inline ADVERB_ABI::cm

template <>
struct std::is_error_code_enum<adverb::cm::lookup_error> : std::true_type {};

namespace adverb::inline ADVERB_ABI::detail {

/// The target of a lookup.
struct lookup {
  std::string_view host{};
  std::string_view service{};
  cm::address_family family = cm::address_family::unspecified;
  bool numeric_host = false;
};

/// Returns true if the text was meant as an IP address. No host has such a name.
[[nodiscard]] constexpr bool looks_like_address(std::string_view host) noexcept {
  return host.find(':') != std::string_view::npos ||
         (!host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

/// "10.1.0.999 is no IP address".
[[gnu::cold]] void explain_no_address(text_writer& writer, const lookup& wanted);

[[gnu::cold]] void explain_host_not_found(text_writer& writer, const lookup& wanted);

/// Explains a host that exists, without a usable address.
[[gnu::cold]] void explain_no_address_of_host(text_writer& writer, const lookup& wanted);

/// A malformed address is looked up as a name.
[[gnu::cold]] void explain_no_name_server(text_writer& writer, const lookup& wanted);

/// Explains why a lookup failed.
[[gnu::cold]] void explain_lookup(failure_description& description, const lookup& wanted);

/// Explains a failed lookup, with the host and the service as its object.
[[gnu::cold]] void describe_lookup(failure_description& description, const lookup& wanted);

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// One address to connect to or to listen on. Valid as long as its list.
class address_info {
 public:
  constexpr address_info() noexcept = default;
  /// Views an address of the C API.
  constexpr address_info(rdma_addrinfo* native) noexcept : native_{native} {}

  /// Returns the address to listen on or connect from; empty if any will do.
  [[nodiscard]] socket_address source() const noexcept {
    return socket_address::from_native(native_->ai_src_addr, native_->ai_src_len);
  }
  /// Returns the address to connect to; empty for listening.
  [[nodiscard]] socket_address destination() const noexcept {
    return socket_address::from_native(native_->ai_dst_addr, native_->ai_dst_len);
  }
  /// Returns the address family.
  [[nodiscard]] address_family family() const noexcept {
    return static_cast<address_family>(native_->ai_family);
  }
  /// Returns the transport, or nothing if it is unknown.
  [[nodiscard]] std::optional<adverb::transport> transport() const noexcept {
    if (native_->ai_qp_type == 0) return std::nullopt;
    return static_cast<adverb::transport>(native_->ai_qp_type);
  }
  /// Returns the port space, or nothing if it is unknown.
  [[nodiscard]] std::optional<cm::port_space> port_space() const noexcept {
    if (native_->ai_port_space == 0) return std::nullopt;
    return static_cast<cm::port_space>(native_->ai_port_space);
  }
  /// Returns true for an address to listen on.
  [[nodiscard]] bool is_passive() const noexcept { return (native_->ai_flags & RAI_PASSIVE) != 0; }
  /// Returns the full name of the source host. Mostly empty, because the lookup does not request
  /// it.
  [[nodiscard]] std::string_view source_name() const noexcept {
    return text_of(native_->ai_src_canonname);
  }
  /// Returns the full name of the destination host; empty if the lookup does not return it.
  [[nodiscard]] std::string_view destination_name() const noexcept {
    return text_of(native_->ai_dst_canonname);
  }
  /// Returns the route in the kernel's format: path records if a service (ibacm) has them, else
  /// empty.
  [[nodiscard]] std::span<const std::byte> route() const noexcept {
    return {static_cast<const std::byte*>(native_->ai_route), native_->ai_route_len};
  }
  /// Returns the data to send with a connection request; else empty.
  [[nodiscard]] std::span<const std::byte> connect_data() const noexcept {
    return {static_cast<const std::byte*>(native_->ai_connect), native_->ai_connect_len};
  }

  /// Returns the C object, which the list owns.
  [[nodiscard]] constexpr rdma_addrinfo* native_handle() const noexcept { return native_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return native_ != nullptr; }
  friend constexpr bool operator==(address_info, address_info) noexcept = default;

 private:
  [[nodiscard]] static std::string_view text_of(const char* text) noexcept {
    return text == nullptr ? std::string_view{} : text;
  }

  rdma_addrinfo* native_ = nullptr;
};

/// Options for a lookup.
struct lookup_options {
  /// Returns a local address to listen on instead of one to connect to. Without a host, it is the
  /// wildcard.
  bool passive = false;
  /// Treats the host as a numeric address, without a name service.
  bool numeric_host = false;
  /// Omits the route even if a service has it.
  bool no_route = false;
  /// Returns only addresses of this family. If this is `infiniband` and `numeric_host` is set, the
  /// host is a GID in IPv6 notation.
  address_family family = address_family::unspecified;
  /// Returns only addresses for this transport and its port space.
  std::optional<adverb::transport> transport{};
  /// Returns only addresses of this port space.
  std::optional<cm::port_space> port_space{};
  /// The local address to connect from.
  socket_address from{};
  /// Returns the addresses of the InfiniBand service that `service` names, as the subnet
  /// administrator has registered them. The host must be empty. Needs rdma-core 60 at run time.
  bool subnet_administrator = false;
};

}  // namespace adverb::inline ADVERB_ABI::cm

namespace adverb::inline ADVERB_ABI::detail {

/// Returns the C API hints, which point into `options`.
[[nodiscard]] rdma_addrinfo lookup_hints(const cm::lookup_options& options) noexcept;

/// The arguments of a lookup in the C API.
struct native_lookup {
  const char* node;
  const char* service;
  const rdma_addrinfo* hints;
  describe_failure describe;
};

/// Calls `call` with the arguments of a lookup, or fails if no host can have such a name.
void look_up(std::string_view host, std::string_view service, const cm::lookup_options& options,
             const char* verb, callable_ref<native_lookup> call, on_failure policy);

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI::cm {

/// The addresses of a host, as a range of `address_info`, best first. rdma-core finds one address.
/// On InfiniBand it finds more if a service (ibacm) has native addresses:
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
  /// Looks up the address `to`, and adds the route if a service has it.
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
  void look_up(std::string_view host, std::string_view service, const lookup_options& options,
               on_failure policy) {
    detail::look_up(
        host, service, options, "rdma_getaddrinfo",
        [&](const detail::native_lookup& wanted) { find(wanted, policy); }, policy);
  }

  void find(const detail::native_lookup& wanted, on_failure policy) {
    detail::check_looked_up(
        policy, "rdma_getaddrinfo", lookup_category(),
        [&] { return rdma_getaddrinfo(wanted.node, wanted.service, wanted.hints, &first_); },
        wanted.describe);
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
