// SPDX-License-Identifier: MIT
// Channels whose events come in an order that a network produces seldom.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>

#include "fake_carrier.hpp"
#include "tcp_network.hpp"

using namespace adverb;
using namespace channel_test;
using namespace std::chrono_literals;

namespace {

using frame_type = detail::message_frame_type;

constexpr std::uint32_t offered_size = 1'000;

[[nodiscard]] messages::channel_options resuming(timeout within = 10s) {
  messages::channel_options options = few_receives();
  options.resume_within = within;
  return options;
}

/// Ends a channel that the program does not use any more.
void finish(async::event_loop& loop, fake_end& which) {
  which.drop();
  which.carrier().end();
  run_for(loop, 0ms);
}

/// The peer replies with five bytes to the first call of a channel.
void reply_to_first_call(fake_carrier& at) {
  std::array<std::byte, detail::message_frame::tag_size> tag{};
  detail::store_little_endian<0, std::uint64_t>(tag, (std::uint64_t{1} << 32U) | detail::reply_bit);
  std::vector<std::byte> body(tag.begin(), tag.end());
  body.resize(body.size() + 5);
  at.arrive(
      {.type = frame_type::data, .flags = detail::message_frame::tagged, .length = 5, .granted = 9},
      body);
}

/// Closes a channel in a task of its own.
async::task<> close_in_task(const messages::channel& which, failure& why, bool& is_finished) {
  co_await which.close().report_to(why);
  is_finished = true;
}

}  // namespace

TEST_CASE("A second channel with the session of another fails with EPROTO, in any order of ends") {
  for (const bool ends_first : {false, true}) {
    async::event_loop loop;
    auto table = std::make_unique<detail::session_table>();
    const end_options options{
        .of_channel = resuming(), .is_connecting = false, .table = table.get()};
    fake_end first{loop, options};
    fake_end second{loop, options};
    detail::resumable_carrier* const found = table->find(options.session);
    REQUIRE(found != nullptr);
    CHECK(&found->current() == &first.carrier());
    CHECK(second.carrier().is_closed);
    if (ends_first) second.carrier().end();
    failure why;
    if (ends_first) const messages::incoming none = second.channel().next().report_to(why).wait();
    CHECK(table->find(options.session) == found);
    table.reset();
    first.carrier().end(why);
    run_for(loop, 0ms);
    CHECK(first.channel().has_ended());
    if (!ends_first) {
      second.carrier().end();
      const messages::incoming none = second.channel().next().report_to(why).wait();
    }
    CHECK(why.code() == std::errc::protocol_error);
    CHECK(std::string_view{why.what()}.find("session") != std::string_view::npos);
  }
}

TEST_CASE(
    "An offer that is taken before the channel learns that its link is closed waits for the next") {
  async::event_loop loop;
  detail::session_table table;
  fake_end end{loop, {.of_channel = resuming(), .is_connecting = false, .table = &table}};
  end.carrier().arrive({.type = frame_type::offer, .length = offered_size, .granted = 8});
  messages::incoming offer = end.channel().next().wait();
  REQUIRE(offer.is_offer());
  const async::loop_memory memory = end.channel().memory(offered_size);
  end.carrier().is_closed = true;
  failure why;
  bool is_finished = false;
  loop.spawn([&]() -> async::task<> {
    co_await offer.receive_into(memory.buffer()).report_to(why);
    is_finished = true;
  });
  CHECK_FALSE(is_finished);
  CHECK(end.channel().why_stalled() == "the link is broken, and is being connected again");
  end.carrier().end();
  run_for(loop, 0ms);
  CHECK_FALSE(is_finished);
  end.channel().cancel();
  run_for(loop, 0ms);
  CHECK(is_finished);
  CHECK(why.code() == std::errc::operation_canceled);
  offer = messages::incoming{};
}

TEST_CASE("An offer that arrives behind the close of this side is refused") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = few_receives()}};
  failure why;
  bool is_finished = false;
  loop.spawn(close_in_task(end.channel(), why, is_finished));
  end.carrier().complete();
  CHECK(end.carrier().count(frame_type::close) == 1);
  end.carrier().arrive({.type = frame_type::offer, .length = offered_size, .granted = 8});
  CHECK(end.carrier().count(frame_type::refused) == 1);
  failure none;
  const messages::incoming late = end.channel().next().within(0ms).report_to(none).wait();
  CHECK_FALSE(late);
  end.carrier().arrive({.type = frame_type::close, .sequence = 1, .granted = 10});
  end.carrier().complete();
  run_for(loop, 0ms);
  CHECK(is_finished);
  CHECK_FALSE(why);
  finish(loop, end);
}

