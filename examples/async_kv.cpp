// SPDX-License-Identifier: MIT
// A key-value store for any number of clients, on one thread. A client sends KEY=VALUE to put, or
// KEY to get. The answer is the address and the key of the value in the server's memory, from which
// the client reads it (RDMA read). An empty answer is a refusal.
//
//     async_kv                       # the server, until Ctrl-C
//     async_kv 10.1.0.1 colour=red   # puts a value
//     async_kv 10.1.0.1 colour       # gets it: prints "red"
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/async.hpp>
#include <adverb/cm.hpp>

#include "common/async_server.hpp"
#include "common/async_text.hpp"
#include "common/cm_options.hpp"
#include "common/command_line.hpp"
#include "common/patience.hpp"
#include "common/printable.hpp"

namespace {

namespace async = adverb::async;
namespace cm = adverb::cm;
using adverb::access_right;

/// A value as clients see it.
using remote_value = adverb::remote_buffer<char, access_right::remote_read>;
constexpr std::size_t longest_value = 4096;

/// Keys and values in memory that clients read at any time, so nothing in it changes or moves.
class store {
 public:
  explicit store(std::size_t size) : memory_(size) {}

  [[nodiscard]] std::span<char> memory() noexcept { return memory_; }

  /// Returns the value, or nothing if there is no such key or no room.
  [[nodiscard]] std::optional<std::string_view> answer(std::string_view question) {
    const std::size_t equals = question.find('=');
    if (equals != question.npos) {
      if (question.size() > memory_.size() - used_) return std::nullopt;
      const std::string_view kept{memory_.data() + used_, question.size()};
      used_ += question.copy(memory_.data() + used_, question.size());
      values_.insert_or_assign(kept.substr(0, equals), kept.substr(equals + 1));
    }
    const auto found = values_.find(question.substr(0, equals));
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::vector<char> memory_;
  std::size_t used_ = 0;
  std::map<std::string_view, std::string_view> values_;
};

async::task<> serve(async::connection_request request, store& values) try {
  const async::connection client = co_await request.accept(
      {.max_inline_data = remote_value::encoded_size, .dead_after = examples::longest_silence});
  const std::span<char> memory = values.memory();
  const adverb::memory_region region{client.protection_domain(), memory, access_right::remote_read};
  const remote_value all = region.remote_readable<char>();
  while (const async::message question = co_await client.next()) {
    if (const auto value = values.answer(examples::text_of(question))) {
      const auto offset = static_cast<std::size_t>(value->data() - memory.data());
      const auto place = all.slice(offset, value->size()).encode();
      co_await client.send(adverb::inline_data{place});
    } else {
      co_await client.perform(adverb::send());
    }
  }
} catch (const adverb::error& failed) {
  // The client has disconnected, or its request is longer than a message. The other clients stay
  // connected.
  std::fprintf(stderr, "async_kv: %s\n", failed.what());
}

async::task<> listen(async::event_loop& loop, std::uint16_t port, store& values) {
  async::listener listener{loop, cm::socket_address::any(port)};
  std::printf("listening on port %d\n", listener.port());
  while (true) loop.spawn(serve(co_await listener.next(), values));
}

async::task<> ask(async::event_loop& loop, const examples::cm_options& options,
                  const std::vector<std::string>& questions) {
  const async::connection server = co_await async::connect(
      loop, options.server, options.port, {.dead_after = examples::longest_silence});
  std::array<char, longest_value> memory{};
  // Over iWARP the answer to a read is a write.
  const adverb::memory_region region{server.protection_domain(), memory,
                                     access_right::local_write | access_right::remote_write};
  for (const std::string& question : questions) {
    const adverb::mutable_buffer outgoing = region.slice(0, question.size());
    question.copy(memory.data(), question.size());
    co_await server.send(outgoing);
    const async::message answer = co_await server.next();
    if (answer.bytes().size() != remote_value::encoded_size)
      throw std::runtime_error{"the server has no place for " + question};
    const auto value = remote_value::decode(answer.bytes().first<remote_value::encoded_size>());
    co_await server.read(value, region.slice(0, value.size()));
    std::puts(examples::printable({memory.data(), value.size()}).c_str());
  }
  co_await server.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Stores values under keys, or is a client of such a server.",
                                   "async_kv"};
  examples::cm_options options;
  std::vector<std::string> questions;
  std::size_t memory = 1 << 20;
  options.add_server_to(arguments,
                        "Connect to the server on this host; without it, run as the server");
  arguments.add_texts("QUESTION", questions, "KEY=VALUE to put, KEY to get").type_name("");
  options.add_port_to(arguments);
  arguments.add_number("-m,--memory", memory, 1, 1 << 30, "Memory of the server, in bytes");
  return examples::run(arguments, argc, argv, [&] {
    store values{memory};  // Clients read it until the loop has ended their connections.
    async::event_loop loop;
    if (options.is_client()) {
      loop.spawn(ask(loop, options, questions));
      loop.run();
    } else {
      examples::run_until_interrupted(loop, listen(loop, options.port, values));
    }
  });
}
