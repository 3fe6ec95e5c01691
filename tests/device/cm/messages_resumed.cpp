// SPDX-License-Identifier: MIT
// Channels over RDMA that resume broken links.
#include <optional>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/resume_cases.hpp>

#include "cm/channel_ends.hpp"

using namespace channel_test;
using resume_test::rude_handshake;

namespace {

/// Returns how a channel ends whose peer resumes it with this handshake.
[[nodiscard]] std::error_code end_after_resuming(const detail::handshake& second) {
  const messages::channel_options options = resume_test::resuming();
  both_ends here{options, options};
  failure why;
  here.loop.spawn(resume_test::send_and_wait(here, why));
  here.loop.spawn([&]() -> async::task<> {
    const auto with = [&](const detail::handshake& mine) {
      return detail::connection_options_of(options, mine);
    };
    const async::connection first =
        co_await async::connect(here.loop, here.address(), with(rude_handshake()));
    static_cast<void>(co_await first.next());
    failure of_second;
    const async::connection next =
        co_await async::connect(here.loop, here.address(), with(second)).report_to(of_second);
    CHECK_FALSE(of_second);
    // The peer has ended both.
    failure ended;
    const async::message none = co_await next.next().report_to(ended);
    CHECK_FALSE(none);
  });
  here.loop.run();
  return why.code();
}

}  // namespace

TEST_CASE("A peer that resumes a channel over RDMA at a wrong place ends it with EPROTO",
          "[rdma_accept]") {
  for (const detail::session_point& each : resume_test::wrong_places) {
    INFO("next " << each.next << ", ends " << each.ends << ", close " << each.has_close);
    CHECK(end_after_resuming(rude_handshake().resumed_at(each)) == std::errc::protocol_error);
  }
}

TEST_CASE("A peer that resumes an unknown session over RDMA, or grants too much, ends no channel",
          "[rdma_reject]") {
  const messages::channel_options options = resume_test::resuming();
  both_ends here{options, options};
  std::optional<detail::handshake> to_unknown;
  std::optional<detail::handshake> to_greedy;
  const auto answer_to = [&](const detail::handshake& sent,
                             std::optional<detail::handshake>& answer) -> async::task<> {
    std::optional<cm::rejection> rejected;
    failure why;
    const auto of_channel = detail::connection_options_of(options, sent);
    const async::connection none = co_await async::connect(here.loop, here.address(), of_channel)
                                       .rejection_to(rejected)
                                       .report_to(why);
    CHECK_FALSE(none);
    if (rejected) answer = detail::handshake::decode(rejected->private_data);
  };
  bool has_ended = false;
  here.loop.spawn([&]() -> async::task<> {
    const detail::handshake peer = rude_handshake();
    co_await answer_to(peer.resumed_at({.granted = resume_test::granted}), to_unknown);
    co_await answer_to(peer.resumed_at({.granted = resume_test::granted + 1}), to_greedy);
    messages::channel client = co_await messages::connect(here.loop, here.address(), options);
    const messages::incoming end = co_await client.next();
    has_ended = !end;
  });
  here.loop.spawn([&]() -> async::task<> {
    messages::channel server = co_await here.listener.accept();
    co_await server.close();
  });
  here.loop.run();
  CHECK(has_ended);
  REQUIRE(to_unknown);
  CHECK(to_unknown->is_resumption);
  CHECK(to_unknown->session == 0);
  CHECK_FALSE(to_unknown->has_finished);
  REQUIRE(to_greedy);
  CHECK_FALSE(to_greedy->is_resumption);
}
