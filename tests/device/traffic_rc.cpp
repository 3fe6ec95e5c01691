// SPDX-License-Identifier: MIT
// Reliable connections: messages of every kind, between two pairs on the real device.
#include "support.hpp"

using namespace adverb;

using rc_loopback = loopback<transport::rc>;

TEST_CASE("A message completes on both sides with the ids of its requests",
          "[ibv_post_send][ibv_post_recv][ibv_poll_cq]") {
  rc_loopback link;
  link.near_end.fill(0, 1000, 3);
  int job = 0;
  link.far_pair.post(receive(link.far_end.region.slice(0, 2000)).id(&job)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 1000)).signaled().id(42)).check();

  const completion sent = next_success(link.near_end.queue);
  CHECK(sent.id() == 42);
  CHECK(sent.queue_pair() == link.near_pair.number());
  CHECK(sent.success().opcode() == completion_opcode::send);
  CHECK(!sent.success().receive());

  const completion received = next_success(link.far_end.queue);
  CHECK(received.pointer<int>() == &job);
  CHECK(received.queue_pair() == link.far_pair.number());
  const auto message = received.success().receive();
  REQUIRE(message);
  CHECK(message.length() == 1000);
  CHECK(!message.immediate());
  CHECK(!message.announces_write());
  CHECK(link.far_end.holds(0, 1000, 3));
  CHECK(link.far_end.bytes[1000] == std::byte{0});
}

TEST_CASE("A message of several packets arrives completely") {
  rc_loopback link;
  link.near_end.fill(0, 30000, 5);
  link.far_pair.post(receive(link.far_end.region.buffer())).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 30000)).signaled()).check();
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).success().receive().length() == 30000);
  CHECK(link.far_end.holds(0, 30000, 5));
}

TEST_CASE("Immediate data arrives unchanged") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)), receive()).check();
  link.near_pair
      .post(send_with_immediate(immediate{0x11223344}, link.near_end.region.slice(0, 8)),
            send_with_immediate(immediate{0xfffffffe}).signaled())
      .check();
  const completion first_received = next_success(link.far_end.queue);
  const auto first = first_received.success().receive();
  CHECK(first.immediate() == immediate{0x11223344});
  CHECK(first.length() == 8);
  const completion second_received = next_success(link.far_end.queue);
  const auto second = second_received.success().receive();
  CHECK(second.immediate() == immediate{0xfffffffe});
  CHECK(second.length() == 0);
}

TEST_CASE("A send gathers several buffers and the receive scatters them") {
  rc_loopback link;
  link.near_end.fill(0, 10, 1);
  link.near_end.fill(100, 20, 2);
  link.near_end.fill(200, 30, 3);
  const std::array<const_buffer, 3> parts{link.near_end.region.slice(0, 10),
                                          link.near_end.region.const_slice(100, 20),
                                          link.near_end.region.slice(200, 30)};
  const std::array<mutable_buffer, 2> list{link.far_end.region.slice(1000, 10),
                                           link.far_end.region.slice(2000, 50)};
  SECTION("given one by one") {
    CHECK(link.far_pair.post(receive(list[0], list[1])));
    CHECK(link.near_pair.post(send(parts[0], parts[1], parts[2]).signaled()));
  }
  SECTION("given as lists") {
    CHECK(link.far_pair.post(receive(std::span{list})));
    CHECK(link.near_pair.post(send(std::span{parts}).signaled()));
  }
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).success().receive().length() == 60);
  CHECK(link.far_end.holds(1000, 10, 1));
  CHECK(link.far_end.holds(2000, 20, 2));
  CHECK(link.far_end.holds(2020, 30, 3));
}

TEST_CASE("Inline data needs no region and can be changed directly after the post") {
  rc_loopback link;
  std::array<std::uint32_t, 4> numbers{1, 2, 3, 4};
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  link.near_pair.post(send(inline_data{std::span{numbers}}).signaled()).check();
  numbers.fill(0);
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).success().receive().length() == 16);
  for (std::uint32_t index = 0; index < 4; ++index)
    CHECK(link.far_end.bytes[4 * index] == static_cast<std::byte>(index + 1));
}

TEST_CASE("Inline data beyond the limit of the pair is refused") {
  rc_loopback link;
  const std::vector<std::byte> large(link.near_pair.query().max_inline_data() + 1);
  const post_result result =
      link.near_pair.post(send(inline_data{std::span<const std::byte>{large}}));
  CHECK(!result);
  CHECK(result.accepted() == 0U);
}

TEST_CASE("An empty message consumes a receive") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 16)).id(9)).check();
  link.near_pair.post(send().signaled()).check();
  next_success(link.near_end.queue);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 9);
  CHECK(received.success().receive().length() == 0);
}

TEST_CASE("Only signaled sends complete, in the order of posting") {
  rc_loopback link;
  for (int index = 0; index < 4; ++index) link.far_pair.post(receive()).check();
  link.near_pair.post(send().id(1), send().id(2).signaled(), send().id(3), send().id(4).signaled())
      .check();
  CHECK(next_success(link.near_end.queue).id() == 2);
  CHECK(next_success(link.near_end.queue).id() == 4);
  std::array<completion, 4> rest;
  CHECK(link.near_end.queue.poll(rest).empty());
}

TEST_CASE("A pair that signals all sends completes unsignaled requests too") {
  loopback_options<transport::rc> options;
  options.pair.signal_all_sends = true;
  rc_loopback link{options};
  link.far_pair.post(receive(), receive()).check();
  link.near_pair.post(send().id(1), send().id(2)).check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(next_success(link.near_end.queue).id() == 2);
}

TEST_CASE("Both directions carry traffic at once") {
  rc_loopback link;
  link.near_end.fill(0, 100, 1);
  link.far_end.fill(0, 100, 2);
  link.near_pair.post(receive(link.near_end.region.slice(1000, 100)).id(1)).check();
  link.far_pair.post(receive(link.far_end.region.slice(1000, 100)).id(1)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 100))).check();
  link.far_pair.post(send(link.far_end.region.slice(0, 100))).check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(next_success(link.far_end.queue).id() == 1);
  CHECK(link.near_end.holds(1000, 100, 2));
  CHECK(link.far_end.holds(1000, 100, 1));
}

TEST_CASE("A list longer than the limit of the pair is refused") {
  rc_loopback link;
  const std::vector<mutable_buffer> list(link.near_pair.query().max_send_sge() + 1,
                                         link.near_end.region.slice(0, 1));
  const post_result sent = link.near_pair.post(send(), send(std::span{list}), send());
  CHECK(!sent);
  CHECK(sent.accepted() == 1U);
  const std::vector<mutable_buffer> receives(link.far_pair.query().max_recv_sge() + 1,
                                             link.far_end.region.slice(0, 1));
  CHECK(!link.far_pair.post(receive(std::span{receives})));
}

TEST_CASE("A full receive queue refuses a receive and reports the accepted ones") {
  rc_loopback link;
  const std::uint32_t room = link.far_pair.query().max_recv_wr();
  std::uint32_t taken = 0;
  post_result result = link.far_pair.post(receive());
  while (result && taken <= 2 * room) {
    ++taken;
    result = link.far_pair.post(receive());
  }
  CHECK(taken >= room);
  CHECK(taken <= 2 * room);
  CHECK(!result);
  CHECK(result.accepted() == 0U);
}
