// SPDX-License-Identifier: MIT
// A key-value store. A client puts a value by a request, and gets it by an RDMA read, in which the
// server's program has no part. A checksum shows a record that changed during the read. The server
// stores a value when all of it has arrived, so a client that is killed harms nothing.
//
//     kv_store                              # the server, until Ctrl-C
//     kv_store 10.1.0.1 colour=red colour   # puts a value, and gets it: prints "red (version 1)"
#include <array>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/messages.hpp>

#include "common/async_server.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/kv_table.hpp"
#include "common/patience.hpp"
#include "common/printable.hpp"

namespace {

using namespace examples;
namespace async = adverb::async;
namespace messages = adverb::messages;
using adverb::access_right;
using remote_table = adverb::remote_buffer<std::byte, access_right::remote_read>;

/// The reads need RDMA.
constexpr messages::channel_options over_rdma{.over = messages::network::rdma};
constexpr async::connection_options of_reads{.dead_after = longest_silence};

async::task<> serve(messages::channel_request request, kv_table& table) {
  const auto client = co_await request.accept();
  const adverb::memory_region records{client.protection_domain(), table.records(),
                                      access_right::remote_read};
  const async::loop_memory arrived = client.memory(kv_record::longest);
  while (messages::incoming question = co_await client.next()) {
    if (!question.is_request() || question.size() > kv_record::longest) continue;  // Refused.
    co_await question.receive_into(arrived.buffer());
    const std::string_view text{reinterpret_cast<const char*>(arrived.bytes().data()),
                                question.size()};
    if (text.empty())
      co_await question.reply(records.remote_readable<std::byte>().encode());
    else
      co_await question.reply(table.put(text));
  }
}

/// Keeps a connection, whose reads the device serves.
async::task<> serve_reads(async::connection_request request) {
  const async::connection client = co_await request.accept(of_reads);
  while (const async::message unexpected = co_await client.next()) continue;
}

/// Reads the record of a key into the memory, and returns it.
async::task<const kv_record*> get(const async::connection& server, remote_table table,
                                  const async::loop_memory& memory, std::string_view key,
                                  std::size_t& torn) {
  const auto* read = reinterpret_cast<const kv_record*>(memory.bytes().data());
  for (const std::size_t place : places_of(key, table.size() / sizeof(kv_record))) {
    const remote_table there = table.slice(place * sizeof(kv_record), sizeof(kv_record));
    for (int attempts = 1; co_await server.read(there, memory.buffer()), !read->is_whole(); ++torn)
      if (attempts++ == 10'000) throw std::runtime_error{"the server has no whole record"};
    if (read->has(key)) co_return read;
  }
  throw std::runtime_error{"the server has no value for " + std::string{key}};
}

async::task<> ask(async::event_loop& loop, const cm_options& options,
                  const std::vector<std::string>& questions, int repeat) {
  const auto server = co_await messages::connect(loop, options.server, options.port, over_rdma);
  const auto reads = co_await async::connect(loop, options.server, options.port + 1, of_reads);
  messages::caller call{server};
  const messages::reply place = co_await call(std::string_view{});
  const auto table =
      remote_table::decode(place.as<std::array<std::byte, remote_table::encoded_size>>());
  const async::loop_memory text = server.memory(kv_record::longest);
  // Over iWARP the answer to a read is a write.
  const async::loop_memory record =
      reads.memory(sizeof(kv_record), access_right::local_write | access_right::remote_write);
  std::size_t torn = 0;
  for (int round = 0; round < repeat; ++round)
    for (const std::string& question : questions) {
      if (question.find('=') == question.npos) {
        const auto& found = *co_await get(reads, table, record, question, torn);
        std::puts((examples::printable(found.value()) + " (version " +
                   std::to_string(found.version) + ")")
                      .c_str());
        continue;
      }
      question.copy(reinterpret_cast<char*>(text.bytes().data()), text.bytes().size());
      const messages::reply refusal = co_await call(text.slice(0, question.size()));
      if (refusal.size() != 0)
        throw std::runtime_error{"refused: " + examples::printable(refusal.text())};
    }
  if (torn != 0) std::fprintf(stderr, "kv_store: read %zu torn records again\n", torn);
  co_await server.close();
}

}  // namespace

int main(int argc, char** argv) {
  command_line arguments{"Stores values, or gets those of a server.", "kv_store"};
  cm_options options;
  std::vector<std::string> questions;
  int repeat = 1;
  options.add_server_to(arguments, "Host of the server; without it, run as the server");
  arguments.add_texts("QUESTION", questions, "KEY=VALUE to put, KEY to get").type_name("");
  arguments.add_number("-r,--repeat", repeat, 1, 1000000, "Number of rounds of all questions");
  options.add_port_to(arguments);
  return run(arguments, argc, argv, [&] {
    if (options.port == 65535)
      throw wrong_argument{"--port must be below 65535: reads use the next"};
    kv_table table;
    async::event_loop loop{{.completions = 20000}};
    if (options.is_client()) return run_to_end(loop, ask(loop, options, questions, repeat));
    const auto serve_one = [&](messages::channel_request from) {
      return serve(std::move(from), table);
    };
    loop.spawn(serve_each<messages::listener>(loop, options.port, serve_one, over_rdma));
    serve_each_until_interrupted(loop, options.port + 1, serve_reads);
  });
}
