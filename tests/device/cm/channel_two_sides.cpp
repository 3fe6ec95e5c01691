// SPDX-License-Identifier: MIT
// Channels between two loops, each on a thread or a machine of its own, over links that lose,
// repeat, reorder and delay packets, and over links that are cut.
//
//   ADVERB_LINK_SECONDS=N   runs "role: channels over bad links" for this long in each condition
//
// tests/device/channels_two_hosts does so.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>
#include <support/catch.hpp>
#include <support/numbered_bytes.hpp>

#include "cm/async_side.hpp"
#include "cm/bad_link.hpp"

using namespace async_test;
using channel_test::fill;
using channel_test::is_filled;
using namespace std::chrono_literals;

namespace {

constexpr std::array networks{messages::network::rdma, messages::network::tcp};

[[nodiscard]] std::string_view name_of(messages::network which) {
  return which == messages::network::tcp ? "TCP" : "RDMA";
}

/// A loop with a listener.
struct channel_side {
  channel_side(const cm::socket_address& address, const messages::channel_options& options)
      : listener{loop, address, options} {}
  [[nodiscard]] std::uint16_t port() const { return listener.port(); }

  async::event_loop loop;
  messages::listener listener;
};

/// The size of the longest message of an exchange.
constexpr std::size_t longest = 20'000;

/// The tag of the message behind the last one.
constexpr std::uint64_t last_tag = std::uint64_t{1} << 40;

/// The messages that an end has sent and received.
struct exchanged {
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t wrong = 0;
  std::uint32_t unconfirmed = 0;
  std::error_code why;
  std::chrono::steady_clock::time_point ended;
  /// Is called for each that is received, unless it is empty.
  std::function<void()> on_arrival{};
};

/// The size of a message: one in eight is offered.
[[nodiscard]] std::size_t size_of(std::uint32_t number) {
  return number % 8 == 7 ? longest - number % 1000 : std::size_t{4} + number % 200;
}
/// Returns true if the message with this number is to be sent.
using go_on = std::function<bool(std::uint32_t)>;

async::task<> send_all(const messages::channel& self, const go_on& goes_on, exchanged& counts) {
  const async::loop_memory memory = self.memory(longest);
  std::error_code why;
  while (!why && goes_on(counts.sent)) {
    const std::span<std::byte> bytes = memory.bytes().first(size_of(counts.sent));
    fill(bytes, counts.sent);
    co_await self.send(memory.slice(0, bytes.size())).tagged(counts.sent).report_to(why);
    if (!why) ++counts.sent;
  }
  if (!why) co_await self.send(std::string_view{}).tagged(last_tag).report_to(why);
  if (why && !counts.why) counts.why = why;
}

/// Sends messages while `goes_on(number)` returns true, and takes those of the peer, in order.
async::task<> exchange(async::event_loop& loop, messages::channel self, const go_on& goes_on,
                       exchanged& counts) {
  bool is_sent = false;
  async::event all_sent{loop};
  loop.spawn([&]() -> async::task<> {
    co_await send_all(self, goes_on, counts);
    is_sent = true;
    all_sent.set();
  });
  const async::loop_memory target = self.memory(longest);
  while (true) {
    std::error_code why;
    messages::incoming got = co_await self.next().report_to(why);
    if (why) counts.why = why;
    if (!got || got.tag() == last_tag) break;
    std::span<const std::byte> bytes = got.bytes();
    if (got.is_offer()) bytes = co_await got.receive_into(target.buffer()).report_to(why);
    if (why) break;
    if (got.tag() != counts.received || bytes.size() != size_of(counts.received) ||
        !is_filled(bytes, counts.received))
      ++counts.wrong;
    ++counts.received;
    if (counts.on_arrival) counts.on_arrival();
  }
  counts.ended = std::chrono::steady_clock::now();
  if (!is_sent) co_await all_sent.wait();
  if (!counts.why) co_await self.close().report_to(counts.why);
  counts.unconfirmed = self.unconfirmed();
}

exchanged serve_exchange(channel_side& here, const go_on& goes_on,
                         const std::function<void()>& on_arrival = {}) {
  exchanged counts;
  counts.on_arrival = on_arrival;
  here.loop.spawn([&]() -> async::task<> {
    co_await exchange(here.loop, co_await here.listener.accept(), goes_on, counts);
  });
  here.loop.run();
  return counts;
}
exchanged ask_exchange(const cm::socket_address& address, const messages::channel_options& options,
                       const go_on& goes_on, const std::function<void()>& on_arrival = {}) {
  exchanged counts;
  counts.on_arrival = on_arrival;
  async::event_loop loop;
  loop.spawn([&]() -> async::task<> {
    co_await exchange(loop, co_await messages::connect(loop, address, options), goes_on, counts);
  });
  loop.run();
  return counts;
}

[[nodiscard]] messages::channel_options options_over(messages::network over,
                                                     timeout dead_after = 20s) {
  return {.over = over,
          .block_size = 1024,
          .dead_after = dead_after,
          .connect_timeout = 30s,
          .close_timeout = 50s};
}

/// Checks that both sides exchange this many messages while a machine does something to its link.
template <class Spoil>
void check_exchange_over_each(std::uint32_t count, const Spoil& spoil) {
  for (const messages::network over : networks) {
    const auto goes_on = [count](std::uint32_t sent) { return sent < count; };
    two_sides_of(
        [&](const cm::socket_address& address) {
          return channel_side{address, options_over(over)};
        },
        [&](channel_side& here) {
          [[maybe_unused]] const auto spoiled = spoil();
          const exchanged counts = serve_exchange(here, goes_on);
          expect(!counts.why, "a channel ends well, but for: " + counts.why.message());
          expect(counts.received == count && counts.wrong == 0, "every message arrives");
        },
        [&](const cm::socket_address& address) {
          INFO("over " << name_of(over));
          const exchanged counts = ask_exchange(address, options_over(over), goes_on);
          CHECK_FALSE(counts.why);
          CHECK(counts.received == count);
          CHECK(counts.wrong == 0);
          CHECK(counts.unconfirmed == 0);
        });
  }
}

/// The seconds that the command gives each condition; 0 without it.
[[nodiscard]] std::chrono::seconds seconds_of_command() {
  return std::chrono::seconds{std::stoi("0" + environment("ADVERB_LINK_SECONDS"))};
}

/// A link that is cut again and again while this object lives.
class cuts {
 public:
  cuts(std::string cut, std::string mend) : cut_{std::move(cut)}, mend_{std::move(mend)} {}
  cuts(const cuts&) = delete;
  cuts& operator=(const cuts&) = delete;
  ~cuts() {
    is_over_ = true;
    thread_.join();
  }

