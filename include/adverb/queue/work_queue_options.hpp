// SPDX-License-Identifier: MIT
// The options and the states of work queues.
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include <adverb/completion/completion_queue.hpp>
#include <adverb/core/failure.hpp>
#include <adverb/core/flags.hpp>
#include <adverb/device/context_ref.hpp>

namespace adverb::inline ADVERB_ABI {

/// The state of a work queue. In a type, the state that the program last set; the device may have
/// moved the queue to `error` by itself.
enum class work_queue_state : std::uint32_t {
  reset = IBV_WQS_RESET,
  /// Receives can be posted.
  ready = IBV_WQS_RDY,
  error = IBV_WQS_ERR,
  unknown = IBV_WQS_UNKNOWN,
  /// In a type only: a queue that goes through several states.
  any = 255,
};

[[nodiscard]] constexpr static_string<48> to_text(work_queue_state state) noexcept {
  constexpr std::string_view names = "RESET|ready|ERR|unknown";
  const auto number = static_cast<std::uint32_t>(state);
  if (state == work_queue_state::any) return detail::name_or_number("any", number);
  return detail::listed_name_or_number(names, number);
}

/// Flags for the receives of a work queue.
enum class work_queue_flag : std::uint32_t {
  /// Strips the VLAN tag from each packet.
  strip_vlan = IBV_WQ_FLAGS_CVLAN_STRIPPING,
  /// Receives the frame check sequence with each packet.
  scatter_frame_check_sequence = IBV_WQ_FLAGS_SCATTER_FCS,
  /// Delays dropping packets when no receive is posted.
  delay_drop = IBV_WQ_FLAGS_DELAY_DROP,
  /// Writes whole cache lines over PCI.
  pci_write_end_padding = IBV_WQ_FLAGS_PCI_WRITE_END_PADDING,
};
template <>
inline constexpr bool is_flag<work_queue_flag> = true;
/// A set of flags of a work queue.
using work_queue_flags = flags<work_queue_flag>;

[[nodiscard]] constexpr std::string_view flag_name(work_queue_flag flag) noexcept {
  switch (flag) {
    case work_queue_flag::strip_vlan: return "strip_vlan";
    case work_queue_flag::scatter_frame_check_sequence: return "scatter_frame_check_sequence";
    case work_queue_flag::delay_drop: return "delay_drop";
    case work_queue_flag::pci_write_end_padding: return "pci_write_end_padding";
  }
  return {};
}

/// The actual number of receives that a work queue holds, and of elements per receive.
struct work_queue_capacity {
  /// The number of receives that the queue holds.
  std::uint32_t max_wr = 0;
  /// The number of scatter elements per receive.
  std::uint32_t max_sge = 0;
};

/// The options for creating a work queue.
struct work_queue_options {
  /// Completion queue of its receives.
  completion_queue_ref completion_queue{};
  /// Minimum number of receives that it holds.
  std::uint32_t max_wr = 1;
  /// Minimum number of scatter/gather elements per receive.
  std::uint32_t max_sge = 1;
  /// Creation flags.
  work_queue_flags flags{};
  /// Receives the capacity that the device granted, which cannot be queried later.
  work_queue_capacity* granted = nullptr;
  /// Returned by `user_context()`.
  void* user_context = nullptr;

  [[nodiscard]] ibv_wq_init_attr native(ibv_pd* domain) const noexcept;
};

/// The flags of a work queue to turn on and off; the others stay unchanged.
struct work_queue_flag_changes {
  /// The flags to set.
  work_queue_flags enable{};
  /// The flags to clear.
  work_queue_flags disable{};
};

namespace detail {

/// Returns the flags that a device reports as supported.
[[nodiscard]] work_queue_flags supported_work_queue_flags(const device_attributes& device) noexcept;

[[gnu::cold]] void add_missing_flags(problem_list& problems, work_queue_flags asked,
                                     const device_attributes& device);

/// Explains why a work queue could not be created.
[[gnu::cold]] void explain_work_queue(failure_description& description, context_ref context,
                                      const work_queue_options& options);

}  // namespace detail
}  // namespace adverb::inline ADVERB_ABI

#if !defined(ADVERB_SEPARATE_COMPILATION)
#include <adverb/queue/impl/work_queue_options.ipp>
#endif
