// SPDX-License-Identifier: MIT
// Sending through the extended calls of the provider: batches, what alternates with classic posts,
// and what is refused. two_engines.cpp has the common part of both.
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "support.hpp"

using namespace adverb;

namespace {

template <transport Transport>
loopback_options<Transport> extended_options() {
  loopback_options<Transport> options;
  options.pair.send_operations = basic_operations(Transport);
  return options;
}

}  // namespace

TEST_CASE("librxe before rdma-core 64 miscounts the lists of the extended calls", "[optional]") {
  loopback<transport::rc> pair{extended_options<transport::rc>()};
  if (!holds(device_facts::loses_lists, pair.context)) {
    tell_skip("librxe before rdma-core 64 miscounts the lists of the extended calls",
              "this is another provider, or a later one");
    return;
  }
  const std::string head = "head ";
  const std::string body = "and body";
  const std::array pieces{inline_data{head}, inline_data{body}};
  const auto arrived = [&](const auto& request) {
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 4096))).check();
    pair.near_pair.extended().post(request.signaled()).check();
    next_success(pair.near_end.queue);
    return next_success(pair.far_end.queue).success().receive().length();
  };
  // Each element counts the length of the first one.
  CHECK(arrived(send(pair.near_end.region.slice(0, 10), pair.near_end.region.slice(10, 30))) == 20);
  CHECK(arrived(send(pieces[0], pieces[1])) == 0);
  CHECK(arrived(send(std::span{pieces})) == 0);
}

TEST_CASE("A batch is sent in order, and an aborted batch is not sent", "[ibv_wr_abort]") {
  loopback<transport::rc> pair{extended_options<transport::rc>()};
  const auto sender = pair.near_pair.extended();
  for (std::uint64_t id = 0; id < 4; ++id)
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 64)).id(id)).check();
  {
    auto dropped = sender.start();
    dropped.add(send(pair.near_end.region.slice(0, 60)).signaled());
  }
  auto batch = sender.start();
  for (std::size_t length = 1; length <= 4; ++length)
    batch.add(send(pair.near_end.region.slice(0, length)).id(length).signaled());
  CHECK(batch.commit().accepted() == 4);
  for (std::uint32_t length = 1; length <= 4; ++length) {
    CHECK(next_success(pair.near_end.queue).id() == length);
    const completion received = next_success(pair.far_end.queue);
    CHECK(received.id() == length - 1);
    CHECK(received.success().receive().length() == length);
  }
}

TEST_CASE("A dropped batch sends nothing and does not affect the next one", "[ibv_wr_abort]") {
  loopback<transport::rc> pair{extended_options<transport::rc>()};
  const auto sender = pair.near_pair.extended();
  const auto of_length = [&](std::size_t length) {
    return send(pair.near_end.region.slice(0, length)).id(length).signaled();
  };
  for (std::uint64_t id = 0; id < 4; ++id)
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 64)).id(id)).check();

  try {
    auto batch = sender.start();
    batch.add(of_length(60)).add(of_length(61));
    throw std::runtime_error{"in the middle"};
  } catch (const std::runtime_error&) {
  }
  const auto leave_early = [&](bool early) {
    auto batch = sender.start();
    batch.add(of_length(early ? 62 : 1));
    if (!early) batch.commit().check();
  };
  leave_early(true);
  leave_early(false);
  {
    auto batch = sender.start();
    batch.add(of_length(63));
    const auto taken = std::move(batch);
  }
  {
    auto batch = sender.start();
    batch.add(of_length(2));
    auto taken = std::move(batch);
    taken.add(of_length(3)).commit().check();
  }
  sender.post(of_length(4)).check();
  for (std::uint32_t length = 1; length <= 4; ++length) {
    CHECK(next_success(pair.near_end.queue).id() == length);
    CHECK(next_success(pair.far_end.queue).success().receive().length() == length);
  }
}

