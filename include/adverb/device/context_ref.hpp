// SPDX-License-Identifier: MIT
// The operations of an open device.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <endian.h>
#include <infiniband/verbs.h>

#include <adverb/core/detail/call_if_declared.hpp>
#include <adverb/core/detail/file_descriptor.hpp>
#include <adverb/core/handle.hpp>
#include <adverb/device/async_event.hpp>
#include <adverb/device/detail/describe_device.hpp>
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
template <class Context, class Describe>
[[nodiscard]] std::uint64_t port_megabits(Context* context, std::uint32_t port,
                                          const Describe& describe, on_failure policy) {
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

}  // namespace detail

namespace detail {

/// The operations of an open device, common to its owner (`context`) and a reference to it
/// (`context_ref`). Thread safe.
class context_base : public handle_base<ibv_context> {
 public:
  using handle_base::handle_base;

  [[nodiscard]] device_ref device() const noexcept { return native_handle()->device; }
  /// Returns the file descriptor of the device in this process, for `context::import` in another
  /// one.
  [[nodiscard]] int command_file_descriptor() const noexcept { return native_handle()->cmd_fd; }
  /// Returns the number of completion vectors over which completion queues can be spread.
  [[nodiscard]] std::uint32_t completion_vectors() const noexcept {
    return static_cast<std::uint32_t>(native_handle()->num_comp_vectors);
  }

  /// Returns a descriptor for poll or epoll. It is readable while an asynchronous event is pending.
  [[nodiscard]] int async_file_descriptor() const noexcept { return native_handle()->async_fd; }
  /// Returns whether `next_async_event` would return an event at once. Wraps: poll(2).
  [[nodiscard]] bool has_async_event() const noexcept {
    return detail::is_readable(async_file_descriptor());
  }
  /// Makes `next_async_event` non-blocking, or blocking again. Wraps: fcntl(2).
  void set_async_non_blocking(bool non_blocking, on_failure policy = throwing{}) const {
    if (!present(policy, "fcntl")) return;
    detail::set_non_blocking(policy, async_file_descriptor(), non_blocking,
                             detail::on_device(native_handle()));
  }
  /// Blocks until the next asynchronous event and returns it. If several threads wait, each event
  /// wakes one. Returns nothing if a signal handler ran meanwhile, or if the device is non-blocking
  /// and no event is pending. The object of an event cannot be destroyed before the event is
  /// acknowledged: see `async_event`.
  /// Wraps: ibv_get_async_event(3).
  [[nodiscard]] std::optional<async_event> next_async_event(on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_get_async_event")) return std::nullopt;
    ibv_async_event event{};
    const bool found = detail::check_waited(
        policy, "ibv_get_async_event", [&] { return ibv_get_async_event(native_handle(), &event); },
        detail::on_device(native_handle()));
    if (!found) return std::nullopt;
    return async_event{adopt, native_handle(), event};
  }

  /// Returns the limits and capabilities of the device. Wraps: ibv_query_device_ex(3).
  [[nodiscard]] device_attributes query_device(on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_device_ex")) return {};
    ibv_device_attr_ex attributes{};
    const int result = ibv_query_device_ex(native_handle(), nullptr, &attributes);
    if (!detail::check_returned(policy, "ibv_query_device_ex", result,
                                detail::on_device(native_handle())))
      return {};
    return device_attributes{attributes};
  }

  /// Returns the state and attributes of a port. Wraps: ibv_query_port(3).
  [[nodiscard]] port_attributes query_port(port_number port, on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_port")) return {};
    ibv_port_attr attributes{};
    const int result =
        ibv_query_port(native_handle(), static_cast<std::uint8_t>(port), &attributes);
    if (!detail::check_returned(policy, "ibv_query_port", result,
                                [&](failure_description& description) {
                                  detail::on_port(native_handle(), port)(description);
                                  explain_port(description, port);
                                }))
      return {};
    return port_attributes{attributes};
  }

