// SPDX-License-Identifier: MIT
// Unreliable connections on the real device.
#include "support.hpp"

using namespace adverb;

TEST_CASE("A message over UC arrives, with immediate data") {
  loopback<transport::uc> link;
  link.near_end.fill(0, 3000, 2);
  link.far_pair.post(receive(link.far_end.region.slice(0, 4000)).id(1)).check();
  link.near_pair
      .post(send_with_immediate(immediate{5}, link.near_end.region.slice(0, 3000)).signaled().id(2))
      .check();
  CHECK(next_success(link.near_end.queue).id() == 2);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 1);
  CHECK(received.success().receive().length() == 3000);
  CHECK(received.success().receive().immediate() == immediate{5});
  CHECK(link.far_end.holds(0, 3000, 2));
}

TEST_CASE("UC loses a message without a receive and completes the send") {
  loopback<transport::uc> link;
  link.near_pair.post(send(link.near_end.region.slice(0, 8)).signaled()).check();
  next_success(link.near_end.queue);
  std::array<completion, 1> none;
  CHECK(link.far_end.queue.poll(none).empty());
  CHECK(link.near_pair.query().state() == qp_state::rts);
}