TEST_CASE("Classic and extended posts alternate on one pair") {
  loopback<transport::rc> pair{extended_options<transport::rc>()};
  const auto sender = pair.near_pair.extended();
  for (int round = 0; round < 4; ++round) {
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 64))).check();
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 64))).check();
    sender.post(send(pair.near_end.region.slice(0, 1))).check();
    pair.near_pair.post(send(pair.near_end.region.slice(0, 2))).check();
    CHECK(next_success(pair.far_end.queue).success().receive().length() == 1);
    CHECK(next_success(pair.far_end.queue).success().receive().length() == 2);
  }
}

TEST_CASE(
    "UD sends through the extended calls with and without immediate data, also empty messages",
    "[ibv_wr_set_ud_addr]") {
  loopback<transport::ud> pair{extended_options<transport::ud>()};
  const address_handle way{pair.domain, pair.to_far};
  const datagram_destination there{way, pair.far_endpoint.number, pair.far_endpoint.queue_key};
  const auto sender = pair.near_pair.extended();
  pair.near_end.fill(0, 100, 3);
  for (int count = 0; count < 3; ++count)
    pair.far_pair.post(receive(pair.far_end.region.slice(0, 200))).check();
  sender.post(send(pair.near_end.region.slice(0, 100)).to(there)).check();
  const completion plain = next_success(pair.far_end.queue);
  CHECK(plain.success().receive().length() == 140);
  CHECK(plain.success().receive().source_queue_pair() == pair.near_endpoint.number);
  CHECK(pair.far_end.holds(40, 100, 3));

  sender.post(send_with_immediate(immediate{5}, pair.near_end.region.slice(0, 4)).to(there))
      .check();
  CHECK(next_success(pair.far_end.queue).success().receive().immediate() == immediate{5});

  sender.post(send().to(there)).check();
  CHECK(next_success(pair.far_end.queue).success().receive().length() == 40);
}

TEST_CASE("UC writes and sends through the extended calls") {
  loopback<transport::uc> pair{extended_options<transport::uc>()};
  const auto sender = pair.near_pair.extended();
  pair.near_end.fill(0, 64, 2);
  pair.far_pair.post(receive(pair.far_end.region.slice(0, 64))).check();
  sender
      .post(write(pair.far_end.remote().slice(64, 64), pair.near_end.region.slice(0, 64)),
            send(pair.near_end.region.slice(0, 64)))
      .check();
  next_success(pair.far_end.queue);
  CHECK(pair.far_end.holds(0, 64, 2));
  CHECK(pair.far_end.holds(64, 64, 2));
}

TEST_CASE("Creating a pair fails if the device lacks one of its operations", "[optional]") {
  const context device = open_device();
  if (!is_soft_roce(device)) {
    tell_skip("Creating a pair fails if the device lacks one of its operations",
              "the device is not Soft-RoCE");
    return;
  }
  const protection_domain domain{device};
  const completion_queue queue{device, 16};
  failure why;
  CHECK(!queue_pair<transport::ud>::create(
      domain,
      {.send_cq = queue, .recv_cq = queue, .send_operations = send_operation::tcp_segmentation},
      why));
  CHECK(why.verb() == "ibv_create_qp_ex");
  CHECK(why.code() == std::errc::operation_not_supported);
  CHECK(why.explanation() ==
        "rxe0 has no UD queue pairs, or none with extended calls for tcp_segmentation; "
        "fall_back_to_classic creates a pair without extended calls, which sends with post(...)");
}

TEST_CASE("A batch with a list that is too long fails completely") {
  loopback<transport::rc> pair{extended_options<transport::rc>()};
  const std::vector<const_buffer> list(40, pair.near_end.region.const_slice(0, 1));
  const post_result result = pair.near_pair.extended().post(send(pair.near_end.region.slice(0, 1)),
                                                            send(std::span{list}).signaled());
  CHECK(!result);
  CHECK(result.accepted() == 0);
  // The provider chooses the error; this is librxe's.
  if (is_soft_roce(pair.context)) CHECK(result.code() == std::errc::no_space_on_device);
  failure why;
  result.check(why);
  CHECK(why.explanation().starts_with(
      "0 requests were accepted; possible causes: the queue is full (max_send_wr is "));
}
