// SPDX-License-Identifier: MIT
// Sends datagrams to a multicast group that librdmacm joins, or prints the datagrams of one. Works
// with rdma-core's mckey in both roles. `multicast` does the same without librdmacm.
#include <cstddef>
#include <cstdint>
#include <cstdio>
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

struct group_options {
  bool send = false;
  bool send_only = false;
  std::string group = "239.1.2.3";
  std::string bind{};
  std::uint32_t messages = 10;
  std::uint32_t size = 100;
};

/// An identifier that is bound to its device, and has no queue pair yet.
[[nodiscard]] cm::connector<transport::ud, cm::step::address_resolved> find_device(
    const group_options& options, const cm::socket_address& group) {
  cm::resolve_options how{.timeout = examples::patience};
  if (!options.bind.empty()) how.from = examples::ip_address("--bind", options.bind);
  auto start = cm::connector<transport::ud>::create();
  return start.resolve_address(group, how);
}

void listen_to_group(const group_options& options, const cm::socket_address& group) {
  constexpr std::uint32_t depth = 64;
  auto near = find_device(options, group);
  const examples::completions sent{near.context(), 1, true};
  examples::completions received{near.context(), depth, true};
  const auto largest = adverb::bytes_of(
      examples::active_port(near.context(), near.identifier().port()).active_mtu());
  const cm::datagram_endpoint here = near.create_queue_pair(
      {.send_cq = sent.queue(), .recv_cq = received.queue(), .max_recv_wr = depth});
  const examples::inbox messages{here.protection_domain(), largest, depth};
  for (std::uint64_t place = 0; place < depth; ++place) messages.post(here.queue_pair(), place);

  const cm::multicast_membership membership = here.join(group, {.timeout = examples::patience});
  std::printf("listening to %s on %s\n",
              adverb::to_string(membership.address().route->destination).c_str(),
              std::string{here.context().device().name()}.c_str());
  received.wait_for_first();
  for (std::uint32_t count = 0; count < options.messages; ++count) {
    const adverb::completion done = received.next();
    examples::print_datagram("message", done, messages[done.id()]);
    messages.post(here.queue_pair(), done.id());
  }
}

void send_to_group(const group_options& options, const cm::socket_address& group) {
  auto near = find_device(options, group);
  const auto port = examples::active_port(near.context(), near.identifier().port());
  examples::check_limit("--size", options.size, adverb::bytes_of(port.active_mtu()));
  examples::completions sent{near.context(), 1, true};
  const cm::datagram_endpoint here =
      near.create_queue_pair({.send_cq = sent.queue(), .recv_cq = sent.queue()});
  const std::vector<std::byte> bytes(options.size);
  const adverb::memory_region region{here.protection_domain(), bytes};

  const cm::multicast_membership membership = here.join(
      group,
      {.role = options.send_only ? cm::multicast_role::send_only : cm::multicast_role::full_member,
       .timeout = examples::patience});
  for (std::uint32_t count = 0; count < options.messages; ++count) {
    // Receivers that use the number of the sender, as mckey does, find it here.
    const adverb::immediate own_number{static_cast<std::uint32_t>(here.queue_pair().number())};
    here.queue_pair()
        .post(adverb::send_with_immediate(own_number, region.const_buffer())
                  .signaled()
                  .to(membership))
        .check();
    sent.next();
  }
  std::printf("sent %u messages of %u bytes to %s\n", options.messages, options.size,
              adverb::to_string(membership.address().route->destination).c_str());
}

void run(const group_options& options) {
  const cm::socket_address group = examples::ip_address("--group", options.group);
  if (!group.is_multicast())
    throw examples::wrong_argument{
        "--group is " + options.group +
        ", which is not a multicast address: those are 224.0.0.0 to 239.255.255.255 and ff00::/8"};
  if (options.send)
    send_to_group(options, group);
  else
    listen_to_group(options, group);
}

}  // namespace

int main(int argc, char** argv) {
  examples::command_line arguments{
      "Joins a multicast group, and prints its messages or sends some to it.", "cm_multicast"};
  group_options options;
  const examples::option send =
      arguments.add_flag("-s,--send", options.send, "Send instead of receiving");
  arguments.add_flag("--send-only", options.send_only, "Join without receiving").needs(send);
  arguments.add_text("-m,--group", options.group, "The group, an IP address (default: 239.1.2.3)")
      .type_name("ADDRESS");
  arguments
      .add_text("-b,--bind", options.bind,
                "Local IP address (default: that of the route to the group)")
      .type_name("ADDRESS");
  arguments.add_number("-n,--messages", options.messages, 1, examples::unlimited,
                       "Number of messages to send, or to receive before the end");
  arguments.add_number("--size", options.size, 1, 4096, "Size of the messages, in bytes");
  arguments.add_footer("The other side may be mckey, in either role.");
  return examples::run(arguments, argc, argv, [&] { run(options); });
}
