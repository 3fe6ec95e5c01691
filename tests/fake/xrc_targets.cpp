// SPDX-License-Identifier: MIT
// The two ends of extended reliable connections (XRC): targets, made and opened, and initiators.
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

using target = queue_pair<transport::xrc_recv>;
using initiator = queue_pair<transport::xrc_send>;

struct xrc_bench : test_bench {
  xrc_domain xrc{context};
};

}  // namespace

TEST_CASE("An XRC target is made in its XRC domain alone", "[ibv_create_qp_ex]") {
  xrc_bench bench;
  int user = 0;
  const auto made = target::create(bench.xrc, {.user_context = &user});
  const auto call = bench.machine.calls<called::create_qp_ex>().at(0);
  CHECK(call.context == bench.context.native_handle());
  CHECK(call.attributes.qp_context == &user);
  CHECK(call.attributes.qp_type == IBV_QPT_XRC_RECV);
  CHECK(call.attributes.comp_mask == IBV_QP_INIT_ATTR_XRCD);
  CHECK(call.attributes.xrcd == bench.xrc.native_handle());
  CHECK(call.attributes.send_cq == nullptr);
  CHECK(call.attributes.recv_cq == nullptr);
  CHECK(call.attributes.srq == nullptr);
  CHECK(call.attributes.pd == nullptr);
  CHECK(made.user_context() == &user);
  CHECK(!made.protection_domain());
  CHECK(!made.receive_completion_queue());
}

TEST_CASE("An XRC target that cannot be made says where") {
  xrc_bench bench;
  bench.machine.fail<called::create_qp_ex>(ENOMEM);
  failure why;
  CHECK(!target::create(bench.xrc, {}, why));
  CHECK(std::string{why.what()} ==
        "ibv_create_qp_ex on fake0 xrcd: ENOMEM (Cannot allocate memory)");
  CHECK(!target::create(xrc_domain_ref{}, {}, why));
  CHECK(why.explanation() == "the XRC domain is empty: moved from, closed, or never made");
}

TEST_CASE("An XRC target is connected to the initiator of its peer", "[ibv_modify_qp]") {
  xrc_bench bench;
  auto fresh = target::create(bench.xrc);
  auto waiting = fresh.init()
                     .port(port_number{1})
                     .allow(access_right::remote_read)
                     .sequence_number(packet_sequence_number{0xabcdef})
                     .apply();
  CHECK(bench.modification().mask ==
        (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  const endpoint announced = waiting.endpoint();
  CHECK(announced.number == waiting.number());
  CHECK(announced.sequence_number == packet_sequence_number{0xabcdef});

  bench.machine.forget_calls();
  const target connected = waiting.connect(test_bench::peer);
  const auto modifications = bench.machine.calls<called::modify_qp>();
  REQUIRE(modifications.size() == 2);
  CHECK(modifications[0].attributes.qp_state == IBV_QPS_RTR);
  CHECK(modifications[0].mask ==
        (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
  CHECK(modifications[0].attributes.dest_qp_num == 0x77);
  CHECK(modifications[0].attributes.rq_psn == 0x123456);
  CHECK(modifications[1].attributes.qp_state == IBV_QPS_RTS);
  CHECK(modifications[1].mask == (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN));
  CHECK(modifications[1].attributes.sq_psn == 0xabcdef);
}

TEST_CASE("An XRC initiator is connected to the target of its peer", "[ibv_modify_qp]") {
  xrc_bench bench;
  auto fresh = initiator::create(bench.domain, {.send_cq = bench.queue});
  auto waiting =
      fresh.init().port(port_number{1}).sequence_number(packet_sequence_number{0xabcdef}).apply();
  bench.machine.forget_calls();
  const initiator connected = waiting.connect(test_bench::peer);
  const auto modifications = bench.machine.calls<called::modify_qp>();
  REQUIRE(modifications.size() == 2);
  CHECK(modifications[0].mask ==
        (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
  CHECK(modifications[0].attributes.dest_qp_num == 0x77);
  CHECK(modifications[1].mask == (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT |
                                  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
  CHECK(modifications[1].attributes.sq_psn == 0xabcdef);

  xrc_shared_receive_queue far{bench.domain, bench.xrc, bench.queue, {}};
  connected.post(send().to(far.number())).check();
  const auto request = bench.machine.calls<called::post_send>().at(0).requests.at(0);
  CHECK(static_cast<shared_receive_queue_number>(request.wr.qp_type.xrc.remote_srqn) ==
        far.number());
}

TEST_CASE("An XRC target is opened by its number", "[ibv_open_qp][ibv_destroy_qp]") {
  xrc_bench bench;
  auto made = target::create(bench.xrc);
  int user = 0;
  auto opened = target::open(bench.xrc, made.number(), {.user_context = &user});
  const auto call = bench.machine.calls<called::open_qp>().at(0);
  CHECK(call.context == bench.context.native_handle());
  CHECK(call.attributes.comp_mask == (IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
                                      IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE));
  CHECK(static_cast<qp_number>(call.attributes.qp_num) == made.number());
  CHECK(call.attributes.xrcd == bench.xrc.native_handle());
  CHECK(call.attributes.qp_context == &user);
  CHECK(call.attributes.qp_type == IBV_QPT_XRC_RECV);
  CHECK(opened.number() == made.number());
  CHECK(opened.native_handle() != made.native_handle());

  auto ready = opened.assume<qp_state::rts>();
  const ibv_qp* const native = ready.native_handle();
  ready.close();
  CHECK(bench.machine.calls<called::destroy_qp>().at(0).pair == native);
}

TEST_CASE("A target that is not there cannot be opened, and the failure says so") {
  xrc_bench bench;
  failure why;
  CHECK(!target::open(bench.xrc, qp_number{0xbeef}, {}, why));
  CHECK(std::string{why.what()} ==
        "ibv_open_qp on fake0 xrcd: EINVAL (Invalid argument); no target with the number 0xbeef is "
        "in this XRC domain");
  bench.machine.fail<called::open_qp>(EOPNOTSUPP);
  CHECK(!target::open(bench.xrc, qp_number{1}, {}, why));
  CHECK(why.explanation() == "fake0 has no queue pairs that can be shared (XRC)");
}

TEST_CASE("The XRC domain of targets outlives them, or says why not") {
  const told_failures told;
  xrc_bench bench;
  auto made = target::create(bench.xrc);
  auto opened = target::open(bench.xrc, made.number());
  failure why;
  bench.xrc.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "still in use by 2 queue pairs; destroy these first");

  // A destroy that fails leaves it counted.
  bench.machine.fail<called::destroy_qp>(EBUSY);
  opened.close(why);
  CHECK(why);
  bench.xrc.close(why);
  CHECK(why.explanation() == "still in use by 2 queue pairs; destroy these first");
  opened.close();

  // Given to C and taken back, it no longer shows what it stands on.
  auto kept = queue_pair<transport::xrc_recv, qp_state::reset>{adopt, made.release()};
  bench.xrc.close();
  kept.close();
  CHECK(told.messages().empty());
}
