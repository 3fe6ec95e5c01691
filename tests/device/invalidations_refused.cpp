// SPDX-License-Identifier: MIT
// Sends that invalidate a key that the peer cannot invalidate.
#include "memory_windows.hpp"
#include "refusals.hpp"

using namespace adverb;

namespace {

/// Sends with this key, which fails the receive.
void check_refused(window_link<>& link, rkey key) {
  const bool is_acknowledged =
      holds(device_facts::refused_invalidation_is_acknowledged, link.context);
  link.near_end.fill(0, 16, 3);
  link.far_pair.post(receive(link.far_end.region.slice(4096, 16)).id(5), receive().id(6)).check();
  link.near_pair.post(send_with_invalidate(key, link.near_end.region.slice(0, 16)).signaled().id(1))
      .check();
  const completion refused = next_completion(link.far_end.queue);
  CHECK(refused.id() == 5);
  CHECK(!refused.success());
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 6);
  CHECK(flushed.status() == completion_status::flushed);
  check_fails_soon(link.far_pair);

  const completion sent = next_completion(link.near_end.queue);
  CHECK(sent.id() == 1);
  CHECK((sent.status() == completion_status::success) == is_acknowledged);
  if (is_acknowledged) {
    CHECK(refused.status() == completion_status::remote_invalid_request_error);
    CHECK(link.near_pair.query().state() == qp_state::rts);
    CHECK(link.far_end.holds(4096, 16, 3));
  }
  reconnect(link);
  check_traffic(link);
}

}  // namespace

TEST_CASE("A send with a wrong key to invalidate fails the receive and leaves the window bound") {
  window_link link;
  const memory_window<window_type::two> granting{link.domain};
  const auto grant = granting.prepare(link.region, 0, 64);
  link.bind_to(grant);
  check_refused(link, static_cast<rkey>(static_cast<std::uint32_t>(grant.key()) ^ 0x55));
  CHECK(link.write_to(grant.remote(), 64) == completion_status::success);
}

TEST_CASE("A send with a key of no window or region fails the receive") {
  window_link link;
  check_refused(link, static_cast<rkey>(0x7fffff00));
}

TEST_CASE("A send with the key of a window of type 1 fails the receive and leaves it bound") {
  window_link link;
  const memory_window<window_type::one> granting{link.domain};
  const auto bound = link.far_pair.bind(granting, link.region, 0, 64);
  check_refused(link, bound.key());
  CHECK(link.write_to(bound.remote(), 64) == completion_status::success);
}

TEST_CASE("A send with the key of a region fails the receive and leaves the region valid") {
  window_link link;
  check_refused(link, link.far_end.region.rkey());
  CHECK(link.write_to(link.far_end.remote(), 64) == completion_status::success);
}
