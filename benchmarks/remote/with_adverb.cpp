// SPDX-License-Identifier: MIT
// Entries of a ring with tasks, and bare writes with immediate data.
#include <cstdint>
#include <utility>

#include <adverb/remote.hpp>

#include "steps.hpp"

namespace {

namespace async = adverb::async;
using steps::record;

/// Both ends of a connection.
struct side {
  side(async::device_loop& loop, adverb::context_ref device, std::uint32_t max_sends)
      : connection{loop,
                   steps::connected(loop, device, steps::max_sends),
                   {.max_send_wr = max_sends,
                    .receives = steps::receives,
                    .block_size = steps::block_size}} {}

  async::connection connection;
};

struct ring : side {
  using side::side;
  adverb::remote_ring<record>::reader in{connection, {.slots = steps::slots}};
  adverb::remote_ring<record>::writer out{connection, in.description()};
};

struct bare : side {
  using side::side;
  record source[steps::batch]{};
  record target[steps::batch]{};
  adverb::memory_region source_region{connection.protection_domain(), source};
  adverb::memory_region target_region{
      connection.protection_domain(), target,
      adverb::access_right::local_write | adverb::access_right::remote_write};
  adverb::remote_buffer<std::byte, adverb::access_right::remote_write> remote =
      target_region.remote_writable();

  /// Returns the write of a record.
  [[nodiscard]] auto write(std::size_t index) const {
    return adverb::write_with_immediate(
        remote.unchecked_slice(index * sizeof(record), sizeof(record)),
        static_cast<adverb::immediate>(index),
        source_region.buffer().unchecked_slice(index * sizeof(record), sizeof(record)));
  }
};

// The ring.

async::task<> put(ring& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    co_await here.out.room();
    steps::fill(here.out.claim(), each);
    here.out.publish();
  }
}

async::task<> put_batches(ring& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; each += steps::batch) {
    co_await here.out.room(steps::batch);
    for (std::uint64_t i = 0; i < steps::batch; ++i) steps::fill(here.out.claim(), each + i);
    here.out.publish();
  }
}

async::task<> take(ring& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    const auto entry = co_await here.in.next();
    steps::sum += steps::value_of(*entry);
  }
}

// Bare writes.

async::task<> put(bare& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    steps::fill(here.source[0], each);
    const auto request = here.write(0);
    if (!here.connection.post(request)) co_await here.connection.perform(request);
  }
}

template <std::size_t... Index>
async::task<> put_batches(bare& here, std::uint64_t times, std::index_sequence<Index...>) {
  for (std::uint64_t each = 0; each < times; each += steps::batch) {
    for (std::uint64_t i = 0; i < steps::batch; ++i) steps::fill(here.source[i], each + i);
    if (!here.connection.post(here.write(Index)...))
      co_await here.connection.perform(here.write(Index)...);
  }
}
async::task<> put_batches(bare& here, std::uint64_t times) {
  return put_batches(here, times, std::make_index_sequence<steps::batch>{});
}

async::task<> take(bare& here, std::uint64_t times) {
  for (std::uint64_t each = 0; each < times; ++each) {
    const async::message message = co_await here.connection.next();
    const auto index =
        static_cast<std::uint32_t>(message.fields().immediate().value_or(adverb::immediate{}));
    if (index < steps::batch) steps::sum += steps::value_of(here.target[index]);
  }
}

template <class Side>
void count(async::event_loop& loop, Side& here, const char* job,
           async::task<> (*put)(Side&, std::uint64_t)) {
  counting::count(
      job, "adverb",
      [&](std::uint64_t wanted) {
        const std::uint64_t times = (wanted + steps::batch - 1) / steps::batch * steps::batch;
        loop.spawn(take(here, times));
        loop.spawn(put(here, times));
        loop.run();
      },
      4096);
}

}  // namespace

int main() {
  const adverb::context device = adverb::open_device();
  async::event_loop loop{{.waiting = async::waiting::busy}};
  ring ends{loop, device, steps::max_sends};
  // A write with immediate data needs a posted receive.
  bare plain{loop, device, steps::slots};
  count<ring>(loop, ends, "single", put);
  count<ring>(loop, ends, "batch", put_batches);
  count<bare>(loop, plain, "bare single", put);
  count<bare>(loop, plain, "bare batch", put_batches);
  return steps::sum == 0;
}
