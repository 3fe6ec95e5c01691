// SPDX-License-Identifier: MIT
// Sends datagrams to a server that librdmacm finds, and receives as many back. Works with
// rdma-core's udaddy in both roles.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>

#include "common/cm_address.hpp"
#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/inbox.hpp"
#include "common/limits.hpp"
#include "common/patience.hpp"

namespace {

using adverb::transport;
namespace cm = adverb::cm;

struct datagram_options {
  std::string server{};
  std::string bind{};
  std::uint16_t port = 7174;
  std::uint32_t peers = 1;
  std::uint32_t messages = 10;
  std::uint32_t size = 100;

  [[nodiscard]] std::uint32_t total() const noexcept { return peers * messages; }
};

/// The objects that both sides make before they have a queue pair: the completion queues, and the
/// options of the pair.
struct preparation {
  preparation(const datagram_options& options, adverb::context_ref device, adverb::port_number port)
      : sent{device, 1, true}, received{device, options.total(), true} {
    const auto active = examples::active_port(device, port);
    examples::check_limit("--size", options.size, adverb::bytes_of(active.active_mtu()));
    pair.send_cq = sent.queue();
    pair.recv_cq = received.queue();
    pair.max_recv_wr = options.total();
  }

  examples::completions sent;
  examples::completions received;
  adverb::queue_pair_options pair;
};

/// Every message carries the number of its sender, because librdmacm does not pass it to the
/// server.
void send_message(preparation& prepared, const cm::datagram_endpoint& here,
                  adverb::const_buffer message, const adverb::datagram_destination& there) {
  const adverb::immediate own_number{static_cast<std::uint32_t>(here.queue_pair().number())};
  here.queue_pair()
      .post(adverb::send_with_immediate(own_number, message).signaled().to(there))
      .check();
  prepared.sent.next();
}

void answer(preparation& prepared, const cm::datagram_endpoint& here, adverb::const_buffer message,
            const adverb::completion& asked, std::span<const std::byte> buffer) {
  const auto question = asked.success().receive();
  const auto number = question.immediate();
  const adverb::global_route_header header{buffer.first<adverb::grh_size>()};
  const adverb::address_handle way{here.protection_domain(), here.port(), asked, header};
  send_message(prepared, here, message,
               {.address = way,
                .queue_pair = number ? adverb::qp_number{static_cast<std::uint32_t>(*number)}
                                     : question.source_queue_pair(),
                .queue_key = cm::datagram_queue_key});
}

void serve(const datagram_options& options) {
  const auto own = options.bind.empty()
                       ? cm::socket_address::any(options.port)
                       : examples::ip_address("--bind", options.bind, options.port);
  const auto listener = cm::listener<transport::ud>::create(own);
  std::printf("listening on port %u\n", unsigned{listener.port()});

  // The first request determines the device; its queue pair serves the other requests, too.
  auto request = listener.next_request();
  preparation prepared{options, request.context(), request.identifier().port()};
  auto ready = request.create_queue_pair(prepared.pair);
  const examples::inbox messages{ready.protection_domain(), options.size, options.total()};
  for (std::uint32_t place = 0; place < options.total(); ++place)
    messages.post(ready.queue_pair(), place);
  const std::vector<std::byte> bytes(options.size);
  const adverb::memory_region region{ready.protection_domain(), bytes};
  const cm::datagram_endpoint here = ready.accept_datagrams();
  for (std::uint32_t count = 1; count < options.peers; ++count)
    listener.next_request(examples::patience).accept_datagrams(here.queue_pair());

  std::vector<adverb::completion> questions;
  for (std::uint32_t count = 0; count < options.total(); ++count) {
    questions.push_back(prepared.received.next());
    examples::print_datagram("message", questions.back(), messages[questions.back().id()]);
  }
  for (const adverb::completion& question : questions)
    answer(prepared, here, region.const_buffer(), question, messages[question.id()]);
  std::printf("answered %u messages of %u peers\n", options.total(), options.peers);
}

void ask(const datagram_options& options) {
  const auto server = examples::ip_address("the server", options.server, options.port);
  cm::resolve_options how{.timeout = examples::patience};
  if (!options.bind.empty()) how.from = examples::ip_address("--bind", options.bind);
  auto start = cm::connector<transport::ud>::create();
  auto near = start.resolve_address(server, how);
  preparation prepared{options, near.context(), near.identifier().port()};
  const cm::datagram_endpoint here = near.create_queue_pair(prepared.pair);
  const examples::inbox answers{here.protection_domain(), options.size, options.total()};
  for (std::uint32_t place = 0; place < options.total(); ++place)
    answers.post(here.queue_pair(), place);
  const std::vector<std::byte> bytes(options.size);
  const adverb::memory_region region{here.protection_domain(), bytes};

  std::vector<cm::datagram_peer> peers;
  for (std::uint32_t count = 0; count < options.peers; ++count)
    peers.push_back(here.resolve_peer(server, {.timeout = examples::patience}));
  for (const cm::datagram_peer& peer : peers)
    for (std::uint32_t count = 0; count < options.messages; ++count)
      send_message(prepared, here, region.const_buffer(), peer);
  for (std::uint32_t count = 0; count < options.total(); ++count) {
    const adverb::completion done = prepared.received.next();
    examples::print_datagram("answer", done, answers[done.id()]);
  }
  std::printf("sent %u messages to %u peers and received as many answers\n", options.total(),
              options.peers);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Answers datagrams, or sends some to a server and waits for the answers.", "cm_ud"};
  datagram_options options;
  arguments
      .add_text("server", options.server, "The server's IP address; without one, run as the server")
      .type_name("ADDRESS");
  arguments.add_text("-b,--bind", options.bind, "Local IP address (default: any)")
      .type_name("ADDRESS");
  arguments.add_number("-p,--port", options.port, 1, 65535, "Port of the server");
  arguments.add_number("-c,--connections", options.peers, 1, 16,
                       "Number of peers that the server has, or the client asks for");
  arguments.add_number("-n,--messages", options.messages, 1, 100,
                       "Number of messages to each peer, and back");
  arguments.add_number("--size", options.size, 1, 4096, "Size of the messages, in bytes");
  arguments.add_footer("The other side may be udaddy, in either role.");
  return examples::run(arguments, argc, argv,
                       [&] { options.server.empty() ? serve(options) : ask(options); });
}
