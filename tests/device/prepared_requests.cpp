// SPDX-License-Identifier: MIT
// Prepared requests that are changed and posted again many times, on the real device.
#include <cstring>

#include "support.hpp"

using namespace adverb;

namespace {

constexpr std::size_t slots = 64;
constexpr std::size_t slot_size = 64;

}  // namespace

TEST_CASE("A prepared write can be changed and posted a thousand times", "[ibv_post_send]") {
  loopback<transport::rc> link;
  loopback_end& from = link.near_end;
  const auto remote = link.far_end.remote();
  prepared_request request{
      write(remote.slice(0, slot_size), from.region.slice(0, slot_size)).signaled()};
  for (unsigned round = 0; round < 1000; ++round) {
    const std::size_t source = round * 3 % slots * slot_size;
    const std::size_t target = round * 7 % slots * slot_size;
    from.fill(source, slot_size, round);
    request.id(round)
        .remote(remote.slice(target, slot_size))
        .payload(from.region.slice(source, slot_size));
    link.near_pair.post(request).check();
    CHECK(next_success(link.near_end.queue).id() == round);
    CHECK(link.far_end.holds(target, slot_size, round));
  }
}

TEST_CASE("A prepared read can be moved and posted again") {
  loopback<transport::rc> link;
  const auto remote = link.far_end.remote();
  link.far_end.fill(0, slots * slot_size, 5);
  prepared_request request{read(remote, link.near_end.region.slice(0, slot_size)).signaled()};
  for (std::size_t round = 0; round < slots; ++round) {
    const std::size_t offset = round * slot_size;
    link.near_pair
        .post(request.id(round)
                  .remote(remote.slice(offset, slot_size))
                  .payload(link.near_end.region.slice(offset, slot_size)))
        .check();
    CHECK(next_success(link.near_end.queue).id() == round);
  }
  CHECK(link.near_end.holds(0, slots * slot_size, 5));
}

TEST_CASE("Prepared atomics can change counter and values between posts") {
  loopback<transport::rc> link;
  constexpr access_rights atomic_right = access_right::remote_atomic;
  constexpr std::size_t count = 8;
  std::array<std::uint64_t, count> counters{};
  std::array<std::uint64_t, 1> result{};
  const memory_region counter_region{link.domain, counters, every_right};
  const memory_region result_region{link.domain, result};
  const auto remote = counter_region.remote<std::uint64_t, atomic_right>();

  prepared_request add{fetch_and_add(remote, 0, result_region.slice(0, 8)).signaled()};
  std::array<std::uint64_t, count> expected{};
  for (std::uint64_t round = 0; round < 400; ++round) {
    const std::size_t index = round % count;
    link.near_pair.post(add.remote(remote.at(index)).addend(round).id(round)).check();
    CHECK(next_success(link.near_end.queue).id() == round);
    CHECK(result[0] == expected[index]);
    expected[index] += round;
  }
  CHECK(counters == expected);

  prepared_request swap{
      compare_and_swap(remote, {.expected = 0, .desired = 0}, result_region.slice(0, 8))
          .signaled()};
  for (std::uint64_t round = 0; round < 400; ++round) {
    const std::size_t index = round % count;
    link.near_pair
        .post(swap.remote(remote.at(index)).values({.expected = expected[index], .desired = round}))
        .check();
    next_success(link.near_end.queue);
    CHECK(result[0] == expected[index]);
    expected[index] = round;
  }
  CHECK(counters == expected);
}

