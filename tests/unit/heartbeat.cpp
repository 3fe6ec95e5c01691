// SPDX-License-Identifier: MIT
// The state machine of heartbeats, and the offers that peers exchange.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <adverb/async.hpp>
#include <support/catch.hpp>

using namespace adverb;

TEST_CASE("A peer is dead when its count has not changed for dead_after") {
  detail::heartbeat_watch watch{100, 1000};
  CHECK_FALSE(watch.look(0, true, 1099));
  CHECK_FALSE(watch.has_heard());
  CHECK_FALSE(watch.look(1, true, 1100));
  CHECK(watch.has_heard());
  CHECK_FALSE(watch.look(1, true, 1199));
  CHECK(watch.look(1, true, 1200));
}

TEST_CASE("A peer that never writes is dead dead_after after the beginning") {
  detail::heartbeat_watch watch{100, 1000};
  CHECK_FALSE(watch.look(0, true, 1050));
  CHECK(watch.look(0, true, 1100));
}

TEST_CASE("A peer that was inaudible has the whole of dead_after again") {
  detail::heartbeat_watch watch{100, 0};
  for (std::int64_t now = 50; now <= 1000; now += 50) CHECK_FALSE(watch.look(7, false, now));
  CHECK_FALSE(watch.look(7, true, 1099));
  CHECK(watch.look(7, true, 1100));
}

TEST_CASE("A program that was stopped itself finds the count of its peer changed") {
  detail::heartbeat_watch watch{100, 0};
  CHECK_FALSE(watch.look(1, true, 25));
  CHECK_FALSE(watch.look(900, true, 100'000));
}

TEST_CASE("Without dead_after no peer is dead") {
  detail::heartbeat_watch watch{timeout::endless().count(), 0};
  CHECK_FALSE(watch.look(0, true, timeout::endless().count() - 1));
}

TEST_CASE("Any order of beats, looks and pauses agrees with the definition of a dead peer") {
  // Every sequence of eight steps: a beat, a pause of half of dead_after, or a deaf pause.
  constexpr std::int64_t half = 50;
  int judged_dead = 0;
  for (int sequence = 0; sequence < 6561; ++sequence) {
    detail::heartbeat_watch watch{2 * half, 0};
    std::uint64_t count = 0;
    std::int64_t now = 0;
    std::int64_t silent_since = 0;
    for (int rest = sequence, step = 0; step < 8; ++step, rest /= 3) {
      const bool is_audible = rest % 3 != 2;
      if (rest % 3 == 0)
        ++count;
      else
        now += half;
      if (rest % 3 != 1) silent_since = now;
      const bool is_dead = watch.look(count, is_audible, now);
      REQUIRE(is_dead == (now - silent_since >= 2 * half));
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
