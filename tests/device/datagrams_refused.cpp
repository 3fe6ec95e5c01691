// SPDX-License-Identifier: MIT
// Datagrams that do not leave or do not arrive, and messages between pairs of different transports.
#include "refusals.hpp"

using namespace adverb;

namespace {

struct ud_link : loopback<transport::ud> {
  using loopback::loopback;

  address_handle way{domain, to_far};
  datagram_destination far{
      .address = way, .queue_pair = far_endpoint.number, .queue_key = far_endpoint.queue_key};

  /// Sends a datagram that arrives in the next receive, or behind up to `late` others.
  void check_arrives(std::uint64_t id, std::uint64_t late = 0) const {
    near_pair.post(send_with_immediate(immediate{77}).signaled().id(9).to(far)).check();
    CHECK(next_success(near_end.queue).id() == 9);
    for (const std::uint64_t last = id + late; id <= last; ++id) {
      const completion received = next_success(far_end.queue);
      CHECK(received.id() == id);
      if (received.success().receive().immediate() == immediate{77}) return;
    }
    FAIL("the datagram did not arrive");
  }
};

}  // namespace

TEST_CASE("A datagram with an address handle of another protection domain fails") {
  ud_link link;
  const protection_domain other{link.context};
  const address_handle foreign{other, link.to_far};
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(4)).check();
  datagram_destination destination = link.far;
  destination.address = foreign;
  link.near_pair.post(send().id(1).to(destination), send().id(2).to(link.far)).check();
  const completion refused = next_completion(link.near_end.queue);
  CHECK(refused.id() == 1);
  CHECK(refused.status() == (holds(device_facts::local_error_is_flushed, link.context)
                                 ? completion_status::flushed
                                 : completion_status::local_queue_pair_operation_error));
  const completion flushed = next_completion(link.near_end.queue);
  CHECK(flushed.id() == 2);
  CHECK(flushed.status() == completion_status::flushed);
  std::array<completion, 1> none;
  CHECK(link.far_end.queue.poll(none).empty());
  CHECK(link.far_pair.query().state() == qp_state::rts);
}

TEST_CASE("A datagram to a number that no queue pair has is lost, and the next one arrives") {
  ud_link link;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(4)).check();
  datagram_destination nobody = link.far;
  nobody.queue_pair = qp_number{0xfffffe};
  link.near_pair.post(send().signaled().id(1).to(nobody)).check();
  CHECK(next_success(link.near_end.queue).id() == 1);
  link.check_arrives(4);
}

TEST_CASE("Batches of unsignaled datagrams without receives are lost, and the next one arrives") {
  constexpr std::uint64_t batch = 16;
  ud_link link;
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t count = 1; count < batch; ++count)
      link.near_pair.post(send(link.near_end.region.slice(0, 32)).to(link.far)).check();
    link.near_pair.post(send().signaled().id(1).to(link.far)).check();
    CHECK(next_success(link.near_end.queue).id() == 1);
  }
  // A send completes when it has left, so the last batch may be on its way.
  for (std::uint64_t id = 4; id <= 4 + batch; ++id)
    link.far_pair.post(receive(link.far_end.region.slice(0, 128)).id(id)).check();
  link.check_arrives(4, batch);
  CHECK(link.far_pair.query().state() == qp_state::rts);
}

TEST_CASE("A datagram to an RC pair is lost and consumes no receive") {
  ud_link link;
  loopback<transport::rc> connected;
  connected.far_pair.post(receive(connected.far_end.region.slice(0, 64)).id(5)).check();
  datagram_destination wrong = link.far;
  wrong.queue_pair = connected.far_pair.number();
  link.near_pair.post(send().signaled().id(1).to(wrong)).check();
  CHECK(next_success(link.near_end.queue).id() == 1);

  connected.near_pair.post(send().signaled()).check();
  next_success(connected.near_end.queue);
  CHECK(next_success(connected.far_end.queue).id() == 5);
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(4)).check();
  link.check_arrives(4);
}

TEST_CASE("A message of an RC pair to a UD pair fails after the retries and consumes no receive") {
  ud_link link;
  loopback<transport::rc> connected;
  link.far_pair.post(receive(link.far_end.region.slice(0, 64)).id(4)).check();
  endpoint wrong = connected.far_endpoint;
  wrong.number = link.far_endpoint.number;
  auto fresh = connected.near_pair.reset();
  auto waiting = initialised(fresh);
  loopback_options<transport::rc> impatient;
  impatient.connect.retry_count = 1;
  impatient.connect.acknowledge_timeout = acknowledge_timeout::from_code(10);
  const auto sender = waiting.connect(wrong, impatient.connect);
  sender.post(send().id(1), write(connected.far_end.remote()).id(2)).check();
  const completion failed = next_completion(connected.near_end.queue);
  CHECK(failed.id() == 1);
  CHECK(failed.status() == completion_status::retries_exceeded);
  CHECK(next_completion(connected.near_end.queue).status() == completion_status::flushed);
  CHECK(sender.query().state() == qp_state::error);
  link.check_arrives(4);
}
