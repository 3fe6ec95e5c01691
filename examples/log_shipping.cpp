// SPDX-License-Identifier: MIT
// Ships the records of logs. Each client writes its records into memory of the server, which takes
// them from there without a copy, and checks their order and their checksums.
//
//     log_shipping --into all.log              # the server, until Ctrl-C
//     log_shipping 10.1.0.1 <service.log       # ships the lines of its input
//     log_shipping 10.1.0.1 --generate 200000  # ships generated records
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/remote.hpp>

#include "common/async_server.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/log_records.hpp"
#include "common/patience.hpp"

namespace {

using namespace examples;
namespace async = adverb::async;
using log_ring = adverb::remote_ring<std::byte>;
using description_bytes = std::array<std::byte, adverb::ring_description::encoded_size>;

constexpr adverb::ring_options ring{.slots = 128,
                                    .slot_size = sizeof(record_header) + longest_record};
constexpr async::connection_options sizes{.max_send_wr = 64,
                                          .receives = ring.receives(),
                                          .block_size = 256,
                                          .max_inline_data = sizeof(description_bytes),
                                          .dead_after = longest_silence};
constexpr std::uint64_t records_at_once = 16;

async::task<> ship(async::event_loop& loop, const cm_options& to, std::uint64_t generated) {
  const auto server = co_await async::connect(loop, to.server, to.port, sizes);
  co_await server.perform(adverb::send());  // Over iWARP, the client is the first to send.
  const auto description = (co_await server.next()).as<description_bytes>();
  const log_ring::writer log{server, adverb::ring_description::decode(description)};
  record_source records{loop, generated};
  std::uint64_t count = 0;
  while (const auto record = co_await records.next()) {
    co_await log.room();
    put_record(log.claim(sizeof(record_header) + record->size()), count, *record);
    if (++count % records_at_once == 0 || records.is_slow()) log.publish();
  }
  co_await log.close();
  co_await server.disconnect();
  std::printf("shipped %llu records\n", static_cast<unsigned long long>(count));
}

async::task<> collect(async::connection_request request, record_file& into) {
  const async::connection client = co_await request.accept(sizes);
  const log_ring::reader log{client, ring};
  const description_bytes description = log.description().encode();
  const bool is_there{co_await client.next()};
  if (is_there) co_await client.send(adverb::inline_data{description});
  std::uint64_t count = 0;
  std::uint64_t size = 0;
  try {
    while (const auto entry = co_await log.next()) {
      const auto record = checked_record(entry.bytes(), count);
      into.append(record);
      ++count;
      size += record.size();
    }
  } catch (const std::exception& why) {
    std::printf("the log ended after %llu records: %s\n", static_cast<unsigned long long>(count),
                why.what());
    throw;
  }
  into.flush();
  std::printf("%llu records, %llu bytes\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(size));
  co_await client.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  command_line arguments{"Ships the records of logs.", "log_shipping"};
  cm_options options;
  std::string into;
  std::uint64_t generated = 0;
  options.add_server_to(arguments, "Ship to this host; without it, collect records");
  arguments.add_number("-g,--generate", generated, 1, unlimited,
                       "Number of records of 20 to 5000 bytes, in place of the input");
  arguments.add_text("-i,--into", into, "File to append the records to").type_name("FILE");
  options.add_port_to(arguments);
  return run(arguments, argc, argv, [&] {
    async::event_loop loop;
    if (options.is_client()) return run_to_end(loop, ship(loop, options, generated));
    record_file file{into};
    serve_each_until_interrupted(loop, options.port, [&](async::connection_request request) {
      return collect(std::move(request), file);
    });
  });
}
