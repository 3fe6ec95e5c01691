// SPDX-License-Identifier: MIT
// A connection, datagrams, a device event, a channel, a ring and a stream from their start to their
// end, for tests that make something fail at each step of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/socket.h>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <adverb/remote.hpp>

#include "allocations/replaced_new.hpp"
#include "cm/async_side.hpp"
#include "cm/channel_ends.hpp"
#include "cm/remote_ends.hpp"

namespace whole_paths {

using namespace async_test;
using namespace std::chrono_literals;
using replaced_new::without_memory;

/// The outcome of one run of a path, in which a test makes something fail.
struct outcome {
  /// Failures with this code are of that.
  explicit outcome(std::errc made) noexcept : made_{made} {}

  /// The path has done its work.
  bool is_whole = false;
  /// A failure with that code, or an exception for lack of memory, has reached the program.
  bool names_cause = false;
  /// Other failures that have reached it.
  int failures = 0;
  /// The message of a failure that nothing here explains.
  std::array<char, 400> unexpected{};

  /// Runs a path.
  template <class Path>
  void run(const Path& path) {
    try {
      path(*this);
    } catch (...) {
      note_exception();
    }
    without_memory::end();
  }
  [[nodiscard]] bool is_reported() const { return names_cause || failures != 0; }

  /// Notes the exception that is being handled. There is memory from then on.
  void note_exception() {
    without_memory::end();
    try {
      throw;
    } catch (const std::bad_alloc&) {
      names_cause = true;
    } catch (const std::system_error& why) {
      note(why.code(), why.what());
    }
  }

 private:
  void note(const std::error_code& code, const char* message) {
    // The end that fails first rejects, resets or closes the connection of the other.
    constexpr std::array of_peers{std::errc::connection_reset,   std::errc::connection_refused,
                                  std::errc::connection_aborted, std::errc::operation_canceled,
                                  std::errc::broken_pipe,        std::errc::protocol_error};
    ++failures;
    // The code is that of the call: ENXIO of the connection manager, EIO of a verb.
    if (code == made_ || (made_ == std::errc::no_such_device &&
                          std::string_view{message}.ends_with("; the device was removed")))
      names_cause = true;
    else if (std::ranges::none_of(of_peers, [&](std::errc each) { return code == each; }))
      std::string_view{message}.copy(unexpected.data(), unexpected.size() - 1);
  }

  std::errc made_;
};

/// Ends the program with a message if a run does not end in time.
class deadline_of_runs {
 public:
  explicit deadline_of_runs(const char* path) : path_{path} {}
  deadline_of_runs(const deadline_of_runs&) = delete;
  deadline_of_runs& operator=(const deadline_of_runs&) = delete;
  ~deadline_of_runs() {
    {
      const std::scoped_lock now{mutex_};
      is_over_ = true;
    }
    changed_.notify_one();
  }

  /// A run begins.
  void begin(std::size_t number) {
    const std::scoped_lock now{mutex_};
    number_ = number;
    until_ = clock::now() + 40s;
  }

 private:
  using clock = std::chrono::steady_clock;

  void watch() {
    std::unique_lock now{mutex_};
    while (!is_over_) {
      if (clock::now() > until_) {
        std::fprintf(stderr, "%s: run %zu hangs\n", path_, number_);
        std::fflush(nullptr);
        std::_Exit(1);
      }
      changed_.wait_for(now, 1s);
    }
  }

  const char* path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t number_ = 0;
  clock::time_point until_ = clock::now() + 40s;
  bool is_over_ = false;
  std::jthread thread_{[this] { watch(); }};
};

/// Returns true if no object of the library is left on these devices, which librdmacm has opened.
[[nodiscard]] inline bool no_object_is_left(const cm::context_list& contexts) {
  return std::ranges::all_of(contexts, [](context_ref each) {
    return detail::lifetime_registry::instance().children_of(each.native_handle()).none();
  });
}

/// A task of a path, counted while it runs.
class counted_task {
 public:
  explicit counted_task(int& count) noexcept : count_{&count} { ++*count_; }
  counted_task(const counted_task&) = delete;
  counted_task& operator=(const counted_task&) = delete;
  ~counted_task() { --*count_; }

