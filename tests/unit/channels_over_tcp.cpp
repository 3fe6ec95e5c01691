// SPDX-License-Identifier: MIT
// Channels of messages over TCP, on a machine that needs no RDMA.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/channel_cases.hpp>
#include <support/channel_result_cases.hpp>

#include "plain_socket.hpp"
#include "tcp_network.hpp"

using namespace adverb;
using namespace channel_test;
using namespace std::chrono_literals;

namespace {

/// Returns how a channel ends whose peer sends the handshake and these bytes, in such pieces.
[[nodiscard]] std::error_code end_after(std::span<const std::byte> bytes, std::size_t piece) {
  both_ends here;
  failure why;
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel accepted = co_await here.listener.accept();
    for (messages::incoming got; !why;) got = co_await accepted.next().report_to(why);
  });
  const plain_socket rude{here.address()};
  rude.send(greeting());
  here.loop.spawn([&]() -> async::task<> {
    for (std::size_t sent = 0; sent < bytes.size() && !why; sent += piece) {
      rude.send(bytes.subspan(sent, std::min(piece, bytes.size() - sent)));
      co_await async::sleep_for(here.loop, 0ms);
    }
  });
  here.loop.run();
  return why.code();
}

/// A socket with an address, which accepts in its backlog once it listens, and never answers.
class silent_listener {
 public:
  silent_listener() {
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof bound;
    auto* const address = reinterpret_cast<sockaddr*>(&bound);
    REQUIRE(::bind(descriptor_, address, size) == 0);
    REQUIRE(::getsockname(descriptor_, address, &size) == 0);
    port_ = ::ntohs(bound.sin_port);
  }
  silent_listener(const silent_listener&) = delete;
  silent_listener& operator=(const silent_listener&) = delete;
  ~silent_listener() { ::close(descriptor_); }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  void listen() const { REQUIRE(::listen(descriptor_, 1) == 0); }
  /// Returns the handshake of the peer that connected first, and has gone since.
  [[nodiscard]] std::optional<detail::handshake> first_handshake() const {
    const int peer = ::accept(descriptor_, nullptr, nullptr);
    REQUIRE(peer >= 0);
    std::array<std::byte, detail::handshake::encoded_size> bytes{};
    CHECK(::recv(peer, bytes.data(), bytes.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(bytes.size()));
    ::close(peer);
    return detail::handshake::decode(cm::private_data{bytes});
  }

 private:
  int descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("A frame that violates the protocol ends a channel over TCP with EPROTO") {
  using type = detail::message_frame_type;
  const auto header = [](detail::message_frame made) { return bytes_of(made.encode()); };
  const std::vector<std::vector<std::byte>> frames{
      std::vector<std::byte>(200),
      header({.type = type::data, .length = 0xffff'ffff, .granted = 8}),
      header({.type = type::data, .length = 241, .granted = 8}),
      header({.type = type::offer, .length = 0xffff'ffff, .granted = 8}),
      header({.type = type::taken, .length = 10, .granted = 8}),
      header({.type = type::taken, .length = 0xffff'ffff, .granted = 8}),
      header({.type = type::data, .sequence = 1, .granted = 8}),
      header({.type = type::credit, .granted = 0x8000'0000}),
  };
  for (const std::vector<std::byte>& frame : frames)
    for (const std::size_t piece : {std::size_t{1}, frame.size()})
      CHECK(end_after(frame, piece) == std::errc::protocol_error);
}

TEST_CASE("A peer learns which rule its frame violates") {
  const auto frame =
      detail::message_frame{.type = static_cast<detail::message_frame_type>(77), .granted = 8};
  both_ends here;
  failure why;
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel accepted = co_await here.listener.accept();
    const messages::incoming none = co_await accepted.next().report_to(why);
  });
  const plain_socket rude{here.address()};
  rude.send(greeting());
  rude.send(frame.encode());
  here.loop.run();
  const std::vector<std::byte> last = rude.last(detail::message_frame::header_size);
  const auto read =
      detail::message_frame::decode(std::span{last}.first<detail::message_frame::header_size>());
  CHECK(read.type == detail::message_frame_type::failed);
  CHECK(read.length == static_cast<std::uint32_t>(detail::session_violation::unknown_type));
  CHECK(why.code() == std::errc::protocol_error);
}

TEST_CASE("A channel that its peer ends for a violation fails with EPROTO") {
  for (const std::uint32_t reason : {1U, 77U}) {
    const auto frame = detail::message_frame{
        .type = detail::message_frame_type::failed, .length = reason, .granted = 8};
    CHECK(end_after(frame.encode(), 16) == std::errc::protocol_error);
  }
}

TEST_CASE("A peer over TCP that sends more than it was granted ends the channel with EPROTO") {
  std::vector<std::byte> frames;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const auto each = detail::message_frame{.sequence = i, .granted = 8}.encode();
    frames.insert(frames.end(), each.begin(), each.end());
  }
  both_ends here;
  failure why;
  std::vector<messages::incoming> held;
  const plain_socket rude{here.address()};
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel accepted = co_await here.listener.accept();
    while (!why) {
      messages::incoming got = co_await accepted.next().report_to(why);
      if (got) held.push_back(std::move(got));
    }
    held.clear();
  });
  rude.send(greeting());
  rude.send(frames);
  here.loop.run();
  CHECK(why.code() == std::errc::protocol_error);
}

TEST_CASE("The failure of a channel over TCP names its peer, whose address stays known") {
  both_ends here;
  failure why;
  std::string peer;
  bool has_timed_out = false;
  bool has_ended_before = true;
  bool has_ended = false;
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel client = co_await here.listener.accept();
    const messages::incoming late =
        co_await client.next().within(std::chrono::milliseconds{50}).report_to(why);
    CHECK(why.code() == std::errc::timed_out);
    has_ended_before = client.has_ended();
    has_timed_out = true;
    const messages::incoming none = co_await client.next().report_to(why);
    has_ended = client.has_ended();
    peer = cm::to_text(client.peer_address());
  });
  here.loop.spawn([&]() -> async::task<> {
    {
      const plain_socket rude{here.address()};
      rude.reset_at_end();
      rude.send(greeting());
      while (!has_timed_out) co_await async::sleep_for(here.loop, 1ms);
    }
  });
  here.loop.run();
  CHECK(why.code() == std::errc::connection_reset);
  CHECK_FALSE(has_ended_before);
  CHECK(has_ended);
  CHECK(peer.find("127.0.0.1") != std::string::npos);
  CHECK(std::string{why.what()}.find("the channel with " + peer + " runs over TCP") !=
        std::string::npos);
}

TEST_CASE("A listener over TCP outlasts peers that send nothing, little, or no handshake") {
  both_ends here;
  std::vector<std::unique_ptr<plain_socket>> rude;
  for (int i = 0; i < 300; ++i) {
    rude.push_back(std::make_unique<plain_socket>(here.address()));
    REQUIRE(rude.back()->is_connected());
    const std::vector<std::byte> whole = greeting();
    if (i % 3 == 1) rude.back()->send(std::span{whole}.first(10));
    if (i % 3 == 2) rude.back()->send(std::vector<std::byte>(100));
  }
  bool has_answer = false;
  here.run(
      [&](messages::channel& server) -> async::task<> {
        co_await server.send(1);
        const messages::incoming answer = co_await server.next();
        has_answer = answer.as<int>() == 1;
        co_await server.close();
      },
      [&](messages::channel& client) -> async::task<> {
        while (const messages::incoming got = co_await client.next())
          co_await client.send(got.bytes());
      });
  CHECK(has_answer);
  CHECK(std::ranges::count_if(rude, [](const auto& each) { return each->is_at_end(); }) >= 150);
}

TEST_CASE("A connect over TCP fails with what it has seen") {
  async::event_loop loop;
  const auto failure_of = [&](std::uint16_t port, timeout limit) {
    std::error_code why;
    messages::channel_options options = few_receives();
    options.connect_timeout = limit;
    loop.spawn([&]() -> async::task<> {
      try {
        const messages::channel none = co_await messages::connect(loop, address_of(port), options);
      } catch (const std::system_error& failed) {
        why = failed.code();
      }
    });
    loop.run();
    return why;
  };
  const silent_listener silent;
  CHECK(failure_of(silent.port(), 30s) == std::errc::connection_refused);
  silent.listen();
  CHECK(failure_of(silent.port(), 100ms) == std::errc::timed_out);
}

TEST_CASE("Each attempt of a connect has a session of its own") {
  std::array<silent_listener, 2> silent;
  for (const silent_listener& each : silent) each.listen();
  messages::channel_options options = few_receives();
  options.over = messages::network::tcp;
  // Long enough for an attempt to send its handshake on a busy machine.
  options.connect_timeout = 1s;
  options.resume_within = 1s;
  const std::vector<cm::socket_address> both{address_of(silent[0].port()),
                                             address_of(silent[1].port())};
  std::error_code why;
  async::event_loop loop;
  loop.spawn([&]() -> async::task<> {
    try {
      const messages::channel none = co_await detail::connect_to_first(loop, both, options);
    } catch (const std::system_error& failed) {
      why = failed.code();
    }
  });
  loop.run();
  CHECK(why == std::errc::timed_out);
  const auto first = silent[0].first_handshake();
  const auto second = silent[1].first_handshake();
  REQUIRE((first && second));
  CHECK(first->session != 0);
  CHECK(second->session != 0);
  CHECK(first->session != second->session);
}

TEST_CASE("A connect over TCP waits until the program of the peer accepts") {
  both_ends here;
  bool is_connected = false;
  bool was_connected = true;
  here.loop.spawn([&]() -> async::task<> {
    messages::channel_request request = co_await here.listener.next();
    co_await async::sleep_for(here.loop, 50ms);
    was_connected = is_connected;
    const messages::channel accepted = co_await request.accept();
    const messages::incoming end = co_await accepted.next();
    CHECK_FALSE(end);
  });
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel connected =
        co_await messages::connect(here.loop, here.address(), here.client_options);
    is_connected = true;
    co_await connected.close();
  });
  here.loop.run();
  CHECK_FALSE(was_connected);
  CHECK(is_connected);
}

TEST_CASE("A port that is taken is refused with the reason") {
  async::event_loop loop;
  const messages::listener first{loop, cm::socket_address::any(0), few_receives()};
  failure why;
  const messages::listener second{loop, cm::socket_address::any(first.port()), few_receives(), why};
  CHECK(why.code() == std::errc::address_in_use);
  CHECK(why.explanation() == "a socket has this port already: \"ss -tanp\" shows it");
  CHECK_FALSE(second.is_over(messages::network::any));
}

TEST_CASE("A failure to connect names RDMA only if that was tried") {
  async::event_loop loop;
  failure none;
  const bool has_rdma = loop.has_channel(none);
  std::string told;
  loop.spawn([&]() -> async::task<> {
    try {
      const messages::channel refused = co_await messages::connect(loop, address_of(1));
    } catch (const std::system_error& why) {
      told = why.what();
    }
  });
  loop.run();
  CHECK(told.find("nothing listens on this port") != told.npos);
  CHECK((told.find("over RDMA") != told.npos) == has_rdma);
}

TEST_CASE("Channels of any network run over TCP on a machine without RDMA") {
  async::event_loop loop;
  failure none;
  const bool has_rdma = loop.has_channel(none);
  messages::listener listener{loop, cm::socket_address::any(0)};
  CHECK(listener.is_over(messages::network::tcp));
  CHECK(listener.is_over(messages::network::rdma) == has_rdma);
  messages::network became = messages::network::any;
  loop.spawn([&]() -> async::task<> {
    messages::channel client = co_await listener.accept();
    while (const messages::incoming got = co_await client.next()) co_await client.send(got.bytes());
  });
  loop.spawn([&]() -> async::task<> {
    messages::channel server = co_await messages::connect(loop, "127.0.0.1", listener.port());
    became = server.over();
    co_await server.send(std::string_view{"hello"});
    const messages::incoming answer = co_await server.next();
    CHECK(answer.text() == "hello");
    co_await server.close();
  });
  loop.run();
  CHECK(became == (has_rdma ? messages::network::rdma : messages::network::tcp));
}

TEST_CASE("A program that blocks uses the same channel, and its silence is not its death") {
  messages::channel_options options = few_receives();
  options.dead_after = 100ms;
  std::promise<std::uint16_t> port;
  std::jthread server{[&] {
    // A server that blocks, too: it answers no probe between its waits.
    messages::channel_options of_server = options;
    of_server.is_blocking = true;
    async::event_loop loop;
    messages::listener listener{loop, listening_address(), of_server};
    port.set_value(listener.port());
    const messages::channel client = loop.wait(listener.accept());
    while (const messages::incoming got = client.next().wait()) client.send(got.bytes()).wait();
  }};
  const std::uint16_t at = port.get_future().get();
  const messages::channel server_end = messages::connect(address_of(at), options);
  for (int round = 0; round < 3; ++round) {
    server_end.send(round).wait();
    const messages::incoming answer = server_end.next().within(40s).wait();
    CHECK(answer.as<int>() == round);
    std::this_thread::sleep_for(500ms);
  }
  failure late;
  const messages::incoming none = server_end.next().within(10ms).report_to(late).wait();
  CHECK_FALSE(none);
  CHECK(late.code() == std::errc::timed_out);
  server_end.close().wait();
}

TEST_CASE("A peer over TCP that blocks, and reads nothing for longer than dead_after, lives") {
  constexpr std::uint32_t size = 16U << 20U;
  messages::channel_options options = few_receives();
  options.dead_after = 200ms;
  both_ends here{options, options};
  messages::channel_options of_peer = options;
  of_peer.is_blocking = true;
  const plain_socket silent{here.address()};
  silent.send(detail::handshake::of(of_peer, throwing{}).encode().bytes());
  bool was_alive = false;
  failure why;
  here.loop.spawn([&]() -> async::task<> {
    const messages::channel accepted = co_await here.listener.accept();
    const async::loop_memory memory = accepted.memory(size);
    here.loop.spawn([&]() -> async::task<> {
      co_await async::sleep_for(here.loop, 1200ms);
      was_alive = !accepted.has_ended();
      accepted.cancel();
    });
    // The sockets have no room for it.
    co_await accepted.send(memory.buffer()).report_to(why);
  });
  silent.send(
      detail::message_frame{.type = detail::message_frame_type::take, .length = size, .granted = 8}
          .encode());
  silent.send(detail::landing_handle{adopt, 0, size, rkey{}}.encode());
  here.loop.run();
  CHECK(was_alive);
  CHECK(why.code() == std::errc::operation_canceled);
}

TEST_CASE("A send over TCP from memory that does not exist ends the channel with EFAULT") {
  both_ends both;
  failure of_send;
  failure of_client;
  both.run(
      [&](messages::channel& server) -> async::task<> {
        ibv_sge nowhere{};
        nowhere.addr = 16;
        nowhere.length = 100;
        co_await server.send(const_buffer{adopt, nowhere}).report_to(of_send);
      },
      [&](messages::channel& client) -> async::task<> {
        const messages::incoming none = co_await client.next().within(5s).report_to(of_client);
      });
  CHECK(of_send.code() == std::errc::bad_address);
  CHECK(of_client.code() == std::errc::connection_reset);
}

TEST_CASE("A message arrives while its sender is busy and runs no loop") {
  async::event_loop loop;
  messages::listener listener{loop, listening_address(), few_receives()};
  messages::channel server;
  loop.spawn([&]() -> async::task<> { server = co_await listener.accept(); });
  std::promise<void> is_sent;
  std::promise<void> has_come;
  std::jthread busy{[&] {
    const messages::channel client =
        messages::connect("127.0.0.1", listener.port(), few_receives());
    client.send(std::string_view{"before"}).wait();
    is_sent.set_value();
    has_come.get_future().wait();
  }};
  loop.run();
  is_sent.get_future().wait();
  failure why;
  const messages::incoming got = server.next().within(10s).report_to(why).wait();
  has_come.set_value();
  CHECK_FALSE(why);
  CHECK(got.text() == "before");
  busy.join();
}

TEST_CASE("A wait ends with ECANCELED when its loop is stopped, and the next one goes on") {
  async::event_loop loop;
  messages::listener listener{loop, listening_address(), few_receives()};
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 10ms);
    loop.stop();
  });
  std::error_code stopped;
  try {
    const messages::channel none = loop.wait(listener.accept());
  } catch (const std::system_error& why) {
    stopped = why.code();
  }
  CHECK(stopped == std::errc::operation_canceled);
  failure why;
  loop.spawn([&]() -> async::task<> {
    co_await async::sleep_for(loop, 10ms);
    loop.stop();
  });
  async::sleep_for(loop, 40s).report_to(why).wait();
  CHECK(why.code() == std::errc::operation_canceled);
  async::sleep_for(loop, 1ms).wait();
}
