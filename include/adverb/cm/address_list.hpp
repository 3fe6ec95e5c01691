// SPDX-License-Identifier: MIT
// Addresses of hosts, found by their names.
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
#include <adverb/core/transport.hpp>

namespace adverb::inline ADVERB_ABI::cm {

/// What is looked for.
struct lookup_options {
  /// An address of this machine to listen on, instead of one to connect to. Without a host it is
  /// the one that stands for all.
  bool passive = false;
  /// The host is an address in numbers: no name service is asked.
  bool numeric_host = false;
  /// Without a route, where a service would know it.
  bool no_route = false;
  /// Of this family only. With `infiniband` and `numeric_host` the host is a GID, written as an
  /// IPv6 address.
  address_family family = address_family::unspecified;
  /// For this transport and port space only.
  std::optional<adverb::transport> transport{};
  std::optional<cm::port_space> port_space{};
  /// An address of this machine to connect from.
  socket_address from{};
};

/// The addresses of a host, a range of address_info, the best first. rdma-core finds one, and more
/// on InfiniBand, where a service (ibacm) knows native addresses:
///
///     for (const cm::address_info& way : cm::address_list{"storage-1", 7471})
///       try_to_connect(way.destination());
///
/// Blocks while a name server is asked. A name that is not resolved is reported in the category of
/// `lookup_error`. Wraps: rdma_getaddrinfo(3), rdma_freeaddrinfo(3).
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

  /// Empty.
  address_list() noexcept = default;

  /// Of a host, by its name or its numbers, and a port of it.
  address_list(std::string_view host, std::uint16_t port, const lookup_options& options = {},
               on_failure policy = throwing{}) {
    look_up(host, static_string<8>{[&](text_writer& writer) { writer.decimal(port); }}, options,
            policy);
  }
  /// Of a host and a service, by its name (services(5)) or its number.
  address_list(std::string_view host, std::string_view service, const lookup_options& options = {},
               on_failure policy = throwing{}) {
    look_up(host, service, options, policy);
  }
  /// Of an address that is known already: adds what a service knows of the way there.
  explicit address_list(const socket_address& to, const lookup_options& options = {},
                        on_failure policy = throwing{}) {
    rdma_addrinfo hints = native(options);
    hints.ai_family = static_cast<int>(to.family());
    hints.ai_dst_addr = to.native();
    hints.ai_dst_len = to.length();
    find(nullptr, nullptr, hints, policy, [&](failure_description& description) {
      description.object([&](text_writer& writer) { writer.put(to); });
      detail::explain_lookup(description, {});
    });
  }
  /// Takes over what `rdma_getaddrinfo` gave.
  address_list(adopt_t, rdma_addrinfo* first) noexcept : first_{first} {}

  address_list(address_list&& other) noexcept : first_{std::exchange(other.first_, nullptr)} {}
  address_list& operator=(address_list&& other) noexcept {
    if (this != &other) {
      free();
      first_ = std::exchange(other.first_, nullptr);
    }
    return *this;
  }
  ~address_list() { free(); }

  [[nodiscard]] iterator begin() const noexcept { return iterator{first_}; }
  [[nodiscard]] iterator end() const noexcept { return {}; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// Unchecked: the list is not empty.
  [[nodiscard]] address_info front() const noexcept { return first_; }

  /// The first of the C API, or null when empty. Still owned.
  [[nodiscard]] rdma_addrinfo* native_handle() const noexcept { return first_; }
  /// Gives up the list without freeing it.
  [[nodiscard]] rdma_addrinfo* release() noexcept { return std::exchange(first_, nullptr); }

 private:
  /// Points into `options`.
  [[nodiscard]] static rdma_addrinfo native(const lookup_options& options) noexcept {
    rdma_addrinfo hints{};
    hints.ai_flags = (options.passive ? RAI_PASSIVE : 0) |
                     (options.numeric_host ? RAI_NUMERICHOST : 0) |
                     (options.no_route ? RAI_NOROUTE : 0);
    if (options.family != address_family::unspecified) {
      hints.ai_flags |= RAI_FAMILY;
      hints.ai_family = static_cast<int>(options.family);
    }
    if (options.transport) hints.ai_qp_type = static_cast<int>(*options.transport);
    if (options.port_space) hints.ai_port_space = static_cast<int>(*options.port_space);
    hints.ai_src_addr = options.from.native();
    hints.ai_src_len = options.from.length();
    return hints;
  }

  void look_up(std::string_view host, std::string_view service, const lookup_options& options,
               on_failure policy) {
    const auto describe = [&](failure_description& description) {
      detail::describe_lookup(description, {host, service, options.family, options.numeric_host});
    };
    // librdmacm takes the address that the numbers give for one of IPv6, whatever it is.
    if (options.family == address_family::infiniband && options.numeric_host) {
      const auto address = socket_address::parse(host, 0);
      if (!address || !address->ipv6()) {
        policy.report(make_error_code(lookup_error::host_not_found), "rdma_getaddrinfo", describe);
        return;
      }
    }
    // The C API wants them with an end. What is too long is cut so that it is no name.
    const static_string<NI_MAXHOST> node{[&](text_writer& writer) { writer.put(host); }};
    const static_string<NI_MAXSERV> port{[&](text_writer& writer) { writer.put(service); }};
    find(host.empty() ? nullptr : node.c_str(), service.empty() ? nullptr : port.c_str(),
         native(options), policy, describe);
  }

  template <class Describe>
  void find(const char* node, const char* service, const rdma_addrinfo& hints, on_failure policy,
            const Describe& describe) {
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
