// SPDX-License-Identifier: MIT
// Sends records one way through a ring of bytes, over a connection of librdmacm, with tasks.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/remote.hpp>

#include "../support/measuring.h"

namespace {

namespace async = adverb::async;
using record_ring = adverb::remote_ring<std::byte>;
using description_bytes = std::array<std::byte, adverb::ring_description::encoded_size>;

struct job {
  bool is_server = false;
  std::string address;
  std::uint16_t port = 0;
  std::size_t size = 0;
  std::uint64_t records = 0;
  /// The records of a publish.
  std::uint64_t at_once = 0;

  /// The memory, the receives and the inline data of an end are at most those of rsockets. The
  /// slots are a multiple of 16.
  [[nodiscard]] adverb::ring_options ring() const {
    constexpr std::size_t memory = 128 * 1024;
    constexpr std::size_t receives = 384;
    const std::size_t slots = std::min(memory / size, receives - 16) / 16 * 16;
    return {.slots = static_cast<std::uint32_t>(slots),
            .slot_size = static_cast<std::uint32_t>(size)};
  }
  [[nodiscard]] async::connection_options sizes() const {
    return {.max_send_wr = 384,
            .receives = ring().receives(),
            .block_size = 256,
            .max_inline_data = 64};
  }
};

job job_of(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "";
  if (argc != 7 || (role != "client" && role != "server")) {
    std::fprintf(stderr, "Usage: %s client|server ADDRESS PORT SIZE RECORDS AT_ONCE\n", argv[0]);
    std::exit(2);
  }
  return {.is_server = role == "server",
          .address = argv[2],
          .port = static_cast<std::uint16_t>(number_of(argv[3])),
          .size = number_of(argv[4]),
          .records = number_of(argv[5]),
          .at_once = number_of(argv[6])};
}

async::task<> write(const record_ring::writer& ring, const std::vector<std::byte>& record,
                    std::uint64_t count, std::uint64_t at_once) {
  for (std::uint64_t each = 0; each < count; each += at_once) {
    co_await ring.room(static_cast<std::uint32_t>(at_once));
    for (std::uint64_t i = 0; i < at_once; ++i)
      std::memcpy(ring.claim(record.size()).data(), record.data(), record.size());
    ring.publish();
  }
  co_await ring.drain();
}

async::task<> run_client(async::event_loop& loop, const job& given) {
  const auto server = co_await async::connect(loop, given.address, given.port, given.sizes());
  co_await server.perform(adverb::send());  // Over iWARP, the client is the first to send.
  const auto description = (co_await server.next()).as<description_bytes>();
  const record_ring::writer ring{server, adverb::ring_description::decode(description)};
  const std::vector<std::byte> record(given.size, std::byte{1});
  co_await write(ring, record, given.ring().slots, given.at_once);  // Is not measured.
  const double begin = microseconds();
  co_await write(ring, record, given.records, given.at_once);
  const double end = microseconds();
  std::printf("{\"elapsed\": %.4f}\n", (end - begin) / static_cast<double>(given.records));
  co_await ring.close();
  co_await server.disconnect();
}

async::task<> run_server(async::listener& listener, const job& given) {
  async::connection_request request = co_await listener.next();
  const async::connection client = co_await request.accept(given.sizes());
  const record_ring::reader ring{client, given.ring()};
  const description_bytes description = ring.description().encode();
  co_await client.next();
  co_await client.send(adverb::inline_data{description});
  std::uint64_t bytes = 0;
  while (const auto entry = co_await ring.next()) bytes += entry.bytes().size();
  if (bytes != (given.records + given.ring().slots) * given.size)
    throw std::runtime_error{std::to_string(bytes) + " bytes came"};
  std::puts("{}");
  co_await client.disconnect();
}

}  // namespace

int main(int argc, char** argv) try {
  const job given = job_of(argc, argv);
  async::event_loop loop;
  if (!given.is_server) {
    loop.spawn(run_client(loop, given));
    loop.run();
    return 0;
  }
  async::listener listener{loop, adverb::cm::socket_address::any(given.port)};
  std::puts("ready");
  std::fflush(stdout);
  loop.spawn(run_server(listener, given));
  loop.run();
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
