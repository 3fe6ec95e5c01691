// SPDX-License-Identifier: MIT
// Reports of the end of asynchronous connections: a broken stream never looks whole, and a step
// finishes once.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>

#include "cm/async_side.hpp"

using namespace async_test;
using namespace std::chrono_literals;

namespace {

/// A client with blocking calls, which does nothing by itself.
struct plain_client {
  explicit plain_client(const cm::socket_address& address)
      : connection{ready_for(address).connect()}, region{connection.protection_domain(), bytes} {}
  /// Sends one byte of its memory, and returns how that completed.
  completion_status send_byte(std::size_t which) { return complete(send(region.slice(which, 1))); }
  /// Sends the whole memory.
  completion_status send_all() { return complete(send(region.buffer())); }
  /// Writes to a key that no region has.
  completion_status write_to_unknown_key() {
    const remote_buffer<std::byte> nowhere{adopt, 0x1000, 8, static_cast<rkey>(0xDEAD00U)};
    return complete(write(nowhere, region.slice(0, 8)));
  }

  rc_connection connection;
  std::array<char, 256> bytes{"abcdefgh"};
  memory_region region;

 private:
  template <class Request>
  completion_status complete(const Request& request) {
    connection.queue_pair().post(request.signaled()).check();
    std::array<completion, 1> done;
    while (connection.send_cq().poll(done).empty()) {
    }
    return done[0].status();
  }
};

/// Receives until no message comes. Returns what arrived, and the last code.
struct received {
  std::string text;
  std::error_code end;
};
async::task<> receive_all(const async::connection& client, received& all) {
  while (const async::message message = co_await client.next().report_to(all.end))
    all.text += text_of(message);
}

constexpr async::connection_options brief{
    .max_send_wr = 4, .receives = 8, .block_size = 64, .end_timeout = 2s};

}  // namespace

TEST_CASE("Acknowledged messages in shared blocks arrive before the end of the stream",
          "[rdma_disconnect][ibv_create_srq]") {
  for (int round = 0; round < 4; ++round) {
    side here{{.shared_receives = 16, .shared_block_size = 64}};
    received all;
    std::promise<void> busy;
    std::promise<void> gone;
    const auto passive = [&]() -> async::task<> {
      async::connection_options options = small;
      options.shared = true;
      async::connection client = co_await here.listener.accept(options);
      {
        const async::message first = co_await client.next();
        all.text += text_of(first);
      }
      busy.set_value();
      gone.get_future().wait();  // The thread is busy.
      co_await receive_all(client, all);
    };
    auto peer = std::async(std::launch::async, [&] {
      plain_client client{here.address()};
      std::vector<completion_status> statuses{client.send_byte(0)};
      busy.get_future().wait();
      for (std::size_t each = 1; each < 8; ++each) statuses.push_back(client.send_byte(each));
      client.connection.start_disconnect();
      std::this_thread::sleep_for(50ms);
      gone.set_value();
      return statuses;
    });
    here.loop.spawn(passive());
    here.run();
    for (const completion_status each : peer.get()) CHECK(each == completion_status::success);
    CHECK(all.text == "abcdefgh");
    CHECK(!all.end);
  }
}

TEST_CASE("A stream fails with ECONNRESET if the queue pair fails before the peer disconnects",
          "[rdma_disconnect][optional]") {
  if (on_iwarp())
    skip("a broken connection", "iWARP reports a broken connection and a whole one alike");
  side here;
  received all;
  std::promise<void> over;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(brief);
    co_await receive_all(client, all);
    over.set_value();
  };
  auto peer = std::async(std::launch::async, [&] {
    plain_client client{here.address()};
    static_cast<void>(client.send_byte(0));
    static_cast<void>(client.send_byte(1));
    const completion_status refused = client.write_to_unknown_key();
    over.get_future().wait();  // It does not disconnect.
    return refused;
  });
  here.loop.spawn(passive());
  here.run();
  CHECK(peer.get() != completion_status::success);
  CHECK(all.text == "ab");
  CHECK(all.end == std::errc::connection_reset);
}

