// SPDX-License-Identifier: MIT
// The steps of a connection in tasks.
#include <chrono>
#include <cstdint>

#include "steps.hpp"

namespace {

namespace async = adverb::async;

async::task<> echo(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    const async::message message = co_await here.connection.next();
    co_await here.connection.send(message.buffer());
  }
}

async::task<> echo_with_deadline(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    here.connection.expires_after(std::chrono::seconds{5});
    const async::message message = co_await here.connection.next();
    co_await here.connection.send(message.buffer());
  }
}

async::task<> send(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each)
    co_await here.connection.send(here.region.buffer());
}

/// Waits only when there is no room.
async::task<> post(steps::side& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each)
    if (!here.connection.post(adverb::send(here.region.buffer())))
      co_await here.connection.send(here.region.buffer());
}

}  // namespace

int main() {
  const adverb::context device = adverb::open_device();
  async::event_loop loop{{.waiting = async::waiting::busy}};
  steps::side here{loop, device};
  const auto count = [&](const char* job, async::task<> (*run)(steps::side&, std::uint64_t)) {
    counting::count(job, "tasks", [&](std::uint64_t times) {
      loop.spawn(run(here, times));
      loop.run();
    });
  };
  count("echo", echo);
  count("send", send);
  count("post", post);
  // Last: the loop keeps the time from here on.
  count("echo with deadline", echo_with_deadline);
}
