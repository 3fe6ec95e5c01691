// SPDX-License-Identifier: MIT
// Channels over TCP that resume broken links.
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/resume_cases.hpp>

#include "plain_socket.hpp"
#include "tcp_network.hpp"

using namespace adverb;
using namespace channel_test;
using resume_test::rude_handshake;
using namespace std::chrono_literals;

namespace {

/// Returns how a channel ends whose peer resumes it with this handshake.
[[nodiscard]] std::error_code end_after_resuming(const detail::handshake& second) {
  messages::channel_options options = resume_test::resuming(200ms);
  options.dead_after = 200ms;
  both_ends here{options, options};
  failure why;
  here.loop.spawn(resume_test::send_and_wait(here, why));
  const plain_socket first{here.address()};
  first.send(rude_handshake().encode().bytes());
  const plain_socket next{here.address()};
  here.loop.spawn([&]() -> async::task<> {
    // The session starts with the answer to the first handshake and a message.
    while (first.unread() <= detail::handshake::encoded_size)
      co_await async::sleep_for(here.loop, 1ms);
    next.send(second.encode().bytes());
  });
  here.loop.run();
  return why.code();
}

}  // namespace

TEST_CASE("A peer that resumes a channel at a wrong place ends it with EPROTO") {
  const detail::handshake peer = rude_handshake();
  for (const detail::session_point& each : resume_test::wrong_places)
    CHECK(end_after_resuming(peer.resumed_at(each)) == std::errc::protocol_error);
  // This one is right, and then silent.
  CHECK(end_after_resuming(peer.resumed_at({.granted = resume_test::granted})) ==
        std::errc::timed_out);
}

TEST_CASE("A peer that resumes an unknown session, or grants too much, ends no channel") {
  both_ends here{resume_test::resuming(), resume_test::resuming()};
  const auto answer_to = [&](const detail::handshake& sent) {
    const plain_socket rude{here.address()};
    rude.send(sent.encode().bytes());
    std::vector<std::byte> bytes;
    here.loop.spawn([&]() -> async::task<> {
      while (!rude.read_to(bytes)) co_await async::sleep_for(here.loop, 1ms);
    });
    here.loop.run();
    return bytes;
  };
  const detail::handshake peer = rude_handshake();
  const std::vector<std::byte> answer =
      answer_to(peer.resumed_at({.granted = resume_test::granted}));
  const auto read = detail::handshake::decode(std::span<const std::byte>{answer});
  REQUIRE(read);
  CHECK(read->is_resumption);
  CHECK(read->session == 0);
  CHECK_FALSE(read->has_finished);
  const std::vector<std::byte> other =
      answer_to(peer.resumed_at({.granted = resume_test::granted + 1}));
  CHECK(other.size() == detail::handshake::encoded_size);
  here.run([&](messages::channel& server) -> async::task<> { co_await server.close(); },
           [&](messages::channel& client) -> async::task<> {
             const messages::incoming end = co_await client.next();
             CHECK_FALSE(end);
           });
}
