// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>

#include <endian.h>

#include <adverb/device/context.hpp>
#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>

namespace adverb::inline ADVERB_ABI::detail {

ADVERB_FUNC void context_base::set_async_non_blocking(bool non_blocking, on_failure policy) const {
  if (!present(policy, "fcntl")) return;
  detail::set_non_blocking(policy, async_file_descriptor(), non_blocking,
                           detail::on_device(native_handle()));
}

ADVERB_FUNC std::optional<async_event> context_base::next_async_event(on_failure policy) const {
  if (!present(policy, "ibv_get_async_event")) return std::nullopt;
  ibv_async_event event{};
  const bool found = detail::check_waited(
      policy, "ibv_get_async_event", [&] { return ibv_get_async_event(native_handle(), &event); },
      detail::on_device(native_handle()));
  if (!found) return std::nullopt;
  return async_event{adopt, native_handle(), event};
}

[[gnu::noinline]] ADVERB_FUNC device_attributes
context_base::query_device(on_failure policy) const {
  if (!present(policy, "ibv_query_device_ex")) return {};
  ibv_device_attr_ex attributes{};
  const int result = ibv_query_device_ex(native_handle(), nullptr, &attributes);
  if (!detail::check_returned(policy, "ibv_query_device_ex", result,
                              detail::on_device(native_handle())))
    return {};
  return device_attributes{attributes};
}

[[gnu::noinline]] ADVERB_FUNC port_attributes context_base::query_port(port_number port,
                                                                       on_failure policy) const {
  if (!present(policy, "ibv_query_port")) return {};
  ibv_port_attr attributes{};
  const int result = ibv_query_port(native_handle(), static_cast<std::uint8_t>(port), &attributes);
  if (!detail::check_returned(policy, "ibv_query_port", result,
                              [&](failure_description& description) {
                                detail::on_port(native_handle(), port)(description);
                                explain_port(description, port);
                              }))
    return {};
  return port_attributes{attributes};
}

[[gnu::noinline]] ADVERB_FUNC adverb::gid context_base::gid(port_number port, gid_index index,
                                                            on_failure policy) const {
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

ADVERB_FUNC std::optional<adverb::gid_entry> context_base::gid_entry(port_number port,
                                                                     gid_index index,
                                                                     on_failure policy) const {
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

ADVERB_FUNC std::vector<adverb::gid_entry> context_base::gid_table(on_failure policy) const {
  const std::uint32_t ports = query_device(policy).physical_ports();
  if (policy.failed()) return {};
  // Each port gets the room of the longest table: a port beyond 255 cannot be queried, and a port
  // that fails must not hide the others.
  std::uint32_t longest = 0;
  bool answered = false;
  failure why;
  for (std::uint32_t port = 1; port <= ports && port <= last_port; ++port) {
    const auto length = query_port(static_cast<port_number>(port), why).gid_table_length();
    if (!why) answered = true;
    if (length > longest) longest = length;
  }
  if (why && !answered) {
    policy.report(why);
    return {};
  }
  const std::size_t capacity = std::size_t{ports} * longest;
  std::vector<adverb::gid_entry> entries(capacity);
  const std::size_t count = read_gid_table(entries.data(), capacity, policy);
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(count), entries.end());
  return entries;
}

ADVERB_FUNC std::span<adverb::gid_entry> context_base::gid_table(std::span<adverb::gid_entry> room,
                                                                 on_failure policy) const {
  return room.first(read_gid_table(room.data(), room.size(), policy));
}

ADVERB_FUNC adverb::pkey context_base::pkey(port_number port, pkey_index index,
                                            on_failure policy) const {
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

ADVERB_FUNC std::optional<pkey_index> context_base::find_pkey(port_number port, adverb::pkey key,
                                                              on_failure policy) const {
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

ADVERB_FUNC device_ticks context_base::device_time(on_failure policy) const {
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

ADVERB_FUNC std::uint64_t context_base::port_megabits(port_number port, on_failure policy) const {
  if (!present(policy, "ibv_query_port_speed")) return 0;
  return detail::port_megabits(native_handle(), static_cast<std::uint32_t>(port),
                               detail::on_port(native_handle(), port), policy);
}

[[gnu::noinline]] ADVERB_FUNC std::size_t context_base::read_gid_table(adverb::gid_entry* entries,
                                                                       std::size_t room,
                                                                       on_failure policy) const {
  if (!present(policy, "ibv_query_gid_table")) return 0;
  const std::size_t count = detail::check_count(
      policy, "ibv_query_gid_table",
      ibv_query_gid_table(native_handle(), detail::native_gid_entries(entries), room, 0),
      [&](failure_description& description) {
        detail::on_device(native_handle())(description);
        if (!is_code(description.code(), std::errc::invalid_argument)) return;
        description.explain("the table has more entries than fit: there is room for {}", {room});
      });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (entries[i].native().port_num <= last_port) entries[kept++] = entries[i];
  return kept;
}

ADVERB_FUNC void context_base::explain_port(failure_description& description,
                                            port_number port) const {
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

/// Returns the entry of a port that is preferred to the others, or nothing if none is usable.
[[nodiscard, gnu::noinline]] ADVERB_FUNC std::optional<gid_entry> best_gid(
    const ibv_gid_entry* entries, std::size_t count, port_number port) noexcept {
  const ibv_gid_entry* best = nullptr;
  int preference = 0;
  for (std::size_t index = 0; index < count; ++index) {
    const ibv_gid_entry& entry = entries[index];
    if (entry.port_num != static_cast<std::uint32_t>(port)) continue;
    const int preferred = gid_preference(gid_entry{entry});
    if (preferred <= preference) continue;
    best = &entry;
    preference = preferred;
  }
  if (best == nullptr) return std::nullopt;
  return gid_entry{*best};
}

[[gnu::noinline]] ADVERB_FUNC int gid_preference(const gid_entry& entry) noexcept {
  const gid address = entry.gid();
  if (address.is_empty()) return 0;
  if (entry.type() == gid_type::infiniband) return 1;
  const bool second_version = entry.type() == gid_type::roce_v2;
  if (address.is_link_local()) return second_version ? 2 : 1;
  if (!second_version) return 3;
  return address.is_ipv4_mapped() ? 5 : 4;
}

}  // namespace adverb::inline ADVERB_ABI::detail

namespace adverb::inline ADVERB_ABI {

ADVERB_FUNC std::optional<gid_entry> choose_gid(context_ref context, port_number port,
                                                on_failure policy) {
  constexpr const char* verb = "ibv_query_gid_table";
  if (!detail::check_present(policy, verb, context.native_handle())) return std::nullopt;
  // Most tables have few entries. The others are read with the room that their ports need.
  constexpr std::size_t room = 64;
  ibv_gid_entry few[room];
  const ssize_t count = ibv_query_gid_table(context.native_handle(), few, room, 0);
  if (count == -EINVAL) {
    std::vector<gid_entry> all = context.gid_table(policy);
    return detail::best_gid(detail::native_gid_entries(all.data()), all.size(), port);
  }
  const std::size_t found =
      detail::check_count(policy, verb, count, detail::on_device(context.native_handle()));
  return detail::best_gid(few, found, port);
}

}  // namespace adverb::inline ADVERB_ABI
