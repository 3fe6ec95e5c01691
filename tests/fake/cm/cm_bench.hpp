// SPDX-License-Identifier: MIT
// A fake device with a fake of librdmacm over it, and what stands on them at each step.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "fake/connection_manager.hpp"
#include "log.hpp"

namespace called = fake::called;

/// `Transport` is that of the connectors, requests and listeners which it makes.
template <adverb::transport Transport = adverb::transport::rc>
class cm_bench_of {
 public:
  fake::machine machine;
  fake::connection_manager manager{machine};

  /// Another machine, on the same network.
  static inline const adverb::cm::socket_address peer{adverb::ipv4_address{10, 0, 0, 2}, 7471};
  static inline const adverb::cm::socket_address here{adverb::ipv4_address{10, 0, 0, 1}, 7471};

  using connector = adverb::cm::connector<Transport>;
  using listener = adverb::cm::listener<Transport>;

  [[nodiscard]] auto near() const { return connector::create().resolve_address(peer); }
  [[nodiscard]] auto far() const { return near().resolve_route(); }
  [[nodiscard]] auto ready() const { return far().create_queue_pair(); }
  [[nodiscard]] auto connected() const { return ready().connect(); }

  /// A request that has come to a listener.
  [[nodiscard]] auto requested(const listener& at, std::string data = {}) {
    manager.request(at.identifier().native_handle(), std::move(data));
    return at.next_request();
  }

  /// The calls of librdmacm as text, without those of libibverbs.
  [[nodiscard]] fake::log_lines log() const {
    fake::log_lines all = machine.lines();
    std::erase_if(all.lines, [](const std::string& each) { return !each.starts_with("rdma_"); });
    return all;
  }
  /// The lines of the calls that this makes. Forgets those before.
  template <class Action>
  [[nodiscard]] fake::log_lines log_of(const Action& action) {
    machine.forget_calls();
    action();
    return log();
  }
  /// The failure of an operation whose next call of this kind fails with this errno.
  template <class Call, class Operation>
  [[nodiscard]] adverb::failure failing(int error, const Operation& operation) {
    adverb::failure why = reported([&] { machine.template fail<Call>(error); }, operation);
    CHECK(why.code().value() == error);
    return why;
  }
  /// The whole message of that failure.
  template <class Call, class Operation>
  [[nodiscard]] std::string message_of(int error, const Operation& operation) {
    return failing<Call>(error, operation).what();
  }

  /// The last call of this kind.
  template <class Call>
  [[nodiscard]] Call last() const {
    return machine.template calls<Call>().back();
  }
};

using cm_bench = cm_bench_of<>;

/// A bench with an identifier on a channel.
struct identifier_bench : cm_bench {
  adverb::cm::event_channel channel = adverb::cm::event_channel::create();
  adverb::cm::identifier id = adverb::cm::identifier::create(channel, adverb::cm::port_space::tcp);
};

/// Goes on a bench whose `nth` call fails; checks that nothing of it is left, nor found fault with.
/// `go` ends with `bench.machine.fail_nothing()`, before what it made is destroyed.
template <class Go>
void go_with_failure(std::size_t nth, const Go& go) {
  CAPTURE(nth);
  const told_failures told;
  cm_bench bench;
  bench.machine.fail_any(ENOMEM, nth);
  go(bench);
  CHECK(bench.manager.live_objects() == 0);
  CHECK(told.messages().empty());
}

/// Goes on benches of which the first call fails, then the second and so on, until `go` throws
/// nothing. Returns in how many attempts.
template <class Go>
[[nodiscard]] std::size_t attempts_until_nothing_fails(const Go& go) {
  std::size_t nth = 0;
  bool failed = true;
  while (failed) {
    REQUIRE(++nth < 50);
    go_with_failure(nth, [&](cm_bench& bench) {
      try {
        go(bench);
        failed = false;
      } catch (const adverb::error& error) {
        CHECK(error.code() == std::errc::not_enough_memory);
      }
    });
  }
  return nth;
}