TEST_CASE("A stream fails with ECONNRESET if the peer breaks the connection and then disconnects",
          "[rdma_disconnect][optional]") {
  if (on_iwarp())
    skip("a broken connection", "iWARP reports a broken connection and a whole one alike");
  side here;
  received all;
  std::promise<void> busy;
  std::promise<void> gone;
  const auto passive = [&]() -> async::task<> {
    async::connection client = co_await here.listener.accept(small);
    {
      const async::message first = co_await client.next();
      all.text += text_of(first);
    }
    busy.set_value();
    gone.get_future().wait();  // The event of the end is taken first.
    co_await receive_all(client, all);
  };
  auto peer = std::async(std::launch::async, [&] {
    plain_client client{here.address()};
    static_cast<void>(client.send_byte(0));
    busy.get_future().wait();
    const completion_status refused = client.write_to_unknown_key();
    client.connection.start_disconnect();
    std::this_thread::sleep_for(50ms);
    gone.set_value();
    return refused;
  });
  here.loop.spawn(passive());
  here.run();
  CHECK(peer.get() != completion_status::success);
  CHECK(all.text == "a");
  CHECK(all.end == std::errc::connection_reset);
}

TEST_CASE("A stream fails with ECONNRESET if the queue pair is in ERR when the peer disconnects",
          "[rdma_disconnect][optional]") {
  if (on_iwarp())
    skip("a broken connection", "iWARP reports a broken connection and a whole one alike");
  side here;
  received all;
  std::promise<void> busy;
  std::promise<void> gone;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    // A turn that finds nothing: the event of the peer comes before the flushed receives.
    co_await async::sleep_for(here.loop, 10ms);
    busy.set_value();
    gone.get_future().wait();
    ibv_qp_attr failed{};
    failed.qp_state = IBV_QPS_ERR;
    CHECK(ibv_modify_qp(client.queue_pair().native_handle(), &failed, IBV_QP_STATE) == 0);
    std::this_thread::sleep_for(50ms);
    co_await receive_all(client, all);
  };
  auto peer = std::async(std::launch::async, [&] {
    plain_client client{here.address()};
    busy.get_future().wait();
    client.connection.start_disconnect();
    std::this_thread::sleep_for(50ms);
    gone.set_value();
  });
  here.loop.spawn(passive());
  here.run();
  peer.get();
  CHECK(all.end == std::errc::connection_reset);
}

TEST_CASE("disconnect succeeds after end_timeout if the peer has confirmed the end",
          "[rdma_disconnect]") {
  constexpr auto after_end_timeout = 2500ms;
  side here;
  std::error_code passive_end = std::make_error_code(std::errc::io_error);
  std::error_code active_end = passive_end;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(brief);
    received all;
    co_await receive_all(client, all);
    co_await async::sleep_for(here.loop, after_end_timeout);
    co_await client.disconnect().report_to(passive_end);
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), brief);
    co_await server.disconnect();
    co_await async::sleep_for(here.loop, after_end_timeout);
    co_await server.disconnect().report_to(active_end);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.run();
  CHECK(!passive_end);
  CHECK(!active_end);
}

TEST_CASE("A receive that fails before the connection is established disconnects it",
          "[rdma_disconnect][optional]") {
  if (on_iwarp())
    skip("a broken connection", "iWARP reports a broken connection and a whole one alike");
  for (int round = 0; round < 6; ++round) {
    side here;
    std::promise<void> accepting;
    std::promise<void> sent;
    std::error_code end;
    const auto passive = [&]() -> async::task<> {
      async::connection_request request = co_await here.listener.next();
      here.loop.post([&] {
        accepting.set_value();
        sent.get_future().wait();  // Both are there when the loop goes on.
      });
      const async::connection client = co_await request.accept(small).report_to(end);
      if (!client) co_return;
      received all;
      co_await receive_all(client, all);
      end = all.end;
    };
    auto peer = std::async(std::launch::async, [&] {
      plain_client client{here.address()};
      accepting.get_future().wait();
      const completion_status refused = client.send_all();
      sent.set_value();
      failure why;
      client.connection.wait_disconnected(5s, why);  // end_timeout of `small` is a minute.
      return std::pair{refused, why.code()};
    });
    here.loop.spawn(passive());
    here.run();
    const auto [refused, told] = peer.get();
    CHECK(refused != completion_status::success);
    CHECK(!told);
    CHECK(end);
  }
}

