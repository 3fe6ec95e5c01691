// SPDX-License-Identifier: MIT
// The states of a link: scenarios, and every order of events of the device, the peer, the program
// and the clock, with an owner that follows the machine.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <adverb/async/detail/link_life.hpp>
#include <support/catch.hpp>

using adverb::detail::link_action;
using adverb::detail::link_end;
using adverb::detail::link_life;
using adverb::detail::link_phase;

namespace {

/// An owner with a block, a slot for a request, and one place for a wait of each kind. It does what
/// detail::link does, without a device.
struct owner {
  link_life life;

  // The queue pair.
  bool is_shared = false;
  bool confirms_itself = false;
  /// The kernel moves the queue pair to ERR when the peer ends the connection.
  bool is_iwarp = false;
  bool pair_is_in_error = false;
  bool pair_exists = true;
  bool block_is_posted = true;
  bool request_is_posted = false;
  /// A message is in the completion queue, or a failed completion.
  bool message_is_queued = false;
  bool failure_is_queued = false;
  bool has_cause = false;
  /// The peer has ended the connection, and its event has not been taken.
  bool peer_has_left = false;
  bool disconnect_was_sent = false;

  // The program.
  bool has_handle = true;
  bool is_connecting = true;
  bool waits_for_message = false;
  bool waits_for_end = false;
  bool message_has_arrived = false;
  bool program_holds_message = false;
  bool was_told_the_end = false;
  bool stream_looked_whole = false;

  bool is_scheduled = false;
  bool end_is_timed = false;
  bool is_destroyed = false;

  // Facts that are hidden from the machine.
  bool pair_broke_while_open = false;
  bool was_destroyed_too_early = false;

  auto key() const {
    const std::array bits{is_shared,
                          confirms_itself,
                          pair_is_in_error,
                          pair_exists,
                          block_is_posted,
                          request_is_posted,
                          message_is_queued,
                          failure_is_queued,
                          has_cause,
                          peer_has_left,
                          disconnect_was_sent,
                          has_handle,
                          is_connecting,
                          waits_for_message,
                          waits_for_end,
                          message_has_arrived,
                          program_holds_message,
                          was_told_the_end,
                          stream_looked_whole,
                          is_scheduled,
                          end_is_timed,
                          is_destroyed,
                          is_iwarp,
                          life.is_orphan(),
                          pair_broke_while_open};
    std::uint32_t packed = 0;
    for (const bool bit : bits) packed = packed << 1U | (bit ? 1U : 0U);
    return std::tuple{packed, life.phase(), life.end()};
  }

  [[nodiscard]] adverb::detail::link_load load() const {
    return {.is_posted = request_is_posted || (!is_shared && block_is_posted),
            .is_awaited = waits_for_message || waits_for_end || is_connecting,
            .is_held = program_holds_message};
  }
  [[nodiscard]] bool has_no_more_messages() const {
    return life.has_no_more_messages(!is_shared && (block_is_posted || message_is_queued),
                                     has_cause);
  }

