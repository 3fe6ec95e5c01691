// SPDX-License-Identifier: MIT
// Writes and reads of a peer's memory, over RC and UC.
#include "support.hpp"

using namespace adverb;

TEST_CASE("A write fills the remote buffer without a completion at the peer") {
  loopback<transport::rc> link;
  link.near_end.fill(0, 5000, 9);
  const auto remote = link.far_end.remote().slice(100, 5000);
  link.near_pair.post(write(remote, link.near_end.region.slice(0, 5000)).signaled().id(1)).check();
  const completion written = next_success(link.near_end.queue);
  CHECK(written.success().opcode() == completion_opcode::write);
  CHECK(link.far_end.holds(100, 5000, 9));
  CHECK(link.far_end.bytes[99] == std::byte{0});
  CHECK(link.far_end.bytes[5100] == std::byte{0});
  std::array<completion, 1> none;
  CHECK(link.far_end.queue.poll(none).empty());
}

TEST_CASE("A write over UC arrives too") {
  loopback<transport::uc> link;
  link.near_end.fill(0, 500, 9);
  const auto remote = link.far_end.remote().slice(100, 500);
  link.far_pair.post(receive()).check();
  link.near_pair
      .post(write_with_immediate(remote, immediate{77}, link.near_end.region.slice(0, 500))
                .signaled())
      .check();
  next_success(link.near_end.queue);
  const completion received = next_success(link.far_end.queue);
  const auto message = received.success().receive();
  CHECK(message.immediate() == immediate{77});
  CHECK(link.far_end.holds(100, 500, 9));
}

TEST_CASE("A write with immediate consumes a receive and reports its length") {
  loopback<transport::rc> link;
  link.near_end.fill(0, 300, 4);
  link.far_pair.post(receive().id(6)).check();
  link.near_pair
      .post(write_with_immediate(link.far_end.remote(), immediate{0xdeadbeef},
                                 link.near_end.region.slice(0, 300)))
      .check();
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 6);
  CHECK(received.success().opcode() == completion_opcode::receive_write_with_immediate);
  const auto message = received.success().receive();
  REQUIRE(message);
  CHECK(message.announces_write());
  CHECK(message.immediate() == immediate{0xdeadbeef});
  CHECK(message.length() == 300);
  CHECK(link.far_end.holds(0, 300, 4));
}

TEST_CASE("A read fetches into several buffers") {
  loopback<transport::rc> link;
  link.far_end.fill(1000, 6000, 8);
  const auto remote = link.far_end.remote<access_right::remote_read>().slice(1000, 6000);
  link.near_pair
      .post(read(remote, link.near_end.region.slice(0, 6000)).signaled(),
            read(remote.slice(0, 30), link.near_end.region.slice(10000, 10),
                 link.near_end.region.slice(11000, 20))
                .signaled())
      .check();
  const completion first = next_success(link.near_end.queue);
  CHECK(first.success().opcode() == completion_opcode::read);
  CHECK(first.success().length() == 6000);
  next_success(link.near_end.queue);
  CHECK(link.near_end.holds(0, 6000, 8));
  CHECK(link.near_end.holds(10000, 10, 8));
  CHECK(link.near_end.holds(11000, 20, 8 + 70));
}

TEST_CASE("Writes and reads of no bytes complete and change nothing") {
  loopback<transport::rc> link;
  link.near_pair
      .post(write(link.far_end.remote()).signaled().id(1),
            read(link.far_end.remote()).signaled().id(2))
      .check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(next_success(link.near_end.queue).id() == 2);
  CHECK(link.far_end.holds(0, 0, 0));
  CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));
}

TEST_CASE("A write can carry its data inline") {
  loopback<transport::rc> link;
  const std::uint64_t number = 0x0807060504030201;
  link.near_pair.post(write(link.far_end.remote(), inline_data{std::span{&number, 1}}).signaled())
      .check();
  next_success(link.near_end.queue);
  for (std::size_t index = 0; index < 8; ++index)
    CHECK(link.far_end.bytes[index] == static_cast<std::byte>(index + 1));
}

TEST_CASE("A chain of mixed requests is executed in order, a fenced one after earlier reads") {
  loopback<transport::rc> link;
  link.near_end.fill(0, 64, 1);
  link.far_end.fill(512, 64, 2);
  const auto remote = link.far_end.remote();
  link.far_pair.post(receive(link.far_end.region.slice(2048, 64)).id(5)).check();
  link.near_pair
      .post(write(remote.slice(1024, 64), link.near_end.region.slice(0, 64)).id(1).signaled(),
            read(remote.slice(512, 64), link.near_end.region.slice(128, 64)).id(2).signaled(),
            // The bytes that were read go out again.
            write(remote.slice(1536, 64), link.near_end.region.slice(128, 64))
                .fenced()
                .id(3)
                .signaled(),
            send(link.near_end.region.slice(0, 64)).id(4).signaled())
      .check();
  for (std::uint64_t id = 1; id <= 4; ++id) CHECK(next_success(link.near_end.queue).id() == id);
  CHECK(next_success(link.far_end.queue).id() == 5);
  CHECK(link.far_end.holds(1024, 64, 1));
  CHECK(link.near_end.holds(128, 64, 2));
  CHECK(link.far_end.holds(1536, 64, 2));
  CHECK(link.far_end.holds(2048, 64, 1));
}

TEST_CASE("A remote buffer that was encoded and decoded reaches the same memory") {
  loopback<transport::rc> link;
  link.near_end.fill(0, 40, 6);
  const auto message = link.far_end.remote().slice(64, 40).encode();
  const auto remote = remote_buffer<>::decode(message);
  link.near_pair.post(write(remote, link.near_end.region.slice(0, 40)).signaled()).check();
  next_success(link.near_end.queue);
  CHECK(link.far_end.holds(64, 40, 6));
}

TEST_CASE("A region with another device address is written at that address", "[ibv_reg_mr_iova]") {
  loopback<transport::rc> link;
  std::vector<std::byte> memory(4096);
  const std::uint64_t device_address =
      0x10000000 + reinterpret_cast<std::uintptr_t>(memory.data()) % 4096;
  const auto region =
      memory_region::with_device_address(link.domain, memory, device_address, every_right);
  const auto remote = region.remote();
  CHECK(remote.address() == device_address);
  link.near_end.fill(0, 100, 7);
  link.near_pair.post(write(remote.slice(10, 100), link.near_end.region.slice(0, 100)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(memory[10] == std::byte{7});
  CHECK(memory[109] == link.near_end.bytes[99]);
}
