// SPDX-License-Identifier: MIT
// The operations of an open device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include <adverb/core/detail/check.hpp>
#include <adverb/core/detail/deadline.hpp>
#include <adverb/core/error.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/core/ids.hpp>
#include <adverb/device/async_event.hpp>
#include <adverb/device/device.hpp>
#include <adverb/device/device_attributes.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/port.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// Converts an index to the int that the C API takes.
template <class Index>
[[nodiscard]] constexpr int to_int(Index index) noexcept {
  return static_cast<int>(index);
}

/// Implements `port_megabits` of a context. `ibv_query_port_speed` came with rdma-core 62.
template <class Context>
[[nodiscard]] std::uint64_t port_megabits(Context* context, std::uint32_t port,
                                          describe_failure describe, on_failure policy) {
  return call_if_declared<std::uint64_t>(
      policy, "ibv_query_port_speed", describe,
      [&](auto* native, std::uint32_t number)
        requires requires(std::uint64_t speed) { ibv_query_port_speed(native, number, &speed); }
      {
        std::uint64_t speed = 0;
        const bool known = check_returned(policy, "ibv_query_port_speed",
                                          ibv_query_port_speed(native, number, &speed), describe);
        return known ? speed * 100 : std::uint64_t{0};
      },
      context, port);
}

/// The operations of an open device, common to its owner (`context`) and a reference to it
/// (`context_ref`). Thread safe.
class context_base : public handle_base<ibv_context> {
 public:
  using handle_base::handle_base;

  /// Returns the device of the context.
  [[nodiscard]] device_ref device() const noexcept { return checked_handle()->device; }
  /// Returns the file descriptor of the device in this process, for `context::import` in another
  /// one.
  [[nodiscard]] int command_file_descriptor() const noexcept { return checked_handle()->cmd_fd; }
  /// Returns the number of completion vectors over which completion queues can be spread.
  [[nodiscard]] std::uint32_t completion_vectors() const noexcept {
    return static_cast<std::uint32_t>(checked_handle()->num_comp_vectors);
  }

  /// Returns a descriptor for poll or epoll. It is readable while an asynchronous event is pending.
  [[nodiscard]] int async_file_descriptor() const noexcept { return checked_handle()->async_fd; }
  /// Returns whether `next_async_event` would return an event at once. Wraps: poll(2).
  [[nodiscard]] bool has_async_event() const noexcept {
    return detail::is_readable(async_file_descriptor());
  }
  /// Makes `next_async_event` non-blocking, or blocking again. Wraps: fcntl(2).
  void set_async_non_blocking(bool non_blocking, on_failure policy = throwing{}) const;
  /// Blocks until the next asynchronous event and returns it. If several threads wait, each event
  /// wakes one. Returns nothing if a signal handler ran meanwhile, or if the device is non-blocking
  /// and no event is pending. The object of an event cannot be destroyed before the event is
  /// acknowledged: see `async_event`.
  /// Wraps: ibv_get_async_event(3).
  [[nodiscard]] std::optional<async_event> next_async_event(on_failure policy = throwing{}) const;

  /// Returns the limits and capabilities of the device. Wraps: ibv_query_device_ex(3).
  [[nodiscard]] device_attributes query_device(on_failure policy = throwing{}) const;

  /// Returns the state and attributes of a port. Wraps: ibv_query_port(3).
  [[nodiscard]] port_attributes query_port(port_number port, on_failure policy = throwing{}) const;

  /// Returns the GID at an index of a port's GID table; the empty GID if there is no entry.
  /// Wraps: ibv_query_gid(3).
  [[nodiscard]] adverb::gid gid(port_number port, gid_index index,
                                on_failure policy = throwing{}) const;

  /// Returns the entry at an index of a port's GID table, or nothing if there is none.
  /// Wraps: ibv_query_gid_ex(3).
  [[nodiscard]] std::optional<adverb::gid_entry> gid_entry(port_number port, gid_index index,
                                                           on_failure policy = throwing{}) const;

  /// Returns all entries of the GID tables of all ports. Omits ports beyond 255, which no queue
  /// pair can use. Wraps: ibv_query_gid_table(3).
  [[nodiscard]] std::vector<adverb::gid_entry> gid_table(on_failure policy = throwing{}) const;

  /// Reads the GID tables of all ports into `room` and returns the part that was filled. Fails with
  /// EINVAL if `room` is too small. Wraps: ibv_query_gid_table(3).
  [[nodiscard]] std::span<adverb::gid_entry> gid_table(std::span<adverb::gid_entry> room,
                                                       on_failure policy = throwing{}) const;

  /// Returns the partition key at an index of a port's table. Wraps: ibv_query_pkey(3).
  [[nodiscard]] adverb::pkey pkey(port_number port, pkey_index index,
                                  on_failure policy = throwing{}) const;

  /// Returns the index of a partition key in a port's table, or nothing if the key is absent. The
  /// membership bit counts. Wraps: ibv_get_pkey_index(3).
  [[nodiscard]] std::optional<pkey_index> find_pkey(port_number port, adverb::pkey key,
                                                    on_failure policy = throwing{}) const;

  /// Returns the current reading of the device's clock. `device_attributes::clock()` returns its
  /// frequency. Wraps: ibv_query_rt_values_ex(3).
  [[nodiscard]] device_ticks device_time(on_failure policy = throwing{}) const;

  /// Returns the effective bandwidth of a port in Mbit/s; for a function of a shared device, that
  /// of all links behind it. Fails with EOPNOTSUPP if the headers are older than rdma-core 62.
  /// Wraps: ibv_query_port_speed(3).
  [[nodiscard]] std::uint64_t port_megabits(port_number port, on_failure policy = throwing{}) const;

 private:
  /// The last port that a port_number, and a queue pair, can name.
  static constexpr std::uint32_t last_port = std::numeric_limits<std::uint8_t>::max();

  /// Returns the number of entries filled. Omits entries of ports beyond `last_port`.
  std::size_t read_gid_table(adverb::gid_entry* entries, std::size_t room, on_failure policy) const;

  bool present(on_failure policy, const char* verb) const {
    return detail::check_present(policy, verb, native_handle());
  }

  [[gnu::cold]] void explain_port(failure_description& description, port_number port) const;
};

}  // namespace detail

/// A non-owning reference to an open device, which must outlive the reference. It is the size of a
/// pointer; pass it by value.
class context_ref : public detail::reference_to<detail::context_base> {
 public:
  using reference_to::reference_to;
};

namespace detail {

/// Returns the preference of an entry, 0 if it is unusable: RoCE v2 over IPv4, then v2 over IPv6,
/// then v1; link-local addresses last.
[[nodiscard]] int gid_preference(const gid_entry& entry) noexcept;

}  // namespace detail

/// Returns the default entry of a port's GID table to send from. On RoCE the order of preference is
/// v2 over IPv4, v2 over IPv6, v1, and link-local addresses last. On InfiniBand it is the first
/// entry. Returns nothing if the port has no GID.
[[nodiscard]] std::optional<gid_entry> choose_gid(context_ref context, port_number port,
                                                  on_failure policy = throwing{});

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/device/impl/context_ref.ipp>
#endif
