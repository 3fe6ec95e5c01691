// SPDX-License-Identifier: MIT
// Datagrams on the real device.
#include "support.hpp"

using namespace adverb;

namespace {

struct ud_link : loopback<transport::ud> {
  using loopback::loopback;

  address_handle way{domain, to_far};
  datagram_destination far{
      .address = way, .queue_pair = far_endpoint.number, .queue_key = far_endpoint.queue_key};
};

}  // namespace

TEST_CASE("A datagram arrives after the GRH area and names its sender",
          "[ibv_create_ah][ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  ud_link link;
  link.near_end.fill(0, 500, 3);
  link.far_pair.post(receive(link.far_end.region.slice(0, 600)).id(4)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 500)).signaled().id(5).to(link.far))
      .check();
  CHECK(next_success(link.near_end.queue).id() == 5);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 4);
  const auto message = received.success().receive();
  CHECK(message.length() == 500 + grh_size);
  CHECK(message.source_queue_pair() == link.near_pair.number());
  CHECK(message.has_grh());
  CHECK(!message.immediate());
  CHECK(link.far_end.holds(grh_size, 500, 3));
}

TEST_CASE("A datagram carries immediate data") {
  ud_link link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  link.near_pair.post(send_with_immediate(immediate{0x01020304}).signaled().to(link.far)).check();
  next_success(link.near_end.queue);
  const completion received = next_success(link.far_end.queue);
  const auto message = received.success().receive();
  CHECK(message.length() == grh_size);
  CHECK(message.immediate() == immediate{0x01020304});
}

TEST_CASE("A datagram longer than its receive does not fail the sender") {
  ud_link link;
  link.far_pair.post(receive(link.far_end.region.slice(0, grh_size + 10)).id(1)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 11)).signaled().to(link.far)).check();
  next_success(link.near_end.queue);
  if (holds(device_facts::long_datagram_is_dropped, link.context)) {
    // The receive takes the next one that fits.
    link.near_pair.post(send(link.near_end.region.slice(0, 10)).signaled().to(link.far)).check();
    CHECK(next_success(link.far_end.queue).success().receive().length() == grh_size + 10);
    return;
  }
  const completion received = next_completion(link.far_end.queue);
  CHECK(received.id() == 1);
  CHECK(received.status() == (holds(device_facts::long_datagram_is_operation_error, link.context)
                                  ? completion_status::local_queue_pair_operation_error
                                  : completion_status::local_length_error));
  check_fails_soon(link.far_pair);
}

TEST_CASE("A datagram with another queue key is dropped") {
  ud_link link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(1)).check();
  datagram_destination wrong = link.far;
  wrong.queue_key = queue_key{0x22222222};
  link.near_pair.post(send().signaled().to(wrong)).check();
  link.near_pair.post(send_with_immediate(immediate{2}).signaled().to(link.far)).check();
  CHECK(next_success(link.far_end.queue).success().receive().immediate() == immediate{2});
}

TEST_CASE("A datagram can be answered to its sender") {
  ud_link link;
  link.near_pair.post(receive(link.near_end.region.slice(0, 128)).id(1)).check();
  link.far_pair.post(receive(link.far_end.region.slice(0, 128))).check();
  link.near_pair.post(send().to(link.far)).check();
  const completion received = next_success(link.far_end.queue);
  const auto message = received.success().receive();
  // Both ends are at the same address here.
  link.far_end.fill(512, 16, 1);
  link.far_pair
      .post(send(link.far_end.region.slice(512, 16))
                .to({.address = link.way,
                     .queue_pair = message.source_queue_pair(),
                     .queue_key = link.near_endpoint.queue_key}))
      .check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(link.near_end.holds(grh_size, 16, 1));
}

TEST_CASE("One post sends several datagrams") {
  ud_link link;
  for (std::uint64_t id = 1; id <= 3; ++id)
    link.far_pair.post(receive(link.far_end.region.slice(id * 1000, 100)).id(id)).check();
  link.near_pair
      .post(send_with_immediate(immediate{1}).to(link.far),
            send_with_immediate(immediate{2}).to(link.far),
            send_with_immediate(immediate{3}).to(link.far))
      .check();
  for (std::uint32_t number = 1; number <= 3; ++number)
    CHECK(next_success(link.far_end.queue).success().receive().immediate() == immediate{number});
}

TEST_CASE("An address handle without a global route fails on RoCE with an explanation") {
  ud_link link;
  address way = link.to_far;
  way.route.reset();
  failure why;
  const address_handle handle{link.domain, way, why};
  CHECK(!handle);
  CHECK(why.verb() == "ibv_create_ah");
  CHECK(why.explanation() == "the address has no global route (GRH), which Ethernet links need");
}

TEST_CASE("An address handle from an empty GID fails and lists the usable GIDs") {
  ud_link link;
  address way = link.to_far;
  way.route->source = gid_index{200};
  failure why;
  const address_handle handle{link.domain, way, why};
  CHECK(!handle);
  CHECK(why.explanation().starts_with("sgid index 200 is empty; usable: "));
}

TEST_CASE("Many address handles can be created and destroyed", "[ibv_create_ah][ibv_destroy_ah]") {
  ud_link link;
  std::vector<address_handle> handles;
  for (int index = 0; index < 50; ++index) handles.emplace_back(link.domain, link.to_far);
  for (address_handle& handle : handles) {
    CHECK(handle);
    handle.close();
    CHECK(!handle);
  }
}
