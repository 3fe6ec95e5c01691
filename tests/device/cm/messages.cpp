// SPDX-License-Identifier: MIT
// Channels of messages over RDMA.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/channel_cases.hpp>
#include <support/channel_result_cases.hpp>

#include "cm/async_side.hpp"
#include "cm/channel_ends.hpp"
#include "cm/child_process.hpp"
#include "cm/resources.hpp"

using namespace async_test;
using namespace std::chrono_literals;

TEST_CASE("A peer that is no channel is refused on both sides") {
  channel_test::both_ends here;
  failure of_connection;
  std::error_code of_accept;
  std::error_code of_channel;
  here.loop.spawn([&]() -> async::task<> {
    const async::connection none =
        co_await async::connect(here.loop, here.address(), small).report_to(of_connection);
    CHECK_FALSE(none);
    here.listener.cancel_waits();
    async::listener plain{here.loop, every_address()};
    here.loop.spawn([&]() -> async::task<> {
      const async::connection accepted = co_await plain.accept(small);
      const async::message end = co_await accepted.next();
      CHECK_FALSE(end);
    });
    try {
      const messages::channel refused =
          co_await messages::connect(here.loop, device_address(plain.port()), here.client_options);
    } catch (const std::system_error& why) {
      of_channel = why.code();
    }
    co_await async::sleep_for(here.loop, 100ms);
  });
  here.loop.spawn([&]() -> async::task<> {
    try {
      const messages::channel none = co_await here.listener.accept();
    } catch (const std::system_error& why) {
      of_accept = why.code();
    }
  });
  here.loop.run();
  CHECK(of_connection.code() == rejected_by_program());
  CHECK(of_accept == std::errc::operation_canceled);
  CHECK(of_channel == std::errc::protocol_error);
}

TEST_CASE("A peer without a version in common is refused on both sides") {
  const cm::private_data mine =
      detail::handshake::of(channel_test::few_receives(), throwing{}).encode();
  std::vector<std::byte> bytes(mine.bytes().begin(), mine.bytes().end());
  bytes[4] = bytes[5] = std::byte{77};
  async::connection_options options = small;
  options.connection.private_data = std::span<const std::byte>{bytes};
  channel_test::both_ends here;
  std::error_code of_request;
  failure of_connection;
  here.loop.spawn([&]() -> async::task<> {
    messages::channel_request request = co_await here.listener.next();
    try {
      const messages::channel none = co_await request.accept();
    } catch (const std::system_error& why) {
      of_request = why.code();
    }
  });
  here.loop.spawn([&]() -> async::task<> {
    const async::connection none =
        co_await async::connect(here.loop, here.address(), options).report_to(of_connection);
    CHECK_FALSE(none);
  });
  here.loop.run();
  CHECK(of_request == std::errc::protocol_error);
  CHECK(of_connection.code() == rejected_by_program());
}

TEST_CASE("role: a server of a channel", "[.]") {
  channel_test::both_ends here;
  child_process::say(here.listener.port());
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel accepted = co_await here.listener.accept();
    while (const messages::incoming got = co_await accepted.next()) child_process::say();
  });
  here.loop.run();
}

TEST_CASE("A killed or stopped peer ends the channel, and an idle one does not") {
  for (const bool is_killed : {true, false}) {
    child_process server{"role: a server of a channel"};
    const cm::socket_address address = device_address(server.word());
    async::event_loop loop;
    failure why;
    loop.spawn([&]() -> async::task<> {
      messages::channel_options options = channel_test::few_receives();
      if (!is_killed) options.dead_after = 5s;
      messages::channel client = co_await messages::connect(loop, address, options);
      co_await client.send(std::string_view{"hello"});
      static_cast<void>(server.word());
      if (is_killed) {
        server.kill();
      } else {
        co_await async::sleep_for(loop, 6s);
        co_await client.send(std::string_view{"hello"});
        static_cast<void>(server.word());
        server.stop();
      }
      const messages::incoming none = co_await client.next().report_to(why);
      CHECK_FALSE(none);
    });
    loop.run();
    CHECK(why.code() == (is_killed ? std::errc::connection_reset : std::errc::timed_out));
  }
}

