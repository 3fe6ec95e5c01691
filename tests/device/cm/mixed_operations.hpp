// SPDX-License-Identifier: MIT
// Every operation of RC in a random order that a seed makes, both ways over one connection. Each
// side executes its own plan and has the memory that the plan of its peer must leave.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <adverb/adverb.hpp>

#include "cm/support.hpp"
#include "random_rounds.hpp"

namespace mixed_operations {

using namespace adverb;
using cm_test::expect;
using random_rounds::chance;

enum class operation {
  send,
  send_with_immediate,
  send_with_invalidate,
  write,
  write_with_immediate,
  read,
  compare_and_swap,
  fetch_and_add,
};
inline constexpr std::array every_operation{operation::send,
                                            operation::send_with_immediate,
                                            operation::send_with_invalidate,
                                            operation::write,
                                            operation::write_with_immediate,
                                            operation::read,
                                            operation::compare_and_swap,
                                            operation::fetch_and_add};

[[nodiscard]] constexpr bool is_atomic(operation what) {
  return what == operation::compare_and_swap || what == operation::fetch_and_add;
}
/// Returns true if the bytes arrive at the side that posted the request.
[[nodiscard]] constexpr bool is_fetch(operation what) {
  return what == operation::read || is_atomic(what);
}
[[nodiscard]] constexpr bool is_one_sided(operation what) {
  return is_fetch(what) || what == operation::write || what == operation::write_with_immediate;
}
[[nodiscard]] constexpr bool takes_receive(operation what) {
  return !is_fetch(what) && what != operation::write;
}
[[nodiscard]] constexpr bool has_immediate(operation what) {
  return what == operation::send_with_immediate || what == operation::write_with_immediate;
}
[[nodiscard]] constexpr completion_opcode opcode_of(operation what) {
  switch (what) {
    case operation::read: return completion_opcode::read;
    case operation::compare_and_swap: return completion_opcode::compare_and_swap;
    case operation::fetch_and_add: return completion_opcode::fetch_and_add;
    case operation::write:
    case operation::write_with_immediate: return completion_opcode::write;
    default: return completion_opcode::send;
  }
}

/// The parts of the memory of a side. Arrivals and results follow the sources.
inline constexpr std::size_t counters = 8;
inline constexpr std::size_t longest = 1U << 20U;
inline constexpr std::size_t sources_at = 4096;
/// Bytes that must stay as they are, between two places.
inline constexpr std::size_t gap = 48;
inline constexpr std::uint32_t windows = 3;
inline constexpr std::size_t path_mtu = 4096;

/// A request of a plan.
struct step {
  operation what{};
  std::size_t size = 0;
  /// The offset of the bytes at the side that has them.
  std::size_t from = 0;
  /// The offset of the bytes at the side where they arrive.
  std::size_t place = 0;
  /// The counter of an atomic, or the window of an invalidation.
  std::size_t target = 0;
  bool is_through_window = false;
  bool is_signaled = false;
  bool is_fenced = false;
  std::uint64_t operand = 0;
  std::uint64_t desired = 0;
  /// The result of an atomic.
  std::uint64_t before = 0;
  immediate data{};
};

/// The measure of a plan.
struct extent {
  /// The number of requests of each operation.
  int each = 6;
  bool has_windows = true;
  /// One request moves 1 MiB.
  bool has_longest = false;
  bool has_fences = true;
  /// Reads and atomics are posted while sends and writes before them are in progress.
  bool has_fetches_in_progress = true;
  /// Some reads and writes have no bytes.
  bool has_empty_requests = true;
  /// The connecting side posts three requests of this operation, and its peer none.
  std::optional<operation> only{};