 private:
  int* count_;
};

/// Calls a function until no other task is left.
inline async::task<> cancel_to_end(async::event_loop& loop, const int& tasks,
                                   std::function<void()> cancel) {
  while (tasks != 0) {
    cancel();
    co_await async::sleep_for(loop, 5ms);
  }
}

/// Runs a loop to its end. After the first exception of a task, `cancel` ends what the others wait
/// for in vain.
inline void run_to_end(async::event_loop& loop, outcome& of, const int& tasks,
                       const std::function<void()>& cancel) {
  bool is_cancelling = false;
  for (bool has_ended = false; !has_ended;) {
    try {
      loop.run();
      has_ended = true;
    } catch (...) {
      of.note_exception();
      if (!std::exchange(is_cancelling, true)) loop.spawn(cancel_to_end(loop, tasks, cancel));
    }
  }
}

/// Runs a task at each end of a connection.
template <class Client, class Server>
void connect_in_tasks(outcome& of, const async::connection_options& options, const Client& client,
                      const Server& server) {
  int tasks = 0;
  async::event_loop loop;
  async::listener listener{loop, every_address()};
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    const async::connection made = co_await listener.accept(options);
    co_await server(made);
  });
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    const async::connection made =
        co_await async::connect(loop, device_address(listener.port()), options);
    co_await client(made);
  });
  run_to_end(loop, of, tasks, [&] { listener.cancel_waits(); });
}

inline void echo_one_message(outcome& of) {
  connect_in_tasks(
      of, small,
      [&](const async::connection& server) -> async::task<> {
        const async::loop_memory memory = server.memory(5);
        co_await server.send(memory.buffer());
        const async::message answer = co_await server.next();
        of.is_whole = answer.bytes().size() == 5;
        co_await server.disconnect();
      },
      [](const async::connection& client) -> async::task<> {
        while (const async::message message = co_await client.next()) {
          std::error_code why;
          co_await client.send(message.buffer()).report_to(why);
          check_answer(client, why);
        }
        co_await client.disconnect();
      });
}

/// An object that can be cancelled while its task runs.
template <class Object>
class cancellable {
 public:
  cancellable(const Object*& place, const Object& made) noexcept : place_{&place} {
    *place_ = &made;
  }
  cancellable(const cancellable&) = delete;
  cancellable& operator=(const cancellable&) = delete;
  ~cancellable() { *place_ = nullptr; }

 private:
  const Object** place_;
};

/// Finds a peer by its listener, and sends a question to it, and to the group that it has joined.
inline void exchange_datagrams(outcome& of) {
  int tasks = 0;
  async::event_loop loop;
  async::datagram_listener listener{loop, every_address()};
  const async::datagram_endpoint here{loop, device_address(), small};
  const async::datagram_endpoint there{loop, device_address(), small};
  const cm::socket_address group = *cm::socket_address::parse("239.7.8.9", 0);
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    auto request = co_await listener.next();
    const cm::multicast_membership member = co_await there.join(group);
    request.accept_datagrams(there.queue_pair());
    for (int each = 0; each < 2; ++each) {
      const async::datagram question = co_await there.next();
      const cm::datagram_target sender = there.sender_of(question);
      co_await there.send(sender, question.buffer());
    }
    co_await there.close();
  });
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    const cm::datagram_peer peer = co_await here.resolve(device_address(listener.port()));
    const cm::multicast_membership sender =
        co_await here.join(group, {.role = cm::multicast_role::send_only});
    const async::loop_memory memory = here.memory(5);
    std::size_t answered = 0;
    co_await here.send(peer, memory.buffer());
    const async::datagram of_peer = co_await here.next();
    answered += of_peer.bytes().size();
    co_await here.send(sender, memory.buffer());
    const async::datagram of_group = co_await here.next();
    answered += of_group.bytes().size();
    of.is_whole = answered == 10;
    co_await here.close();
  });
  run_to_end(loop, of, tasks, [&] {
    listener.cancel_waits();
    here.cancel();
    there.cancel();
  });
}

