// SPDX-License-Identifier: MIT
// Sends datagrams to a multicast group, or prints those that it receives and answers them. Works
// with rdma-core's mckey in both roles.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <adverb/adverb.hpp>

#include "common/command_line.hpp"
#include "common/completions.hpp"
#include "common/device_options.hpp"
#include "common/inbox.hpp"
#include "common/limits.hpp"
#include "common/multicast_group.hpp"

namespace {

using adverb::transport;

struct multicast_options : examples::device_options {
  bool send = false;
  std::string group = "239.1.2.3";
  std::uint32_t messages = 10;
  std::uint32_t size = 100;
  /// The queue key of librdmacm's groups; both sides need the same.
  std::uint32_t queue_key = 0x01234567;
  /// The number of receivers that answer each message; the sender waits for all of them.
  std::uint32_t answers = 0;
  bool answer = false;
};

constexpr std::string_view answer_text = "here";

/// A datagram pair that can send from a GID, and the objects that it depends on.
struct datagram_end {
  datagram_end(adverb::context_ref device, const multicast_options& options,
               const adverb::gid_entry& own, std::uint32_t depth)
      : sent{device, 1, true}, received{device, depth, true}, domain{device} {
    auto fresh =
        adverb::queue_pair<transport::ud>::create(domain, {.send_cq = sent.queue(),
                                                           .recv_cq = received.queue(),
                                                           .max_send_wr = 1,
                                                           .max_recv_wr = depth,
                                                           .max_inline_data = answer_text.size()});
    auto waiting = fresh.init()
                       .port(options.port)
                       .gid(own.index())
                       .queue_key(adverb::queue_key{options.queue_key})
                       .apply();
    auto receiving = waiting.rtr().apply();
    pair = receiving.rts().apply();
  }

  examples::completions sent;
  examples::completions received;
  adverb::protection_domain domain;
  adverb::queue_pair<transport::ud> pair;
};

void listen_to_group(const multicast_options& options, adverb::context_ref device,
                     const adverb::gid& group, const adverb::gid_entry& own) {
  constexpr std::uint32_t depth = 64;
  datagram_end here{device, options, own, depth};
  const std::uint32_t largest = adverb::bytes_of(device.query_port(options.port).active_mtu());
  const examples::inbox messages{here.domain, largest, depth};
  for (std::uint64_t place = 0; place < depth; ++place) messages.post(here.pair, place);

  const adverb::multicast_attachment attachment{here.pair, group};
  const examples::group_membership membership{group, own};
  std::printf("listening to %s on %s\n", adverb::to_string(group).c_str(),
              std::string{device.device().name()}.c_str());
  here.received.wait_for_first();
  for (std::uint32_t count = 0; count < options.messages; ++count) {
    const adverb::completion done = here.received.next();
    const std::span<const std::byte> buffer = messages[done.id()];
    examples::print_datagram("message", done, buffer);
    if (options.answer) {
      const adverb::global_route_header header{buffer.first<adverb::grh_size>()};
      const adverb::address_handle way{here.domain, options.port, done, header};
      here.pair
          .post(adverb::send(adverb::inline_data{std::as_bytes(std::span{answer_text})})
                    .signaled()
                    .to({.address = way,
                         .queue_pair = done.success().receive().source_queue_pair(),
                         .queue_key = adverb::queue_key{options.queue_key}}))
          .check();
      here.sent.next();
    }
    messages.post(here.pair, done.id());
  }
}

void send_to_group(const multicast_options& options, adverb::context_ref device,
                   const adverb::gid& group, const adverb::gid_entry& own) {
  datagram_end here{device, options, own, std::max(options.answers, 1U)};
  const examples::inbox answers{here.domain, answer_text.size(), options.answers};
  for (std::uint64_t place = 0; place < options.answers; ++place) answers.post(here.pair, place);
  const std::vector<std::byte> bytes(options.size);
  const adverb::memory_region region{here.domain, bytes};

  const adverb::address_handle way{
      here.domain,
      {.port = options.port,
       .route = adverb::global_route{.destination = group, .source = own.index()}}};
  const auto message = adverb::send(region.const_buffer())
                           .signaled()
                           .to({.address = way,
                                .queue_pair = adverb::multicast_qp_number,
                                .queue_key = adverb::queue_key{options.queue_key}});
  for (std::uint32_t count = 0; count < options.messages; ++count) {
    here.pair.post(message).check();
    here.sent.next();
    for (std::uint32_t rest = options.answers; rest > 0; --rest) {
      const adverb::completion done = here.received.next();
      examples::print_datagram("answer", done, answers[done.id()]);
      answers.post(here.pair, done.id());
    }
  }
  std::printf("sent %u messages of %u bytes to %s\n", options.messages, options.size,
              adverb::to_string(group).c_str());
}

void run(const multicast_options& options) {
  const adverb::gid group = examples::group_from(options.group);
  const adverb::context device = adverb::open_device(options.device);
  const adverb::port_attributes port = examples::active_port(device, options.port);
  examples::check_limit("--size", options.size, adverb::bytes_of(port.active_mtu()));
  const adverb::gid_entry own = examples::gid_for(group, device, options.port, options.gid);
  if (options.send)
    send_to_group(options, device, group, own);
  else
    listen_to_group(options, device, group, own);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{"Prints the messages of a multicast group, or sends some to it.",
                                   "multicast"};
  multicast_options options;
  arguments.add_flag("-s,--send", options.send, "Send instead of receiving");
  arguments.add_text("-m,--group", options.group, "The group, an IP address (default: 239.1.2.3)")
      .type_name("ADDRESS");
  arguments.add_number("-n,--messages", options.messages, 1, examples::unlimited,
                       "Number of messages to send, or to receive before the end");
  arguments.add_number("--size", options.size, 1, 4096, "Size of the messages, in bytes");
  arguments.add_number("-k,--queue-key", options.queue_key, 0, examples::unlimited,
                       "The key of the datagrams, the same at both ends");
  arguments.add_flag("-a,--answer", options.answer, "Answer each received message");
  arguments.add_number("--answers", options.answers, 0, 1000,
                       "Number of answers to wait for after each sent message");
  options.add_to(arguments, "one that fits the group");
  arguments.add_footer(
      "The other side may be mckey, in either role. On links over Ethernet (RoCE) only.");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
