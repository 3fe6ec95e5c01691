// SPDX-License-Identifier: MIT
// Sends text to a server and back by one-sided operations, with the protocol of rdma-core's rping,
// which may be either side.
//
// For each text the client sends its address to the server, which reads it from there and reports
// that. Then the client sends the address of the buffer for the answer; the server writes the text
// there and reports that. All four messages have one form: an address, a key and a size, which are
// unused in those of the server.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <endian.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_completion.hpp"
#include "common/cm_options.hpp"
#include "common/cm_server.hpp"
#include "common/command_line.hpp"
#include "common/printable.hpp"
#include "common/when_the_server_listens.hpp"

namespace {

using adverb::access_right;
using adverb::transport;

struct rping_options {
  bool server = false;
  bool client = false;
  bool persistent = false;
  bool verbose = false;
  bool validate = false;
  std::string address{};
  std::string source{};
  std::uint16_t port = 7174;
  std::uint32_t count = 0;
  /// The size is in bytes, with the null character at the end.
  std::uint32_t size = 64;
};

/// Some memory of the client: the content of every message.
class advertisement {
 public:
  advertisement() noexcept = default;
  template <adverb::access_rights Rights>
  explicit advertisement(const adverb::remote_buffer<std::byte, Rights>& memory) noexcept
      : address_{htobe64(memory.address())},
        key_{htobe32(static_cast<std::uint32_t>(memory.key()))},
        size_{htobe32(static_cast<std::uint32_t>(memory.size()))} {}

  [[nodiscard]] std::uint32_t size() const noexcept { return be32toh(size_); }
  /// Its first bytes.
  template <adverb::access_rights Rights>
  [[nodiscard]] adverb::remote_buffer<std::byte, Rights> memory(std::size_t bytes) const noexcept {
    return {adverb::adopt, be64toh(address_), bytes, adverb::rkey{be32toh(key_)}};
  }

 private:
  std::uint64_t address_ = 0;
  std::uint32_t key_ = 0;
  std::uint32_t size_ = 0;
};
static_assert(sizeof(advertisement) == 16);

/// One side of the connection, with memory for a message in each direction.
class conversation {
 public:
  explicit conversation(adverb::context_ref device) : domain_{device} {}

  [[nodiscard]] adverb::protection_domain_ref domain() const noexcept { return domain_; }

  /// Makes a connection from a request, or from the way to a server.
  template <class Start, class Connect>
  void begin(Start& start, const Connect& connect) {
    auto ready = start.create_queue_pair({}, domain_);
    ready.queue_pair().post(receive(into_.buffer())).check();
    connection_ = connect(ready);
  }

  /// Posts a signaled request, and waits for it. Returns false if the peer has ended the
  /// connection.
  template <class Request>
  bool complete(const Request& request) {
    connection_.queue_pair().post(request).check();
    return examples::next_completion(connection_, connection_.send_cq()).has_value();
  }
  /// Sends a message. Returns false if the peer has ended the connection.
  bool say(const advertisement& message) {
    outgoing_ = message;
    return complete(send(from_.buffer()).signaled());
  }
  /// Waits for a message. Returns nothing if the peer has ended the connection.
  std::optional<advertisement> hear() {
    const auto arrived = examples::next_completion(connection_, connection_.recv_cq());
    if (!arrived) return std::nullopt;
    const std::uint32_t length = arrived->success().receive().length();
    if (length != sizeof incoming_)
      throw std::runtime_error{"the peer sent a message of " + std::to_string(length) +
                               " bytes, not " + std::to_string(sizeof incoming_) +
                               "; is it an rping?"};
    const advertisement message = incoming_;
    connection_.queue_pair().post(receive(into_.buffer())).check();
    return message;
  }

  void end() { connection_.disconnect(); }