/// Awaits the event of a shared receive queue that has reached its limit, on a loop that a signal
/// may stop.
inline void await_device_event(outcome& of) {
  int tasks = 0;
  async::event_loop loop{{.shared_receives = 6, .shared_block_size = 64}};
  loop.stop_on({SIGUSR1});
  async::listener listener{loop, every_address()};
  const async::device_events* watched = nullptr;
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    async::connection_options sharing = small;
    sharing.shared = true;
    const async::connection client = co_await listener.accept(sharing);
    const context_ref device = client.queue_pair().context();
    const async::device_events events{loop, device};
    const cancellable known{watched, events};
    loop.shared_receives(device).set_limit(4);
    // A limit that is set after the messages have come raises no event.
    co_await client.perform(send());
    std::array<async::message, 3> kept;
    for (async::message& each : kept) each = co_await client.next();
    std::optional<async_event> event;
    do {
      event = co_await events.next();
    } while (event->type() != async_event_type::shared_receive_queue_limit_reached);
    of.is_whole = true;
    co_await client.disconnect();
  });
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    const async::connection server =
        co_await async::connect(loop, device_address(listener.port()), small);
    const async::message invitation = co_await server.next();
    const async::loop_memory memory = server.memory(5);
    if (invitation)
      for (int each = 0; each < 3; ++each) co_await server.send(memory.buffer());
    const async::message end = co_await server.next();
    if (!end) co_await server.disconnect();
  });
  run_to_end(loop, of, tasks, [&] {
    listener.cancel_waits();
    if (watched != nullptr) watched->cancel_waits();
  });
}

[[nodiscard]] inline messages::channel_options over(messages::network which) {
  return {.over = which,
          .receives = 8,
          .block_size = 256,
          .max_frames = 8,
          .connect_timeout = 30s,
          .close_timeout = 50s};
}

[[nodiscard]] inline messages::channel_options resuming_over(messages::network which) {
  messages::channel_options options = over(which);
  options.resume_within = 30s;
  return options;
}

/// Breaks the link of a channel, as a failure of the network does.
inline void break_link(const messages::channel& of) {
  if (of.state().carrier().network() == messages::network::rdma)
    return channel_test::break_link(of);
  const cm::socket_address peer = of.peer_address();
  constexpr int most_descriptors = 256;
  for (int descriptor = 3; descriptor < most_descriptors; ++descriptor) {
    sockaddr_storage found{};
    socklen_t size = sizeof found;
    auto* const address = reinterpret_cast<sockaddr*>(&found);
    if (::getpeername(descriptor, address, &size) == 0 && detail::address_in(address) == peer)
      ::shutdown(descriptor, SHUT_RDWR);
  }
}

/// Sends one message that is copied and one that is offered, and breaks the link between them if
/// the channel resumes.
inline void exchange_messages(outcome& of, const messages::channel_options& options) {
  int tasks = 0;
  async::event_loop loop;
  messages::listener listener{loop, every_address(), options};
  std::array<const messages::channel*, 2> ends{};
  const bool resumes = options.resume_within.count() != 0;
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    messages::channel client = co_await listener.accept();
    const cancellable known{ends[0], client};
    const messages::incoming copied = co_await client.next();
    messages::incoming offered = co_await client.next();
    const async::loop_memory memory = client.memory(5'000);
    co_await offered.receive_into(memory.buffer());
    co_await client.send(copied.bytes());
    co_await client.close();
  });
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    messages::channel server =
        co_await messages::connect(loop, device_address(listener.port()), options);
    const cancellable known{ends[1], server};
    const async::loop_memory memory = server.memory(5'000);
    co_await server.send(std::string_view{"hello"});
    if (resumes) break_link(server);
    co_await server.send(memory.buffer());
    const messages::incoming answer = co_await server.next();
    of.is_whole = answer.bytes().size() == 5;
    co_await server.close();
  });
  run_to_end(loop, of, tasks, [&] {
    listener.cancel_waits();
    // The peer of a channel that resumes waits for it.
    for (const messages::channel* each : ends)
      if (resumes && each != nullptr) each->cancel();
  });
}

