// SPDX-License-Identifier: MIT
// The smallest complete program over a connection: one message each way, and an orderly end. It
// needs nothing but adverb: copy it as a start.
//
//     cm_hello                # the server, of one client
//     cm_hello 10.1.0.1       # the client
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

namespace {

namespace cm = adverb::cm;
using connection = cm::connection<adverb::transport::rc>;
using listener = cm::listener<adverb::transport::rc>;

constexpr std::uint16_t port = 7471;
constexpr adverb::timeout patience = std::chrono::seconds{10};

/// Memory for a message in each direction, registered on the device of the connection that is made
/// next. It outlives the connection.
struct mailbox {
  explicit mailbox(adverb::context_ref device) : domain{device} {}

  adverb::protection_domain domain;
  std::array<char, 64> incoming{};
  std::array<char, 64> outgoing{};
  adverb::memory_region into{domain, incoming};
  adverb::memory_region from{domain, outgoing};
};

void say(connection& with, mailbox& box, std::string_view text) {
  std::copy(text.begin(), text.end(), box.outgoing.begin());
  with.queue_pair().post(send(box.from.slice(0, text.size())).signaled()).check();
  // There is no completion, or a flushed one on iWARP, if the peer has disconnected. It may still
  // have received the message; if not, the next receive fails.
  std::array<adverb::completion, 1> one;
  for (const auto& sent : with.wait(with.send_cq(), one, patience))
    if (sent.status() != adverb::completion_status::flushed) sent.check();
}

void hear(connection& with, mailbox& box) {
  // A peer that disconnects never completes anything, so this waits for the end of the connection
  // as well.
  std::array<adverb::completion, 1> one;
  if (with.wait(with.recv_cq(), one, patience).empty())
    throw std::runtime_error{with.has_ended() ? "the peer disconnected" : "the peer sends nothing"};
  // Fails if, for example, the message does not fit.
  one[0].check();
  const std::size_t length = one[0].success().receive().length();
  std::printf("%.*s\n", static_cast<int>(length), box.incoming.data());
}

void serve() {
  const auto here = listener::create(port);
  std::fprintf(stderr, "listening on port %d\n", port);
  auto request = here.next_request();
  mailbox box{request.context()};
  auto ready = request.create_queue_pair({.max_send_wr = 1, .max_recv_wr = 1}, box.domain);
  // This comes before the client can send.
  ready.queue_pair().post(receive(box.into.buffer())).check();
  auto client = ready.accept();
  // Over iWARP the client has to send first.
  hear(client, box);
  say(client, box, "hello, client");
  // A program with requests left in its queues drains them afterwards.
  client.wait_disconnected(patience);
  client.disconnect();
}

void ask(const char* host) {
  auto way = cm::resolve(host, port);
  mailbox box{way.context()};
  auto ready = way.create_queue_pair({.max_send_wr = 1, .max_recv_wr = 1}, box.domain);
  ready.queue_pair().post(receive(box.into.buffer())).check();
  auto server = ready.connect();
  say(server, box, "hello, server");
  hear(server, box);
  server.disconnect();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view host{argc > 1 ? argv[1] : ""};
  if (host == "--help") {
    std::puts("Usage: cm_hello [HOST]\nWithout a host, runs as the server.");
    return 0;
  }
  if (host == "--version") {
    std::printf("cm_hello (adverb) %d.%d.%d\n", ADVERB_VERSION_MAJOR, ADVERB_VERSION_MINOR,
                ADVERB_VERSION_PATCH);
    return 0;
  }
  if (argc > 2 || host.starts_with('-')) {
    std::fputs("cm_hello: the only argument is a host; --help shows how it is used\n", stderr);
    return 2;
  }
  try {
    if (argc == 1)
      serve();
    else
      ask(argv[1]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "cm_hello: %s\n", failure.what());
    return 1;
  }
}
