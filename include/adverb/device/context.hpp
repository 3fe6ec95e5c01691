// SPDX-License-Identifier: MIT
// An open device, and what it can be asked.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <endian.h>
#include <infiniband/verbs.h>

#include <adverb/core/handle.hpp>
#include <adverb/device/device.hpp>
#include <adverb/device/device_attributes.hpp>
#include <adverb/device/gid.hpp>
#include <adverb/device/port.hpp>
#include <adverb/fwd.hpp>

namespace adverb::inline ADVERB_ABI {

namespace detail {

/// "rxe0".
inline text_writer& put_device(text_writer& writer, const ibv_context* context) noexcept {
  return writer.put(context->device->name);
}

/// Describes a failure on "rxe0", or on "rxe0:1" when a port is given.
[[nodiscard]] inline auto on_device(const ibv_context* context) noexcept {
  return [context](failure_description& description) {
    description.object([&](text_writer& writer) { put_device(writer, context); });
  };
}
[[nodiscard]] inline auto on_port(const ibv_context* context, port_number port) noexcept {
  return [context, port](failure_description& description) {
    description.object(
        [&](text_writer& writer) { put_device(writer, context).put(":").put(port); });
  };
}

/// An index that the C API takes as an int.
template <class Index>
[[nodiscard]] constexpr int to_int(Index index) noexcept {
  return static_cast<int>(index);
}

}  // namespace detail

/// What an open device can be asked; the same for its owner (`context`) and for a reference to it
/// (`context_ref`). Thread safe.
template <class Storage>
class context_operations : public Storage {
 public:
  using Storage::Storage;

  [[nodiscard]] device_ref device() const noexcept { return this->native_handle()->device; }
  /// The file descriptor on which asynchronous events arrive.
  [[nodiscard]] int async_file_descriptor() const noexcept {
    return this->native_handle()->async_fd;
  }
  /// How many completion vectors there are to spread completion queues over.
  [[nodiscard]] std::uint32_t completion_vectors() const noexcept {
    return static_cast<std::uint32_t>(this->native_handle()->num_comp_vectors);
  }

  /// The limits and capabilities of the device. Wraps: ibv_query_device_ex(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] device_attributes query_device(Policy&& policy = {}) const {
    if (!present(std::forward<Policy>(policy), "ibv_query_device_ex")) return {};
    ibv_device_attr_ex attributes{};
    const int result = ibv_query_device_ex(this->native_handle(), nullptr, &attributes);
    if (!detail::check_returned(std::forward<Policy>(policy), "ibv_query_device_ex", result,
                                detail::on_device(this->native_handle())))
      return {};
    return device_attributes{attributes};
  }