TEST_CASE("A message is sent when the offer before it, which waits for its turn, is given up") {
  async::event_loop loop;
  messages::channel_options options = few_receives();
  options.max_frames = 32;
  fake_end end{loop, {.of_channel = options, .of_peer = 64}};
  const async::loop_memory memory = end.channel().memory(offered_size);
  std::vector<std::unique_ptr<plain_step<messages::send_step>>> offers;
  for (std::uint32_t each = 0; each <= detail::message_session::most_offers; ++each)
    offers.push_back(
        std::make_unique<plain_step<messages::send_step>>(end.channel().send(memory.buffer())));
  const int number = 7;
  plain_step eager{end.channel().send(number)};
  CHECK(end.carrier().count(frame_type::offer) == detail::message_session::most_offers);
  CHECK_FALSE(eager.is_finished());
  offers.pop_back();
  CHECK(end.carrier().count(frame_type::data) == 1);
  run_for(loop, 0ms);
  CHECK(eager.is_finished());
  offers.clear();
  finish(loop, end);
}

TEST_CASE("A close that waits for a message begins when that is given up") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = few_receives(), .of_peer = 4}};
  for (int each = 0; each < 2; ++each) CHECK(end.channel().try_send(each));
  const int number = 2;
  auto waiting = std::make_unique<plain_step<messages::send_step>>(end.channel().send(number));
  CHECK_FALSE(waiting->is_finished());
  failure why;
  bool is_finished = false;
  loop.spawn(close_in_task(end.channel(), why, is_finished));
  CHECK(end.carrier().count(frame_type::close) == 0);
  waiting.reset();
  CHECK(end.carrier().count(frame_type::close) == 1);
  end.carrier().complete();
  end.carrier().arrive({.type = frame_type::close, .length = 2, .granted = 7});
  end.carrier().complete();
  run_for(loop, 0ms);
  CHECK(is_finished);
  CHECK_FALSE(why);
  finish(loop, end);
}

TEST_CASE("A task whose message came in time is not resumed again when the time is over") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = few_receives()}};
  bool was_handled = false;
  bool is_done = false;
  const auto handle = [&](messages::incoming) -> async::task<> {
    co_await async::sleep_for(loop, 100ms);
    was_handled = true;
  };
  loop.spawn([&]() -> async::task<> {
    // The step lives until the end of the statement.
    co_await handle(co_await end.channel().next().within(30ms));
    CHECK(was_handled);
    is_done = true;
  });
  end.carrier().arrive({.type = frame_type::data, .granted = 8});
  run_for(loop, 150ms);
  CHECK(is_done);
  finish(loop, end);
}

TEST_CASE("A call whose reply came in time succeeds, although its request is sent later") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = few_receives()}};
  auto ask = std::make_unique<messages::caller>(end.channel());
  const async::loop_memory memory = end.channel().memory(100);
  failure why;
  std::size_t size = 0;
  loop.spawn([&]() -> async::task<> {
    const messages::reply got = co_await (*ask)(memory.buffer()).within(30ms).report_to(why);
    size = got.size();
  });
  reply_to_first_call(end.carrier());
  run_for(loop, 60ms);
  end.carrier().complete();
  run_for(loop, 0ms);
  CHECK_FALSE(why);
  CHECK(size == 5);
  ask.reset();
  finish(loop, end);
}

TEST_CASE("A call whose peer replies and does not take the long request ends with the reply") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = few_receives()}};
  auto ask = std::make_unique<messages::caller>(end.channel());
  const async::loop_memory memory = end.channel().memory(offered_size);
  failure why;
  bool is_finished = false;
  loop.spawn([&]() -> async::task<> {
    const messages::reply got = co_await (*ask)(memory.buffer()).within(30s).report_to(why);
    is_finished = got.size() == 5;
  });
  end.carrier().complete();
  CHECK(end.carrier().count(frame_type::offer) == 1);
  reply_to_first_call(end.carrier());
  run_for(loop, 0ms);
  CHECK(is_finished);
  CHECK_FALSE(why);
  // The offer is withdrawn.
  CHECK(end.carrier().count(frame_type::refused) == 1);
  ask.reset();
  finish(loop, end);
}

TEST_CASE("An offer whose write could not be posted finishes when the channel ends") {
  async::event_loop loop;
  auto table = std::make_unique<detail::session_table>();
  fake_end end{loop, {.of_channel = resuming(), .is_connecting = false, .table = table.get()}};
  const async::loop_memory memory = end.channel().memory(offered_size);
  plain_step offer{end.channel().send(memory.buffer())};
  end.carrier().complete();
  end.carrier().fails_to_write = true;
  end.carrier().take_offer(0, offered_size, 9);
  CHECK_FALSE(offer.is_finished());
  failure why;
  end.channel().state().resumed(why);
  // The channel ends, because the listener has gone.
  table.reset();
  end.carrier().end();
  run_for(loop, 0ms);
  CHECK(end.channel().has_ended());
  CHECK(offer.is_finished());
}

