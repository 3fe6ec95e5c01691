// SPDX-License-Identifier: MIT
// The n-th allocation of a connection, a channel, a ring and a stream fails, for each n: the
// program gets an exception or a typed failure, or does not need that memory. Nothing hangs or
// leaks.
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <new>
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
#include <support/catch.hpp>

#include "allocations/replaced_new.hpp"
#include "cm/async_side.hpp"
#include "cm/channel_ends.hpp"
#include "cm/remote_ends.hpp"
#include "cm/resources.hpp"
#include "random_rounds.hpp"

using namespace async_test;
using namespace std::chrono_literals;
using replaced_new::blocks_in_use;
using replaced_new::threads_without_memory;
using replaced_new::without_memory;

namespace {

/// The outcome of one run of a path.
struct outcome {
  /// The path has done its work.
  bool is_whole = false;
  /// An exception for lack of memory, or a failure with this code, has reached the program.
  bool lacked_memory = false;
  /// Other failures that have reached it.
  int failures = 0;
  /// The message of a failure that nothing here explains.
  std::array<char, 200> unexpected{};

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
  [[nodiscard]] bool is_reported() const { return lacked_memory || failures != 0; }

  /// Notes the exception that is being handled. There is memory from then on.
  void note_exception() {
    without_memory::end();
    try {
      throw;
    } catch (const std::bad_alloc&) {
      lacked_memory = true;
    } catch (const std::system_error& why) {
      note(why.code(), why.what());
    }
  }

 private:
  void note(const std::error_code& code, const char* message) {
    // The end that lacks memory rejects, resets or closes the connection of the other.
    constexpr std::array of_peers{std::errc::connection_reset,   std::errc::connection_refused,
                                  std::errc::connection_aborted, std::errc::operation_canceled,
                                  std::errc::broken_pipe,        std::errc::protocol_error};
    ++failures;
    if (code == std::errc::not_enough_memory)
      lacked_memory = true;
    else if (std::ranges::none_of(of_peers, [&](std::errc each) { return code == each; }))
      std::string_view{message}.copy(unexpected.data(), unexpected.size() - 1);
  }
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
    until_ = clock::now() + 15s;
  }

 private:
  using clock = std::chrono::steady_clock;