inline void pass_through_ring(outcome& of) {
  constexpr async::connection_options for_rings{.max_send_wr = 16,
                                                .receives = 80,
                                                .block_size = 256,
                                                .connect_timeout = 30s,
                                                .end_timeout = std::chrono::minutes{1}};
  connect_in_tasks(
      of, for_rings,
      [&](const async::connection& reader) -> async::task<> {
        const remote_ring<record>::writer out{reader, co_await ask_for_ring(reader)};
        for (std::uint64_t each = 0; each < 20; ++each) {
          co_await out.room();
          out.claim() = numbered(each);
          if (each % 5 == 4) out.publish();
        }
        co_await out.drain();
        co_await out.close();
      },
      [&](const async::connection& writer) -> async::task<> {
        const remote_ring<record>::reader in{writer, {.slots = 8}};
        co_await describe_to(writer, in.description());
        std::uint64_t read = 0;
        while (const auto each = co_await in.next()) {
          if (is_numbered(*each, read)) ++read;
        }
        of.is_whole = read == 20;
      });
}

inline void pass_through_stream(outcome& of) {
  const stream_options options{.send_buffer = 4096, .receive_buffer = 4096};
  int tasks = 0;
  async::event_loop loop;
  async::listener listener{loop, every_address()};
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    const remote_stream client = co_await remote_stream::accept(listener, options);
    of.is_whole = co_await read_numbered(client, 1000, 1) == 20'000;
    co_await client.close();
  });
  loop.spawn([&]() -> async::task<> {
    const counted_task counted{tasks};
    const remote_stream server =
        co_await remote_stream::connect(loop, device_address(listener.port()), options);
    co_await write_numbered(server, 20'000, 1000, 2);
    co_await server.close();
  });
  run_to_end(loop, of, tasks, [&] { listener.cancel_waits(); });
}

/// A thread that has memory, and answers one message of each connection.
class blocking_server {
 public:
  [[nodiscard]] cm::socket_address address() const { return device_address(listener_.port()); }
  /// Waits until the thread has ended the connection of each peer that has got its answer.
  void wait_until_idle() const {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!is_idle_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        serve_one();
      } catch (const error&) {
        // The peer has given up.
      }
      is_idle_ = true;
    }
  }
  void serve_one() {
    auto request = listener_.next_request(20ms);
    is_idle_ = false;
    auto ready = request.create_queue_pair({.max_recv_wr = 4});
    std::array<std::byte, 8> bytes{};
    const memory_region region{ready.protection_domain(), bytes, access_right::local_write};
    ready.queue_pair().post(receive(region.buffer())).check();
    auto connection = ready.accept();
    const auto end = std::chrono::steady_clock::now() + 10s;
    std::array<completion, 1> got;
    while (connection.recv_cq().poll(got).empty())
      if (std::chrono::steady_clock::now() > end) return;
    if (got[0].status() != completion_status::success) return;
    connection.queue_pair().post(send(region.buffer()).signaled()).check();
    connection.wait_disconnected(10s);
  }

  rc_listener listener_ = rc_listener::create(device_address());
  std::atomic<bool> is_idle_ = true;
  std::jthread thread_{[this](const std::stop_token& stop) { serve(stop); }};
};

/// Connects, sends one message, and receives the answer, in calls that block.
inline void echo_in_calls_that_block(outcome& of, const cm::socket_address& address) {
  auto start = cm::connector<transport::rc>::create();
  auto near = start.resolve_address(address);
  auto far = near.resolve_route();
  auto ready = far.create_queue_pair({.max_recv_wr = 4});
  std::vector<std::byte> bytes(8);
  const memory_region region{ready.protection_domain(), bytes, access_right::local_write};
  ready.queue_pair().post(receive(region.buffer())).check();
  auto connection = ready.connect();
  connection.queue_pair().post(send(region.buffer()).signaled()).check();
  for (const completion_queue_ref queue : {connection.send_cq(), connection.recv_cq()}) {
    std::array<completion, 1> found;
    // Soft-iWARP flushes nothing when its device is removed: only an event shows the end.
    const auto done = connection.wait(queue, found, 10s);
    const bool has_ended =
        done.empty() ? connection.has_ended() : done[0].status() != completion_status::success;
    if (has_ended) throw std::system_error{std::make_error_code(std::errc::connection_reset)};
    if (done.empty()) throw std::system_error{std::make_error_code(std::errc::timed_out)};
  }
  connection.disconnect();
  of.is_whole = true;
}

}  // namespace whole_paths
