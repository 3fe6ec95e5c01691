// SPDX-License-Identifier: MIT
// Memory windows of type 2: bound by a work request, and taken back by one of either side.
#include <cerrno>

#include "memory_windows.hpp"

using namespace adverb;

namespace {

using window = memory_window<window_type::two>;

}  // namespace

TEST_CASE("The peer writes and reads through a window of type 2",
          "[ibv_alloc_mw][ibv_dealloc_mw][ibv_inc_rkey]") {
  window_link link;
  const window granting{link.domain};
  const rkey first_key = granting.key();
  const auto grant = granting.prepare(link.region, 1000, 64);
  CHECK(granting.key() == first_key);
  CHECK(grant.previous_key() == first_key);
  CHECK(grant.remote().size() == 64);
  CHECK(grant.remote().address() == link.region.device_address() + 1000);
  link.bind_to(grant);
  CHECK(granting.key() == grant.key());
  CHECK(grant.remote().key() == grant.key());

  CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
  CHECK(link.far_end.holds(1000, 64, 5));
  CHECK(link.read_from(grant.remote(), 64) == completion_status::success);
  CHECK(link.near_end.holds(4096, 64, 5));
}

TEST_CASE("A window refuses access to the bytes before and after it", "[optional]") {
  for (const std::uint64_t first : {999U, 1001U}) {
    window_link link;
    if (holds(device_facts::window_bounds_are_those_of_region, link.context))
      return tell_skip("bounds of a window", "Soft-RoCE checks the bounds of the region only");
    const window granting{link.domain};
    const auto grant = granting.prepare(link.region, 1000, 64);
    link.bind_to(grant);
    const remote_buffer<> shifted{adopt, link.region.device_address() + first, 64, grant.key()};
    CHECK(link.write_to(shifted, 64) == completion_status::remote_access_error);
    CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));
  }
}

TEST_CASE("A window refuses access beyond its region") {
  window_link link;
  const std::size_t size = link.region.size();
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, size - 64, 64);
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote(), 65) == completion_status::remote_access_error);
  CHECK(link.far_end.bytes == std::vector<std::byte>(size));
}

TEST_CASE("A window grants exactly the rights of its bind, whatever the region grants") {
  {
    window_link link;
    const window granting{link.domain};
    const auto grant = granting.prepare<std::byte, access_right::remote_read>(link.region, 0, 64);
    link.bind_to(grant);
    CHECK(link.read_from(grant.remote(), 64) == completion_status::success);
    CHECK(link.write_to(claimed<access_right::remote_write>(grant.remote()), 64) ==
          completion_status::remote_access_error);
    CHECK(link.far_end.bytes[0] == std::byte{0});
  }
  {
    window_link link;
    const window granting{link.domain};
    const auto grant = granting.prepare<std::byte, access_right::remote_write>(link.region, 0, 64);
    link.bind_to(grant);
    CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
    CHECK(link.read_from(claimed<access_right::remote_read>(grant.remote()), 64) ==
          completion_status::remote_access_error);
  }
}

TEST_CASE("A window grants access to a region without remote rights") {
  window_link link;
  std::vector<std::byte> bytes(4096);
  const memory_region closed{link.domain, bytes,
                             access_right::local_write | access_right::window_bind};
  window granting{link.domain};
  const auto grant = granting.prepare(closed, 100, 8);
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote(), 8) == completion_status::success);
  CHECK(bytes[100] == std::byte{5});
  CHECK(bytes[107] == std::byte{5 + 7 * 7});
  granting.close();
}

TEST_CASE("A bind and its announcement in one post let the peer use the key at once") {
  window_link link;
  const window granting{link.domain};
  const auto grant =
      granting.prepare<std::uint64_t, access_right::remote_write>(link.region, 512, 24);
  using announced = remote_buffer<std::uint64_t, access_right::remote_write>;
  link.near_pair.post(receive(link.near_end.region.slice(64, announced::encoded_size))).check();
  link.far_pair.post(bind_window(grant), send(inline_data{grant.remote().encode()})).check();

  CHECK(next_success(link.near_end.queue).success().receive().length() == announced::encoded_size);
  const auto remote =
      announced::decode(std::span{link.near_end.bytes}.subspan<64, announced::encoded_size>());
  CHECK(remote == grant.remote());
  CHECK(remote.size() == 3);
  CHECK(link.write_to(remote.at(2), 8) == completion_status::success);
  CHECK(link.far_end.holds(528, 8, 5));
}

TEST_CASE("A locally invalidated window refuses access", "[ibv_post_send]") {
  window_link link;
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
  link.far_pair.post(local_invalidate(grant).signaled().id(71)).check();
  const completion done = next_success(link.far_end.queue);
  CHECK(done.id() == 71);
  CHECK(done.success().opcode() == completion_opcode::local_invalidate);
  CHECK(link.write_to(grant.remote(), 64, 9) == completion_status::remote_access_error);
  CHECK(link.far_end.holds(0, 64, 5));
}

