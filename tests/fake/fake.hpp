// SPDX-License-Identifier: MIT
// A fake under the C ABI of libibverbs. A program that is linked with it and has a `fake::machine`
// finds the devices of that machine; every call is recorded, can be made to fail, and is otherwise
// answered as a well-behaved provider would.
//
//     fake::machine machine;
//     machine.fail<fake::called::alloc_pd>(ENOMEM);
//     …
//     CHECK(machine.line<fake::called::modify_qp>() == "ibv_modify_qp qp0 qp_state=ERR");
//
// A line has every field of the call that is valid: render.hpp describes the form. log.hpp compares
// the lines of many calls with an expected log.
//
// Not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <vector>

#include <infiniband/verbs.h>

#include "calls.hpp"

namespace fake {

struct port {
  ibv_port_attr attributes;
  std::vector<ibv_gid_entry> gids;
  std::vector<std::uint16_t> pkeys;
};

struct device {
  std::string name;
  ibv_device_attr attributes;
  std::vector<port> ports;
  int completion_vectors = 4;
  /// The fields of an extended query beyond `attributes`.
  ibv_device_attr_ex extended = {};
  /// In the kernel; -1 when it has none.
  int index = 0;
  /// The reading of the clock, when there is one.
  std::optional<std::uint64_t> clock = std::nullopt;
  /// False imitates a provider from before the extended verbs, whose old functions are called.
  bool extended_queries = true;
  /// Off: a provider without extended completion queues.
  bool extended_completion_queues = true;
};

/// A RoCE device with one active port, whose GID table holds a link-local v1 and v2 entry and a v2
/// entry of an IPv4 address.
device roce_device(std::string name);

/// The address ::ffff:10.0.0.1 and the like.
ibv_gid ipv4_gid(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d);

/// The fields of an extended completion that the classic C struct lacks.
struct extended_fields {
  std::uint64_t timestamp = 0;
  std::uint64_t wall_clock = 0;
  std::uint16_t vlan = 0;
  std::uint32_t flow_tag = 0;
  ibv_wc_tm_info tag{};
};

/// The answer to a post that is not simply accepted.
struct post_answer {
  int result = 0;
  /// The request to which `bad_wr` is set.
  std::optional<std::size_t> bad_request = std::nullopt;
  /// It is left as the caller had it, as cxgb4 leaves it where a shared receive queue is full. Else
  /// it is null if there is no bad request.
  bool leaves_bad_request = false;
};

/// Calls as lines of text.
struct log_lines {
  std::vector<std::string> lines;

  friend std::ostream& operator<<(std::ostream& out, const log_lines& log);
};

/// The state of the fake. There is one at a time, for as long as a test lives.
class machine {
 public:
  /// By default there is one device, "fake0".
  machine();
  /// Frees what was leaked, so that a leak shows once, in `live_objects`.
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// The contents of the next device list, and the answers to queries.
  std::vector<device> devices;

  /// The result of the fork check, and of address resolution.
  ibv_fork_status fork_support = IBV_FORK_DISABLED;
  std::array<std::uint8_t, 6> resolved_mac = {};
  std::uint16_t resolved_vlan = 0xffff;

  // The recorded calls.

  template <class Call>
  [[nodiscard]] std::vector<Call> calls() const {
    std::vector<Call> found;
    for (const call& each : log())
      if (const Call* const match = each.as<Call>()) found.push_back(*match);
    return found;
  }
  template <class Call>
  [[nodiscard]] std::size_t count() const {
    return calls<Call>().size();
  }
  /// Every call, in order.
  [[nodiscard]] const std::vector<call>& log() const;
  void forget_calls();

  /// The calls of these kinds as text, in order; without a kind, all calls.
  template <class... Calls>
  [[nodiscard]] log_lines lines() const {
    log_lines found;
    for (const call& each : log())
      if (sizeof...(Calls) == 0 || (false || ... || (each.kind() == typeid(Calls))))
        found.lines.push_back(each.line());
    return found;
  }
  /// The calls of these kinds that this makes, as text. Forgets those before.
  template <class... Calls, class Action>
  [[nodiscard]] log_lines lines_of(const Action& action) {
    forget_calls();
    action();
    return lines<Calls...>();
  }
  /// The last call of one of these kinds as text, or nothing.
  template <class... Calls>
  [[nodiscard]] std::string line() const {
    const log_lines found = lines<Calls...>();
    return found.lines.empty() ? std::string{} : found.lines.back();
  }
  /// Names memory of the test in lines: an object, or the elements of a container.
  template <class Object>
  void name(std::string text, const Object& object) {
    if constexpr (requires { object.data(), object.size(); })
      name_memory(std::move(text), object.data(), object.size() * sizeof *object.data());
    else
      name_memory(std::move(text), &object, sizeof object);
  }

  /// The number of objects that were made and not destroyed: contexts, domains and so on, and
  /// device lists.
  [[nodiscard]] std::size_t live_objects() const;

  // The prepared answers.

  /// Makes the `nth` call of this kind from now on fail, in the way in which that function fails.
  template <class Call>
  void fail(int error, std::size_t nth = 1) {
    fail_kind(typeid(Call), error, nth);
  }
  /// Makes the `nth` call of any kind from now on fail. Calls that cannot fail do not count.
  void fail_any(int error, std::size_t nth);
  /// Calls this at every call that can fail, after it was recorded. Returns the errno with which
  /// that call fails, or 0.
  void fail_by(std::function<int(const call&)> choose);
  /// Removes the prepared failures that have not happened yet.
  void fail_nothing();

  /// Answers the next post so.
  void answer_post(post_answer answer);
  /// The return value of an ibv_rereg_mr that is made to fail (besides errno).
  int reregistration_failure = IBV_REREG_MR_ERR_CMD;

  /// Runs `action` at the start of each call of this kind, until it is replaced.
  template <class Call>
  void before(std::function<void()> action) {
    set_before(typeid(Call), std::move(action));
  }

  // Events that occur by themselves.

  /// Queues a completion, and announces it when the queue is armed for it.
  void complete(ibv_cq* queue, const ibv_wc& completion, bool solicited = false);
  /// The same with the fields of extended queues.
  void complete(ibv_cq_ex* queue, const ibv_wc& completion, const extended_fields& fields = {});
  /// The number of completions in the queue.
  [[nodiscard]] std::size_t entries(const ibv_cq* queue) const;
  /// Puts an event on the queue's channel, whether it was armed or not.
  void announce(ibv_cq* queue);
  /// The number of events of this queue that were taken and not acknowledged.
  [[nodiscard]] std::size_t unacknowledged(ibv_cq* queue) const;

  /// Sets the values of the counters; a reading must have room for all of them.
  void count(ibv_counters* counters, std::vector<std::uint64_t> values);
  /// Puts an asynchronous event on a device that is open.
  void raise(ibv_context* context, const ibv_async_event& event);

  /// The attributes that the pair was given by all modifications so far.
  [[nodiscard]] const ibv_qp_attr& attributes(ibv_qp* pair) const;

  struct state;
  [[nodiscard]] state& internals() noexcept { return *state_; }

 private:
  void fail_kind(std::type_index kind, int error, std::size_t nth);
  void set_before(std::type_index kind, std::function<void()> action);
  void name_memory(std::string text, const void* begin, std::size_t size);

  std::unique_ptr<state> state_;
};

}  // namespace fake