  /// Returns the GID at an index of a port's GID table; the empty GID if there is no entry.
  /// Wraps: ibv_query_gid(3).
  [[nodiscard]] adverb::gid gid(port_number port, gid_index index,
                                on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_gid")) return {};
    ibv_gid native{};
    const bool found = detail::check_minus_one(
        policy, "ibv_query_gid",
        [&] {
          return ibv_query_gid(native_handle(), static_cast<std::uint8_t>(port),
                               detail::to_int(index), &native);
        },
        detail::on_port(native_handle(), port));
    return found ? adverb::gid{native} : adverb::gid{};
  }

  /// Returns the entry at an index of a port's GID table, or nothing if there is none.
  /// Wraps: ibv_query_gid_ex(3).
  [[nodiscard]] std::optional<adverb::gid_entry> gid_entry(port_number port, gid_index index,
                                                           on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_gid_ex")) return std::nullopt;
    ibv_gid_entry native{};
    const int result = ibv_query_gid_ex(native_handle(), static_cast<std::uint32_t>(port),
                                        static_cast<std::uint32_t>(index), &native, 0);
    const bool empty = result == ENODATA || result == -ENODATA;
    if (!detail::check_returned(policy, "ibv_query_gid_ex", empty ? 0 : result,
                                detail::on_port(native_handle(), port)) ||
        empty)
      return std::nullopt;
    return adverb::gid_entry{native};
  }

  /// Returns all entries of the GID tables of all ports. Omits ports beyond 255, which no queue
  /// pair can use. Wraps: ibv_query_gid_table(3).
  [[nodiscard]] std::vector<adverb::gid_entry> gid_table(on_failure policy = throwing{}) const {
    const std::uint32_t ports = query_device(policy).physical_ports();
    if (policy.failed()) return {};
    // Each port gets the room of the longest table: a port beyond 255 cannot be queried, and a port
    // that fails must not hide the others.
    std::uint32_t longest = 0;
    bool answered = false;
    failure first;
    for (std::uint32_t port = 1; port <= ports && port <= last_port; ++port) {
      failure why;
      const auto length = query_port(static_cast<port_number>(port), why).gid_table_length();
      if (!why) {
        answered = true;
        if (length > longest) longest = length;
      } else if (!first) {
        first = why;
      }
    }
    if (first && !answered) {
      policy.report(first);
      return {};
    }
    const std::size_t capacity = std::size_t{ports} * longest;
    std::vector<adverb::gid_entry> entries(capacity);
    entries.resize(read_gid_table(entries.data(), capacity, policy));
    return entries;
  }

  /// Reads the GID tables of all ports into `room` and returns the part that was filled. Fails with
  /// EINVAL if `room` is too small. Wraps: ibv_query_gid_table(3).
  [[nodiscard]] std::span<adverb::gid_entry> gid_table(std::span<adverb::gid_entry> room,
                                                       on_failure policy = throwing{}) const {
    return room.first(read_gid_table(room.data(), room.size(), policy));
  }

  /// Returns the partition key at an index of a port's table. Wraps: ibv_query_pkey(3).
  [[nodiscard]] adverb::pkey pkey(port_number port, pkey_index index,
                                  on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_pkey")) return {};
    __be16 native = 0;
    const bool found = detail::check_minus_one(
        policy, "ibv_query_pkey",
        [&] {
          return ibv_query_pkey(native_handle(), static_cast<std::uint8_t>(port),
                                detail::to_int(index), &native);
        },
        detail::on_port(native_handle(), port));
    return static_cast<adverb::pkey>(found ? be16toh(native) : 0);
  }