  [[nodiscard]] std::size_t sources() const { return 65536 + (has_longest ? longest : 0); }
};

/// The requests of one side, with what they leave behind.
struct plan {
  std::vector<step> steps;
  std::size_t arrivals_end = 0;
  std::size_t results_size = 0;
  std::array<std::uint64_t, counters> counts{};
  std::uint64_t bytes = 0;
};

[[nodiscard]] inline std::vector<step> shuffled_steps(chance& random, const extent& how) {
  std::vector<step> steps;
  for (const operation what : every_operation)
    for (int each = 0; each < how.each && what != operation::send_with_invalidate; ++each)
      steps.push_back({.what = what});
  if (how.has_longest) {
    constexpr std::array long_operations{operation::send, operation::write, operation::read,
                                         operation::write_with_immediate};
    steps.push_back({.what = long_operations[random.below(4)], .size = longest});
  }
  for (std::size_t last = steps.size(); last > 1; --last)
    std::swap(steps[last - 1], steps[random.below(static_cast<std::uint32_t>(last))]);
  // Each window is used, and then invalidated.
  for (std::size_t window = 0; how.has_windows && window < windows; ++window) {
    const auto place = static_cast<std::ptrdiff_t>(window * steps.size() / windows);
    for (const operation what : {operation::send_with_invalidate, operation::write})
      steps.insert(steps.begin() + place,
                   {.what = what, .target = window, .is_through_window = true});
  }
  return steps;
}

/// The plan of side 0, which connects, or of side 1.
[[nodiscard]] inline plan make_plan(std::uint32_t seed, std::uint32_t number, const extent& how) {
  chance random{2 * seed + number};
  plan made;
  made.arrivals_end = sources_at + how.sources();
  if (!how.only) {
    made.steps = shuffled_steps(random, how);
  } else if (number == 0) {
    for (std::size_t each = 0; each < windows; ++each)
      made.steps.push_back({.what = *how.only, .size = 2 * path_mtu + 1, .target = each});
  }
  std::size_t unsignaled = 0;
  for (step& each : made.steps) {
    constexpr std::array<std::size_t, 10> sizes{
        0, 1, 7, 256, path_mtu - 1, path_mtu, path_mtu + 1, 2 * path_mtu + 3, 5 * path_mtu, 900};
    if (is_atomic(each.what)) {
      each.size = 8;
      each.target = random.below(counters);
      std::uint64_t& count = made.counts[each.target];
      each.before = count;
      each.operand = random.seed();
      if (each.what == operation::fetch_and_add) {
        count += each.operand;
      } else {
        each.desired = random.seed();
        if (random.one_in(2)) each.operand = count;
        if (each.operand == count) count = each.desired;
      }
    } else if (each.size == 0) {
      each.size = sizes[random.below(sizes.size())];
      if (each.size == 0 && is_one_sided(each.what) && !how.has_empty_requests) each.size = 1;
    }
    each.from = sources_at + random.below(static_cast<std::uint32_t>(how.sources() - each.size));
    if (is_fetch(each.what)) {
      each.place = made.results_size;
      made.results_size += (each.size + gap + 7) / 8 * 8;
    } else {
      each.place = made.arrivals_end;
      made.arrivals_end += each.size + gap;
    }
    each.data = immediate{random.seed()};
    each.is_signaled =
        how.only || ++unsignaled == 4 || &each == &made.steps.back() || random.one_in(2);
    if (each.is_signaled) unsignaled = 0;
    each.is_fenced = random.one_in(6) && how.has_fences;
    made.bytes += each.size;
  }
  for (std::size_t each = 1; each < made.steps.size(); ++each)
    if (is_fetch(made.steps[each].what)) made.steps[each - 1].is_signaled = true;
  return made;
}

/// Describes a side to its peer while they connect.
struct introduction {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t seed = 0;
  std::uint32_t is_last = 0;
  std::array<std::uint32_t, windows> window_keys{};
};

/// The verified work of a side.
struct tally {
  std::uint64_t rounds = 0;
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t additions = 0;