TEST_CASE("A window that the peer invalidated refuses access", "[ibv_post_send]") {
  window_link link;
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  link.far_pair.post(receive(link.far_end.region.slice(4096, 16)).id(8)).check();
  link.near_end.fill(0, 64, 5);
  link.near_pair
      .post(
          write(grant.remote(), link.near_end.region.slice(0, 64)),
          send_with_invalidate(grant.remote(), link.near_end.region.slice(0, 16)).signaled().id(9))
      .check();
  const completion sent = next_success(link.near_end.queue);
  CHECK(sent.id() == 9);
  CHECK(sent.success().opcode() == completion_opcode::send);

  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 8);
  const received_message message = received.success().receive();
  REQUIRE(message);
  CHECK(message.length() == 16);
  CHECK(!message.immediate());
  CHECK(link.far_end.holds(0, 64, 5));
  CHECK(link.far_end.holds(4096, 16, 5));

  CHECK(link.write_to(grant.remote(), 64, 9) == completion_status::remote_access_error);
  CHECK(link.far_end.holds(0, 64, 5));
}

TEST_CASE("The completion of the receive contains the key that the peer invalidated",
          "[optional]") {
  window_link link;
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  link.far_pair.post(receive()).check();
  link.near_pair.post(send_with_invalidate(grant.key())).check();
  const completion received = next_success(link.far_end.queue);
  if (holds(device_facts::invalidated_key_has_another_flag, link.context)) {
    CHECK((received.native().wc_flags & IBV_WC_WITH_INV) == 0);
    CHECK((received.native().wc_flags & IBV_WC_IP_CSUM_OK) != 0);
    CHECK(received.native().invalidated_rkey == static_cast<std::uint32_t>(grant.key()));
    return tell_skip("invalidated key", "Soft-RoCE sets another flag of the completion");
  }
  CHECK(received.success().receive().invalidated_key() == grant.key());
}

TEST_CASE("A message without an invalidation has no invalidated key") {
  window_link link;
  link.far_pair.post(receive()).check();
  link.near_pair.post(send()).check();
  const completion received = next_success(link.far_end.queue);
  CHECK(!received.success().receive().invalidated_key());
}

TEST_CASE("A deallocated window refuses access, and its region can be deregistered") {
  window_link link;
  window granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  granting.close();
  link.region.close();
  CHECK(link.write_to(grant.remote(), 64) == completion_status::remote_access_error);
  CHECK(link.far_end.bytes[0] == std::byte{0});
}

TEST_CASE("A region with a bound window fails to deregister with an explanation") {
  window_link link;
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  failure why;
  link.region.close(why);
  CHECK(why.verb() == "ibv_dereg_mr");
  CHECK(why.explanation() ==
        "possible causes: a memory window is bound to it; unbind, invalidate or deallocate that "
        "first");
  REQUIRE(link.region);
  CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
  link.region.close();
}

TEST_CASE("One post invalidates a window and binds it under the next key") {
  window_link link;
  const window granting{link.domain};
  const auto first = granting.prepare(link.region, 0, 64);
  link.bind_to(first);
  const auto second = granting.prepare(link.region, 2048, 64);
  CHECK(second.previous_key() == first.key());
  link.far_pair.post(local_invalidate(first), bind_window(second).signaled().id(3)).check();
  CHECK(next_success(link.far_end.queue).id() == 3);
  CHECK(link.write_to(second.remote(), 64) == completion_status::success);
  CHECK(link.far_end.holds(2048, 64, 5));
  CHECK(link.write_to(first.remote(), 64) == completion_status::remote_access_error);
  CHECK(link.far_end.bytes[0] == std::byte{0});
}

TEST_CASE("A window is bound again more often than there are keys") {
  window_link link;
  const window granting{link.domain};
  auto grant = granting.prepare(link.region, 0, 8);
  const rkey first_key = grant.key();
  link.bind_to(grant);
  for (std::size_t round = 1; round <= 256; ++round) {
    CAPTURE(round);
    const auto next = granting.prepare(link.region, round * 8, 8);
    CHECK(static_cast<std::uint32_t>(next.key()) >> 8 ==
          static_cast<std::uint32_t>(first_key) >> 8);
    link.far_pair.post(local_invalidate(grant), bind_window(next).signaled()).check();
    next_success(link.far_end.queue);
    grant = next;
    REQUIRE(link.write_to(grant.remote(), 8) == completion_status::success);
    CHECK(link.far_end.holds(round * 8, 8, 5));
  }
  CHECK(grant.key() == first_key);
}

TEST_CASE("Binding a bound window of type 2 fails until it is invalidated") {
  window_link link;
  const window granting{link.domain};
  link.bind_to(granting.prepare(link.region, 0, 64));
  const auto again = granting.prepare(link.region, 64, 64);
  link.far_pair.post(bind_window(again).signaled()).check();
  CHECK(next_completion(link.far_end.queue).status() == refused_bind_on(link.context));
}

