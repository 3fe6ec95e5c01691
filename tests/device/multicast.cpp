// SPDX-License-Identifier: MIT
// Multicast and answers to whoever sent a datagram, on the real device.
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.hpp"

using namespace adverb;

namespace {

const gid group{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};

struct ud_link : loopback<transport::ud> {
  using loopback::loopback;

  address_handle way{domain, to_far};
  datagram_destination far{
      .address = way, .queue_pair = far_endpoint.number, .queue_key = far_endpoint.queue_key};

  /// The bytes that the far end received, the header area first.
  [[nodiscard]] std::span<const std::byte> received(std::size_t size) const {
    return std::span{far_end.bytes}.first(size);
  }
  [[nodiscard]] global_route_header header() const {
    return global_route_header{received(grh_size).first<grh_size>()};
  }
  [[nodiscard]] address to_group() const {
    address destination = to_far;
    destination.route->destination = group;
    return destination;
  }
};

/// Makes the network interface of the first port a member of the group, as long as it lives.
class interface_membership {
 public:
  interface_membership(context_ref context, const address& from) {
    const auto entry = context.gid_entry(from.port, from.route->source);
    ip_mreqn membership{};
    std::memcpy(&membership.imr_multiaddr, group.bytes().data() + 12, 4);
    membership.imr_ifindex = static_cast<int>(entry->network_interface());
    joined_ =
        ::setsockopt(socket_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) == 0;
  }
  ~interface_membership() { ::close(socket_); }
  interface_membership(const interface_membership&) = delete;
  interface_membership& operator=(const interface_membership&) = delete;

  [[nodiscard]] bool joined() const noexcept { return joined_; }

 private:
  int socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool joined_ = false;
};

}  // namespace

TEST_CASE("A pair can be attached to a multicast group and detached",
          "[ibv_attach_mcast][ibv_detach_mcast]") {
  ud_link link;
  multicast_attachment attachment{link.far_pair, group};
  CHECK(attachment);
  attachment.close();
  CHECK(!attachment);
}

TEST_CASE("Detaching a pair that is not attached is refused") {
  ud_link link;
  multicast_attachment attachment{adopt, link.far_pair, group};
  failure why;
  attachment.close(why);
  CHECK(why.verb() == "ibv_detach_mcast");
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(attachment);
  attachment.release();
}

TEST_CASE("Attaching to a GID that is no group fails with EINVAL") {
  ud_link link;
  failure why;
  const multicast_attachment attachment{link.far_pair, link.far_endpoint.gid, lid{}, why};
  CHECK(!attachment);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation().starts_with("the GID is not a multicast GID"));
}

TEST_CASE("The kernel refuses to destroy an attached pair") {
  ud_link link;
  multicast_attachment attachment{link.far_pair, group};
  CHECK(ibv_destroy_qp(link.far_pair.native_handle()) == EBUSY);
}

TEST_CASE("A message to a group arrives at every attached pair",
          "[ibv_attach_mcast][ibv_detach_mcast]") {
  ud_link link;
  const interface_membership membership{link.context, link.to_far};
  REQUIRE(membership.joined());
  const multicast_attachment far_attachment{link.far_pair, group};
  multicast_attachment near_attachment{link.near_pair, group};
  link.far_pair.post(receive(link.far_end.region.slice(0, 200)).id(1)).check();
  link.near_pair.post(receive(link.near_end.region.slice(0, 200)).id(2)).check();
  link.near_end.fill(1000, 100, 7);

  const address_handle way{link.domain, link.to_group()};
  const auto message = send(link.near_end.region.slice(1000, 100))
                           .to({.address = way,
                                .queue_pair = multicast_qp_number,
                                .queue_key = link.far_endpoint.queue_key});
  link.near_pair.post(message).check();
  CHECK(next_success(link.far_end.queue).id() == 1);
  CHECK(link.far_end.holds(grh_size, 100, 7));
  CHECK(link.header().destination() == group);
  CHECK(next_success(link.near_end.queue).id() == 2);

  near_attachment.close();
  link.near_pair.post(receive(link.near_end.region.slice(0, 200)).id(3)).check();
  // When the second has come, the first is everywhere where it will come.
  for (std::uint64_t id = 4; id <= 5; ++id) {
    link.far_pair.post(receive(link.far_end.region.slice(0, 200)).id(id)).check();
    link.near_pair.post(message).check();
    CHECK(next_success(link.far_end.queue).id() == id);
  }
  std::array<completion, 1> nothing;
  CHECK(link.near_end.queue.poll(nothing).empty());
}

TEST_CASE("The header of a datagram holds its source and destination") {
  ud_link link;
  link.near_end.fill(0, 64, 3);
  link.far_pair.post(receive(link.far_end.region.slice(0, 200))).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 64)).to(link.far)).check();
  const completion done = next_success(link.far_end.queue);
  const auto message = done.success().receive();
  REQUIRE(message.has_grh());
  CHECK(link.header().source() == link.near_endpoint.gid);
  CHECK(link.header().destination() == link.far_endpoint.gid);
  CHECK(link.header().is_ipv4() == link.near_endpoint.gid.is_ipv4_mapped());
  CHECK(link.header().hop_limit() == 64);
  const auto payload = datagram_payload(link.received(200), message);
  CHECK(payload.size() == 64);
  CHECK(payload.data() == link.far_end.bytes.data() + grh_size);
}

TEST_CASE("A sender is answered at the address from its completion",
          "[ibv_init_ah_from_wc][ibv_create_ah_from_wc]") {
  ud_link link;
  const bool to_a_group = GENERATE(false, true);
  CAPTURE(to_a_group);
  const interface_membership membership{link.context, link.to_far};
  REQUIRE(membership.joined());
  const multicast_attachment attachment{link.far_pair, group};
  const address_handle to_group{link.domain, link.to_group()};
  datagram_destination destination = link.far;
  if (to_a_group) {
    destination.address = to_group;
    destination.queue_pair = multicast_qp_number;
  }

  link.near_pair.post(receive(link.near_end.region.slice(0, 200)).id(1)).check();
  link.near_pair.post(receive(link.near_end.region.slice(200, 200)).id(2)).check();
  link.far_pair.post(receive(link.far_end.region.slice(0, 200))).check();
  link.near_pair.post(send().to(destination)).check();
  const completion question = next_success(link.far_end.queue);

  const address back = address_of_sender(link.context, first_port, question, link.header());
  CHECK(back.port == first_port);
  REQUIRE(back.route);
  CHECK(back.route->destination == link.near_endpoint.gid);
  CHECK(back.route->source == link.to_far.route->source);
  const address_handle from_address{link.domain, back};
  const address_handle from_completion{link.domain, first_port, question, link.header()};
  const auto answer = [&](const address_handle& way) {
    link.far_pair
        .post(send().to({.address = way,
                         .queue_pair = question.success().receive().source_queue_pair(),
                         .queue_key = link.near_endpoint.queue_key}))
        .check();
  };
  answer(from_address);
  CHECK(next_success(link.near_end.queue).id() == 1);
  answer(from_completion);
  CHECK(next_success(link.near_end.queue).id() == 2);
}