 private:
  void run() const {
    while (!is_over_) {
      std::this_thread::sleep_for(700ms);
      static_cast<void>(in_guest(cut_));
      std::this_thread::sleep_for(300ms);
      static_cast<void>(in_guest(mend_));
    }
  }
  std::string cut_;
  std::string mend_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_{[this] { run(); }};
};

/// Exchanges messages over each network for the time of the command, while the machine that serves
/// does something to its link. Prints what has arrived. A channel over RDMA may end early where the
/// link has no retries.
template <class Spoil>
void exchange_for_a_time(std::string_view condition, const Spoil& spoil,
                         bool may_end_rdma = false) {
  for (const messages::network over : networks) {
    const bool may_end = may_end_rdma && over == messages::network::rdma;
    const auto until_end = [] {
      return [end = std::chrono::steady_clock::now() + seconds_of_command()](std::uint32_t) {
        return std::chrono::steady_clock::now() < end;
      };
    };
    two_sides_of(
        [&](const cm::socket_address& address) {
          return channel_side{address, options_over(over)};
        },
        [&](channel_side& here) {
          [[maybe_unused]] const auto spoiled = spoil();
          const exchanged counts = serve_exchange(here, until_end());
          expect(may_end || !counts.why, "a channel ends well, but for: " + counts.why.message());
          expect(counts.wrong == 0, "every message arrives");
        },
        [&](const cm::socket_address& address) {
          const exchanged counts = ask_exchange(address, options_over(over), until_end());
          std::cout << "| " << condition << " | " << name_of(over) << " | "
                    << counts.sent + counts.received << " | " << counts.wrong << " | "
                    << (counts.why ? counts.why.message() : "closed") << " |" << std::endl;
          CHECK(counts.wrong == 0);
          CHECK((may_end || !counts.why));
          CHECK((may_end || counts.unconfirmed == 0));
        });
  }
}

/// Sends until the channel ends, and records why.
async::task<> send_until_end(async::event_loop& loop, cm::socket_address address,
                             messages::network over, exchanged& counts) {
  const messages::channel server =
      co_await messages::connect(loop, address, options_over(over, 1s));
  while (!counts.why) {
    co_await server.send(counts.sent).report_to(counts.why);
    if (!counts.why) ++counts.sent;
    co_await async::sleep_for(loop, 1ms);
  }
  counts.unconfirmed = server.unconfirmed();
}

}  // namespace

