// SPDX-License-Identifier: MIT
// Regions that are deregistered while requests on them are outstanding.
#include "refusals.hpp"

using namespace adverb;

namespace {

constexpr access_rights both_ways = access_right::remote_read | access_right::remote_write;

/// Two pairs, and a region at each end that can go.
struct passing_link : loopback<transport::rc> {
  std::vector<std::byte> here = std::vector<std::byte>(64);
  std::vector<std::byte> there = std::vector<std::byte>(64);
  memory_region here_region{domain, here, every_right};
  memory_region there_region{domain, there, every_right};
  remote_buffer<std::byte, both_ways> remote = there_region.remote<std::byte, both_ways>();
  remote_buffer<std::uint64_t, access_right::remote_atomic> number{
      adopt, there_region.device_address(), 1, there_region.rkey()};
};

/// Posts a request behind a send that waits for a receive, lets `deregister` act, and then posts
/// the receive. The request fails so, and changes nothing.
template <class MakeRequest, class Deregister>
void check_fails(const MakeRequest& request_for, const Deregister& deregister,
                 completion_status (*expected)(context_ref)) {
  passing_link link;
  link.here.assign(64, std::byte{1});
  link.there.assign(64, std::byte{2});
  link.near_pair.post(send().id(1), request_for(link).id(2), send().id(3)).check();
  deregister(link);
  link.far_pair.post(receive().id(4)).check();
  // A request that ends as flushed may take the send before it along.
  const bool may_flush_first = expected(link.context) == completion_status::flushed;
  if (!may_flush_first) CHECK(next_success(link.far_end.queue).id() == 4);
  completion failed = next_completion(link.near_end.queue);
  if (may_flush_first && failed.id() == 1) {
    CHECK(failed.status() == completion_status::flushed);
    failed = next_completion(link.near_end.queue);
  }
  CHECK(failed.id() == 2);
  CHECK(failed.status() == expected(link.context));
  const completion flushed = next_completion(link.near_end.queue);
  CHECK(flushed.id() == 3);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(link.here == std::vector<std::byte>(64, std::byte{1}));
  CHECK(link.near_pair.query().state() == qp_state::error);
  reconnect(link);
  check_traffic(link);
}

void deregister_there(passing_link& link) { link.there_region.close(); }
void deregister_here(passing_link& link) { link.here_region.close(); }

completion_status refused_by_peer(context_ref) { return completion_status::remote_access_error; }
completion_status refused_answer(context_ref) { return completion_status::local_protection_error; }

auto outstanding_read(const passing_link& link) {
  return read(link.remote, link.here_region.slice(0, 64));
}
auto outstanding_write(const passing_link& link) {
  return write(link.remote, link.here_region.slice(0, 64));
}
auto outstanding_atomic(const passing_link& link) {
  return fetch_and_add(link.number, 1, link.here_region.slice(0, 8));
}

}  // namespace

TEST_CASE("An outstanding read is refused if the region of the peer is deregistered") {
  check_fails(outstanding_read, deregister_there, refused_by_peer);
}

TEST_CASE("An outstanding write is refused if the region of the peer is deregistered") {
  check_fails(outstanding_write, deregister_there, refused_by_peer);
}

TEST_CASE("An outstanding atomic is refused if the region of the peer is deregistered") {
  check_fails(outstanding_atomic, deregister_there, refused_by_peer);
}

TEST_CASE("An outstanding read fails if its local region is deregistered") {
  check_fails(outstanding_read, deregister_here, refused_answer);
}

TEST_CASE("An outstanding write fails if its local region is deregistered") {
  check_fails(outstanding_write, deregister_here, refused_key_on);
}

TEST_CASE("An outstanding atomic fails if the region of its result is deregistered") {
  check_fails(outstanding_atomic, deregister_here, refused_answer);
}

TEST_CASE("An outstanding receive fails on both sides if its region is deregistered") {
  passing_link link;
  link.far_pair.post(receive(link.there_region.slice(0, 64)).id(5), receive().id(6)).check();
  link.there_region.close();
  link.near_pair.post(send(link.here_region.slice(0, 64)).id(1)).check();
  const completion received = next_completion(link.far_end.queue);
  CHECK(received.id() == 5);
  CHECK(received.status() == refused_receive_on(link.context));
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 6);
  CHECK(flushed.status() == completion_status::flushed);
  CHECK(next_completion(link.near_end.queue).status() == completion_status::remote_operation_error);
  CHECK(link.there == std::vector<std::byte>(64));
  check_fails_soon(link.far_pair);
  reconnect(link);
  check_traffic(link);
}

TEST_CASE("An unused outstanding receive does not keep its region from being deregistered") {
  passing_link link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 8)).id(5)).check();
  link.far_pair.post(receive(link.there_region.slice(0, 64)).id(6)).check();
  link.there_region.close();
  link.near_pair.post(send(link.here_region.slice(0, 8)).signaled()).check();
  next_success(link.near_end.queue);
  CHECK(next_success(link.far_end.queue).id() == 5);
  const auto failed = link.far_pair.error();
  const completion flushed = next_completion(link.far_end.queue);
  CHECK(flushed.id() == 6);
  CHECK(flushed.status() == completion_status::flushed);
}
