// SPDX-License-Identifier: MIT
// The same entries with the ring in C, which is in another unit.
#include <cstdint>
#include <cstdlib>

#include "ring_c.h"
#include "steps.hpp"

namespace {

using steps::record;

ring_connection* connection;
ring_reader* in;
ring_writer* out;

void check(int error) {
  if (error != 0) std::abort();
}

void put(std::uint64_t number) {
  auto* const entry = static_cast<record*>(ring_claim(out, sizeof(record)));
  if (entry == nullptr) std::abort();
  steps::fill(*entry, number);
}

void run(std::uint64_t times, std::uint32_t batch) {
  std::uint64_t written = 0;
  std::uint64_t taken = 0;
  while (taken < times) {
    while (written < times && ring_room(out) >= batch) {
      for (std::uint32_t each = 0; each < batch; ++each) put(written + each);
      check(ring_publish(out));
      written += batch;
    }
    check(ring_connection_poll(connection));
    for (ring_entry entry; ring_next(in, &entry); ++taken) {
      steps::sum += steps::value_of(*reinterpret_cast<const record*>(entry.bytes));
      check(ring_free(in, entry.slot));
    }
  }
}

void count(const char* job, std::uint32_t batch) {
  counting::count(
      job, "C",
      [=](std::uint64_t wanted) {
        run((wanted + steps::batch - 1) / steps::batch * steps::batch, batch);
      },
      4096);
}

}  // namespace

int main() {
  const adverb::context device = adverb::open_device();
  adverb::protection_domain domain{device};
  adverb::completion_queue queue{device, 4 * steps::receives};
  const auto pair = steps::connected(domain, queue, steps::max_sends, steps::receives);

  const ring_sizes sizes{.slots = steps::slots,
                         .slot_size = sizeof(record),
                         .distance = sizeof(record),
                         .receives = steps::receives,
                         .block_size = steps::block_size,
                         .max_sends = steps::max_sends};
  connection = ring_connection_create(pair.native_handle(), queue.native_handle(),
                                      domain.native_handle(), &sizes);
  if (connection == nullptr) std::abort();
  in = ring_reader_create(connection);
  if (in == nullptr) std::abort();
  out = ring_writer_create(connection, in);
  if (out == nullptr) std::abort();
  count("single", 1);
  count("batch", steps::batch);
  return steps::sum == 0;
}
