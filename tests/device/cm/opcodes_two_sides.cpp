// SPDX-License-Identifier: MIT
// Every operation of RC between two machines, over links that lose, repeat, reorder and delay
// packets, and over links that are cut: each byte and each completion is verified at both ends.
//
//   ADVERB_LINK_SECONDS=N   runs "role: operations over bad links" for this long in each condition
//
// tests/device/channels_two_hosts --operations does so.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/bad_link.hpp"
#include "cm/mixed_operations.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;
using namespace std::chrono_literals;
using mixed_operations::extent;
using mixed_operations::introduction;
using mixed_operations::operation;
using mixed_operations::tally;

namespace {

/// A link that is not touched.
struct good_link {
  acknowledge_timeout resend_after = 67ms;
  std::uint8_t retries = 7;

  [[nodiscard]] static nothing spoil(mixed_operations::end&) { return {}; }
};

/// A link that netem makes bad during the traffic.
struct netem_link {
  explicit netem_link(std::string options) : how{std::move(options)} {}
  [[nodiscard]] worse_link spoil(mixed_operations::end&) const { return worse_link{how}; }

  std::string how;
  bad_link prepared{"loss 0%"};
  acknowledge_timeout resend_after = 67ms;
  /// Soft-RoCE repeats without end.
  std::uint8_t retries = 7;
};

/// A link that is cut for less than its retries, in the middle of the traffic.
struct link_cut_for_a_time {
  [[nodiscard]] static std::jthread spoil(mixed_operations::end& here) {
    here.run_half();
    make_bad("loss 100%");
    return std::jthread{[] {
      std::this_thread::sleep_for(300ms);
      make_bad("loss 0%");
    }};
  }

  bad_link prepared{"loss 0%"};
  acknowledge_timeout resend_after = 537ms;
  std::uint8_t retries = 6;
};

/// The parameters of a side.
template <class Ready, class Link>
[[nodiscard]] cm::connection_parameters parameters_of(const Ready& ready, const Link& link,
                                                      const introduction& own) {
  ready.identifier().set_acknowledge_timeout(link.resend_after);
  return {.private_data = cm::private_data::of(own), .retry_count = link.retries};
}

/// Runs the plans of a seed at the side that connects.
template <class Link>
[[nodiscard]] tally play(const cm::socket_address& address, Link& link, std::uint32_t seed,
                         const extent& plans, bool is_last) {
  // On Soft-RoCE a queue pair must outlive the windows that it has bound.
  rc_connection connection;
  auto ready = ready_for(address, mixed_operations::pair_options(plans));
  mixed_operations::end here{ready.protection_domain(), seed, 0, plans};
  here.post_receives(ready.queue_pair());
  introduction own = here.own_introduction();
  own.is_last = is_last ? 1 : 0;
  connection = ready.connect(parameters_of(ready, link, own));
  here.begin(connection, connection.private_data().template as<introduction>().value());
  {
    [[maybe_unused]] const auto spoiled = link.spoil(here);
    here.run();
    here.await_farewell();
  }
  here.bind_again();
  const tally all = here.judge();
  connection.disconnect();
  return all;
}

/// Runs the plans of the next request. Returns false if it is the last one.
template <class Link>
[[nodiscard]] bool serve_play(const rc_listener& listener, Link& link, const extent& plans) {
  rc_connection connection;
  auto ready = next_ready(listener, mixed_operations::pair_options(plans));
  const auto peer = ready.private_data().template as<introduction>().value();
  mixed_operations::end here{ready.protection_domain(), peer.seed, 1, plans};
  here.post_receives(ready.queue_pair());
  connection = ready.accept(parameters_of(ready, link, here.own_introduction()));
  here.begin(connection, peer);
  {
    [[maybe_unused]] const auto spoiled = link.spoil(here);
    here.run();
    here.bind_again();
  }
  here.say_farewell();
  connection.wait_disconnected(30s);
  connection.disconnect();
  static_cast<void>(here.judge());
  return peer.is_last == 0;
}

/// The seconds that the command gives each condition; 0 without it.
[[nodiscard]] std::chrono::seconds seconds_of_command() {
  return std::chrono::seconds{std::stoi("0" + environment("ADVERB_LINK_SECONDS"))};
}

/// The number of packets that this machine has got twice, too early or not at all, if the device
/// counts them.
[[nodiscard]] std::uint64_t wrong_packets() {
  const context device = open_device();
  return device_counters(device, {"duplicate_request", "out_of_seq_request", "rcvd_seq_err",
                                  "completer_retry_err"})
      .value_or(0);
}

/// Returns plans for a link that loses packets. Each link does: a packet that is late is repeated.
[[nodiscard]] extent for_losses(extent plans) {
  const context device = open_device();
  plans.has_fences = !holds(device_facts::fenced_repetition_waits, device);
  plans.has_fetches_in_progress =
      !holds(device_facts::acknowledgement_completes_later_fetch, device);
  plans.has_empty_requests = !holds(device_facts::empty_requests_spoil_repeated_reads, device);
  return plans;
}

/// Runs plans both ways over the link that `make` returns, which both machines make. Prints what
/// has been verified.
template <class Make>
void check_operations(std::string_view condition, std::uint32_t seed, const extent& plans,
                      const Make& make) {
  two_sides(
      [&](const rc_listener& listener) {
        auto link = make();
        while (serve_play(listener, link, plans)) {
        }
      },
      [&](const cm::socket_address& address) {
        const auto end = std::chrono::steady_clock::now() + seconds_of_command();
        auto link = make();
        const std::uint64_t before = wrong_packets();
        tally all;
        for (bool is_last = false; !is_last; ++seed) {
          is_last = std::chrono::steady_clock::now() >= end;
          all += play(address, link, seed, plans, is_last);
        }
        const std::uint64_t wrong = wrong_packets() - before;
        std::cout << "| " << condition << " | " << all.rounds << " | " << all.operations << " | "
                  << all.additions << " | " << all.bytes << " | " << wrong << " |" << std::endl;
        CHECK(all.additions != 0);
        if (condition != "good") CHECK(wrong != 0);
      });
}

void check_over_netem(const std::string& how, std::uint32_t seed, const extent& plans) {
  check_operations(how, seed, for_losses(plans), [&] { return netem_link{how}; });
}

/// The packets that a link which is cut for good loses.
enum class lost { requests, answers };

/// Posts three requests of each operation over a link that is cut for good: the first one fails
/// after its retries, and the others are flushed. A peer whose answers are lost has
/// executed each of them once.
void check_cut(lost what) {
  constexpr acknowledge_timeout resend_after = 537ms;
  constexpr std::uint8_t retries = 3;
  constexpr const char* everything = "loss 100%";
  two_sides(
      [&](const rc_listener& listener) {
        const bad_link prepared{"loss 0%"};
        for (const operation each : mixed_operations::every_operation) {
          const std::string name = std::to_string(static_cast<int>(each));
          const extent plans = for_losses({.only = each});
          rc_connection connection;
          auto ready = next_ready(listener, mixed_operations::pair_options(plans));
          const auto peer = ready.private_data().as<introduction>().value();
          mixed_operations::end here{ready.protection_domain(), peer.seed, 1, plans};
          here.post_receives(ready.queue_pair());
          connection =
              ready.accept({.private_data = cm::private_data::of(here.own_introduction())});
          here.begin(connection, peer);
          const known_neighbours known;
          {
            std::optional<worse_link> silent;
            if (what == lost::answers) silent.emplace(everything);
            meet("cut-" + name);
            meet("failed-" + name);
          }
          if (what == lost::answers) here.take_messages();
          meet("mended-" + name);
          connection.wait_disconnected(30s);
          connection.disconnect();
          if (what == lost::answers)
            static_cast<void>(here.judge());
          else
            here.check_untouched();
        }
      },
      [&](const cm::socket_address& address) {
        const bad_link prepared{"loss 0%"};
        for (const operation each : mixed_operations::every_operation) {
          const std::string name = std::to_string(static_cast<int>(each));
          INFO("operation " << name);
          const extent plans = for_losses({.only = each});
          rc_connection connection;
          auto ready = ready_for(address, mixed_operations::pair_options(plans));
          mixed_operations::end here{ready.protection_domain(), 1, 0, plans};
          here.post_receives(ready.queue_pair());
          ready.identifier().set_acknowledge_timeout(resend_after);
          connection = ready.connect({.private_data = cm::private_data::of(here.own_introduction()),
                                      .retry_count = retries});
          here.begin(connection, connection.private_data().as<introduction>().value());
          meet("cut-" + name);
          const known_neighbours known;
          {
            std::optional<worse_link> silent;
            if (what == lost::requests) silent.emplace(everything);
            const auto begin = std::chrono::steady_clock::now();
            here.post_all();
            CHECK(next_completion(connection.send_cq()).status() ==
                  completion_status::retries_exceeded);
            const auto passed = std::chrono::steady_clock::now() - begin;
            CHECK(passed > retries * 536ms);
            for (int later = 0; later < 2; ++later)
              CHECK(next_completion(connection.send_cq()).status() == completion_status::flushed);
            CHECK(connection.queue_pair().query().state() == qp_state::error);
          }
          meet("failed-" + name);
          meet("mended-" + name);
          connection.disconnect();
        }
      });
}

}  // namespace