TEST_CASE("A frame that violates the protocol ends the channel with EPROTO") {
  const auto header = [](detail::message_frame made) {
    const auto bytes = made.encode();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  using type = detail::message_frame_type;
  const std::vector<std::vector<std::byte>> frames{
      std::vector<std::byte>(5),
      std::vector<std::byte>(200),
      header({.type = type::data, .length = 1, .granted = 8}),
      header({.type = type::data, .sequence = 1, .granted = 8}),
      header({.type = type::offer, .length = 0xffff'ffff, .granted = 8}),
      header({.type = type::taken, .length = 10, .granted = 8}),
      header({.type = type::credit, .granted = 0x8000'0000}),
  };
  for (const std::vector<std::byte>& frame : frames) {
    channel_test::both_ends here;
    failure why;
    here.loop.spawn([&]() -> async::task<> {
      const messages::channel accepted = co_await here.listener.accept();
      const messages::incoming none = co_await accepted.next().report_to(why);
      CHECK_FALSE(none);
    });
    here.loop.spawn([&]() -> async::task<> {
      async::connection_options options = small;
      options.block_size = 256;
      options.connection.private_data =
          detail::handshake::of(channel_test::few_receives(), throwing{}).encode();
      const async::connection rude = co_await async::connect(here.loop, here.address(), options);
      const async::loop_memory memory = rude.memory(frame.size());
      std::ranges::copy(frame, memory.bytes().begin());
      std::error_code ignored;
      co_await rude.send(memory.buffer()).report_to(ignored);
      const async::message end = co_await rude.next().report_to(ignored);
    });
    here.loop.run();
    CHECK(why.code() == std::errc::protocol_error);
  }
}

TEST_CASE("Programs that block use channels on both sides", "[rdma_connect][rdma_accept]") {
  std::promise<std::uint16_t> port;
  std::jthread server{[&] {
    async::event_loop loop;
    messages::listener listener{loop, every_address(), channel_test::few_receives()};
    port.set_value(listener.port());
    messages::channel client = loop.wait(listener.accept());
    const async::loop_memory memory = client.memory(10'000);
    while (messages::incoming got = client.next().wait()) {
      got.receive_into(memory.buffer()).wait();
      client.send(memory.slice(0, got.size())).wait();
    }
  }};
  const messages::channel client =
      messages::connect(device_address(port.get_future().get()), channel_test::few_receives());
  CHECK(client.over() == messages::network::rdma);
  const async::loop_memory memory = client.memory(10'000);
  for (const std::size_t size : std::array<std::size_t, 4>{0, 100, 10'000, 1}) {
    channel_test::fill(memory.bytes().first(size), size);
    client.send(memory.slice(0, size)).wait();
    std::ranges::fill(memory.bytes(), std::byte{});
    messages::incoming answer = client.next().within(40s).wait();
    REQUIRE(answer.size() == size);
    answer.receive_into(memory.buffer()).wait();
    CHECK(channel_test::is_filled(memory.bytes().first(size), size));
  }
  client.close().wait();
}

TEST_CASE("A channel of any network is over RDMA if its peer has it, and over TCP otherwise") {
  for (const auto offered : {messages::network::any, messages::network::tcp}) {
    messages::channel_options accepting = channel_test::few_receives();
    accepting.over = offered;
    messages::channel_options connecting = accepting;
    connecting.over = messages::network::any;
    channel_test::both_ends both{connecting, accepting};
    // Over iWARP, the listener of TCP has the port, so the connect of RDMA is refused.
    messages::network became = messages::network::any;
    both.run(
        [&](messages::channel& server) -> async::task<> {
          became = server.over();
          co_await server.send(1);
          const messages::incoming answer = co_await server.next();
          CHECK(answer.as<int>() == 1);
          co_await server.close();
        },
        [&](messages::channel& client) -> async::task<> {
          while (const messages::incoming got = co_await client.next())
            co_await client.send(got.bytes());
        });
    CHECK(became == (offered == messages::network::any ? messages::network::rdma : offered));
  }
}

TEST_CASE("Registered memory serves channels over TCP, too", "[ibv_reg_mr]") {
  messages::channel_options options = channel_test::few_receives();
  options.over = messages::network::tcp;
  channel_test::both_ends here{options, options};
  const context device = open_device();
  const protection_domain domain{device};
  std::vector<std::byte> bytes(20'000);
  const memory_region region{domain, bytes, access_right::local_write};
  channel_test::fill(std::span{bytes}.first(10'000), 3);
  bool is_intact = false;
  here.run(
      [&](messages::channel& server) -> async::task<> {
        co_await server.send(region.buffer().slice(0, 10'000));
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        messages::incoming got = co_await client.next();
        CHECK(got.is_offer());
        const std::span<std::byte> taken =
            co_await got.receive_into(region.buffer().slice(10'000, 10'000));
        is_intact = channel_test::is_filled(taken, 3) && taken.data() == bytes.data() + 10'000;
        co_await client.close();
      });
  CHECK(is_intact);
}

TEST_CASE(
    "The memory of a channel's frames is freed although another connection waits for its peer",
    "[optional][ibv_dereg_mr]") {
  if (on_iwarp()) {
    SUCCEED("siw ends a connection whose peer has no receive");
    tell_skip("messages", "siw ends a connection whose peer has no receive");
    return;
  }
  const auto regions = [] {
    const std::string all = rdma_objects();
    const auto at = all.find(" mr ");
    REQUIRE(at != std::string::npos);
    return std::stoi(all.substr(at + 4));
  };
  channel_test::both_ends here;
  async::listener plain{here.loop, every_address()};
  async::connection_options one_receive = small;
  one_receive.receives = 1;
  bool is_over = false;
  int before = 0;
  int after = 0;
  here.loop.spawn([&]() -> async::task<> {
    async::connection busy = co_await plain.accept(one_receive);
    const async::message held = co_await busy.next();
    while (!is_over) co_await async::sleep_for(here.loop, 1ms);
  });
  here.loop.spawn([&]() -> async::task<> {
    async::connection waiting =
        co_await async::connect(here.loop, device_address(plain.port()), small);
    const text_memory memory{waiting, "hello"};
    co_await waiting.send(memory.region.buffer());
    bool has_ended = false;
    here.loop.spawn([&]() -> async::task<> {
      std::error_code why;
      co_await waiting.send(memory.region.buffer()).report_to(why);
      has_ended = true;
    });
    before = regions();
    for (int each = 0; each < 5; ++each) {
      // The end that is done first may leave the last frame of the other unacknowledged.
      here.loop.spawn([&]() -> async::task<> {
        messages::channel accepted = co_await here.listener.accept();
        std::error_code ignored;
        co_await accepted.close().report_to(ignored);
      });
      messages::channel connected =
          co_await messages::connect(here.loop, here.address(), here.client_options);
      std::error_code ignored;
      co_await connected.close().report_to(ignored);
    }
    while (here.loop.connections() > 2) co_await async::sleep_for(here.loop, 1ms);
    co_await async::sleep_for(here.loop, 1ms);
    after = regions();
    CHECK_FALSE(has_ended);
    is_over = true;
    waiting.cancel();
    while (!has_ended) co_await async::sleep_for(here.loop, 1ms);
  });
  here.loop.run();
  CHECK(before > 0);
  CHECK(after == before);
}