TEST_CASE("A connection keeps its protection domain after its queue pair is destroyed",
          "[ibv_destroy_qp]") {
  side here;
  bool is_same = false;
  bool has_pair = true;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(brief);
    const ibv_pd* const before = client.protection_domain().native_handle();
    received all;
    co_await receive_all(client, all);
    for (int each = 0; each < 400 && has_pair; ++each) {
      co_await async::sleep_for(here.loop, 50ms);
      has_pair = static_cast<bool>(client.queue_pair());
    }
    is_same = client.protection_domain().native_handle() == before;
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), brief);
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.run();
  CHECK(!has_pair);
  CHECK(is_same);
}

TEST_CASE("A late answer to a connect that timed out does not end the next step",
          "[rdma_connect]") {
  side here;
  std::error_code connected;
  std::optional<cm::rejection> rejection;
  std::chrono::steady_clock::duration slept{};
  async::event has_timed_out{here.loop};
  bool has_request = false;
  const auto passive = [&](bool rejects) -> async::task<> {
    std::error_code none;
    async::connection_request request = co_await here.listener.next().report_to(none);
    if (!request) co_return;
    has_request = true;
    static_cast<void>(co_await has_timed_out.wait());
    if (rejects) {
      std::error_code abandoned;
      request.reject(cm::private_data::of("late"), abandoned);
      co_return;
    }
    std::error_code ignored;
    const async::connection client = co_await request.accept(brief).report_to(ignored);
    if (!client) co_return;
    received all;
    co_await receive_all(client, all);
  };
  std::chrono::steady_clock::time_point begin;
  const auto begin_sleep = [&] {
    begin = std::chrono::steady_clock::now();
    has_timed_out.set();
  };
  const auto active = [&]() -> async::task<> {
    async::connection_options hurried = small;
    // On a busy machine the limit may end before the request is sent.
    for (auto limit = 100ms; limit < 20s && !has_request; limit *= 2) {
      hurried.connect_timeout = limit;
      has_timed_out.reset();
      // The operation lives until the end of the expression.
      static_cast<void>(co_await async::connect(here.loop, here.address(), hurried)
                            .rejection_to(rejection)
                            .report_to(connected)),
          begin_sleep(), co_await async::sleep_for(here.loop, 1s);
      slept = std::chrono::steady_clock::now() - begin;
    }
    here.listener.cancel_waits();
  };
  for (const bool rejects : {false, true}) {
    has_request = false;
    here.loop.spawn(passive(rejects));
    here.loop.spawn(active());
    here.run();
    CHECK(has_request);
    CHECK(connected == std::errc::timed_out);
    CHECK(slept >= 1s);
    CHECK(!rejection);
  }
}

TEST_CASE("A step that a cancelled wait starts is not cancelled", "[rdma_disconnect]") {
  side here;
  std::error_code wait;
  std::error_code end = std::make_error_code(std::errc::io_error);
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(small);
    const auto stop_reading = [&]() -> async::task<> {
      co_await async::sleep_for(here.loop, 20ms);
      client.cancel_waits();
    };
    here.loop.spawn(stop_reading());
    static_cast<void>(co_await client.next().report_to(wait));
    co_await client.disconnect().report_to(end);
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    received all;
    co_await receive_all(server, all);
    CHECK(!all.end);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.run();
  CHECK(wait == std::errc::operation_canceled);
  CHECK(!end);
}