  /// The state of a port. Wraps: ibv_query_port(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] port_attributes query_port(port_number port, Policy&& policy = {}) const {
    if (!present(std::forward<Policy>(policy), "ibv_query_port")) return {};
    ibv_port_attr attributes{};
    const int result =
        ibv_query_port(this->native_handle(), static_cast<std::uint8_t>(port), &attributes);
    if (!detail::check_returned(std::forward<Policy>(policy), "ibv_query_port", result,
                                [&](failure_description& description) {
                                  detail::on_port(this->native_handle(), port)(description);
                                  explain_port(description, port);
                                }))
      return {};
    return port_attributes{attributes};
  }

  /// The address at an index of a port's GID table; the empty GID where nothing is.
  /// Wraps: ibv_query_gid(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] adverb::gid gid(port_number port, gid_index index, Policy&& policy = {}) const {
    if (!present(std::forward<Policy>(policy), "ibv_query_gid")) return {};
    ibv_gid native{};
    const bool found = detail::check_minus_one(
        std::forward<Policy>(policy), "ibv_query_gid",
        [&] {
          return ibv_query_gid(this->native_handle(), static_cast<std::uint8_t>(port),
                               detail::to_int(index), &native);
        },
        detail::on_port(this->native_handle(), port));
    return found ? adverb::gid{native} : adverb::gid{};
  }

  /// The entry at an index of a port's GID table, or nothing where nothing is.
  /// Wraps: ibv_query_gid_ex(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] std::optional<adverb::gid_entry> gid_entry(port_number port, gid_index index,
                                                           Policy&& policy = {}) const {
    if (!present(std::forward<Policy>(policy), "ibv_query_gid_ex")) return std::nullopt;
    ibv_gid_entry native{};
    const int result = ibv_query_gid_ex(this->native_handle(), static_cast<std::uint32_t>(port),
                                        static_cast<std::uint32_t>(index), &native, 0);
    const bool empty = result == ENODATA || result == -ENODATA;
    if (!detail::check_returned(std::forward<Policy>(policy), "ibv_query_gid_ex",
                                empty ? 0 : result, detail::on_port(this->native_handle(), port)) ||
        empty)
      return std::nullopt;
    return adverb::gid_entry{native};
  }

  /// All entries of the GID tables of all ports. Wraps: ibv_query_gid_table(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] std::vector<adverb::gid_entry> gid_table(Policy&& policy = {}) const {
    std::size_t capacity = 0;
    const std::uint32_t ports = query_device(std::forward<Policy>(policy)).physical_ports();
    if (detail::failed(policy)) return {};
    for (std::uint32_t port = 1; port <= ports; ++port) {
      capacity += query_port(static_cast<port_number>(port), std::forward<Policy>(policy))
                      .gid_table_length();
      if (detail::failed(policy)) return {};
    }
    std::vector<ibv_gid_entry> entries(capacity);
    const std::size_t count = detail::check_count(
        std::forward<Policy>(policy), "ibv_query_gid_table",
        ibv_query_gid_table(this->native_handle(), entries.data(), entries.size(), 0),
        detail::on_device(this->native_handle()));
    return {entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  /// The partition key at an index of a port's table. Wraps: ibv_query_pkey(3).
  template <error_policy Policy = throwing>
  [[nodiscard]] adverb::pkey pkey(port_number port, pkey_index index, Policy&& policy = {}) const {
    if (!present(std::forward<Policy>(policy), "ibv_query_pkey")) return {};
    __be16 native = 0;
    const bool found = detail::check_minus_one(
        std::forward<Policy>(policy), "ibv_query_pkey",
        [&] {
          return ibv_query_pkey(this->native_handle(), static_cast<std::uint8_t>(port),
                                detail::to_int(index), &native);
        },
        detail::on_port(this->native_handle(), port));
    return static_cast<adverb::pkey>(found ? be16toh(native) : 0);
  }

 private:
  template <error_policy Policy>
  bool present(Policy&& policy, std::string_view verb) const {
    return detail::check_present(std::forward<Policy>(policy), verb, this->native_handle());
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

namespace detail {

struct context_traits {
  using native_type = ibv_context;
  static constexpr std::string_view destroy_verb = "ibv_close_device";
  static int destroy(ibv_context* context) noexcept { return ibv_close_device(context); }
  template <class Function>
  static void for_each_parent(const ibv_context*, const Function&) noexcept {}
  static void describe(const ibv_context* context, text_writer& writer) noexcept {
    put_device(writer, context);
  }
};

/// "there are: mlx5_0, rxe0", or what to do when there is none.
inline void put_device_names(text_writer& writer, const device_list& devices) noexcept {
  if (devices.empty()) {
    writer.put(
        "this machine has no RDMA device; \"rdma link add rxe0 type rxe netdev IF\" makes a "
        "software one");
    return;
  }
  std::string_view separator = "there are: ";
  for (const device_ref device : devices) {
    writer.put(separator).put(device.name());
    separator = ", ";
  }
}

}  // namespace detail

/// An open device. Everything made from it has to be destroyed before it.
class [[nodiscard]] context : public context_operations<unique_handle<detail::context_traits>> {
 public:
  using context_operations::context_operations;

  /// Opens a device of a device_list. Wraps: ibv_open_device(3).
  template <error_policy Policy = throwing>
  explicit context(device_ref device, Policy&& policy = {})
      : context_operations{adopt, open(device, std::forward<Policy>(policy))} {}

 private:
  template <error_policy Policy>
  static ibv_context* open(device_ref device, Policy&& policy) {
    const auto describe = [&](failure_description& description) {
      if (!device) {
        description.explain("the device is empty: not found, or its list is gone");
        return;
      }
      description.object([&](text_writer& writer) { writer.put(device.name()); });
      if (description.code() == std::errc::permission_denied)
        description.explain("no access to its device file in /dev/infiniband");
    };
    if (!device) {
      detail::report_errno(std::forward<Policy>(policy), ENODEV, "ibv_open_device", describe);
      return nullptr;
    }
    return detail::check_pointer(
        std::forward<Policy>(policy), "ibv_open_device",
        [&] { return ibv_open_device(device.native_handle()); }, describe);
  }
};

/// Opens the device of that name; an empty name opens the first one of the machine. When there is
/// no such device, the error (ENODEV) lists those that there are.
template <error_policy Policy = throwing>
[[nodiscard]] context open_device(std::string_view name = {}, Policy&& policy = {}) {
  const device_list devices{std::forward<Policy>(policy)};
  if (detail::failed(policy)) return {};
  const device_ref found = name.empty() && !devices.empty() ? devices[0] : devices.find(name);
  if (!found) {
    detail::report_errno(std::forward<Policy>(policy), ENODEV, "ibv_open_device",
                         [&](failure_description& description) {
                           if (!name.empty())
                             description.object([&](text_writer& writer) { writer.put(name); });
                           description.explain([&](text_writer& writer) {
                             detail::put_device_names(writer, devices);
                           });
                         });
    return {};
  }
  return context{found, std::forward<Policy>(policy)};
}

}  // namespace adverb::inline ADVERB_ABI