TEST_CASE("role: operations over bad links", "[.]") {
  check_operations("good", 1, for_losses({.has_longest = true}), [] { return good_link{}; });
  for (const std::string how : {"loss 1%", "loss 5%", "duplicate 20%"})
    check_over_netem(how, 1, {.has_longest = true});
  for (const std::string how : {"delay 2ms reorder 25% 50%", bad_in_every_way})
    check_over_netem(how, 1, {});
  check_operations("cut for 0.3 s", 1, for_losses({.has_longest = true}),
                   [] { return link_cut_for_a_time{}; });
}

TEST_CASE("role: operations that Soft-RoCE gets wrong if packets are lost", "[.]") {
  check_operations("loss 5%", 1, {}, [] { return netem_link{"loss 5%"}; });
}

TEST_CASE("Every operation between two machines moves its bytes and completes once",
          "[ibv_post_send][ibv_post_recv]") {
  check_operations("good", 1, for_losses({.has_longest = true}), [] { return good_link{}; });
}

TEST_CASE("Every operation completes once over a link that loses packets",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  check_over_netem("loss 5%", 2, {.has_longest = true});
}

TEST_CASE("Every operation completes once over a link that repeats packets",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  check_over_netem("duplicate 20%", 3, {});
}

TEST_CASE("Every operation completes once over a link that loses, repeats and reorders packets",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a bad link", "there is one machine");
  check_over_netem(bad_in_every_way, 4, {.each = 2});
}

TEST_CASE("Every operation completes once over a link that is cut for less than its retries",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  check_operations("cut for 0.3 s", 5, for_losses({}), [] { return link_cut_for_a_time{}; });
}

TEST_CASE("An operation whose packets are lost fails after its retries, and is not executed",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  check_cut(lost::requests);
}

TEST_CASE("An operation whose answers are lost fails after its retries, and is executed once",
          "[ibv_post_send][optional]") {
  if (!on_two_hosts()) return tell_skip("a link that is cut", "there is one machine");
  check_cut(lost::answers);
}
