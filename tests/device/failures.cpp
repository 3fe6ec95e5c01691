// SPDX-License-Identifier: MIT
// Every failure of a request of a reliable connection: the status of its completion, the states of
// both pairs, the queued requests, and that the pairs work again afterwards.
#include <array>
#include <string>

#include "refusals.hpp"

using namespace adverb;

namespace {

using rc_loopback = loopback<transport::rc>;

/// Posts a request between others: the one before it succeeds, it fails in this way although it is
/// not signaled, and what is behind it is flushed, signaled or not. Then both sides recover.
template <class Request>
void check_fails(rc_loopback& link, const Request& request, completion_status expected) {
  const auto nothing = write(link.far_end.remote());
  link.near_pair
      .post(nothing.id(10).signaled(), request.id(11), nothing.id(12), nothing.id(13).signaled())
      .check();
  const completion first = next_completion(link.near_end.queue);
  CHECK(first.id() == 10);
  // Unacknowledged, it may be flushed with the other, where that is flushed.
  if (expected != completion_status::flushed) CHECK(first.success());

  const completion failed = next_completion(link.near_end.queue);
  CHECK(failed.id() == 11);
  CHECK(failed.status() == expected);
  CHECK(failed.queue_pair() == link.near_pair.number());
  CHECK(!failed.success());
  failure why;
  failed.check(why);
  CHECK(why.code() == failed.status());
  CHECK(why.verb() == "work request");
  REQUIRE(!hint_for(failed.status()).empty());
  CHECK(why.explanation().starts_with(hint_for(failed.status())));
  CHECK(std::string{why.what()}.find("id 11") != std::string::npos);

  for (std::uint64_t id = 12; id <= 13; ++id) {
    const completion flushed = next_completion(link.near_end.queue);
    CHECK(flushed.id() == id);
    CHECK(flushed.status() == completion_status::flushed);
  }
  CHECK(link.near_pair.query().state() == qp_state::error);
  reconnect(link);
  check_traffic(link);
}

constexpr access_rights to_read = access_right::remote_read;
constexpr access_rights to_write = access_right::remote_write;

constexpr completion_status access_refused = completion_status::remote_access_error;
constexpr completion_status invalid_at_peer = completion_status::remote_invalid_request_error;

}  // namespace

TEST_CASE("A send from a buffer with a wrong lkey fails") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  check_fails(link, send(forged(link.near_end.region, 0xff00)), refused_key_on(link.context));
}

TEST_CASE("A write from a buffer with a wrong lkey fails") {
  rc_loopback link;
  check_fails(link, write(link.far_end.remote(), forged(link.near_end.region, 0xff00)),
              refused_key_on(link.context));
}

TEST_CASE("A read into a buffer with a wrong lkey fails") {
  rc_loopback link;
  check_fails(link, read(link.far_end.remote(), forged(link.near_end.region, 0xff00)),
              completion_status::local_protection_error);
}

TEST_CASE("A send from beyond the region fails") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  check_fails(link, send(forged(link.near_end.region, 0, link.near_end.bytes.size() - 4)),
              refused_buffer_on(link.context));
}

TEST_CASE("A send from a region of another protection domain fails") {
  rc_loopback link;
  const protection_domain other{link.context};
  const unjudged_region region{other, link.near_end.bytes};
  link.far_pair.post(receive(link.far_end.region.slice(0, 64))).check();
  check_fails(link, send(region.buffer(0, 8)), refused_key_on(link.context));
}

TEST_CASE("A read into a region that may not be written locally fails") {
  rc_loopback link;
  const memory_region region{link.domain, link.near_end.bytes, access_right::remote_read};
  check_fails(link, read(link.far_end.remote(), forged(region)),
              completion_status::local_protection_error);
}

TEST_CASE("A read with a wrong rkey fails") {
  rc_loopback link;
  check_fails(
      link, read(claimed<to_read>(link.far_end.region, 0, 0xff), link.near_end.region.slice(0, 8)),
      access_refused);
}

