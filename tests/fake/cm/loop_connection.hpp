// SPDX-License-Identifier: MIT
// A connection of a loop over a queue pair of the fake.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <adverb/async.hpp>

#include "fake/connection_manager.hpp"
#include "test_bench.hpp"

/// A connection of a loop over a queue pair of the fake.
struct loop_connection : test_bench {
  /// The end is waited for as long as it takes.
  static constexpr adverb::async::connection_options small{
      .max_send_wr = 4, .receives = 4, .block_size = 64, .end_timeout = adverb::timeout::endless()};

  fake::connection_manager manager{machine};
  adverb::async::event_loop loop;
  std::optional<adverb::async::connection> link;

  explicit loop_connection(adverb::async::waiting how = adverb::async::waiting::events)
      : loop{{.waiting = how}} {
    auto pair = connected_pair();
    link.emplace(loop, std::move(pair), small);
  }
  /// A queue pair on the queue of the loop, ready to send.
  [[nodiscard]] adverb::queue_pair<adverb::transport::rc> connected_pair() {
    const adverb::completion_queue_ref polled = loop.queue(context);
    auto fresh = adverb::queue_pair<adverb::transport::rc>::create(
        loop.domain(context),
        {.send_cq = polled, .recv_cq = polled, .max_send_wr = 4, .max_recv_wr = 8});
    auto init = fresh.init().port(adverb::port_number{1}).apply();
    auto rtr = init.rtr().remote(peer).apply();
    return rtr.rts().apply();
  }
  /// The event of a completion, which belongs to no request.
  void raise_event() {
    ibv_wc done{};
    done.wr_id =
        reinterpret_cast<std::uintptr_t>(static_cast<adverb::async::operation*>(&nothing_));
    machine.complete(loop.queue(context).native_handle(), done);
  }

 private:
  struct no_operation : adverb::async::operation {
    no_operation() : operation{[](adverb::async::operation&, const adverb::completion&) {}} {}
  } nothing_;
};