TEST_CASE("A step fails with EINVAL and names an impossible option", "[rdma_connect]") {
  side here;
  std::vector<failure> why(3);
  const auto active = [&]() -> async::task<> {
    for (failure& each : why) {
      async::connection_options options = small;
      if (&each == &why[0]) options.receives = 0;
      if (&each == &why[1]) options.block_size = 0;
      if (&each == &why[2]) options.max_send_wr = 0;
      const async::connection none =
          co_await async::connect(here.loop, here.address(), options).report_to(each);
      CHECK(!none);
    }
  };
  here.loop.spawn(active());
  here.run();
  for (const failure& each : why) CHECK(each.code() == std::errc::invalid_argument);
  CHECK(why[0].explanation() == "receives is 0: a connection needs at least 1");
  CHECK(why[1].explanation() == "block_size is 0: a connection needs at least 1");
  CHECK(why[2].explanation() == "max_send_wr is 0: a connection needs at least 1");
}

TEST_CASE("A deadline does not wake the loop early", "[rdma_connect]") {
  side here;
  int next = 0;
  int next_after_end = 0;
  const auto passive = [&]() -> async::task<> {
    const async::connection client = co_await here.listener.accept(brief);
    received all;
    co_await receive_all(client, all);
    // The connection keeps its timer until end_timeout, much less than the deadline.
    for (int each = 0; each < 200 && next_after_end != -1; ++each) {
      co_await async::sleep_for(here.loop, 50ms);
      next_after_end = here.loop.run_pending();
    }
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    server.expires_after(30s);
    next = here.loop.run_pending();
    co_await server.disconnect();
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.run();
  CHECK(next > 1'000);
  CHECK(next_after_end == -1);
}

TEST_CASE("A message too long for its block fails with the size of the block") {
  side here;
  failure of_receive;
  failure of_send;
  const auto passive = [&]() -> async::task<> {
    async::connection_options options = small;
    options.block_size = 16;
    const async::connection client = co_await here.listener.accept(options);
    const async::message none = co_await client.next().report_to(of_receive);
    CHECK_FALSE(none);
  };
  const auto active = [&]() -> async::task<> {
    const async::connection server = co_await async::connect(here.loop, here.address(), small);
    const text_memory memory{server, "too long"};
    co_await server.send(memory.region.buffer()).report_to(of_send);
  };
  here.loop.spawn(passive());
  here.loop.spawn(active());
  here.loop.run();
  REQUIRE(of_receive);
  CHECK(of_receive.explanation().starts_with("the receive has 16 bytes; possible causes: "));
  if (on_iwarp()) return;  // Its send completes before the peer has the message.
  REQUIRE(of_send);
  CHECK(of_send.explanation().find("possible causes: ") != std::string_view::npos);
  CHECK(of_send.explanation().find("receive is too short for the message") !=
        std::string_view::npos);
}

TEST_CASE("A message too long for its block fails if the peer has disconnected since",
          "[rdma_disconnect]") {
  side here;
  failure why;
  std::promise<void> accepted;
  std::promise<void> gone;
  const auto passive = [&]() -> async::task<> {
    async::connection_options options = small;
    options.block_size = 16;
    const async::connection client = co_await here.listener.accept(options);
    accepted.set_value();
    gone.get_future().wait();  // The message and the end are both there when the loop goes on.
    const async::message none = co_await client.next().report_to(why);
    CHECK_FALSE(none);
  };
  auto peer = std::async(std::launch::async, [&] {
    plain_client client{here.address()};
    accepted.get_future().wait();
    static_cast<void>(client.send_all());
    client.connection.start_disconnect();
    std::this_thread::sleep_for(50ms);
    gone.set_value();
  });
  here.loop.spawn(passive());
  here.run();
  peer.get();
  REQUIRE(why);
  // RoCE moves the pair to ERR, which the loop may notice first.
  if (on_iwarp()) CHECK(why.explanation().starts_with("the receive has 16 bytes; "));
}