TEST_CASE("A read beyond the region fails") {
  rc_loopback link;
  check_fails(link,
              read(claimed<to_read>(link.far_end.region, link.far_end.bytes.size() - 4),
                   link.near_end.region.slice(0, 8)),
              access_refused);
}

TEST_CASE("A read from a region that does not grant it fails") {
  rc_loopback link;
  const memory_region region{link.domain, link.far_end.bytes,
                             access_right::local_write | access_right::remote_write};
  check_fails(link, read(claimed<to_read>(region), link.near_end.region.slice(0, 8)),
              access_refused);
}

TEST_CASE("A read from a region of another protection domain fails") {
  rc_loopback link;
  const protection_domain other{link.context};
  const memory_region region{other, link.far_end.bytes, every_right};
  check_fails(link, read(claimed<to_read>(region), link.near_end.region.slice(0, 8)),
              access_refused);
}

TEST_CASE("A write with a wrong rkey fails, unsignaled, and its successors are flushed") {
  rc_loopback link;
  check_fails(
      link,
      write(claimed<to_write>(link.far_end.region, 0, 0xff), link.near_end.region.slice(0, 8)),
      access_refused);
}

TEST_CASE("A write to a deregistered region fails") {
  rc_loopback link;
  memory_region region{link.domain, link.far_end.bytes, every_right};
  const auto remote = claimed<to_write>(region);
  region.close();
  check_fails(link, write(remote, link.near_end.region.slice(0, 8)), access_refused);
}

TEST_CASE("A write through a pair that does not grant it fails, and can be granted") {
  loopback_options<transport::rc> options;
  options.far_grants = access_right::remote_read;
  rc_loopback link{options};
  link.near_pair.post(write(link.far_end.remote(), link.near_end.region.slice(0, 8)).id(3)).check();
  const completion failed = next_completion(link.near_end.queue);
  CHECK(failed.id() == 3);
  CHECK(failed.status() == invalid_at_peer);
  reconnect(link);
  check_traffic(link);
  link.near_pair.post(write(link.far_end.remote(), link.near_end.region.slice(0, 8)).signaled())
      .check();
  next_success(link.near_end.queue);
}

TEST_CASE("A receive that is too short fails both sides, and both recover") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 10)).id(5), receive().id(6)).check();
  check_fails(link, send(link.near_end.region.slice(0, 11)),
              holds(device_facts::long_message_is_operation_error, link.context)
                  ? completion_status::remote_operation_error
                  : invalid_at_peer);
}

TEST_CASE("A receive that is too short fails the receiver and flushes its other receives") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 10)).id(5), receive().id(6)).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 11))).check();
  const completion failed = next_completion(link.far_end.queue);
  CHECK(failed.id() == 5);
  CHECK(failed.status() == (holds(device_facts::long_message_is_operation_error, link.context)
                                ? completion_status::local_queue_pair_operation_error
                                : completion_status::local_length_error));
  CHECK(failed.queue_pair() == link.far_pair.number());
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 6);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.far_pair.query().state() == qp_state::error);
}

TEST_CASE("A refused access moves the peer to ERR too and flushes its receives") {
  rc_loopback link;
  link.far_pair.post(receive().id(5)).check();
  link.near_pair
      .post(
          write(claimed<to_write>(link.far_end.region, 0, 0xff), link.near_end.region.slice(0, 8)))
      .check();
  CHECK(next_completion(link.near_end.queue).status() == completion_status::remote_access_error);
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 5);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.far_pair.query().state() == qp_state::error);
}

TEST_CASE("A refused access flushes the unacknowledged sends of the peer") {
  rc_loopback link;
  // The near side has no receive, so that the send stays unacknowledged.
  link.far_pair
      .post(write(link.near_end.remote(), link.far_end.region.slice(0, 8)).id(1).signaled(),
            send().id(2).signaled())
      .check();
  CHECK(next_success(link.far_end.queue).id() == 1);
  link.near_pair
      .post(
          write(claimed<to_write>(link.far_end.region, 0, 0xff), link.near_end.region.slice(0, 8)))
      .check();
  CHECK(next_completion(link.near_end.queue).status() == completion_status::remote_access_error);
  // No completion of the far side has the cause.
  const completion first_failed = next_completion(link.far_end.queue);
  CHECK(first_failed.id() == 2);
  CHECK(first_failed.status() == completion_status::flushed);
}

