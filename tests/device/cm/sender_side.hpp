// SPDX-License-Identifier: MIT
// Shared by the tests of senders: receivers that count, senders that repeat.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <support/catch.hpp>
#include <support/senders.hpp>

#include "cm/async_side.hpp"

namespace sender_test {

using namespace async_test;

/// The number of completions of a sender, and its error.
struct completed {
  [[nodiscard]] int all() const { return values + errors + stops; }
  int values = 0;
  int errors = 0;
  int stops = 0;
  std::error_code code;
};

struct stop_environment {
  [[nodiscard]] std::stop_token query(protocol::get_stop_token_t /*unused*/) const noexcept {
    return token;
  }
  std::stop_token token;
};

/// Counts how its sender completes.
struct counting_receiver {
  template <class... Values>
  void set_value(Values&&... /*unused*/) noexcept {
    ++counts->values;
  }
  void set_error(std::error_code code) noexcept {
    ++counts->errors;
    counts->code = code;
  }
  void set_stopped() noexcept { ++counts->stops; }
  [[nodiscard]] stop_environment get_env() const noexcept { return {token}; }

  completed* counts;
  std::stop_token token;
};

/// A started sender.
template <class Sender>
class started {
 public:
  explicit started(const Sender& sender, std::stop_token token = {})
      : operation_(protocol::connect(sender, counting_receiver{&counts_, std::move(token)})) {
    protocol::start(operation_);
  }
  started(const started&) = delete;
  started& operator=(const started&) = delete;
  ~started() = default;

  [[nodiscard]] const completed& counts() const { return counts_; }

 private:
  completed counts_;
  decltype(protocol::connect(std::declval<const Sender&>(),
                             std::declval<counting_receiver>())) operation_;
};

/// Starts what `make` returns again and again, while `go_on` returns true.
template <class Make, class GoOn>
class repeated {
 public:
  repeated(Make make, GoOn go_on) : make_{std::move(make)}, go_on_{std::move(go_on)} { again(); }
  repeated(const repeated&) = delete;
  repeated& operator=(const repeated&) = delete;
  ~repeated() = default;

  [[nodiscard]] const completed& counts() const { return counts_; }

 private:
  struct receiver {
    void set_value() noexcept { self->go_on(); }
    void set_error(std::error_code code) noexcept {
      ++self->counts_.errors;
      self->counts_.code = code;
    }
    void set_stopped() noexcept { ++self->counts_.stops; }
    repeated* self;
  };

  void go_on() noexcept {
    ++counts_.values;
    operation_.reset();  // A message that it keeps would keep its connection.
    if (go_on_()) again();
  }
  void again() {
    operation_.emplace(
        protocol::made_by{[this] { return protocol::connect(make_(), receiver{this}); }});
    protocol::start(*operation_);
  }

  Make make_;
  GoOn go_on_;
  completed counts_;
  std::optional<decltype(protocol::connect(std::declval<Make&>()(), std::declval<receiver>()))>
      operation_;
};

/// Connections on the loop of a side (`side` or `net_side`), with both of their ends.
struct connected {
  template <class Side>
  explicit connected(Side& here, std::size_t count = 1) {
    const auto keep_in = [](std::deque<async::connection>& all) {
      return protocol::then([&all](async::connection made) { all.push_back(std::move(made)); });
    };
    const auto accept = here.listener.accept(small) | keep_in(passive);
    const auto connect = async::connect(here.loop, here.address(), small) | keep_in(active);
    std::deque<started<std::remove_const_t<decltype(accept)>>> accepting;
    std::deque<started<std::remove_const_t<decltype(connect)>>> connecting;
    for (std::size_t each = 0; each < count; ++each) {
      accepting.emplace_back(accept);
      connecting.emplace_back(connect);
    }
    here.run();
    REQUIRE(passive.size() == count);
    REQUIRE(active.size() == count);
  }

  std::deque<async::connection> passive;
  std::deque<async::connection> active;
};

/// Has both ends of each connection send a message back and forth. At the active end
/// `go_on(connection, message)` returns false to end the connection.
template <class Side, class GoOn>
void exchange(Side& here, connected& ends, const GoOn& go_on) {
  const std::size_t count = ends.active.size();
  std::deque<bool> is_over(count);
  const auto serve = [&](std::size_t which) {
    return repeated{[&of = ends.passive[which]] {
                      return of.next() | protocol::let_value([&of](async::message& message) {
                               return of.send(message.buffer());
                             });
                    },
                    [] { return true; }};
  };
  const auto ask = [&](std::size_t which) {
    return repeated{[&, which] {
                      return ends.active[which].next() |
                             protocol::let_value([&, which](async::message& message) {
                               is_over[which] = !go_on(which, message);
                               return ends.active[which].send(message.buffer());
                             });
                    },
                    [&, which] {
                      if (is_over[which]) ends.active[which] = {};
                      return !is_over[which];
                    }};
  };
  std::deque<text_memory> memories;
  std::deque<started<decltype(ends.active[0].send(const_buffer{}))>> first;
  std::deque<decltype(serve(0))> serving;
  std::deque<decltype(ask(0))> asking;
  for (std::size_t each = 0; each < count; ++each) {
    memories.emplace_back(ends.active[each], "hello");
    first.emplace_back(
        ends.active[each].send(const_buffer{memories[each].region.buffer().slice(0, 5)}));
    serving.emplace_back(protocol::made_by{[&] { return serve(each); }});
    asking.emplace_back(protocol::made_by{[&] { return ask(each); }});
  }
  here.run();
}

/// Has each connection exchange this many messages, and ends all.
template <class Side>
void check_exchange(Side& here, connected& ends, int rounds) {
  std::vector<int> answers(ends.active.size());
  exchange(here, ends, [&](std::size_t which, const async::message& message) {
    if (text_of(message) == "hello") ++answers[which];
    return answers[which] < rounds;
  });
  CHECK(answers == std::vector<int>(answers.size(), rounds));
  ends.passive.clear();
  here.run();
  CHECK(here.loop.connections() == 0);
}

}  // namespace sender_test