TEST_CASE("role: channels over bad links", "[.]") {
  exchange_for_a_time("a good link", [] { return nothing{}; });
  for (const std::string how : {"loss 1%", "loss 5%", "duplicate 5%", "delay 5ms reorder 25% 50%",
                                "delay 2ms 1ms loss 1% duplicate 1% reorder 25% 50%"})
    exchange_for_a_time(how, [&] { return bad_link{how}; });
  struct losses {
    bad_link prepared{"loss 0%"};
    cuts each{"tc qdisc replace dev $SOFTRDMA_INTERFACE root netem loss 100%",
              "tc qdisc replace dev $SOFTRDMA_INTERFACE root netem loss 0%"};
  };
  exchange_for_a_time("loss of all packets for 0.3 s in each second", [] { return losses{}; });
  // Soft-RoCE fails a send that its interface does not take at once.
  exchange_for_a_time(
      "interface down for 0.3 s in each second",
      [] {
        return cuts{"ip link set $SOFTRDMA_INTERFACE down", "ip link set $SOFTRDMA_INTERFACE up"};
      },
      true);
}

TEST_CASE("role: one of two machines with channels loses its power", "[.]") {
  constexpr std::uint16_t port = 7468;
  messages::channel_options options = options_over(messages::network::any, 1s);
  if (environment("SOFTRDMA_HOST") == "2") {
    channel_side here{every_address(port), options};
    meet("listening");
    int taken = 0;
    here.loop.spawn([&]() -> async::task<> {
      while (true)
        here.loop.spawn([](messages::channel client, int& messages) -> async::task<> {
          while (const messages::incoming got = co_await client.next())
            if (++messages == 200) expect(in_guest("echo b > /proc/sysrq-trigger"), "power off");
        }(co_await here.listener.accept(), taken));
    });
    here.loop.run();
    FAIL("the power is still on");
  }
  meet("listening");
  find_neighbour();
  async::event_loop loop;
  std::array<exchanged, 2> counts;
  for (std::size_t each = 0; each < networks.size(); ++each)
    loop.spawn(send_until_end(loop, other_side(port), networks[each], counts[each]));
  loop.run();
  CHECK(loop.connections() == 0);
  for (const exchanged& each : counts) {
    INFO(each.why.message());
    CHECK(is_end_by_time(each.why));
    CHECK(each.sent != 0);
    CHECK(each.unconfirmed != 0);
    CHECK(each.unconfirmed <= each.sent + 1);
  }
}

TEST_CASE("Channels between two machines carry every message", "[rdma_connect][rdma_accept]") {
  check_exchange_over_each(200, [] { return nothing{}; });
}

TEST_CASE("A link that loses, repeats, reorders and delays packets costs a channel no message",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  check_exchange_over_each(40, [] { return bad_link{bad_in_every_way}; });
}

TEST_CASE("A link that is cut for less than its retries costs a channel no message",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  check_exchange_over_each(400, [] { return short_cut{}; });
}

TEST_CASE("A channel whose link is cut for good ends within dead_after on both machines",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  constexpr auto dead_after = 3s;
  const auto forever = [](std::uint32_t) { return true; };
  for (const messages::network over : networks) {
    std::chrono::steady_clock::time_point begin;
    // Each machine loses the packets that it sends, until both channels have ended.
    const std::string both_ended = "ended-over-" + std::string{name_of(over)};
    two_sides_of(
        [&](const cm::socket_address& address) {
          return channel_side{address, options_over(over, dead_after)};
        },
        [&](channel_side& here) {
          cut link{300ms};
          const exchanged counts = serve_exchange(here, forever, [&] { link.begin(); });
          meet(both_ended);
          expect(is_end_by_time(counts.why),
                 "a channel ends with a timeout: " + counts.why.message());
          expect(counts.wrong == 0 && counts.received != 0, "messages arrive before");
        },
        [&](const cm::socket_address& address) {
          INFO("over " << name_of(over));
          cut link{300ms};
          const auto begins = [&] {
            if (begin == std::chrono::steady_clock::time_point{})
              begin = std::chrono::steady_clock::now();
            link.begin();
          };
          const exchanged counts =
              ask_exchange(address, options_over(over, dead_after), forever, begins);
          meet(both_ended);
          INFO(counts.why.message());
          CHECK(is_end_by_time(counts.why));
          CHECK(counts.wrong == 0);
          CHECK(counts.received != 0);
          CHECK(counts.unconfirmed != 0);
          // The rest is room for a busy machine.
          CHECK(counts.ended - begin < 300ms + 2 * dead_after + 12s);
        });
  }
}
