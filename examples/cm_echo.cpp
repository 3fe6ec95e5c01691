// SPDX-License-Identifier: MIT
// A server that sends back what it receives, and a client that sends it lines: a complete program
// over connections of librdmacm, to start your own from.
//
// Each side has memory for one message in each direction, and sleeps while it waits. The server
// serves one client after another, and continues if one dies.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_completion.hpp"
#include "common/cm_options.hpp"
#include "common/cm_server.hpp"
#include "common/command_line.hpp"
#include "common/when_the_server_listens.hpp"

namespace {

constexpr std::size_t longest_message = 4096;
/// A client that sends nothing for so long, or whose host has died, gives way to the next.
constexpr std::chrono::minutes longest_pause{10};

/// Memory for messages. It is made before the connection, and outlives it.
struct mailbox {
  explicit mailbox(adverb::context_ref device) : domain{device} {}

  adverb::protection_domain domain;
  std::array<std::byte, longest_message> incoming{};
  std::array<std::byte, longest_message> outgoing{};
  adverb::memory_region into{domain, incoming};
  adverb::memory_region from{domain, outgoing};
};

void serve(examples::cm_request request) {
  mailbox box{request.context()};
  auto ready = request.create_queue_pair({}, box.domain);
  // The client may send as soon as it is accepted.
  ready.queue_pair().post(receive(box.into.buffer())).check();
  auto connection = ready.accept();
  const std::string client = adverb::to_string(connection.peer_address());
  std::printf("%s connected\n", client.c_str());

  const auto pair = connection.queue_pair();
  while (const auto arrived =
             examples::next_completion(connection, connection.recv_cq(), longest_pause)) {
    const std::size_t length = arrived->success().receive().length();
    std::copy_n(box.incoming.begin(), length, box.outgoing.begin());
    // The next receive is posted first: the client sends its next message as soon as this one is
    // answered.
    pair.post(receive(box.into.buffer())).check();
    pair.post(send(box.from.slice(0, length)).signaled()).check();
    // A client that disconnects after the last answer may do so before it acknowledges that answer.
    if (!examples::next_completion(connection, connection.send_cq())) break;
  }
  connection.disconnect();
  std::printf("%s disconnected\n", client.c_str());
}

void send_lines(const examples::cm_options& options) {
  auto route = adverb::cm::resolve(options.server, options.port, {.from = options.from()});
  mailbox box{route.context()};
  auto ready = route.create_queue_pair({}, box.domain);
  auto connection = ready.connect();

  const auto pair = connection.queue_pair();
  for (std::string line; std::getline(std::cin, line);) {
    line += '\n';
    if (line.size() > longest_message)
      throw std::runtime_error{"a line has " + std::to_string(line.size()) +
                               " bytes, but the server takes at most " +
                               std::to_string(longest_message)};
    std::memcpy(box.outgoing.data(), line.data(), line.size());
    pair.post(receive(box.into.buffer())).check();
    pair.post(send(box.from.slice(0, line.size())).signaled()).check();
    examples::needed_completion(connection, connection.send_cq());
    const auto echo = examples::needed_completion(connection, connection.recv_cq());
    std::fwrite(box.incoming.data(), 1, echo.success().receive().length(), stdout);
  }
  if (std::cin.bad()) throw std::runtime_error{"the input cannot be read"};
  connection.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Echoes the messages of clients, or sends the lines of its input to such a server.",
      "cm_echo"};
  examples::cm_options options;
  options.add_server_to(arguments,
                        "Connect to the server on this host; without it, run as the server");
  options.add_to(arguments);
  return examples::run(arguments, argc, argv, [&] {
    if (options.is_client())
      examples::when_the_server_listens([&] { send_lines(options); });
    else
      examples::serve_clients(arguments, examples::listen_at(options.listening()), serve);
  });
}