TEST_CASE("A send to a peer without a receive fails if there is no retry, and both recover") {
  loopback_options<transport::rc> options;
  options.connect.rnr_retry_count = 0;
  rc_loopback link{options};
  check_fails(link, send(), completion_status::rnr_retries_exceeded);
}

TEST_CASE("A send succeeds if the peer posts a receive in time") {
  loopback_options<transport::rc> options;
  options.connect.rnr_retry_count = 6;
  options.connect.rnr_timer = rnr_timer{std::chrono::milliseconds{490}};
  rc_loopback link{options};
  link.near_pair.post(send().signaled().id(1)).check();
  std::this_thread::sleep_for(std::chrono::milliseconds{30});
  link.far_pair.post(receive().id(2)).check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  CHECK(next_success(link.far_end.queue).id() == 2);
}

TEST_CASE("A send to a reset peer fails, and queued requests are flushed with their ids") {
  loopback_options<transport::rc> options;
  options.connect.retry_count = 1;
  options.connect.acknowledge_timeout = acknowledge_timeout::from_code(10);
  rc_loopback link{options};
  const auto gone = link.far_pair.reset();
  link.near_pair.post(send().id(1), send().id(2), send().id(3)).check();
  const completion failed = next_completion(link.near_end.queue);
  CHECK(failed.id() == 1);
  CHECK(failed.status() == completion_status::retries_exceeded);
  CHECK(class_of(failed.status()) == completion_status_class::transport);
  for (std::uint64_t id = 2; id <= 3; ++id) {
    const completion flushed = next_completion(link.near_end.queue);
    CHECK(flushed.id() == id);
    CHECK(flushed.status() == completion_status::flushed);
  }
  CHECK(link.near_pair.query().state() == qp_state::error);
}

TEST_CASE("A queue pair that enters ERR flushes both queues with their ids") {
  rc_loopback link;
  link.near_pair.post(receive().id(1), receive().id(2)).check();
  // There is no receive for these.
  link.near_pair.post(send().id(11), send().id(12), send().id(13).signaled()).check();
  const auto failed = link.near_pair.error();
  std::uint64_t next_receive = 1;
  std::uint64_t next_send = 11;
  for (int count = 0; count < 5; ++count) {
    const completion flushed = next_completion(link.near_end.queue);
    CHECK(flushed.status() == completion_status::flushed);
    CHECK(flushed.queue_pair() == failed.number());
    CHECK(flushed.id() == (flushed.id() < 10 ? next_receive : next_send)++);
  }
  CHECK(next_receive == 3);
  CHECK(next_send == 14);
}

TEST_CASE("Flushes of a pair with two completion queues are in order in each of them") {
  const rc_loopback link;
  const completion_queue sends{link.context, 16};
  const completion_queue receives{link.context, 16};
  auto fresh = queue_pair<transport::rc>::create(
      link.domain, {.send_cq = sends, .recv_cq = receives, .max_send_wr = 4, .max_recv_wr = 4});
  auto waiting = initialised(fresh);
  waiting.post(receive().id(21), receive().id(22), receive().id(23)).check();
  // The far pair expects another peer, and acknowledges nothing.
  auto pair = waiting.connect(link.far_endpoint, unhurried());
  pair.post(send().id(11), send().id(12).signaled(), send().id(13)).check();
  const auto failed = pair.error();
  for (std::uint64_t index = 1; index <= 3; ++index) {
    for (const auto& [queue, first] : {std::pair{&sends, 10U}, std::pair{&receives, 20U}}) {
      const completion flushed = next_completion(*queue);
      CHECK(flushed.id() == first + index);
      CHECK(flushed.status() == completion_status::flushed);
      CHECK(flushed.queue_pair() == failed.number());
    }
  }
  std::array<completion, 1> none;
  CHECK(sends.poll(none).empty());
  CHECK(receives.poll(none).empty());
}
