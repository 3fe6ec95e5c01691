// SPDX-License-Identifier: MIT
// The RDMA devices of this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <infiniband/verbs.h>

#include <adverb/core/detail/hardening.hpp>
#include <adverb/core/error.hpp>
#include <adverb/device/gid.hpp>

namespace adverb::inline ADVERB_ABI {

/// The protocol family of a device.
enum class transport_type : std::int32_t {
  unknown = IBV_TRANSPORT_UNKNOWN,
  infiniband = IBV_TRANSPORT_IB,
  iwarp = IBV_TRANSPORT_IWARP,
  usnic = IBV_TRANSPORT_USNIC,
  usnic_udp = IBV_TRANSPORT_USNIC_UDP,
  unspecified = IBV_TRANSPORT_UNSPECIFIED,
};

/// Returns the usual name. RoCE devices are "InfiniBand", because they use its transport.
[[nodiscard]] constexpr static_string<48> to_text(transport_type type) noexcept {
  constexpr std::string_view names = "InfiniBand|iWARP|usNIC|usNIC UDP|unspecified";
  const auto number = static_cast<std::int32_t>(type);
  if (type == transport_type::unknown) return detail::name_or_number("unknown", 0);
  const auto index = static_cast<std::uint32_t>(number);
  return detail::listed_name_or_number(names, index);
}

/// The role of a device in its network.
enum class node_type : std::int32_t {
  unknown = IBV_NODE_UNKNOWN,
  channel_adapter = IBV_NODE_CA,
  infiniband_switch = IBV_NODE_SWITCH,
  router = IBV_NODE_ROUTER,
  iwarp_nic = IBV_NODE_RNIC,
  usnic = IBV_NODE_USNIC,
  usnic_udp = IBV_NODE_USNIC_UDP,
  unspecified = IBV_NODE_UNSPECIFIED,
};

/// Returns the name that `ibv_node_type_str` uses. RoCE devices are InfiniBand channel adapters.
[[nodiscard]] constexpr static_string<48> to_text(node_type type) noexcept {
  constexpr std::string_view names =
      "|InfiniBand channel adapter|InfiniBand switch|InfiniBand router|iWARP NIC|usNIC|usNIC "
      "UDP|unspecified";
  if (type == node_type::unknown) return detail::name_or_number("unknown", 0);
  const auto index = static_cast<std::uint32_t>(type);
  return detail::listed_name_or_number(names, index);
}

/// A device in a list. Valid as long as the list it came from, or a context opened on it.
class device_ref {
 public:
  constexpr device_ref() noexcept = default;
  /// Views a device of the C API, which its list owns.
  constexpr device_ref(ibv_device* device) noexcept : device_{device} {}

  /// Returns the kernel's name of the device, for instance "mlx5_0" or "rxe0".
  /// Wraps: ibv_get_device_name(3).
  [[nodiscard]] std::string_view name() const noexcept {
    return ibv_get_device_name(checked_handle());
  }
  /// Returns the name of the character device, for instance "uverbs0".
  [[nodiscard]] std::string_view character_device() const noexcept {
    return checked_handle()->dev_name;
  }
  /// Returns the transport of the device: InfiniBand (RoCE too) or iWARP.
  [[nodiscard]] adverb::transport_type transport_type() const noexcept {
    return static_cast<adverb::transport_type>(checked_handle()->transport_type);
  }

  /// Returns the kind of node that the device makes of this machine.
  [[nodiscard]] adverb::node_type node_type() const noexcept {
    return static_cast<adverb::node_type>(checked_handle()->node_type);
  }
  /// Returns the number that the kernel assigned to the device until it goes away; nothing if there
  /// is none. Wraps: ibv_get_device_index(3).
  [[nodiscard]] std::optional<std::uint32_t> index() const noexcept;
  /// Returns the node GUID without opening the device; 0 if it cannot be read.
  /// Wraps: ibv_get_device_guid(3).
  [[nodiscard]] guid node_guid() const noexcept {
    return detail::guid_from_network(ibv_get_device_guid(checked_handle()));
  }

  /// Returns the C object, which the list owns.
  [[nodiscard]] constexpr ibv_device* native_handle() const noexcept { return device_; }
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return device_ != nullptr; }
  friend constexpr bool operator==(device_ref, device_ref) noexcept = default;

 private:
  [[nodiscard]] ibv_device* checked_handle(const char* call = __builtin_FUNCTION()) const noexcept {
    detail::require(device_ != nullptr, call, "the device is empty: it was not found");
    return device_;
  }

  ibv_device* device_ = nullptr;
};

/// The list of all RDMA devices of this machine: a range of device_ref. Empty if the machine has
/// none. Fails with ENOSYS if the kernel has no RDMA support. Wraps: ibv_get_device_list(3),
/// ibv_free_device_list(3).
class [[nodiscard]] device_list {
 public:
  class iterator {
   public:
    using value_type = device_ref;
    using difference_type = std::ptrdiff_t;

    constexpr iterator() noexcept = default;
    constexpr explicit iterator(ibv_device* const* position) noexcept : position_{position} {}
    constexpr device_ref operator*() const noexcept { return *position_; }
    constexpr iterator& operator++() noexcept {
      ++position_;
      return *this;
    }
    constexpr iterator operator++(int) noexcept { return iterator{position_++}; }
    friend constexpr bool operator==(iterator, iterator) noexcept = default;

   private:
    ibv_device* const* position_ = nullptr;
  };

  /// Lists the devices of this machine. Wraps: ibv_get_device_list(3).
  explicit device_list(on_failure policy = throwing{});
  device_list(device_list&& other) noexcept
      : devices_{std::exchange(other.devices_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
  device_list& operator=(device_list&& other) noexcept;
  ~device_list() { free(); }

  [[nodiscard]] iterator begin() const noexcept { return iterator{devices_}; }
  [[nodiscard]] iterator end() const noexcept { return iterator{devices_ + size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Returns the device at `index`. Unchecked: `index` must be below `size()`.
  [[nodiscard]] device_ref operator[](std::size_t index) const noexcept { return devices_[index]; }

  /// Returns the device named `name`, or an empty reference.
  [[nodiscard]] device_ref find(std::string_view name) const noexcept;

 private:
  void free() noexcept {
    if (devices_ != nullptr) ibv_free_device_list(devices_);
  }

  ibv_device** devices_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/device.ipp>
#endif
