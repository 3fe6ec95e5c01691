// SPDX-License-Identifier: MIT
// Both timers of a reliable queue pair: each of their 32 codes, in both directions.
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <adverb/core/durations.hpp>

namespace {

using adverb::acknowledge_timeout;
using adverb::rnr_timer;
using std::string_view;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
using floating_seconds = std::chrono::duration<double>;
using short_seconds = std::chrono::duration<float>;
using days = std::chrono::duration<int, std::ratio<86400>>;

template <class Predicate>
constexpr bool for_codes(int first, int last, Predicate holds) {
  for (int code = first; code <= last; ++code)
    if (!holds(static_cast<std::uint8_t>(code))) return false;
  return true;
}

// 4.096 us * 2^code.
constexpr nanoseconds acknowledged_after(std::uint8_t code) {
  return nanoseconds{std::int64_t{4096} << code};
}

static_assert(for_codes(1, 31, [](std::uint8_t code) {
  const nanoseconds time = acknowledged_after(code);
  return acknowledge_timeout{time}.code() == code &&
         acknowledge_timeout{time - 1ns}.code() == code &&
         acknowledge_timeout{time + 1ns}.code() == (code == 31 ? 31 : code + 1) &&
         acknowledge_timeout::from_code(code).as<nanoseconds>() == time &&
         acknowledge_timeout::from_code(code).code() == code;
}));

// The table "Encoding for RNR NAK Timer Field" of the InfiniBand specification, in microseconds.
constexpr std::array<std::int64_t, 32> not_ready_microseconds{
    655'360, 10,     20,     30,     40,     60,      80,      120,     160,     240,    320,
    480,     640,    960,    1'280,  1'920,  2'560,   3'840,   5'120,   7'680,   10'240, 15'360,
    20'480,  30'720, 40'960, 61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};

static_assert(for_codes(0, 31, [](std::uint8_t code) {
  const std::chrono::microseconds time{not_ready_microseconds[code]};
  const int next = code == 0 ? 0 : (code + 1) % 32;
  return rnr_timer{time}.code() == code && rnr_timer{time - 1ns}.code() == code &&
         rnr_timer{time + 1ns}.code() == next &&
         rnr_timer::from_code(code).as<nanoseconds>() == time &&
         rnr_timer::from_code(code).code() == code;
}));

// Codes have 5 bits; what is above them belongs to others.
static_assert(acknowledge_timeout::from_code(32 + 14) == acknowledge_timeout::from_code(14));
static_assert(rnr_timer::from_code(32 + 12) == rnr_timer::from_code(12));

// Code 0 waits for ever, and no duration becomes it.
static_assert(acknowledge_timeout::endless().code() == 0);
static_assert(acknowledge_timeout::endless().is_endless());
static_assert(acknowledge_timeout::from_code(0).is_endless());
static_assert(acknowledge_timeout::endless().as<nanoseconds>() == 0ns);
static_assert(acknowledge_timeout{0s}.code() == 1 && !acknowledge_timeout{0s}.is_endless());
static_assert(acknowledge_timeout{-1s}.code() == 1);
static_assert(acknowledge_timeout{1ns}.code() == 1);
static_assert(acknowledge_timeout{nanoseconds::min()}.code() == 1);

// For the other timer code 0 is the longest time, and a zero duration is the shortest.
static_assert(rnr_timer{0s}.code() == 1);
static_assert(rnr_timer{-1s}.code() == 1);

// A longer time becomes the longest.
static_assert(acknowledge_timeout{std::chrono::hours{3}}.code() == 31);
static_assert(acknowledge_timeout{days::max()}.code() == 31);
static_assert(acknowledge_timeout{std::chrono::hours::max()}.code() == 31);
static_assert(rnr_timer{656ms}.code() == 0);
static_assert(rnr_timer{std::chrono::hours::max()}.code() == 0);

// Between two codes the longer time is taken: the device never gives up early.
static_assert(acknowledge_timeout{67ms}.code() == 14);
static_assert(acknowledge_timeout{68ms}.code() == 15);
static_assert(rnr_timer{11us}.code() == 2);
static_assert(rnr_timer{500ms}.code() == 0);

// Any duration: finer than nanoseconds, coarser than seconds, with a fraction.
static_assert(for_codes(1, 31, [](std::uint8_t code) {
  const picoseconds time{acknowledged_after(code)};
  const floating_seconds seconds = acknowledge_timeout::from_code(code).as<floating_seconds>();
  return acknowledge_timeout{time}.code() == code &&
         acknowledge_timeout::from_code(code).as<picoseconds>() == time &&
         seconds == floating_seconds{acknowledged_after(code)};
}));
static_assert(for_codes(0, 31, [](std::uint8_t code) {
  const std::chrono::microseconds time{not_ready_microseconds[code]};
  return rnr_timer::from_code(code).as<floating_seconds>() == floating_seconds{time} &&
         rnr_timer{picoseconds{time}}.code() == code;
}));
// A fraction is not rounded up to a whole: 10 us in float is a little less than that.
static_assert(for_codes(0, 31, [](std::uint8_t code) {
  const float seconds = rnr_timer::from_code(code).as<short_seconds>().count();
  const auto exact = static_cast<float>(not_ready_microseconds[code]) / 1e6F;
  return seconds > exact * 0.999F && seconds < exact * 1.001F;
}));
static_assert(acknowledge_timeout{floating_seconds{0.0671}}.code() == 14);
static_assert(rnr_timer{0.01ms}.code() == 1);

// In a coarser unit the real time is rounded up too.
static_assert(acknowledge_timeout::from_code(14).as<std::chrono::milliseconds>() == 68ms);
static_assert(acknowledge_timeout::from_code(1).as<std::chrono::seconds>() == 1s);
static_assert(rnr_timer::from_code(0).as<std::chrono::milliseconds>() == 656ms);
static_assert(rnr_timer::from_code(4).as<std::chrono::microseconds>() == 40us);

static_assert(acknowledge_timeout{67ms} == acknowledge_timeout::from_code(14));
static_assert(rnr_timer{11us} != rnr_timer{10us});

static_assert(string_view{to_text(acknowledge_timeout::endless())} == "endless");
static_assert(string_view{to_text(acknowledge_timeout::from_code(1))} == "8.192 us");
static_assert(string_view{to_text(acknowledge_timeout::from_code(14))} == "67.108 ms");
static_assert(string_view{to_text(acknowledge_timeout::from_code(31))} == "8796.093 s");
static_assert(string_view{to_text(rnr_timer::from_code(0))} == "655.36 ms");
static_assert(string_view{to_text(rnr_timer::from_code(1))} == "10 us");
static_assert(string_view{to_text(rnr_timer::from_code(14))} == "1.28 ms");

static_assert(!adverb::duration_like<int>);
static_assert(adverb::duration_like<nanoseconds> && adverb::duration_like<floating_seconds>);
static_assert(sizeof(acknowledge_timeout) == 1 && sizeof(rnr_timer) == 1);

}  // namespace
