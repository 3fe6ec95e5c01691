// SPDX-License-Identifier: MIT
// The options of a measurement: the arguments of the program, spelled as those of perftest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <adverb/device/port.hpp>

#include "common/connection_options.hpp"

namespace perf {

enum class operation : std::uint8_t { send, write, read, atomic };
enum class measure : std::uint8_t { latency, bandwidth };
enum class service : std::uint8_t { rc, uc, ud };
enum class engine : std::uint8_t { classic, extended };
enum class atomic_operation : std::uint8_t { fetch_and_add, compare_and_swap };

[[nodiscard]] const char* name_of(operation value) noexcept;
[[nodiscard]] const char* name_of(measure value) noexcept;
[[nodiscard]] const char* name_of(service value) noexcept;
[[nodiscard]] const char* name_of(engine value) noexcept;
[[nodiscard]] const char* name_of(atomic_operation value) noexcept;

/// The size of an atomic operation.
inline constexpr std::uint32_t atomic_size = 8;

struct options : examples::connection_options {
  perf::operation operation{};
  perf::measure measure{};
  perf::service service = service::rc;
  perf::engine engine = engine::classic;
  perf::atomic_operation atomic = atomic_operation::fetch_and_add;
  /// In bytes; the default depends on the operation.
  std::optional<std::uint32_t> size{};
  bool all_sizes = false;
  /// For each queue pair and size.
  std::optional<std::uint64_t> iterations{};
  /// In seconds; 0 where iterations count.
  std::uint32_t duration = 0;
  std::uint32_t queue_pairs = 1;
  /// Until an answer has to be there: so many times 4.096 us doubled. RC only.
  std::uint32_t answer_timeout = 14;
  std::optional<std::uint32_t> send_depth{};
  std::uint32_t receive_depth = 512;
  std::uint32_t post_list = 1;
  std::optional<std::uint32_t> inline_size{};
  std::optional<std::uint32_t> moderation{};
  bool sleep = false;
  std::optional<adverb::mtu> mtu{};
  /// The destination of the report as JSON: a file, "-" for standard output, empty for none.
  std::string json{};

  void add_to(examples::command_line& arguments);

  /// Refuses what cannot be together, and fills in the defaults that depend on each other.
  void complete();

  [[nodiscard]] bool is_latency() const noexcept { return measure == measure::latency; }
  /// Returns whether the server takes part beyond offering its memory.
  [[nodiscard]] bool has_messages() const noexcept { return operation == operation::send; }
  /// The sizes to measure, in bytes, at most `largest`.
  [[nodiscard]] std::vector<std::uint32_t> sizes(std::uint32_t largest) const;
  /// Returns the number of messages of this size for each completion.
  [[nodiscard]] std::uint32_t signal_interval(std::uint32_t message_size) const noexcept;
};

}  // namespace perf