  void close(bool with_cause) {
    if (with_cause && life.end() != link_end::confirmed) has_cause = true;
    if (life.has_deadline()) end_is_timed = true;
    life.close();
    is_scheduled = true;
  }
  void tell_end() {
    waits_for_message = false;
    was_told_the_end = true;
    stream_looked_whole = life.is_orderly(has_cause);
  }
  void take_completions() {
    if (message_is_queued) {
      message_is_queued = false;
      message_has_arrived = true;
      waits_for_message = false;
    }
    if (failure_is_queued) {
      failure_is_queued = false;
      block_is_posted = is_shared && block_is_posted;
      if (life.end() != link_end::confirmed && life.has_deadline() && !is_iwarp) has_cause = true;
      request_is_posted = false;
      if (life.phase() != link_phase::connecting) close(false);
    }
  }
  void release() {
    if (!pair_exists) return;
    life.released();
    end_is_timed = false;
    pair_exists = false;
    take_completions();
    block_is_posted = is_shared && block_is_posted;
    request_is_posted = false;
  }
  void advance() {
    is_scheduled = false;
    if (life.next(load()) == link_action::enter_error) {
      if (life.end() != link_end::not_needed) disconnect_was_sent = true;
      pair_is_in_error = true;
      take_completions();
      life.entered_error();
    }
    if (confirms_itself && life.phase() == link_phase::draining && !load().is_posted)
      life.flushed();
    if (has_no_more_messages() && waits_for_message && !message_has_arrived) tell_end();
    if (life.has_ended()) {
      waits_for_end = false;
      is_connecting = false;
    }
    if (life.next(load()) == link_action::destroy) {
      was_destroyed_too_early = life.end() == link_end::pending;
      release();
    }
    is_destroyed = life.next(load()) == link_action::destroy && !load().is_awaited;
  }
};

struct event {
  const char* name;
  bool (*can)(const owner&);
  void (*happen)(owner&);
};

const std::array events{
    event{"the connection is established",
          [](const owner& o) {
            return o.life.phase() == link_phase::connecting && o.pair_exists && o.has_handle;
          },
          [](owner& o) {
            o.is_connecting = false;
            o.life.connected();
            if (o.has_cause) o.close(false);
          }},
    event{"a message comes",
          [](const owner& o) {
            return o.pair_exists && !o.pair_is_in_error && o.block_is_posted &&
                   !o.message_is_queued && !o.message_has_arrived && !o.program_holds_message;
          },
          [](owner& o) {
            o.block_is_posted = false;
            o.message_is_queued = true;
          }},
    event{"the device breaks the queue pair",
          [](const owner& o) { return o.pair_exists && !o.pair_is_in_error; },
          [](owner& o) {
            o.pair_is_in_error = true;
            o.pair_broke_while_open = o.life.has_deadline() && !o.is_iwarp;
          }},
    event{"the device flushes a request",
          [](const owner& o) {
            return o.pair_exists && o.pair_is_in_error && !o.failure_is_queued &&
                   !o.message_is_queued &&
                   (o.request_is_posted || (!o.is_shared && o.block_is_posted));
          },
          [](owner& o) { o.failure_is_queued = true; }},
    event{"the loop takes completions",
          [](const owner& o) { return o.message_is_queued || o.failure_is_queued; },
          [](owner& o) { o.take_completions(); }},
    event{
        "a request completes",
        [](const owner& o) { return o.request_is_posted && !o.pair_is_in_error && o.pair_exists; },
        [](owner& o) { o.request_is_posted = false; }},
    event{"the peer ends the connection, or confirms its end",
          [](const owner& o) {
            return !o.confirms_itself && o.life.end() == link_end::pending && o.pair_exists;
          },
          [](owner& o) {
            // A queue pair that is in ERR before the end is a cause.
            if (o.life.may_post() && o.pair_is_in_error && !o.is_iwarp) o.has_cause = true;
            o.close(false);
            o.life.peer_ended();
          }},
    event{"the program posts a request",
          [](const owner& o) { return o.has_handle && o.life.may_post() && !o.request_is_posted; },
          [](owner& o) { o.request_is_posted = true; }},
    event{"the program waits for a message",
          [](const owner& o) {
            return o.has_handle && !o.is_connecting && o.life.phase() != link_phase::connecting &&
                   !o.waits_for_message && !o.program_holds_message && !o.was_told_the_end;
          },
          [](owner& o) {
            if (o.message_has_arrived) {
              o.message_has_arrived = false;
              o.program_holds_message = true;
            } else if (o.has_no_more_messages()) {
              o.tell_end();
            } else {
              o.waits_for_message = true;
            }
          }},
    event{"the program takes the message that it waited for",
          [](const owner& o) {
            return o.message_has_arrived && !o.waits_for_message && o.has_handle;
          },
          [](owner& o) {
            o.message_has_arrived = false;
            o.program_holds_message = true;
          }},
    event{"the program destroys a message", [](const owner& o) { return o.program_holds_message; },
          [](owner& o) {
            o.program_holds_message = false;
            if (o.life.may_post() || o.is_shared) o.block_is_posted = true;
            if (!o.life.may_post()) o.is_scheduled = true;
          }},
    event{"the program disconnects",
          [](const owner& o) {
            return o.has_handle && !o.is_connecting && o.life.end() != link_end::not_needed &&
                   !o.waits_for_end;
          },
          [](owner& o) {
            o.close(true);
            o.waits_for_end = o.life.end() == link_end::pending;
          }},
    event{"the program drops its handle", [](const owner& o) { return o.has_handle; },
          [](owner& o) {
            o.has_handle = o.waits_for_message = o.waits_for_end = o.is_connecting = false;
            o.close(true);
            o.life.drop_handle();
          }},
    event{"the deadline passes",
          [](const owner& o) { return o.life.has_deadline() && o.load().is_awaited; },
          [](owner& o) { o.close(true); }},
    event{"the time for the end passes",
          [](const owner& o) { return o.end_is_timed && o.life.phase() == link_phase::draining; },
          [](owner& o) {
            o.take_completions();
            o.release();
            o.is_scheduled = true;
          }},
    event{"the peer does not answer the disconnect request",
          [](const owner& o) {
            return o.disconnect_was_sent && o.life.end() == link_end::pending && o.pair_exists;
          },
          [](owner& o) {
            o.close(false);
            o.life.peer_was_silent();
          }},
    event{"the loop advances the link", [](const owner& o) { return o.is_scheduled; },
          [](owner& o) { o.advance(); }},
};

struct exploration {
  std::map<decltype(std::declval<owner>().key()), std::pair<owner, int>> seen;
  std::size_t edges = 0;
};

void check_state(const owner& o) {
  REQUIRE((o.life.phase() != link_phase::released || !o.pair_exists));
  // Nothing is timed once all is released.
  REQUIRE((o.life.phase() != link_phase::released || !o.end_is_timed));
  // An end is reported as orderly only if the peer has confirmed it.
  REQUIRE((!o.stream_looked_whole || (o.life.end() == link_end::confirmed && !o.has_cause)));
  REQUIRE((!o.was_told_the_end || o.has_cause || o.life.end() != link_end::pending));
  // A stream looks whole only if every message has been passed on.
  REQUIRE((!o.stream_looked_whole || (!o.message_is_queued && !o.message_has_arrived)));
  REQUIRE((!o.stream_looked_whole || !o.pair_broke_while_open));
  // A link with a cause of its end does not stay open.
  REQUIRE((!o.life.may_post() || !o.has_cause));
  // The end is waited for.
  REQUIRE(!o.was_destroyed_too_early);
  // An established connection is disconnected before its queue pair is left to flush.
  REQUIRE((o.life.phase() != link_phase::draining || o.life.end() == link_end::not_needed ||
           o.disconnect_was_sent));
  REQUIRE((!o.is_destroyed || (!o.has_handle && !o.load().is_awaited && !o.program_holds_message)));
  if (o.life.may_post()) REQUIRE(o.pair_exists);
}

exploration explore(const owner& start) {
  exploration found;
  std::deque<owner> open{start};
  found.seen.emplace(start.key(), std::pair{start, 0});
  while (!open.empty()) {
    const owner from = open.front();
    open.pop_front();
    for (const event& each : events) {
      if (from.is_destroyed || !each.can(from)) continue;
      owner to = from;
      INFO(each.name);
      each.happen(to);
      check_state(to);
      ++found.edges;
      if (found.seen.emplace(to.key(), std::pair{to, 0}).second) open.push_back(to);
    }
  }
  return found;
}

/// Lets the device, the peer, the loop and the clock do what they must, and the program nothing but
/// give up what it holds. Returns the state at the end.
owner run_out(owner o, bool peer_answers) {
  for (int step = 0; step < 200; ++step) {
    const char* const automatic[] = {"the device flushes a request",
                                     "the loop takes completions",
                                     "the program takes the message that it waited for",
                                     "the program destroys a message",
                                     "the loop advances the link",
                                     "the peer ends the connection, or confirms its end",
                                     "the time for the end passes"};
    bool has_moved = false;
    for (const char* const name : automatic) {
      if (!peer_answers && std::string{name}.starts_with("the peer")) continue;
      for (const event& each : events) {
        if (has_moved || std::string{each.name} != name || o.is_destroyed || !each.can(o)) continue;
        each.happen(o);
        has_moved = true;
      }
    }
    if (!has_moved) break;
  }
  return o;
}

}  // namespace