TEST_CASE("A failed bind of type 2 restores the key and leaves the window usable") {
  window_link link;
  const protection_domain other{link.context};
  // A pair of another domain may not bind it, which only the device can see.
  auto fresh = queue_pair<transport::rc>::create(
      other, {.send_cq = link.far_end.queue, .recv_cq = link.far_end.queue});
  auto waiting = initialised(fresh);
  const auto lone = waiting.connect(waiting.endpoint(), unhurried());

  const window granting{link.domain};
  const auto failing = granting.prepare(link.region, 0, 64);
  lone.post(bind_window(failing).signaled()).check();
  CHECK(next_completion(link.far_end.queue).status() == refused_bind_on(link.context));
  granting.restore_key(failing.previous_key());

  const auto grant = granting.prepare(link.region, 0, 64);
  CHECK(grant.key() == failing.key());
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
}

TEST_CASE("A zero_based window is addressed from 0") {
  window_link link;
  const window granting{link.domain};
  const auto grant = granting.prepare < std::byte,
             access_right::remote_write | access_right::zero_based > (link.region, 3000, 64);
  CHECK(grant.remote().address() == 0);
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote().slice(8, 56), 56) == completion_status::success);
  CHECK(link.far_end.holds(3008, 56, 5));
  CHECK(link.far_end.bytes[3007] == std::byte{0});
}

TEST_CASE("A window over a region with another device address uses that address") {
  window_link link;
  std::vector<std::byte> memory(4096);
  const std::uint64_t device_address =
      0x10000000 + reinterpret_cast<std::uintptr_t>(memory.data()) % 4096;
  const auto region =
      memory_region::with_device_address(link.domain, memory, device_address, window_rights);
  const window granting{link.domain};
  const auto grant = granting.prepare(region, 100, 64);
  CHECK(grant.remote().address() == device_address + 100);
  link.bind_to(grant);
  CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
  CHECK(memory[100] == std::byte{5});
  CHECK(memory[163] == link.near_end.bytes[63]);
}

TEST_CASE("Two windows over the same bytes grant the rights of their own binds") {
  window_link link;
  const window reading{link.domain};
  const window writing{link.domain};
  const auto readable = reading.prepare<std::byte, access_right::remote_read>(link.region, 0, 64);
  const auto writable = writing.prepare<std::byte, access_right::remote_write>(link.region, 0, 64);
  CHECK(readable.key() != writable.key());
  link.far_pair.post(bind_window(readable), bind_window(writable).signaled()).check();
  next_success(link.far_end.queue);
  CHECK(link.write_to(writable.remote(), 64) == completion_status::success);
  CHECK(link.read_from(readable.remote(), 64) == completion_status::success);
  CHECK(link.near_end.holds(4096, 64, 5));
  CHECK(link.write_to(claimed<access_right::remote_write>(readable.remote()), 64) ==
        completion_status::remote_access_error);
}

TEST_CASE("Atomic operations go through a window that grants them") {
  window_link link;
  const window granting{link.domain};
  const std::size_t aligned = (8 - link.region.device_address() % 8) % 8;
  const auto grant =
      granting.prepare<std::uint64_t, access_right::remote_atomic>(link.region, aligned, 8);
  link.bind_to(grant);
  link.near_pair
      .post(fetch_and_add(grant.remote(), 0x0102, link.near_end.region.slice(0, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
  CHECK(link.far_end.bytes[aligned] == std::byte{2});
  CHECK(link.far_end.bytes[aligned + 1] == std::byte{1});
}

TEST_CASE("A window that a UC pair has bound takes the peer's writes") {
  window_link<transport::uc> link;
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, 100, 64);
  link.bind_to(grant);
  link.far_pair.post(receive()).check();
  link.near_end.fill(0, 64, 5);
  link.near_pair
      .post(write_with_immediate(grant.remote(), immediate{1}, link.near_end.region.slice(0, 64)))
      .check();
  next_success(link.far_end.queue);
  CHECK(link.far_end.holds(100, 64, 5));
}

TEST_CASE("A UC pair invalidates its window", "[optional]") {
  window_link<transport::uc> link;
  if (holds(device_facts::no_local_invalidation_on_uc, link.context))
    return tell_skip("local invalidation on UC", "Soft-RoCE has it on RC only");
  const window granting{link.domain};
  const auto grant = granting.prepare(link.region, 100, 64);
  link.bind_to(grant);
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
}

TEST_CASE("A window of the C API is adopted under its own type only") {
  window_link link;
  ibv_mw* const native = ibv_alloc_mw(link.domain.native_handle(), IBV_MW_TYPE_2);
  REQUIRE(native != nullptr);
  failure why;
  const memory_window<window_type::one> wrong{adopt, native, why};
  CHECK(!wrong);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "it is of type 2, not of type 1");
  const window right{adopt, native};
  link.bind_to(right.prepare(link.region, 0, 64));
}