  tally& operator+=(const tally& other) {
    rounds += other.rounds;
    operations += other.operations;
    bytes += other.bytes;
    additions += other.additions;
    return *this;
  }
};

inline constexpr std::uint32_t depth = 12;

[[nodiscard]] inline queue_pair_options pair_options(const extent& how) {
  // One for each message, one for the greeting and one for the farewell.
  const std::uint32_t messages = 3 * static_cast<std::uint32_t>(how.each) + windows + 3;
  return {.max_send_wr = depth + 4, .max_recv_wr = messages};
}

/// One side of a connection.
class end {
 public:
  /// `number` is 0 or 1.
  end(protection_domain_ref domain, std::uint32_t seed, std::uint32_t number, const extent& how)
      : how_{how},
        mine_{make_plan(seed, number, how)},
        theirs_{make_plan(seed, 1 - number, how)},
        results_at_{(theirs_.arrivals_end + 7) / 8 * 8},
        sources_{make_sources(2 * seed + number, how.sources())},
        sources_of_peer_{make_sources(2 * seed + 1 - number, how.sources())},
        bytes_(results_at_ + mine_.results_size),
        region_{domain, bytes_,
                access_right::local_write | access_right::remote_write | access_right::remote_read |
                    access_right::remote_atomic |
                    (how.has_windows ? access_right::window_bind : access_right::local_write)} {
    std::ranges::copy(sources_, bytes_.begin() + sources_at);
    expected_ = bytes_;
    for (std::size_t each = 0; how.has_windows && each < windows; ++each) {
      windows_.emplace_back(domain);
      bindings_.push_back(windows_.back().prepare<std::byte, access_right::remote_write>(
          region_, 0, bytes_.size()));
    }
    introduction_.address = region_.device_address();
    introduction_.key = static_cast<std::uint32_t>(region_.rkey());
    introduction_.seed = seed;
    for (std::size_t each = 0; each < bindings_.size(); ++each)
      introduction_.window_keys[each] = static_cast<std::uint32_t>(bindings_[each].key());
  }
  end(const end&) = delete;
  end& operator=(const end&) = delete;

  [[nodiscard]] const introduction& own_introduction() const { return introduction_; }

  /// Posts the receives of the whole plan of the peer.
  template <class Pair>
  void post_receives(const Pair& pair) const {
    const auto spare = [&](std::uint64_t id) { pair.post(receive().id(id)).check(); };
    spare(greeting);
    for (std::size_t each = 0; each < theirs_.steps.size(); ++each) {
      const step& one = theirs_.steps[each];
      if (!takes_receive(one.what)) continue;
      if (one.what == operation::write_with_immediate)
        spare(each);
      else
        pair.post(receive(region_.slice(one.place, one.size)).id(each)).check();
    }
    spare(farewell);
  }

  /// Binds the windows, and exchanges greetings.
  void begin(const cm_test::rc_connection& on, const introduction& peer) {
    connection_ = &on;
    peer_ = peer;
    for (const auto& each : bindings_) pair().post(bind_window(each).signaled().id(0)).check();
    for (std::size_t each = 0; each < bindings_.size(); ++each) take(on.send_cq());
    pair().post(send().signaled().id(greeting)).check();
    expect(take(on.send_cq()).id() == greeting, "the greeting is sent");
    expect(take(on.recv_cq()).id() == greeting, "the greeting arrives");
  }

  /// Executes the plan of this side, and checks the one of the peer.
  void run() {
    deadline_ = later();
    while (completed_ < mine_.steps.size() || arrived_ < theirs_.steps.size()) go_on();
  }
  /// Executes the first half of the plan of this side.
  void run_half() {
    deadline_ = later();
    while (completed_ < mine_.steps.size() / 2) go_on();
  }

  /// Posts the plan of this side, and takes nothing.
  void post_all() {
    while (posted_ < mine_.steps.size()) post(posted_++);
  }
  /// Checks that the plan of the peer was executed, as far as messages show it.
  void take_messages() {
    deadline_ = later();
    skip_silent_end();
    while (arrived_ < theirs_.steps.size()) progress();
  }
  /// Checks that no request of the peer was executed.
  void check_untouched() const { expect(bytes_ == expected_, "the memory is as before"); }

  /// The passive side is the first to finish, and then waits until the peer disconnects. Neither
  /// side can lose an acknowledgement of its requests by that.
  void say_farewell() const { pair().post(send().id(farewell)).check(); }
  void await_farewell() {
    deadline_ = later();
    while (!is_over_) progress();
  }

  /// Compares the memory, and returns what the plan of this side has counted. Each fetch-and-add of
  /// the peer counts exactly once.
  [[nodiscard]] tally judge() {
    std::memcpy(expected_.data(), theirs_.counts.data(), sizeof theirs_.counts);
    expect(bytes_ == expected_, "the memory is that of the plans");
    std::array<completion, 1> none;
    expect(connection_->send_cq().poll(none).empty(), "no request completes twice");
    tally all{.rounds = 1, .operations = mine_.steps.size(), .bytes = mine_.bytes};
    for (const step& each : mine_.steps)
      if (each.what == operation::fetch_and_add) ++all.additions;
    return all;
  }
  /// A window that its peer has invalidated can be bound again.
  void bind_again() {
    for (std::size_t each = 0; each < windows_.size(); ++each) {
      pair()
          .post(bind_window(windows_[each].prepare<std::byte, access_right::remote_write>(
                                region_, 0, bytes_.size()))
                    .signaled()
                    .id(each))
          .check();
      take(connection_->send_cq());
    }
  }

