// SPDX-License-Identifier: MIT
// The state machine of heartbeats, and the offers that peers exchange.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <adverb/async.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>

using namespace adverb;

TEST_CASE("A peer is dead when its count has not changed for as many intervals") {
  detail::heartbeat_watch watch{2};
  CHECK_FALSE(watch.look(0, true));
  CHECK_FALSE(watch.look(0, true));
  CHECK_FALSE(watch.has_heard());
  CHECK_FALSE(watch.look(1, true));
  CHECK(watch.has_heard());
  CHECK_FALSE(watch.look(1, true));
  CHECK(watch.look(1, true));
}

TEST_CASE("A peer that never writes is dead as many intervals after the first look") {
  detail::heartbeat_watch watch{2};
  CHECK_FALSE(watch.look(0, true));
  CHECK_FALSE(watch.look(0, true));
  CHECK(watch.look(0, true));
}

TEST_CASE("A peer that was inaudible has all intervals again") {
  detail::heartbeat_watch watch{2};
  for (int looks = 0; looks < 20; ++looks) CHECK_FALSE(watch.look(7, false));
  CHECK_FALSE(watch.look(7, true));
  CHECK(watch.look(7, true));
}

TEST_CASE("A program that was stopped itself finds the count of its peer changed") {
  detail::heartbeat_watch watch{1};
  CHECK_FALSE(watch.look(1, true));
  CHECK_FALSE(watch.look(900, true));
}

TEST_CASE("Without dead_after no peer is dead") {
  detail::heartbeat_watch watch{timeout::endless().count()};
  for (int looks = 0; looks < 1000; ++looks) REQUIRE_FALSE(watch.look(0, true));
}

TEST_CASE("Any order of beats, looks and deaf looks agrees with the definition of a dead peer") {
  // Every sequence of eight looks: after a beat, after none, or deaf.
  int judged_dead = 0;
  for (int sequence = 0; sequence < 6561; ++sequence) {
    detail::heartbeat_watch watch{2};
    REQUIRE_FALSE(watch.look(0, true));
    std::uint64_t count = 0;
    int silent_since = 0;
    for (int rest = sequence, step = 1; step <= 8; ++step, rest /= 3) {
      if (rest % 3 == 0) ++count;
      if (rest % 3 != 1) silent_since = step;
      const bool is_dead = watch.look(count, rest % 3 != 2);
      REQUIRE(is_dead == (step - silent_since >= 2));
      judged_dead += is_dead ? 1 : 0;
    }
  }
  CHECK(judged_dead > 1000);
}

TEST_CASE("An offer of heartbeats is found behind the private data of the program") {
  const auto words = cm::private_data::of("hello");
  const detail::heartbeat_offer offer{
      .count = remote_buffer<std::byte, access_right::remote_write>{adopt, 0x1234, 8, rkey{0x77}},
      .dead_after = detail::default_duration<1000>{1500}};
  std::error_code why;
  const cm::private_data sent = offer.behind(words, cm::max_request_data, why);
  REQUIRE(!why);
  CHECK(sent.size() == cm::max_request_data);
  CHECK(sent.text() == "hello");
  const auto found = detail::heartbeat_offer::of(sent);
  REQUIRE(found.has_value());
  CHECK(found->count.address() == 0x1234U);
  CHECK(found->dead_after.in_milliseconds() == 1500);
  CHECK_FALSE(detail::heartbeat_offer::of(words).has_value());
  CHECK_FALSE(detail::heartbeat_offer::of({}).has_value());
}

TEST_CASE("A request for a channel has no offer of heartbeats") {
  const cm::private_data plain = detail::handshake::of({}, throwing{}).encode();
  CHECK(detail::handshake::decode(plain).has_value());
  const detail::heartbeat_offer offer{
      .count = remote_buffer<std::byte, access_right::remote_write>{adopt, 0x1234, 8, rkey{0x77}},
      .dead_after = detail::default_duration<1000>{20}};
  std::error_code why;
  const cm::private_data both =
      offer.behind(plain, plain.size() + detail::heartbeat_offer::encoded_size, why);
  REQUIRE(!why);
  CHECK_FALSE(detail::handshake::decode(both).has_value());
}

TEST_CASE("Private data that leaves no room for an offer of heartbeats is refused") {
  const std::vector<std::byte> longest(24);
  const std::vector<std::byte> too_long(25);
  std::error_code why;
  static_cast<void>(
      detail::heartbeat_offer{}.behind(std::span{longest}, cm::max_request_data, why));
  CHECK(!why);
  failure words;
  static_cast<void>(
      detail::heartbeat_offer{}.behind(std::span{too_long}, cm::max_request_data, words));
  CHECK(words.code() == std::errc::invalid_argument);
  CHECK(std::string_view{words.what()}.find("25 bytes, but beside dead_after it can have 24") !=
        std::string_view::npos);
}
