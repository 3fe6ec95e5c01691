// SPDX-License-Identifier: MIT
// Memory windows of type 1: bound and unbound by a call.
#include <array>
#include <cerrno>

#include "memory_windows.hpp"

using namespace adverb;

namespace {

using window = memory_window<window_type::one>;

void check_bound(const window_link<>& link, std::uint64_t id) {
  const completion done = next_success(link.far_end.queue);
  CHECK(done.id() == id);
  CHECK(done.success().opcode() == completion_opcode::bind_window);
}

}  // namespace

TEST_CASE("The peer writes and reads through a window of type 1",
          "[ibv_alloc_mw][ibv_bind_mw][ibv_dealloc_mw]") {
  window_link link;
  const window granting{link.domain};
  const rkey first_key = granting.key();
  const auto bound =
      link.far_pair.bind(granting, link.region, 1000, 64, {.id = 7, .signaled = true});
  check_bound(link, 7);
  CHECK(bound.previous_key() == first_key);
  CHECK(bound.key() != first_key);
  CHECK(granting.key() == bound.key());
  CHECK(bound.remote().size() == 64);

  CHECK(link.write_to(bound.remote(), 64) == completion_status::success);
  CHECK(link.far_end.holds(1000, 64, 5));
  CHECK(link.read_from(bound.remote(), 64) == completion_status::success);
  CHECK(link.near_end.holds(4096, 64, 5));
}

TEST_CASE("A window of type 1 grants exactly the rights of its bind") {
  window_link link;
  const window granting{link.domain};
  const auto bound = link.far_pair.bind<std::byte, access_right::remote_read>(
      granting, link.region, 0, 64, {.signaled = true});
  next_success(link.far_end.queue);
  CHECK(link.read_from(bound.remote(), 64) == completion_status::success);
  CHECK(link.write_to(claimed<access_right::remote_write>(bound.remote()), 64) ==
        completion_status::remote_access_error);
}

TEST_CASE("A send after the bind announces the key of a window to the peer") {
  window_link link;
  const window granting{link.domain};
  using announced = remote_buffer<std::byte, access_right::remote_write>;
  link.near_pair.post(receive(link.near_end.region.slice(64, announced::encoded_size))).check();
  const auto bound =
      link.far_pair.bind<std::byte, access_right::remote_write>(granting, link.region, 256, 32);
  link.far_pair.post(send(inline_data{bound.remote().encode()})).check();
  next_success(link.near_end.queue);
  const auto remote =
      announced::decode(std::span{link.near_end.bytes}.subspan<64, announced::encoded_size>());
  CHECK(link.write_to(remote, 32) == completion_status::success);
  CHECK(link.far_end.holds(256, 32, 5));
}

TEST_CASE("An unbound window refuses access", "[ibv_bind_mw]") {
  window_link link;
  const window granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, 64);
  CHECK(link.write_to(bound.remote(), 64) == completion_status::success);
  link.far_pair.unbind(bound, {.id = 8, .signaled = true});
  check_bound(link, 8);
  CHECK(granting.key() != bound.key());
  CHECK(link.write_to(bound.remote(), 64, 9) == completion_status::remote_access_error);
  CHECK(link.far_end.holds(0, 64, 5));
  link.region.close();
}

TEST_CASE("Binding a window of type 1 again invalidates its old key") {
  window_link link;
  const window granting{link.domain};
  const auto first = link.far_pair.bind(granting, link.region, 0, 64);
  const auto second = link.far_pair.bind(granting, link.region, 2048, 64, {.signaled = true});
  next_success(link.far_end.queue);
  CHECK(second.previous_key() == first.key());
  CHECK(link.write_to(second.remote(), 64) == completion_status::success);
  CHECK(link.far_end.holds(2048, 64, 5));
  CHECK(link.write_to(first.remote(), 64) == completion_status::remote_access_error);
}

TEST_CASE("A deallocated window of type 1 refuses access") {
  window_link link;
  window granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, 64, {.signaled = true});
  next_success(link.far_end.queue);
  failure why;
  link.region.close(why);
  CHECK(why.explanation() ==
        "possible causes: a memory window is bound to it; unbind, invalidate or deallocate that "
        "first");
  granting.close();
  link.region.close();
  CHECK(link.write_to(bound.remote(), 64) == completion_status::remote_access_error);
}

TEST_CASE("A failed bind of type 1 restores the key of its window") {
  window_link link;
  const window granting{link.domain};
  // The buffer claims a right that the region does not have: only the device detects that.
  std::vector<std::byte> bytes(64);
  const memory_region unwilling{link.domain, bytes, every_right};
  const memory_region_ref claimed{adopt, unwilling.native_handle(), window_rights,
                                  unwilling.device_address()};
  const auto failing = link.far_pair.bind(granting, claimed, 0, 64, {.signaled = true});
  CHECK(next_completion(link.far_end.queue).status() == refused_bind_on(link.context));
  granting.restore_key(failing.previous_key());

  // The other pair is as it was.
  const auto bound = link.near_pair.bind(granting, link.region, 0, 64, {.signaled = true});
  next_success(link.near_end.queue);
  CHECK(bound.key() == failing.key());
}

TEST_CASE("A bind fails with ENOMEM if the send queue is full") {
  window_link link;
  const window granting{link.domain};
  // Nothing leaves the queue of a pair that does not complete: the peer has no receive.
  failure why;
  for (int count = 0; count < 1000 && !why; ++count) {
    link.far_pair.post(send()).check(why);
  }
  REQUIRE(why);
  (void)link.far_pair.bind(granting, link.region, 0, 64, {}, why);
  CHECK(why.code() == std::errc::not_enough_memory);
  CHECK(why.verb() == "ibv_bind_mw");
}