 private:
  static constexpr std::uint64_t greeting = 1U << 20U;
  static constexpr std::uint64_t farewell = greeting + 1;
  static constexpr std::chrono::seconds patience{20};
  /// A copy of a packet may come for so long after its request has completed.
  static constexpr std::chrono::milliseconds quiet_before_fetch{20};

  [[nodiscard]] static std::vector<std::byte> make_sources(std::uint32_t seed, std::size_t size) {
    std::mt19937 random{seed};
    std::vector<std::byte> made(size);
    for (std::size_t at = 0; at < made.size(); at += 4) {
      const auto word = static_cast<std::uint32_t>(random());
      std::memcpy(&made[at], &word, 4);
    }
    return made;
  }
  [[nodiscard]] static std::chrono::steady_clock::time_point later() {
    return std::chrono::steady_clock::now() + patience;
  }
  [[nodiscard]] queue_pair_ref<transport::rc> pair() const { return connection_->queue_pair(); }

  static completion take(completion_queue_ref queue) {
    const auto deadline = later();
    std::array<completion, 1> found;
    while (queue.poll(found).empty()) {
      expect(std::chrono::steady_clock::now() < deadline, "a completion comes in time");
      std::this_thread::yield();
    }
    found[0].check();
    return found[0];
  }

  template <access_rights Rights, class T = std::byte>
  [[nodiscard]] remote_buffer<T, Rights> remote(std::size_t offset, std::size_t size,
                                                std::uint32_t key) const {
    return {adopt, peer_.address + offset, size, rkey{key}};
  }

  template <class Request>
  void finish(std::size_t number, const Request& request) const {
    const step& each = mine_.steps[number];
    auto numbered = request.id(number);
    if (each.is_signaled) numbered = numbered.signaled();
    if (each.is_fenced) return pair().post(numbered.fenced()).check();
    pair().post(numbered).check();
  }

  void post(std::size_t number) {
    const step& each = mine_.steps[number];
    const auto source = region_.slice(each.from, each.size);
    const auto target = [&] {
      return remote<access_right::remote_write>(
          each.place, each.size,
          each.is_through_window ? peer_.window_keys[each.target] : peer_.key);
    };
    const auto result = [&] { return region_.slice(results_at_ + each.place, each.size); };
    const auto counter = [&] {
      return remote<access_right::remote_atomic, std::uint64_t>(8 * each.target, 1, peer_.key);
    };
    switch (each.what) {
      case operation::send: return finish(number, send(source));
      case operation::send_with_immediate:
        return finish(number, send_with_immediate(each.data, source));
      case operation::send_with_invalidate:
        return finish(number, send_with_invalidate(rkey{peer_.window_keys[each.target]}, source));
      case operation::write: return finish(number, write(target(), source));
      case operation::write_with_immediate:
        return finish(number, write_with_immediate(target(), each.data, source));
      case operation::read:
        return finish(
            number,
            read(remote<access_right::remote_read>(each.from, each.size, peer_.key), result()));
      case operation::compare_and_swap:
        return finish(
            number, compare_and_swap(counter(), {.expected = each.operand, .desired = each.desired},
                                     result()));
      case operation::fetch_and_add:
        return finish(number, fetch_and_add(counter(), each.operand, result()));
    }
  }

  /// Returns true if the next request of the plan can be posted.
  [[nodiscard]] bool can_post() const {
    if (posted_ == mine_.steps.size() || posted_ - completed_ >= depth) return false;
    if (how_.has_fetches_in_progress || !is_fetch(mine_.steps[posted_].what)) return true;
    return std::chrono::steady_clock::now() >= quiet_at_ &&
           std::ranges::all_of(std::span{mine_.steps}.subspan(completed_, posted_ - completed_),
                               [](const step& each) { return is_fetch(each.what); });
  }
  void go_on() {
    if (can_post()) post(posted_++);
    progress();
  }
  void progress() {
    std::array<completion, 8> found;
    bool any = false;
    for (const completion& done : connection_->send_cq().poll(found)) {
      completed(done);
      any = true;
    }
    for (const completion& done : connection_->recv_cq().poll(found)) {
      arrived(done);
      any = true;
    }
    if (any)
      deadline_ = later();
    else
      std::this_thread::yield();
    expect(any || std::chrono::steady_clock::now() < deadline_,
           "there is progress: completed " + std::to_string(completed_) + " of " +
               std::to_string(posted_) + ", arrived " + std::to_string(arrived_) + " of " +
               std::to_string(theirs_.steps.size()));
  }

