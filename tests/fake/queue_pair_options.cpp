// SPDX-License-Identifier: MIT
// What a queue pair is made with: which call makes it, and what that is given.
#include <cerrno>

#include <support/catch.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

queue_pair_options plain(const test_bench& bench) {
  return {.send_cq = bench.queue, .recv_cq = bench.queue, .max_send_wr = 7, .max_inline_data = 3};
}

}  // namespace

TEST_CASE("A plain pair is made by the plain call, which every provider has", "[ibv_create_qp]") {
  test_bench bench;
  const auto pair = queue_pair<transport::rc>::create(bench.domain, plain(bench));
  CHECK(bench.machine.count<fake::called::create_qp_ex>() == 0);
  const auto call = bench.machine.calls<fake::called::create_qp>().at(0);
  CHECK(call.domain == bench.domain.native_handle());
  CHECK(call.attributes.cap.max_send_wr == 7);
  CHECK(call.attributes.cap.max_inline_data == 3);
}

TEST_CASE("Options beyond the plain call are asked for, and no others", "[ibv_create_qp_ex]") {
  test_bench bench;
  queue_pair_options options = plain(bench);
  const auto made = [&](auto service) {
    const auto pair = queue_pair<decltype(service)::value>::create(bench.domain, options);
    CHECK(bench.machine.count<fake::called::create_qp>() == 0);
    return bench.machine.calls<fake::called::create_qp_ex>().back();
  };
  using ud = std::integral_constant<transport, transport::ud>;
  using raw = std::integral_constant<transport, transport::raw_packet>;

  SECTION("operations of extended sending") {
    options.send_operations = send_operation::send | send_operation::flush;
    const auto call = made(ud{});
    CHECK(call.context == bench.context.native_handle());
    CHECK(call.attributes.comp_mask == (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS));
    CHECK(call.attributes.send_ops_flags == (IBV_QP_EX_WITH_SEND | 1 << 11));
    CHECK(call.attributes.pd == bench.domain.native_handle());
    CHECK(call.attributes.send_cq == bench.queue.native_handle());
    CHECK(call.attributes.recv_cq == bench.queue.native_handle());
    CHECK(call.attributes.cap.max_send_wr == 7);
    CHECK(call.attributes.cap.max_inline_data == 3);
    CHECK(call.attributes.qp_type == IBV_QPT_UD);
  }
  SECTION("flags") {
    options.flags = queue_pair_flag::strip_vlan | queue_pair_flag::scatter_frame_check_sequence;
    const auto call = made(raw{});
    CHECK(call.attributes.comp_mask == (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS));
    CHECK(call.attributes.create_flags ==
          (IBV_QP_CREATE_CVLAN_STRIPPING | IBV_QP_CREATE_SCATTER_FCS));
    CHECK(call.attributes.qp_type == IBV_QPT_RAW_PACKET);
  }
  SECTION("the number of another pair") {
    options.source_queue_pair = qp_number{0x123};
    const auto call = made(ud{});
    CHECK(call.attributes.comp_mask == (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS));
    CHECK(call.attributes.create_flags == IBV_QP_CREATE_SOURCE_QPN);
    CHECK(call.attributes.source_qpn == 0x123);
  }
  SECTION("the header of segmented sends") {
    options.max_tso_header = 64;
    const auto call = made(raw{});
    CHECK(call.attributes.comp_mask == (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER));
    CHECK(call.attributes.max_tso_header == 64);
  }
}

TEST_CASE("A pair that takes its receives from a shared queue says which") {
  test_bench bench;
  ibv_srq shared{};
  shared.context = bench.context.native_handle();
  queue_pair_options options = plain(bench);
  options.srq = &shared;
  const auto pair = queue_pair<transport::rc>::create(bench.domain, options);
  CHECK(bench.machine.calls<fake::called::create_qp>().at(0).attributes.srq == &shared);
  CHECK(pair.shared_receive_queue().native_handle() == &shared);
}

TEST_CASE("An XRC initiator needs no queue for receives") {
  test_bench bench;
  const auto pair = queue_pair<transport::xrc_send>::create(bench.domain, {.send_cq = bench.queue});
  const auto call = bench.machine.calls<fake::called::create_qp>().at(0);
  CHECK(call.attributes.qp_type == IBV_QPT_XRC_SEND);
  CHECK(call.attributes.recv_cq == nullptr);
  CHECK(call.attributes.cap.max_recv_wr == 0);
  CHECK(call.attributes.cap.max_recv_sge == 0);
  failure why;
  CHECK(!queue_pair<transport::rc>::create(bench.domain, {.send_cq = bench.queue}, why));
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "recv_cq is empty: moved from, closed, or never given");
}

TEST_CASE("A device without the extended calls says what it lacks") {
  test_bench bench;
  queue_pair_options options = plain(bench);
  options.send_operations = send_operation::send;
  failure why;
  constexpr std::string_view lacking =
      "fake0 has no RC queue pairs, or not with extended calls for send; fall_back_to_classic "
      "makes "
      "a pair without extended calls, which sends by post(...)";
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    bench.machine.fail<fake::called::create_qp_ex>(error);
    CHECK(!queue_pair<transport::rc>::create(bench.domain, options, why));
    CHECK(why.verb() == "ibv_create_qp_ex");
    CHECK(why.code().value() == error);
    CHECK(why.explanation() == lacking);
  }

  // Which may be too much, but is not what was refused.
  options.max_inline_data = 64;
  bench.machine.fail<fake::called::create_qp_ex>(EOPNOTSUPP);
  CHECK(!queue_pair<transport::rc>::create(bench.domain, options, why));
  CHECK(why.explanation() == lacking);
}

TEST_CASE("Parts of another device are named") {
  test_bench bench;
  bench.machine.devices.push_back(fake::roce_device("fake1"));
  const context other = open_device("fake1");
  const completion_queue elsewhere{other, 4};
  bench.machine.fail<fake::called::create_qp>(EINVAL);
  failure why;
  CHECK(!queue_pair<transport::rc>::create(bench.domain,
                                           {.send_cq = bench.queue, .recv_cq = elsewhere}, why));
  CHECK(why.explanation() == "recv_cq was made on fake1, or by another opening of it");
}