TEST_CASE("An offer that is cancelled after the peer has confirmed it finishes, and ends nothing") {
  async::event_loop loop;
  detail::session_table table;
  fake_end end{loop, {.of_channel = resuming(), .is_connecting = false, .table = &table}};
  const async::loop_memory memory = end.channel().memory(offered_size);
  plain_step offer{end.channel().send(memory.buffer())};
  end.carrier().complete();
  end.carrier().take_offer(0, offered_size, 9);
  CHECK(end.carrier().count(frame_type::taken) == 1);
  // The device has not completed the write yet.
  end.carrier().arrive({.type = frame_type::credit, .length = 1, .sequence = 1, .granted = 10});
  offer.cancel();
  CHECK_FALSE(end.carrier().is_closed);
  CHECK_FALSE(offer.is_finished());
  end.carrier().complete();
  CHECK(offer.is_finished());
  end.carrier().end();
  end.drop();
  run_for(loop, 0ms);
}

TEST_CASE("The receive of an offer that is destroyed while it is taken is posted again") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = few_receives(), .of_peer = 64}};
  const async::loop_memory memory = end.channel().memory(offered_size);
  end.carrier().arrive({.type = frame_type::offer, .length = offered_size, .granted = 64});
  std::optional<messages::incoming> offer = end.channel().next().wait();
  REQUIRE(offer->is_offer());
  plain_step taking{offer->receive_into(memory.buffer())};
  CHECK(end.carrier().count(frame_type::take) == 1);
  const auto granted = [&] {
    CHECK(end.channel().try_send(1));
    end.carrier().complete();
    return end.carrier().sent.back().granted;
  };
  const std::uint32_t before = granted();
  offer.reset();
  CHECK(granted() == before);
  end.carrier().arrive({.type = frame_type::taken, .length = offered_size, .granted = 64});
  CHECK(taking.is_finished());
  // That of the offer, and that of the frame which has ended it.
  CHECK(granted() == before + 2);
  finish(loop, end);
}

TEST_CASE("A channel that is accepted after its listener has gone does not wait for another link") {
  async::event_loop loop;
  detail::session_table table;
  table.end();
  fake_end end{loop, {.of_channel = resuming(), .is_connecting = false, .table = &table}};
  end.carrier().end();
  run_for(loop, 0ms);
  CHECK(end.channel().has_ended());
}

TEST_CASE("A connecting end that loses only what its peer can finish without has closed") {
  async::event_loop loop;
  fake_end end{loop, {.of_channel = resuming(), .address = address_of(1)}};
  failure why;
  bool is_finished = false;
  loop.spawn(close_in_task(end.channel(), why, is_finished));
  end.carrier().arrive({.type = frame_type::close, .granted = 9});
  // This end confirms this frame, but the peer has gone.
  end.carrier().arrive({.type = frame_type::credit, .credit_frames = 1, .granted = 9});
  CHECK(end.carrier().count(frame_type::credit) == 2);
  end.carrier().complete(true, 2);
  end.carrier().end();
  run_for(loop, 0ms);
  CHECK(is_finished);
  CHECK_FALSE(why);
}

TEST_CASE("A connecting end whose last frames are lost connects again before it has closed") {
  async::event_loop loop;
  messages::listener listener{loop, listening_address(), resuming()};
  fake_end end{loop, {.of_channel = resuming(), .address = address_of(listener.port())}};
  failure why;
  bool is_finished = false;
  loop.spawn(close_in_task(end.channel(), why, is_finished));
  end.carrier().complete();
  end.carrier().arrive({.type = frame_type::close, .granted = 9});
  // The confirmation of that close is under way.
  CHECK(end.channel().state().session().is_finished());
  end.carrier().end();
  CHECK_FALSE(is_finished);
  CHECK(end.channel().why_stalled() == "the link is broken, and is being connected again");
  // The listener has never seen this session: the peer has forgotten it.
  for (int turn = 0; turn < 200 && !is_finished; ++turn) run_for(loop, 10ms);
  CHECK(is_finished);
  CHECK_FALSE(why);
}

TEST_CASE("A connecting end whose last frames are lost has closed if its peer has gone") {
  async::event_loop loop;
  std::optional<messages::listener> listener{std::in_place, loop, listening_address(), resuming()};
  fake_end end{loop, {.of_channel = resuming(), .address = address_of(listener->port())}};
  listener.reset();
  failure why;
  bool is_finished = false;
  loop.spawn(close_in_task(end.channel(), why, is_finished));
  end.carrier().complete();
  end.carrier().arrive({.type = frame_type::close, .granted = 9});
  CHECK(end.channel().state().session().is_finished());
  end.carrier().end();
  CHECK_FALSE(is_finished);
  for (int turn = 0; turn < 200 && !is_finished; ++turn) run_for(loop, 10ms);
  CHECK(is_finished);
  CHECK_FALSE(why);
}