  /// Returns the index of a partition key in a port's table, or nothing if the key is absent. The
  /// membership bit counts. Wraps: ibv_get_pkey_index(3).
  [[nodiscard]] std::optional<pkey_index> find_pkey(port_number port, adverb::pkey key,
                                                    on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_get_pkey_index")) return std::nullopt;
    const int index = ibv_get_pkey_index(native_handle(), static_cast<std::uint8_t>(port),
                                         htobe16(static_cast<std::uint16_t>(key)));
    if (index >= 0) {
      policy.clear();
      return static_cast<pkey_index>(index);
    }
    // The call fails alike for a missing key and for a missing port. query_port reports the latter.
    (void)query_port(port, policy);
    return std::nullopt;
  }

  /// Returns the current reading of the device's clock. `device_attributes::clock()` returns its
  /// frequency. Wraps: ibv_query_rt_values_ex(3).
  [[nodiscard]] device_ticks device_time(on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_rt_values_ex")) return {};
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    int result = ibv_query_rt_values_ex(native_handle(), &values);
    // A provider without a clock may succeed without setting the value.
    if (result == 0 && (values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK) == 0) result = EOPNOTSUPP;
    if (!detail::check_returned(policy, "ibv_query_rt_values_ex", result,
                                detail::on_device(native_handle())))
      return {};
    // The fields hold ticks, not a time: providers leave the seconds 0.
    constexpr std::uint64_t second = 1'000'000'000;
    return static_cast<device_ticks>(static_cast<std::uint64_t>(values.raw_clock.tv_sec) * second +
                                     static_cast<std::uint64_t>(values.raw_clock.tv_nsec));
  }

  /// Returns the effective bandwidth of a port in Mbit/s; for a function of a shared device, that
  /// of all links behind it. Fails with EOPNOTSUPP if the headers are older than rdma-core 62.
  /// Wraps: ibv_query_port_speed(3).
  [[nodiscard]] std::uint64_t port_megabits(port_number port,
                                            on_failure policy = throwing{}) const {
    if (!present(policy, "ibv_query_port_speed")) return 0;
    return detail::port_megabits(native_handle(), static_cast<std::uint32_t>(port),
                                 detail::on_port(native_handle(), port), policy);
  }

 private:
  /// The last port that a port_number, and a queue pair, can name.
  static constexpr std::uint32_t last_port = std::numeric_limits<std::uint8_t>::max();

  /// Returns the number of entries filled. Omits entries of ports beyond `last_port`.
  std::size_t read_gid_table(adverb::gid_entry* entries, std::size_t room,
                             on_failure policy) const {
    if (!present(policy, "ibv_query_gid_table")) return 0;
    const std::size_t count = detail::check_count(
        policy, "ibv_query_gid_table",
        ibv_query_gid_table(native_handle(), detail::native_gid_entries(entries), room, 0),
        [&](failure_description& description) {
          detail::on_device(native_handle())(description);
          if (description.code() != std::errc::invalid_argument) return;
          description.explain([&](text_writer& writer) {
            writer.put("there are more entries than the ").decimal(room);
            writer.put(" that there is room for");
          });
        });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (entries[i].native().port_num <= last_port) entries[kept++] = entries[i];
    return kept;
  }

  bool present(on_failure policy, std::string_view verb) const {
    return detail::check_present(policy, verb, native_handle());
  }

  void explain_port(failure_description& description, port_number port) const {
    std::error_code unknown;
    const std::uint32_t ports = query_device(unknown).physical_ports();
    const auto number = static_cast<std::uint32_t>(port);
    if (unknown || (number >= 1 && number <= ports)) return;
    description.explain([&](text_writer& writer) {
      writer.put("the device has ");
      if (ports == 1)
        writer.put("one port, number 1");
      else
        writer.put("ports 1 to ").decimal(ports);
    });
  }
};

}  // namespace detail

/// A non-owning reference to an open device, which must outlive the reference. It is the size of a
/// pointer; pass it by value.
class context_ref : public detail::reference_to<detail::context_base> {
 public:
  using reference_to::reference_to;
};

}  // namespace adverb::inline ADVERB_ABI
