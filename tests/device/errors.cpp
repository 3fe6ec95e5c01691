// SPDX-License-Identifier: MIT
// Errors of a reliable connection that is used wrongly or loses its peer.
#include "support.hpp"

using namespace adverb;

using rc_loopback = loopback<transport::rc>;

namespace {

constexpr access_rights write_right = access_right::remote_write;

/// Writes eight bytes to there, and expects this status, an error on the posting pair, and that
/// nothing was changed.
void check_write_refused(rc_loopback& link, const remote_buffer<std::byte, write_right>& remote,
                         completion_status expected) {
  link.near_end.fill(0, 8, 1);
  link.near_pair
      .post(write(remote, link.near_end.region.slice(0, 8)).signaled().id(1),
            write(remote, link.near_end.region.slice(0, 8)).signaled().id(2))
      .check();
  const completion first = next_completion(link.near_end.queue);
  CHECK(first.id() == 1);
  CHECK(first.status() == expected);
  CHECK(!first.success());
  CHECK(class_of(first.status()) == completion_status_class::remote);
  const completion second = next_completion(link.near_end.queue);
  CHECK(second.id() == 2);
  CHECK(second.status() == completion_status::flushed);
  CHECK(link.near_pair.query().state() == qp_state::error);
  CHECK(link.far_end.bytes == std::vector<std::byte>(link.far_end.bytes.size()));

  std::error_code code;
  first.check(code);
  CHECK(code == expected);
  CHECK_THROWS_AS(first.check(), adverb::error);
}

remote_buffer<std::byte, write_right> claimed(const loopback_end& end, std::uint64_t offset,
                                              rkey key) {
  return {adopt, end.region.device_address() + offset, 8, key};
}

}  // namespace

TEST_CASE("A write with a key that does not exist is refused by the peer") {
  rc_loopback link;
  const auto wrong =
      static_cast<rkey>(static_cast<std::uint32_t>(link.far_end.region.rkey()) ^ 0xff);
  check_write_refused(link, claimed(link.far_end, 0, wrong),
                      completion_status::remote_access_error);
}

TEST_CASE("A write beyond the end of the region is refused by the peer") {
  rc_loopback link;
  check_write_refused(
      link, claimed(link.far_end, link.far_end.bytes.size() - 4, link.far_end.region.rkey()),
      completion_status::remote_access_error);
}

TEST_CASE("A write to a region that does not grant it is refused by the peer") {
  rc_loopback link;
  const memory_region readable{link.domain, link.far_end.bytes, access_right::remote_read};
  check_write_refused(link, claimed(link.far_end, 0, readable.rkey()),
                      completion_status::remote_access_error);
}

TEST_CASE("A write to a region of another protection domain is refused by the peer") {
  rc_loopback link;
  const protection_domain other{link.context};
  const memory_region region{other, link.far_end.bytes, every_right};
  check_write_refused(link, claimed(link.far_end, 0, region.rkey()),
                      completion_status::remote_access_error);
}

TEST_CASE("A write through a pair that does not grant it is refused by the peer") {
  loopback_options<transport::rc> options;
  options.far_grants = access_right::remote_read;
  rc_loopback link{options};
  check_write_refused(link, claimed(link.far_end, 0, link.far_end.region.rkey()),
                      completion_status::remote_invalid_request_error);
}

TEST_CASE("A read through a pair that does not grant it is refused by the peer") {
  loopback_options<transport::rc> options;
  options.far_grants = access_right::remote_write;
  rc_loopback link{options};
  link.near_pair.post(read(link.far_end.remote(), link.near_end.region.slice(0, 8)).signaled())
      .check();
  CHECK(next_completion(link.near_end.queue).status() ==
        completion_status::remote_invalid_request_error);
}

TEST_CASE("A message without a receive fails at once if no RNR retry is allowed") {
  loopback_options<transport::rc> options;
  options.connect.rnr_retry_count = 0;
  rc_loopback link{options};
  link.near_pair.post(send().signaled()).check();
  const completion failed = next_completion(link.near_end.queue);
  CHECK(failed.status() == completion_status::rnr_retries_exceeded);
  CHECK(hint_for(failed.status()) == "the peer has no receive posted");
}

TEST_CASE("A message without a receive waits for a receive by default") {
  rc_loopback link;
  link.near_pair.post(send().signaled()).check();
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  std::array<completion, 1> none;
  CHECK(link.near_end.queue.poll(none).empty());
  link.far_pair.post(receive()).check();
  next_success(link.near_end.queue);
  next_success(link.far_end.queue);
}

TEST_CASE("A send to a destroyed pair fails after the retries") {
  loopback_options<transport::rc> options;
  options.connect.retry_count = 1;
  options.connect.acknowledge_timeout = acknowledge_timeout::from_code(10);
  rc_loopback link{options};
  link.far_pair.close();
  link.near_pair.post(send().signaled()).check();
  CHECK(next_completion(link.near_end.queue).status() == completion_status::retries_exceeded);
}

TEST_CASE("A receive that is too short fails on both sides") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 10))).check();
  link.near_pair.post(send(link.near_end.region.slice(0, 11)).signaled()).check();
  const completion sent = next_completion(link.near_end.queue);
  const completion received = next_completion(link.far_end.queue);
  const bool soft = holds(device_facts::long_message_is_operation_error, link.context);
  CHECK(sent.status() == (soft ? completion_status::remote_operation_error
                               : completion_status::remote_invalid_request_error));
  CHECK(received.status() == (soft ? completion_status::local_queue_pair_operation_error
                                   : completion_status::local_length_error));
}

TEST_CASE("A buffer with an unknown key fails with a local error") {
  rc_loopback link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 100))).check();
  const const_buffer bogus{adopt,
                           {.addr = link.near_end.region.device_address(),
                            .length = 8,
                            .lkey = ~link.near_end.region.native_handle()->lkey}};
  link.near_pair.post(send(bogus).signaled()).check();
  CHECK(next_completion(link.near_end.queue).status() == refused_key_on(link.context));
}

TEST_CASE("A queue pair in ERR flushes a posted request") {
  rc_loopback link;
  const auto failed = link.near_pair.error();
  failed.post(send().id(7).signaled()).check();
  const completion flushed = next_completion(link.near_end.queue);
  CHECK(flushed.id() == 7);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(class_of(flushed.status()) == completion_status_class::flushed);
  CHECK(make_error_code(flushed.status()) == std::errc::operation_canceled);
}

TEST_CASE("Posted receives are flushed if the pair fails") {
  rc_loopback link;
  link.near_pair.post(receive().id(1), receive().id(2)).check();
  const auto failed = link.near_pair.error();
  CHECK(next_completion(link.near_end.queue).status() == completion_status::flushed);
  CHECK(next_completion(link.near_end.queue).status() == completion_status::flushed);
}

TEST_CASE("A failed pair can be reset and connected again") {
  rc_loopback link;
  const auto restarted = [](auto& pair) {
    auto failed = pair.error();
    auto fresh = failed.reset();
    return initialised(fresh);
  };
  auto near_waiting = restarted(link.near_pair);
  auto far_waiting = restarted(link.far_pair);
  const endpoint near_endpoint = near_waiting.endpoint();
  const auto near_pair = near_waiting.connect(far_waiting.endpoint(), unhurried());
  const auto far_pair = far_waiting.connect(near_endpoint, unhurried());
  far_pair.post(receive().id(1)).check();
  near_pair.post(send().signaled().id(2)).check();
  CHECK(next_success(link.near_end.queue).id() == 2);
  CHECK(next_success(link.far_end.queue).id() == 1);
}