TEST_CASE("A prepared batch repeats a write and its announcing send five hundred times",
          "[ibv_post_send][ibv_post_recv]") {
  loopback<transport::rc> link;
  const auto remote = link.far_end.remote();
  prepared_batch batch{
      write(remote, link.near_end.region.slice(0, slot_size), link.near_end.region.slice(0, 8)),
      send_with_immediate(immediate{0}, link.near_end.region.slice(0, 4)).signaled()};
  prepared_request received{receive(link.far_end.region.slice(16384, 64))};
  for (unsigned round = 0; round < 500; ++round) {
    const std::size_t target = round % slots * 2 * slot_size;
    link.near_end.fill(0, slot_size, round);
    link.far_pair.post(received.id(round)).check();
    batch.request<0>().remote(remote.slice(target, 2 * slot_size));
    batch.request<1>().immediate(immediate{round}).id(round);
    link.near_pair.post(batch).check();
    CHECK(next_success(link.near_end.queue).id() == round);
    const completion told = next_success(link.far_end.queue);
    CHECK(told.id() == round);
    CHECK(told.success().receive().immediate() == immediate{round});
    CHECK(link.far_end.holds(target, slot_size, round));
    CHECK(link.far_end.holds(target + slot_size, 8, round));
  }
}

TEST_CASE("A prepared list is posted completely and in part, and each post reads the inline bytes",
          "[ibv_post_send]") {
  loopback<transport::rc> link;
  std::array<std::uint64_t, 1> number{};
  const auto remote = link.far_end.remote();
  prepared_list list{write(remote, inline_data{std::span{number}}), 8};
  for (std::size_t index = 0; index < list.size(); ++index)
    list[index].id(index).remote(remote.slice(index * 8, 8));
  const auto check = [&](std::size_t count, std::uint64_t value) {
    number[0] = value;
    list[count - 1].signaled();
    link.near_pair.post(list.first(count)).check();
    list[count - 1].signaled(false);
    CHECK(next_success(link.near_end.queue).id() == count - 1);
    for (std::size_t index = 0; index < list.size(); ++index) {
      std::uint64_t found = 0;
      std::memcpy(&found, link.far_end.bytes.data() + index * 8, sizeof found);
      CHECK((found == value) == (index < count));
    }
  };
  for (std::uint64_t round = 1; round <= 100; ++round) check(1 + round % 8, round);
}

TEST_CASE("A chain of any number of writes and a send arrives in order", "[ibv_post_send]") {
  loopback<transport::rc> link;
  const auto remote = link.far_end.remote();
  send_chain<9> chain;
  for (unsigned round = 0; round < 100; ++round) {
    const std::size_t writes = round % 9;
    link.near_end.fill(0, slot_size, round);
    link.far_pair.post(receive(link.far_end.region.slice(16384, 64)).id(round)).check();
    chain.clear();
    for (std::size_t each = 0; each < writes; ++each)
      REQUIRE(chain.add(write(remote.slice(each * slot_size, slot_size),
                              link.near_end.region.slice(0, slot_size))));
    REQUIRE(chain.add(send(link.near_end.region.slice(0, 4)).id(round).signaled()));
    link.near_pair.post(chain).check();
    CHECK(next_success(link.near_end.queue).id() == round);
    CHECK(next_success(link.far_end.queue).id() == round);
    for (std::size_t each = 0; each < writes; ++each)
      CHECK(link.far_end.holds(each * slot_size, slot_size, round));
  }
}

TEST_CASE("Prepared datagrams can change their destination between posts") {
  loopback<transport::ud> link;
  const address_handle way{link.domain, link.to_far};
  const datagram_destination to_far{way, link.far_endpoint.number, link.far_endpoint.queue_key};
  const datagram_destination to_near{way, link.near_endpoint.number, link.near_endpoint.queue_key};
  prepared_request request{send(link.near_end.region.slice(0, 16)).to(to_far).signaled()};
  for (unsigned round = 0; round < 100; ++round) {
    const bool far = round % 3 != 0;
    const auto& pair = far ? link.far_pair : link.near_pair;
    loopback_end& end = far ? link.far_end : link.near_end;
    pair.post(receive(end.region.slice(1024, 64)).id(1000)).check();
    link.near_end.fill(0, 16, round);
    link.near_pair.post(request.to(far ? to_far : to_near).id(round)).check();
    unsigned receives = 0;
    unsigned sends = 0;
    while (receives + sends < 2) {
      const completion found = next_success(sends == 0 || !far ? link.near_end.queue : end.queue);
      ++(found.id() == 1000 ? receives : sends);
    }
    CHECK(receives == 1);
    CHECK(end.holds(1024 + 40, 16, round));
  }
}
