// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "common/command_line.hpp"
#include "common/limits.hpp"
#include "common/mtu_option.hpp"

namespace perf {

namespace {

using examples::wrong_argument;

constexpr std::array operation_names{"send", "write", "read", "atomic"};
constexpr std::array measure_names{"lat", "bw"};
constexpr std::array service_names{"RC", "UC", "UD"};
constexpr std::array engine_names{"classic", "extended"};
constexpr std::array atomic_names{"fetch_and_add", "compare_and_swap"};

constexpr std::uint32_t largest_of_all_sizes = 8U << 20;
/// Above this size, perftest signals each message.
constexpr std::uint32_t moderated_size = 8192;
constexpr std::uint32_t usual_moderation = 100;
constexpr std::uint64_t many = 1'000'000'000;

}  // namespace

const char* name_of(operation value) noexcept {
  return operation_names[static_cast<std::size_t>(value)];
}
const char* name_of(measure value) noexcept {
  return measure_names[static_cast<std::size_t>(value)];
}
const char* name_of(service value) noexcept {
  return service_names[static_cast<std::size_t>(value)];
}
const char* name_of(engine value) noexcept { return engine_names[static_cast<std::size_t>(value)]; }
const char* name_of(atomic_operation value) noexcept {
  return atomic_names[static_cast<std::size_t>(value)];
}

void options::add_to(examples::command_line& arguments) {
  arguments.add_choice("OPERATION", operation, operation_names, "send, write, read or atomic")
      .required();
  arguments.add_choice("MEASURE", measure, measure_names, "lat (latency) or bw (bandwidth)")
      .required();
  add_connection_to(arguments);
  device_options::add_to(arguments, "the best one", "-x,--gid-index");

  const examples::option one_size =
      arguments.add_number("-s,--size", size, 1, examples::unlimited,
                           "Size of a message, in bytes (default: 2 for lat, 65536 for bw)");
  arguments
      .add_flag("-a,--all", all_sizes, "All sizes: 2, 4, 8 and so on to 8 MiB, or one packet of UD")
      .excludes(one_size);
  const examples::option count = arguments.add_number(
      "-n,--iters", iterations, 1, many,
      "Messages of each size and queue pair (default: 1000 for lat, 5000 for bw)");
  arguments
      .add_number("-D,--duration", duration, 1, 1'000'000,
                  "Seconds to measure each size for, instead of a number of messages")
      .default_text("")
      .excludes(count);
  arguments.add_choice("-c,--connection", service, service_names, "RC, UC or UD (default: RC)");
  arguments.add_number("-q,--qp", queue_pairs, 1, 65536, "Number of queue pairs (bw)");
  arguments.add_number("-u,--qp-timeout", answer_timeout, 1, 31,
                       "An answer has to come within 4.096 us, doubled so many times (RC)");
  arguments.add_number(
      "-t,--tx-depth", send_depth, 1, examples::unlimited,
      "Most messages in progress of a queue pair (default: 1 for lat, 128 for bw)");
  arguments.add_number("-r,--rx-depth", receive_depth, 1, examples::unlimited,
                       "Receives that are posted for each queue pair (send)");
  arguments.add_number("-l,--post_list", post_list, 1, examples::unlimited,
                       "Messages to post with each call (bw)");
  arguments.add_number("-I,--inline_size", inline_size, 0, examples::unlimited,
                       "Largest message to post inline (default: 0 for bw, 236 for lat where the "
                       "device can)");
  arguments.add_number("-Q,--cq-mod", moderation, 1, examples::unlimited,
                       "Messages for each completion (default: 100; 1 for messages of more than "
                       "8192 bytes)");
  arguments.add_flag("-e,--events", sleep, "Sleep until there are completions, instead of polling");
  examples::add_mtu(arguments, mtu, "Path MTU, in bytes (default: the largest of both ports)");
  arguments.add_choice(
      "--engine", engine, engine_names,
      "classic (ibv_post_send, ibv_poll_cq) or extended (ibv_wr_*, ibv_cq_ex) calls "
      "(default: classic)");
  arguments.add_choice("--atomic", atomic, atomic_names,
                       "fetch_and_add or compare_and_swap (default: fetch_and_add)");
  arguments
      .add_flag("--json{-}", json,
                "Print the results as JSON instead of as a table, or with =FILE write them there")
      .type_name("[=FILE]");
}

void options::complete() {
  using enum perf::operation;
  if (service == service::ud && operation != send)
    throw wrong_argument{std::string{"a UD queue pair can only send: "} + name_of(operation) +
                         (operation == write ? " needs UC or RC" : " needs RC")};
  if (service == service::uc && (operation == read || operation == atomic))
    throw wrong_argument{std::string{"a UC queue pair can send and write: "} + name_of(operation) +
                         " needs RC"};
  if (operation == atomic && (all_sizes || size.value_or(atomic_size) != atomic_size))
    throw wrong_argument{"an atomic operation has 8 bytes: leave out --size and --all"};
  if (is_latency() && queue_pairs != 1)
    throw wrong_argument{"latency is measured with one queue pair: --qp is for bw"};
  if (is_latency() && post_list != 1)
    throw wrong_argument{"latency is measured with one message at a time: --post_list is for bw"};
  if (operation == write && is_latency() && sleep)
    throw wrong_argument{
        "a write gives no event where it arrives: write lat polls memory, without --events"};

  if (!size) size = operation == atomic ? atomic_size : is_latency() ? 2 : 65536;
  if (!iterations) iterations = is_latency() ? 1000 : 5000;
  if (!send_depth) send_depth = is_latency() ? 1 : std::max(128U, post_list);
  if (post_list > *send_depth)
    throw wrong_argument{"--post_list is " + std::to_string(post_list) + ", but --tx-depth only " +
                         std::to_string(*send_depth)};
  if (duration == 0 && *iterations % post_list != 0)
    throw wrong_argument{"--iters is " + std::to_string(*iterations) +
                         ", which is no multiple of --post_list " + std::to_string(post_list)};
}

std::vector<std::uint32_t> options::sizes(std::uint32_t largest) const {
  if (!all_sizes) {
    examples::check_limit("--size", *size, largest);
    return {*size};
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t each = 2; each <= std::min(largest, largest_of_all_sizes); each *= 2)
    found.push_back(each);
  return found;
}

std::uint32_t options::signal_interval(std::uint32_t message_size) const noexcept {
  const std::uint32_t wanted =
      moderation.value_or(message_size > moderated_size ? 1 : usual_moderation);
  const std::uint32_t lists = std::min(wanted, *send_depth) / post_list;
  return std::max(lists, 1U) * post_list;
}

}  // namespace perf