 private:
  adverb::protection_domain domain_;
  advertisement incoming_;
  advertisement outgoing_;
  adverb::memory_region into_{domain_, std::as_writable_bytes(std::span{&incoming_, 1})};
  adverb::memory_region from_{domain_, std::as_writable_bytes(std::span{&outgoing_, 1})};
  adverb::cm::connection<transport::rc> connection_;
};

/// Returns the text in some memory, up to its null character if it has one.
std::span<const std::byte> text_in(std::span<const std::byte> memory) {
  const auto length = std::find(memory.begin(), memory.end(), std::byte{0}) - memory.begin();
  return memory.first(std::min(static_cast<std::size_t>(length) + 1, memory.size()));
}

void print(const char* whose, std::span<const std::byte> memory) {
  const std::string text{reinterpret_cast<const char*>(memory.data()), memory.size()};
  std::printf("%s: %s\n", whose, examples::printable(text.c_str()).c_str());
}

/// Returns the memory that the peer advertised, if it fits the buffer.
std::uint32_t fitting(const advertisement& source, std::size_t room) {
  if (source.size() > room)
    throw std::runtime_error{"the client's text has " + std::to_string(source.size()) +
                             " bytes, but there is room for " + std::to_string(room) +
                             "; give both sides the same --size"};
  return source.size();
}

void serve(examples::cm_request request, const rping_options& options) {
  conversation client{request.context()};
  std::vector<std::byte> text(options.size);
  // Over iWARP the result of a read arrives as a remote write.
  const adverb::memory_region region{client.domain(), text,
                                     access_right::local_write | access_right::remote_write};
  client.begin(request, [](auto& ready) { return ready.accept(); });

  while (const auto source = client.hear()) {
    const std::uint32_t size = fitting(*source, text.size());
    const auto place = region.slice(0, size);
    if (!client.complete(read(source->memory<access_right::remote_read>(size), place).signaled()))
      throw std::runtime_error{"the client ended the connection during a read"};
    const std::span<const std::byte> got = text_in(std::span{text}.first(size));
    if (options.verbose) print("server ping data", got);
    if (!client.say({})) break;

    const auto sink = client.hear();
    if (!sink) break;
    const auto back = sink->memory<access_right::remote_write>(got.size());
    if (!client.complete(write(back, region.slice(0, got.size())).signaled()))
      throw std::runtime_error{"the client ended the connection during a write"};
    if (!client.say({})) break;
  }
}

/// Fills the text with "rdma-ping-", its number, and letters that begin with another one each time.
void compose(std::span<std::byte> text, std::uint32_t number) {
  constexpr std::uint32_t letters = 'z' - 'A' + 1;
  const std::string begin = "rdma-ping-" + std::to_string(number) + ": ";
  for (std::size_t index = 0; index + 1 < text.size(); ++index)
    text[index] = static_cast<std::byte>(
        index < begin.size() ? static_cast<std::size_t>(begin[index])
                             : 'A' + (number % letters + index - begin.size()) % letters);
  text.back() = std::byte{0};
}

void ping(const rping_options& options) {
  const auto from = options.source.empty()
                        ? adverb::cm::socket_address{}
                        : adverb::cm::socket_address::parse(options.source, 0).value();
  auto route = adverb::cm::resolve(options.address, options.port, {.from = from});
  conversation server{route.context()};
  std::vector<std::byte> outgoing(options.size);
  std::vector<std::byte> incoming(options.size);
  const adverb::memory_region source{server.domain(), outgoing,
                                     access_right::local_write | access_right::remote_read};
  const adverb::memory_region sink{server.domain(), incoming,
                                   access_right::local_write | access_right::remote_write};
  const auto readable = source.remote_readable();
  const auto writable = sink.remote_writable();
  server.begin(route, [](auto& ready) { return ready.connect(); });

  const auto ask = [&](const auto& memory) {
    if (!server.say(advertisement{memory}) || !server.hear())
      throw std::runtime_error{"the server ended the connection; see its error message"};
  };
  for (std::uint32_t number = 0; options.count == 0 || number < options.count; ++number) {
    compose(outgoing, number);
    std::fill(incoming.begin(), incoming.end(), std::byte{0});
    ask(readable);
    ask(writable);
    if (options.validate && incoming != outgoing)
      throw std::runtime_error{"text number " + std::to_string(number) + " came back changed"};
    if (options.verbose) print("ping data", incoming);
  }
  server.end();
}

void run(const examples::command_line& arguments, const rping_options& options) {
  if (options.client) return examples::when_the_server_listens([&] { ping(options); });
  const auto address = options.address.empty()
                           ? adverb::cm::socket_address::any(options.port)
                           : adverb::cm::socket_address::parse(options.address, options.port);
  if (!address)
    throw examples::wrong_argument{"--address: must be an IP address of this machine, not " +
                                   options.address};
  const auto listener = examples::listen_at(*address);
  const auto serve_one = [&](examples::cm_request request) { serve(std::move(request), options); };
  if (options.persistent) examples::serve_clients(arguments, listener, serve_one);
  serve_one(listener.next_request());
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Bounces text off a server by one-sided operations.", "rping"};
  rping_options options;
  examples::command_line role = arguments.add_alternatives("role");
  role.add_flag("-s,--server", options.server, "Run as the server");
  const examples::option client = role.add_flag("-c,--client", options.client, "Run as the client");
  const examples::option address =
      arguments
          .add_text("-a,--address", options.address,
                    "Of the client: the host of the server; of the server: the address of this "
                    "machine to listen on (default: any)")
          .type_name("ADDRESS");
  client.needs(address);
  arguments.add_text("-I,--source", options.source, "Address of this machine to connect from")
      .check(examples::check_ip_address)
      .type_name("ADDRESS");
  arguments.add_number("-p,--port", options.port, 1, 65535, "Port of the server");
  arguments.add_number("-C,--count", options.count, 0, examples::unlimited,
                       "Number of texts that the client sends; 0: no limit");
  arguments.add_number("-S,--size", options.size, 26, 65535,
                       "Size of the texts, in bytes; the same on both sides");
  arguments.add_flag("-v,--verbose", options.verbose, "Print the texts");
  arguments.add_flag("-V,--validate", options.validate,
                     "Check the texts that come back to the client");
  arguments.add_flag("-P,--persistent", options.persistent, "Serve one client after another");
  arguments.add_footer("The other side may be rdma-core's rping, in either role.");
  return examples::run(arguments, argc, argv, [&] { run(arguments, options); });
}