TEST_CASE("A link that connects, is ended by its peer and loses its handle is destroyed") {
  link_life life;
  CHECK(!life.may_post());
  life.connected();
  CHECK(life.may_post());
  life.peer_ended();
  CHECK(!life.may_post());
  CHECK(life.next({.is_posted = true}) == link_action::enter_error);
  life.entered_error();
  CHECK(!life.has_no_more_messages(true, false));
  CHECK(life.has_no_more_messages(false, false));
  CHECK(life.is_orderly(false));
  CHECK(life.has_ended());
  CHECK(life.next({}) == link_action::nothing);
  life.drop_handle();
  CHECK(life.next({.is_posted = true}) == link_action::nothing);
  CHECK(life.next({.is_awaited = true}) == link_action::nothing);
  CHECK(life.next({.is_held = true}) == link_action::nothing);
  CHECK(life.next({}) == link_action::destroy);
}

TEST_CASE("A link whose peer does not answer ends without an orderly end") {
  link_life life;
  life.connected();
  life.close();
  life.entered_error();
  CHECK(life.is_ending());
  CHECK(!life.has_ended());
  life.released();
  CHECK(life.end() == link_end::timed_out);
  CHECK(!life.is_ending());
  CHECK(life.has_ended());
  CHECK(!life.is_orderly(false));
}

