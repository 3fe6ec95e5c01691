// SPDX-License-Identifier: MIT
// Counters for the packets of flows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/device/context_ref.hpp>
#include <adverb/device/detail/explain_device.hpp>
#include <adverb/steering/flow.hpp>

namespace adverb::inline ADVERB_ABI {

/// The quantity that a counter counts.
enum class counted : std::uint32_t {
  packets = IBV_COUNTER_PACKETS,
  bytes = IBV_COUNTER_BYTES,
};

[[nodiscard]] constexpr static_string<48> to_text(counted what) noexcept {
  constexpr std::string_view names = "packets|bytes";
  const auto number = static_cast<std::uint32_t>(what);
  return detail::listed_name_or_number(names, number);
}

namespace detail {

struct counters_traits {
  using native_type = ibv_counters;
  static constexpr const char* destroy_verb = "ibv_destroy_counters";
  static int destroy(ibv_counters* counters) noexcept { return ibv_destroy_counters(counters); }
  static void list_parents(const ibv_counters* counters, parent_visitor& parents) noexcept {
    parents.add(counters->context);
  }
  static void describe(const ibv_counters* counters, text_writer& writer) noexcept {
    put_device(writer, counters->context).put(" counters");
  }
};

/// The operations on a set of counters, owned or referenced.
class counters_base : public handle_base<ibv_counters> {
 public:
  using handle_base::handle_base;

  /// Returns the context that the object belongs to.
  [[nodiscard]] context_ref context() const noexcept { return checked_handle()->context; }

  /// Counts a quantity at an index, in flows that later name these counters in an `action_count`.
  /// Quantities that share an index are added up. Fails with EBUSY if a flow already uses the
  /// counters. Wraps: ibv_attach_counters_point_flow(3).
  void attach(counted what, std::uint32_t index, on_failure policy = throwing{}) const {
    attach_to(nullptr, what, index, policy);
  }
  /// Counts a quantity at an index in a flow that is in force. Some devices with counters do not
  /// support this. Wraps: ibv_attach_counters_point_flow(3).
  void attach(counted what, std::uint32_t index, flow_ref flow,
              on_failure policy = throwing{}) const;

  /// Reads the counters from index 0. `values` must reach the highest index in use.
  /// Wraps: ibv_read_counters(3).
  void read(std::span<std::uint64_t> values, on_failure policy = throwing{}) const {
    read_with(0, values, policy);
  }
  /// Reads the values that the driver last read, if any, instead of querying the device.
  /// Wraps: ibv_read_counters(3).
  void read_cached(std::span<std::uint64_t> values, on_failure policy = throwing{}) const {
    read_with(IBV_READ_COUNTERS_ATTR_PREFER_CACHED, values, policy);
  }

 private:
  static constexpr const char* attach_verb = "ibv_attach_counters_point_flow";
  static constexpr const char* read_verb = "ibv_read_counters";

  void attach_to(ibv_flow* flow, counted what, std::uint32_t index, on_failure policy) const;

  void read_with(std::uint32_t flags, std::span<std::uint64_t> values, on_failure policy) const;
};

}  // namespace detail

/// A reference to counters that another object keeps alive. Pass it by value; it is as cheap as a
/// pointer.
class counters_ref : public detail::reference_to<detail::counters_base> {
 public:
  using reference_to::reference_to;
};

/// A set of counters, each at its own index. `action_count` attaches it to flows.
///
///     counters traffic{device};
///     traffic.attach(counted::packets, 0);
///     traffic.attach(counted::bytes, 1);
///     flow steered{pair, flow_rule{{.port = port}, match_ethernet{.destination = mac},
///                                  action_count{traffic}}};
///     std::array<std::uint64_t, 2> values{};
///     traffic.read(values);
///
/// Counters start at zero and only increase. They must outlive the flows that use them.
class [[nodiscard]] counters
    : public detail::owner<detail::counters_base, detail::counters_traits> {
 public:
  using owner::owner;

  /// Creates a set of counters. Wraps: ibv_create_counters(3).
  explicit counters(context_ref context, on_failure policy = throwing{});
};

}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/steering/impl/counters.ipp>
#endif
