// SPDX-License-Identifier: MIT
// Memory windows whose access ends while requests of the peer are outstanding.
#include <vector>

#include "memory_windows.hpp"
#include "refusals.hpp"

using namespace adverb;

namespace {

using window_1 = memory_window<window_type::one>;
using window_2 = memory_window<window_type::two>;

constexpr std::size_t length = 64;

/// Posts a read through a window, which stays outstanding: the send in front of it waits for a
/// receive.
void post_waiting_read(const window_link<>& link, const remote_buffer<>& remote) {
  link.near_pair
      .post(send().id(1), read(remote, link.near_end.region.slice(4096, length)).id(2),
            send().id(3))
      .check();
}

/// Posts the receive for the send, and expects that the peer refuses the read behind it.
void check_read_is_refused(const window_link<>& link) {
  link.far_pair.post(receive().id(4)).check();
  CHECK(next_success(link.far_end.queue).id() == 4);
  const completion refused = next_completion(link.near_end.queue);
  CHECK(refused.id() == 2);
  CHECK(refused.status() == completion_status::remote_access_error);
  const completion flushed = next_completion(link.near_end.queue);
  CHECK(flushed.id() == 3);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.near_end.bytes == std::vector<std::byte>(link.near_end.bytes.size()));
  CHECK(link.near_pair.query().state() == qp_state::error);
  check_fails_soon(link.far_pair);
}

}  // namespace

TEST_CASE("An outstanding read is refused if the window of type 2 is invalidated") {
  window_link link;
  link.far_end.fill(0, 4096, 5);
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  post_waiting_read(link, grant.remote());
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
  check_read_is_refused(link);
  link.region.close();
}

TEST_CASE("An outstanding read is refused if the window of type 2 is bound again") {
  window_link link;
  link.far_end.fill(0, 4096, 5);
  const window_2 granting{link.domain};
  const auto first = granting.prepare(link.region, 0, length);
  link.bind_to(first);
  post_waiting_read(link, first.remote());
  const auto second = granting.prepare(link.region, 0, length);
  link.far_pair.post(local_invalidate(first)).check();
  link.bind_to(second);
  check_read_is_refused(link);
}

TEST_CASE("An outstanding read is refused if the window of type 2 is deallocated") {
  window_link link;
  link.far_end.fill(0, 4096, 5);
  window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, length);
  link.bind_to(grant);
  post_waiting_read(link, grant.remote());
  granting.close();
  link.region.close();
  check_read_is_refused(link);
}

TEST_CASE("An outstanding read is refused if the window of type 1 is unbound") {
  window_link link;
  link.far_end.fill(0, 4096, 5);
  const window_1 granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, length, {.signaled = true});
  next_success(link.far_end.queue);
  post_waiting_read(link, bound.remote());
  link.far_pair.unbind(bound, {.signaled = true});
  next_success(link.far_end.queue);
  check_read_is_refused(link);
  link.region.close();
}

TEST_CASE("An outstanding read is refused if the window of type 1 is bound again") {
  window_link link;
  link.far_end.fill(0, 4096, 5);
  const window_1 granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, length, {.signaled = true});
  next_success(link.far_end.queue);
  post_waiting_read(link, bound.remote());
  (void)link.far_pair.bind(granting, link.region, 0, length, {.signaled = true});
  next_success(link.far_end.queue);
  check_read_is_refused(link);
}

TEST_CASE("An outstanding read is refused if the window of type 1 is deallocated") {
  window_link link;
  link.far_end.fill(0, 4096, 5);
  window_1 granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, length, {.signaled = true});
  next_success(link.far_end.queue);
  post_waiting_read(link, bound.remote());
  granting.close();
  link.region.close();
  check_read_is_refused(link);
}

TEST_CASE("Reads in progress succeed completely until their window is invalidated") {
  constexpr std::uint64_t count = 24;
  constexpr std::size_t each = 1024;
  window_link link;
  link.far_end.fill(0, each, 5);
  const window_2 granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, each);
  link.bind_to(grant);
  for (std::uint64_t id = 0; id < count; ++id)
    link.near_pair
        .post(read(grant.remote(), link.near_end.region.slice(id * each, each)).signaled().id(id))
        .check();
  next_success(link.near_end.queue);
  link.far_pair.post(local_invalidate(grant).signaled()).check();
  next_success(link.far_end.queue);
  link.near_pair
      .post(read(grant.remote(), link.near_end.region.slice(count * each, each)).id(count))
      .check();

  std::uint64_t refused = 1;
  for (; refused <= count; ++refused) {
    const completion done = next_completion(link.near_end.queue);
    CHECK(done.id() == refused);
    if (!done.success()) {
      CHECK(done.status() == completion_status::remote_access_error);
      break;
    }
    CHECK(link.near_end.holds(refused * each, each, 5));
  }
  REQUIRE(refused <= count);
  for (std::uint64_t id = refused + 1; id <= count; ++id) {
    const completion flushed = next_completion(link.near_end.queue);
    CHECK(flushed.id() == id);
    CHECK(flushed.status() == completion_status::flushed);
  }
  CHECK(link.near_end.bytes[count * each] == std::byte{0});
}