TEST_CASE("A peer that does not answer the disconnect request ends no stream in order") {
  link_life life;
  life.connected();
  life.close();
  life.entered_error();
  life.peer_was_silent();
  CHECK(life.end() == link_end::timed_out);
  CHECK(life.has_ended());
  CHECK(!life.is_orderly(false));
  life.peer_ended();
  CHECK(life.end() == link_end::timed_out);
}

TEST_CASE("A link whose receives are flushed before its peer's end waits for that end") {
  link_life life;
  life.connected();
  life.close();
  life.entered_error();
  CHECK(!life.has_no_more_messages(false, false));
  CHECK(life.has_no_more_messages(false, true));
  life.peer_ended();
  CHECK(life.has_no_more_messages(false, false));
  CHECK(life.is_orderly(false));
}

TEST_CASE("A confirmed end does not time out") {
  link_life life;
  life.connected();
  life.peer_ended();
  life.entered_error();
  life.released();
  CHECK(life.end() == link_end::confirmed);
  CHECK(life.is_orderly(false));
  CHECK(!life.is_orderly(true));
}

TEST_CASE("A flush confirms the end of a link only after its queue pair has entered ERR") {
  link_life life;
  life.connected();
  life.flushed();
  CHECK(life.end() == link_end::pending);
  life.close();
  life.flushed();
  CHECK(life.end() == link_end::pending);
  life.entered_error();
  life.flushed();
  CHECK(life.end() == link_end::confirmed);
}

TEST_CASE("A link that was never connected needs no end") {
  link_life life;
  life.drop_handle();
  CHECK(life.next({.is_posted = true}) == link_action::enter_error);
  life.entered_error();
  CHECK(life.has_ended());
  CHECK(life.next({.is_posted = true}) == link_action::destroy);
}

TEST_CASE("A connection that is established while the link closes is disconnected") {
  link_life life;
  life.close();
  life.connected();
  CHECK(life.phase() == link_phase::closing);
  CHECK(life.end() == link_end::pending);
  CHECK(life.next({}) == link_action::enter_error);
}

TEST_CASE("Every order of events keeps the invariants of a link and ends every wait") {
  struct kind {
    bool is_shared = false;
    bool confirms_itself = false;
    bool is_iwarp = false;
  };
  for (const kind& each : {kind{}, kind{.is_shared = true}, kind{.confirms_itself = true},
                           kind{.is_shared = true, .confirms_itself = true}, kind{.is_iwarp = true},
                           kind{.is_shared = true, .is_iwarp = true}}) {
    owner start;
    start.is_shared = each.is_shared;
    start.confirms_itself = each.confirms_itself;
    start.is_iwarp = each.is_iwarp;
    const exploration all = explore(start);
    std::cout << all.seen.size() << " states, " << all.edges << " steps between them\n";
    CHECK(all.seen.size() > 100);
    for (const auto& [key, state] : all.seen) {
      for (const bool peer_answers : {false, true}) {
        // The program may wait as long as it likes on an open link.
        owner from = state.first;
        if (from.is_destroyed) continue;
        if (from.life.has_deadline()) {
          if (!from.load().is_awaited && from.has_handle && !from.has_cause) continue;
          from.close(true);
        }
        owner end = run_out(from, peer_answers);
        CHECK(!end.waits_for_end);
        CHECK(!end.is_connecting);
        CHECK((!end.waits_for_message || end.message_has_arrived));
        CHECK((end.has_handle || end.is_destroyed));
        if (!end.has_handle) continue;
        events[12].happen(end);
        CHECK(run_out(end, peer_answers).is_destroyed);
      }
    }
  }
}