  void watch() {
    std::unique_lock now{mutex_};
    while (!is_over_) {
      if (clock::now() > until_) {
        std::fprintf(stderr, "%s: the run without allocation %zu hangs\n", path_, number_);
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
  clock::time_point until_ = clock::now() + 15s;
  bool is_over_ = false;
  std::jthread thread_{[this] { watch(); }};
};

/// Waits until as many files and blocks are in use as before: other threads may end later.
[[nodiscard]] bool settle_to(std::size_t files, std::size_t blocks) {
  const auto end = std::chrono::steady_clock::now() + 2s;
  while (open_files() != files || blocks_in_use() != blocks) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// Returns the number of bytes that the C libraries have allocated.
[[nodiscard]] std::size_t bytes_of_c() { return allocated_bytes() - replaced_new::bytes_in_use(); }

/// Returns true if no object of the library is left on a device that librdmacm has opened.
[[nodiscard]] bool no_object_is_left() {
  const cm::context_list contexts;
  return std::ranges::all_of(contexts, [](context_ref each) {
    return detail::lifetime_registry::instance().children_of(each.native_handle()).none();
  });
}

/// Runs a path again and again, with every `step`-th n. In each run `count` allocations fail from
/// the n-th on, or fewer if the program notices. Ends with the run that needs fewer than n
/// allocations.
template <class Path>
void fail_each(const char* name, const Path& path, std::size_t count, std::size_t step) {
  deadline_of_runs limit{name};
  std::size_t nth = 1;
  std::size_t runs = 0;
  std::size_t without_effect = 0;
  for (bool has_failed = true; has_failed; nth += step) {
    ++runs;
    INFO(name << ", allocation " << nth);
    limit.begin(nth);
    const std::size_t files = open_files();
    const std::size_t blocks = blocks_in_use();
    outcome of;
    {
      const without_memory some{nth - 1, count};
      of.run(path);
      has_failed = without_memory::failed() != 0;
    }
    const bool is_settled = settle_to(files, blocks);
    INFO("files " << files << ", now " << open_files() << ", blocks " << blocks << ", now "
                  << blocks_in_use());
    REQUIRE(is_settled);
    REQUIRE(no_object_is_left());
    CHECK(std::string_view{of.unexpected.data()}.empty());
    CHECK((of.is_whole || of.is_reported()));
    if (!has_failed) CHECK((of.is_whole && !of.is_reported()));
    if (has_failed && !of.is_reported()) ++without_effect;
  }
  CHECK(runs > 1);
  std::cout << name << ": " << runs - 1 << " allocations failed, " << without_effect
            << " of them without effect" << std::endl;
}

/// Fails each allocation alone, and then as many as `most` in a row until the program notices.
template <class Path>
void fail_each_and_more(const char* name, const Path& path,
                        std::size_t most = without_memory::endless, std::size_t step = 1) {
  // The C libraries and the tables of the library keep some memory for the next time.
  for (int each = 0; each < 2; ++each) {
    outcome first;
    first.run(path);
    REQUIRE(first.is_whole);
    REQUIRE(no_object_is_left());
  }
  std::this_thread::sleep_for(100ms);  // Other threads end their connections.
  const held before;
  fail_each(name, path, 1, step);
  // Exceptions have used their memory, too.
  const std::size_t bytes = bytes_of_c();
  fail_each(name, path, most, step);
  CHECK(rdma_objects_settled_to(before.objects) == before.objects);
  CHECK(settle_to(before.files, blocks_in_use()));
  // The C libraries keep some for the next time. A structure of librdmacm for each run is more.
  CHECK(bytes_of_c() < bytes + 8192);
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
async::task<> cancel_to_end(async::event_loop& loop, const int& tasks,
                            std::function<void()> cancel) {
  while (tasks != 0) {
    cancel();
    co_await async::sleep_for(loop, 5ms);
  }
}

/// Runs a loop to its end. After the first exception of a task, `cancel` ends what the others wait
/// for in vain.
void run_to_end(async::event_loop& loop, outcome& of, const int& tasks,
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

void echo_one_message(outcome& of) {
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

[[nodiscard]] messages::channel_options over(messages::network which) {
  return {.over = which,
          .receives = 8,
          .block_size = 256,
          .max_frames = 8,
          .connect_timeout = 30s,
          .close_timeout = 50s};
}

[[nodiscard]] messages::channel_options resuming_over(messages::network which) {
  messages::channel_options options = over(which);
  options.resume_within = 30s;
  return options;
}

/// Breaks the link of a channel, as a failure of the network does.
void break_link(const messages::channel& of) {
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

/// A channel that can be cancelled while its task runs.
class cancellable {
 public:
  cancellable(const messages::channel*& place, const messages::channel& made) noexcept
      : place_{&place} {
    *place_ = &made;
  }
  cancellable(const cancellable&) = delete;
  cancellable& operator=(const cancellable&) = delete;
  ~cancellable() { *place_ = nullptr; }

 private:
  const messages::channel** place_;
};

/// Sends one message that is copied and one that is offered, and breaks the link between them if
/// the channel resumes.
void exchange_messages(outcome& of, const messages::channel_options& options) {
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

void pass_through_ring(outcome& of) {
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

void pass_through_stream(outcome& of) {
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

 private:
  void serve(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      try {
        serve_one();
      } catch (const error&) {
        // The peer has given up.
      }
    }
  }
  void serve_one() const {
    auto request = listener_.next_request(20ms);
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
  std::jthread thread_{[this](const std::stop_token& stop) { serve(stop); }};
};

/// Connects, sends one message, and receives the answer, in calls that block.
void echo_in_calls_that_block(outcome& of, const cm::socket_address& address) {
  auto start = cm::connector<transport::rc>::create();
  auto near = start.resolve_address(address);
  auto far = near.resolve_route();
  auto ready = far.create_queue_pair({.max_recv_wr = 4});
  std::vector<std::byte> bytes(8);
  const memory_region region{ready.protection_domain(), bytes, access_right::local_write};
  ready.queue_pair().post(receive(region.buffer())).check();
  auto connection = ready.connect();
  connection.queue_pair().post(send(region.buffer()).signaled()).check();
  next_success(connection.send_cq());
  next_success(connection.recv_cq());
  connection.disconnect();
  of.is_whole = true;
}

}  // namespace

TEST_CASE("An asynchronous connection fails in order without each allocation in turn",
          "[rdma_connect][rdma_accept]") {
  fail_each_and_more("connection in tasks", echo_one_message);
}

TEST_CASE("A channel over RDMA fails in order without each allocation in turn",
          "[rdma_connect][rdma_accept]") {
  fail_each_and_more("channel over RDMA",
                     [](outcome& of) { exchange_messages(of, over(messages::network::rdma)); });
}

TEST_CASE("A channel over TCP fails in order without each allocation in turn") {
  fail_each_and_more("channel over TCP",
                     [](outcome& of) { exchange_messages(of, over(messages::network::tcp)); });
}

// A channel that resumes tries again while there is no memory, without a word to the program. That
// takes time, so only one allocation of four fails, unless ADVERB_RANDOM_SECONDS is set.
namespace {
constexpr std::size_t some_attempts = 5;
[[nodiscard]] std::size_t step_of_slow_paths() { return random_rounds::has_time() ? 1 : 4; }
}  // namespace

TEST_CASE("A channel that resumes over RDMA fails in order without each allocation in turn",
          "[rdma_connect][rdma_accept]") {
  fail_each_and_more(
      "channel that resumes over RDMA",
      [](outcome& of) { exchange_messages(of, resuming_over(messages::network::rdma)); },
      some_attempts, step_of_slow_paths());
}

TEST_CASE("A channel that resumes over TCP fails in order without each allocation in turn") {
  fail_each_and_more(
      "channel that resumes over TCP",
      [](outcome& of) { exchange_messages(of, resuming_over(messages::network::tcp)); },
      some_attempts, step_of_slow_paths());
}

TEST_CASE("A ring fails in order without each allocation in turn", "[ibv_post_send]") {
  fail_each_and_more("ring", pass_through_ring);
}

TEST_CASE("A stream fails in order without each allocation in turn", "[ibv_post_send]") {
  fail_each_and_more("stream", pass_through_stream);
}

TEST_CASE("A connection of calls that block fails in order without each allocation in turn",
          "[rdma_connect]") {
  const blocking_server server;
  fail_each_and_more("connection of calls that block",
                     [&](outcome& of) { echo_in_calls_that_block(of, server.address()); });
}

TEST_CASE("A lookup of a name without memory fails with ENOMEM", "[rdma_create_event_channel]") {
  async::event_loop loop;
  failure why;
  {
    const threads_without_memory none;
    loop.spawn([&]() -> async::task<> {
      const std::vector<cm::socket_address> found =
          co_await async::look_up(loop, "localhost", 1).report_to(why);
      CHECK(found.empty());
    });
    loop.run();
  }
  CHECK(why.code() == std::errc::not_enough_memory);
}

TEST_CASE("A request of a channel that fails for lack of memory does not disturb the next",
          "[ibv_post_send]") {
  side here;
  int answer = 0;
  messages::listener listener{here.loop, every_address(), over(messages::network::rdma)};
  here.loop.spawn([&]() -> async::task<> {
    messages::channel client = co_await listener.accept();
    while (const messages::incoming got = co_await client.next()) co_await got.reply(got.bytes());
  });
  bool is_refused = false;
  here.loop.spawn([&]() -> async::task<> {
    messages::channel server = co_await messages::connect(
        here.loop, device_address(listener.port()), over(messages::network::rdma));
    {
      messages::caller ask{server};
      try {
        const without_memory none;
        static_cast<void>(co_await ask(1).within(40s));
      } catch (const std::bad_alloc&) {
        is_refused = true;
      }
      const messages::incoming reply = co_await ask(2).within(40s);
      answer = reply.as<int>();
    }
    co_await server.close();
  });
  here.loop.run();
  CHECK(is_refused);
  CHECK(answer == 2);
}

TEST_CASE("A loop sleeps without memory", "[rdma_create_event_channel]") {
  async::event_loop loop;
  bool has_slept = false;
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 100ms);
    has_slept = true;
  });
  {
    const without_memory none;
    loop.run();
  }
  CHECK(has_slept);
}

TEST_CASE("Memory of a loop is given back without memory while requests are in progress",
          "[ibv_post_send]") {
  side here;
  here.loop.spawn(serve(here, 1));
  here.loop.spawn([&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    async::loop_memory memory = server.memory(16);
    server.post(send(memory.buffer()).signaled()).check();
    {
      const without_memory none;
      memory = {};
    }
    const async::message answer = co_await server.next();
    CHECK(answer.bytes().size() == 16);
    co_await server.disconnect();
  });
  here.loop.run();
}
