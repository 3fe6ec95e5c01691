// SPDX-License-Identifier: MIT
// Receives whose buffer the device refuses, and writes with immediate data that are refused.
#include "refusals.hpp"

using namespace adverb;

namespace {

using rc_loopback = loopback<transport::rc>;

/// Sends to the posted receive, which the device must refuse, and flushes the next one.
void check_refused(rc_loopback& link, std::uint32_t length) {
  link.far_pair.post(receive().id(6)).check();
  link.near_end.fill(0, length, 3);
  link.near_pair.post(send(link.near_end.region.slice(0, length)).id(1), send().id(2)).check();
  const completion refused = next_completion(link.far_end.queue);
  CHECK(refused.id() == 5);
  CHECK(refused.status() == refused_receive_on(link.context));
  CHECK(refused.queue_pair() == link.far_pair.number());
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 6);
  CHECK(flushed.status() == completion_status::flushed);

  const completion sent = next_completion(link.near_end.queue);
  CHECK(sent.id() == 1);
  CHECK(sent.status() == completion_status::remote_operation_error);
  CHECK(next_completion(link.near_end.queue).status() == completion_status::flushed);
  check_fails_soon(link.near_pair);
  check_fails_soon(link.far_pair);
  reconnect(link);
  check_traffic(link);
}

}  // namespace

TEST_CASE("A receive into a deregistered region fails on both sides") {
  rc_loopback link;
  unjudged_region region{link.domain, link.far_end.bytes};
  const mutable_buffer buffer = region.buffer(0, 64);
  region.deregister();
  link.far_pair.post(receive(buffer).id(5)).check();
  check_refused(link, 64);
}

TEST_CASE("A receive with a wrong lkey fails on both sides") {
  rc_loopback link;
  link.far_pair.post(receive(forged(link.far_end.region, 0xff00)).id(5)).check();
  check_refused(link, 8);
}

TEST_CASE("A receive outside its region fails on both sides") {
  for (const bool before : {true, false}) {
    CAPTURE(before);
    rc_loopback link;
    const std::uint64_t outside = before ? std::uint64_t{0} - 8 : link.far_end.bytes.size();
    link.far_pair.post(receive(forged(link.far_end.region, 0, outside)).id(5)).check();
    check_refused(link, 8);
  }
}

TEST_CASE("A message beyond the region of its receive fails on both sides") {
  rc_loopback link;
  const unjudged_region region{link.domain, link.far_end.bytes};
  link.far_pair.post(receive(region.buffer(link.far_end.bytes.size() - 10, 20)).id(5)).check();
  check_refused(link, 11);
}

TEST_CASE("A receive that exceeds its region takes a message that does not, or is refused") {
  rc_loopback link;
  const std::size_t last = link.far_end.bytes.size() - 10;
  const unjudged_region region{link.domain, link.far_end.bytes};
  link.far_pair.post(receive(region.buffer(last, 20)).id(5)).check();
  if (!holds(device_facts::length_of_receive_is_not_checked, link.context))
    return check_refused(link, 10);
  link.near_end.fill(0, 10, 3);
  link.near_pair.post(send(link.near_end.region.slice(0, 10)).id(1).signaled()).check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 5);
  CHECK(received.success().receive().length() == 10);
  CHECK(link.far_end.holds(last, 10, 3));
}

TEST_CASE("A receive into a region that may not be written locally fails on both sides") {
  rc_loopback link;
  const unjudged_region region{link.domain, link.far_end.bytes, access_right::remote_read};
  link.far_pair.post(receive(region.buffer(0, 64)).id(5)).check();
  check_refused(link, 64);
  CHECK(link.far_end.holds(0, 100, 9));
}

TEST_CASE("A write with immediate data and a wrong rkey fails the receive too") {
  rc_loopback link;
  link.far_pair.post(receive().id(5), receive().id(6)).check();
  link.near_pair
      .post(write_with_immediate(claimed<access_right::remote_write>(link.far_end.region, 0, 0xff),
                                 immediate{1}, link.near_end.region.slice(0, 8))
                .id(1))
      .check();
  const completion sent = next_completion(link.near_end.queue);
  CHECK(sent.id() == 1);
  CHECK(sent.status() == completion_status::remote_access_error);
  const completion refused = next_completion(link.far_end.queue);
  CHECK(refused.id() == 5);
  CHECK(refused.status() == (holds(device_facts::refused_write_is_remote_error, link.context)
                                 ? completion_status::remote_access_error
                                 : completion_status::local_access_error));
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 6);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));
  check_fails_soon(link.far_pair);
  reconnect(link);
  check_traffic(link);
}

TEST_CASE("A write with immediate data fails without a receive if there is no retry") {
  loopback_options<transport::rc> options;
  options.connect.rnr_retry_count = 0;
  rc_loopback link{options};
  link.near_pair
      .post(write_with_immediate(link.far_end.remote(), immediate{1},
                                 link.near_end.region.slice(0, 8))
                .id(1))
      .check();
  const completion failed = next_completion(link.near_end.queue);
  CHECK(failed.id() == 1);
  CHECK(failed.status() == completion_status::rnr_retries_exceeded);
  CHECK(link.far_pair.query().state() == qp_state::rts);
  reconnect(link);
  check_traffic(link);
}

TEST_CASE("A write with immediate data waits for a receive") {
  rc_loopback link;
  link.near_end.fill(0, 8, 3);
  link.near_pair
      .post(write_with_immediate(link.far_end.remote(), immediate{1},
                                 link.near_end.region.slice(0, 8))
                .id(1)
                .signaled())
      .check();
  std::this_thread::sleep_for(std::chrono::milliseconds{10});
  std::array<completion, 1> none;
  CHECK(link.near_end.queue.poll(none).empty());
  link.far_pair.post(receive().id(5)).check();
  const completion received = next_success(link.far_end.queue);
  CHECK(received.id() == 5);
  CHECK(received.success().receive().immediate() == immediate{1});
  CHECK(link.far_end.holds(0, 8, 3));
  CHECK(next_success(link.near_end.queue).id() == 1);
}