  void completed(const completion& done) {
    done.check();
    // Requests without a signal complete with the next one that has it.
    while (completed_ < posted_) {
      const step& each = mine_.steps[completed_];
      if (is_atomic(each.what))
        std::memcpy(&expected_[results_at_ + each.place], &each.before, 8);
      else if (each.what == operation::read)
        copy(sources_of_peer_, each, results_at_);
      if (is_fetch(each.what))
        expect(is_right(results_at_ + each.place, each.size), "the result of " + text_of(each));
      else
        quiet_at_ = std::chrono::steady_clock::now() + quiet_before_fetch;
      if (completed_++ == done.id()) {
        expect(each.is_signaled, "only signaled requests complete");
        expect(done.success().opcode() == opcode_of(each.what), "the opcode of a request");
        return;
      }
      expect(!each.is_signaled, "requests complete in order");
    }
    expect(false, "a request completes once");
  }

  void arrived(const completion& done) {
    done.check();
    if (done.id() == farewell) {
      expect(arrived_ == theirs_.steps.size(), "the farewell is the last message");
      is_over_ = true;
      return;
    }
    while (arrived_ < theirs_.steps.size()) {
      const step& each = theirs_.steps[arrived_];
      if (!is_fetch(each.what)) {
        copy(sources_of_peer_, each, 0);
        expect(is_right(each.place, each.size), "the bytes of " + text_of(each));
      }
      const bool is_this = arrived_++ == done.id();
      expect(is_this || !takes_receive(each.what), "messages arrive in order");
      if (!is_this) continue;
      const received_message message = done.success().receive();
      expect(message.length() == each.size, "the length of a message");
      expect(message.announces_write() == (each.what == operation::write_with_immediate),
             "the opcode of a receive");
      expect(message.immediate() ==
                 (has_immediate(each.what) ? std::optional{each.data} : std::nullopt),
             "immediate data");
      return skip_silent_end();
    }
    expect(false, "a message arrives once");
  }
  /// The requests behind the last message are judged with the farewell.
  void skip_silent_end() {
    const auto rest = std::span{theirs_.steps}.subspan(arrived_);
    if (std::ranges::any_of(rest, [](const step& each) { return takes_receive(each.what); }))
      return;
    for (const step& each : rest)
      if (!is_fetch(each.what)) copy(sources_of_peer_, each, 0);
    arrived_ = theirs_.steps.size();
  }

  void copy(const std::vector<std::byte>& from, const step& each, std::size_t base) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(each.from - sources_at), each.size,
                expected_.begin() + static_cast<std::ptrdiff_t>(base + each.place));
  }
  [[nodiscard]] static std::string text_of(const step& each) {
    return "operation " + std::to_string(static_cast<int>(each.what)) + " of " +
           std::to_string(each.size) + " bytes";
  }
  [[nodiscard]] bool is_right(std::size_t offset, std::size_t size) const {
    return std::equal(bytes_.begin() + static_cast<std::ptrdiff_t>(offset),
                      bytes_.begin() + static_cast<std::ptrdiff_t>(offset + size),
                      expected_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  extent how_;
  plan mine_;
  plan theirs_;
  std::size_t results_at_;
  std::vector<std::byte> sources_;
  std::vector<std::byte> sources_of_peer_;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> expected_;
  memory_region region_;
  std::vector<memory_window<window_type::two>> windows_;
  std::vector<window_binding<window_type::two, std::byte, access_right::remote_write>> bindings_;
  introduction introduction_;
  introduction peer_;
  const cm_test::rc_connection* connection_ = nullptr;
  std::size_t posted_ = 0;
  std::size_t completed_ = 0;
  std::size_t arrived_ = 0;
  bool is_over_ = false;
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::steady_clock::time_point quiet_at_;
};

}  // namespace mixed_operations
