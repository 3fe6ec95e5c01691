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

TEST_CASE("An XRC target is created in its XRC domain without other objects",
          "[ibv_create_qp_ex]") {
  xrc_bench bench;
  int user = 0;
  bench.machine.name("user", user);
  const auto made = target::create(bench.xrc, {.user_context = &user});
  CHECK(bench.machine.line() ==
        "ibv_create_qp_ex ctx0 qp_type=XRC_RECV qp_context=user cap={} xrcd=xrcd0");
  CHECK(made.user_context() == &user);
  CHECK(!made.protection_domain());
  CHECK(!made.recv_cq());
}

TEST_CASE("A failed creation of an XRC target names its XRC domain") {
  xrc_bench bench;
  bench.machine.fail<called::create_qp_ex>(ENOMEM);
  failure why;
  CHECK(!target::create(bench.xrc, {}, why));
  CHECK(std::string{why.what()} ==
        "ibv_create_qp_ex on fake0 xrcd: ENOMEM (Cannot allocate memory)");
  CHECK(!target::create(xrc_domain_ref{}, {}, why));
  CHECK(why.explanation() == "the XRC domain is empty: moved from, closed, or never created");
}

TEST_CASE("An XRC target connects to the initiator of its peer", "[ibv_modify_qp]") {
  xrc_bench bench;
  auto fresh = target::create(bench.xrc);
  bench.machine.forget_calls();
  auto waiting =
      fresh.init().port(port_number{1}).allow(access_right::remote_read).psn(psn{0xabcdef}).apply();
  const endpoint announced = waiting.endpoint();
  CHECK(announced.number == waiting.number());
  CHECK(announced.psn == psn{0xabcdef});
  const target connected = waiting.connect(test_bench::peer);
  CHECK_THAT(bench.machine.lines<called::modify_qp>(), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT qp_access_flags=REMOTE_READ pkey_index=0 port_num=1
    ibv_modify_qp qp0 qp_state=RTR
      ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=64}} path_mtu=1024
      rq_psn=0x123456 min_rnr_timer=12 max_dest_rd_atomic=8 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=14 sq_psn=0xabcdef)"));
}

TEST_CASE("An XRC initiator connects to the target of its peer and names the peer's queue",
          "[ibv_modify_qp]") {
  xrc_bench bench;
  const xrc_shared_receive_queue far{bench.domain, bench.xrc, bench.queue, {}};
  auto fresh = initiator::create(bench.domain, {.send_cq = bench.queue});
  bench.machine.forget_calls();
  auto waiting = fresh.init().port(port_number{1}).psn(psn{0xabcdef}).apply();
  const initiator connected = waiting.connect(test_bench::peer, {.retry_count = 2});
  connected.post(send().to(far.number())).check();
  CHECK_THAT((bench.machine.lines<called::modify_qp, called::post_send>()), is_log(R"(
    ibv_modify_qp qp0 qp_state=INIT qp_access_flags=0 pkey_index=0 port_num=1
    ibv_modify_qp qp0 qp_state=RTR
      ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=64}} path_mtu=1024
      rq_psn=0x123456 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=14 retry_cnt=2 rnr_retry=7 max_rd_atomic=4
      sq_psn=0xabcdef
    ibv_post_send qp0: SEND remote_srqn=0x503)"));
}

TEST_CASE("An XRC target is opened by its number", "[ibv_open_qp][ibv_destroy_qp]") {
  xrc_bench bench;
  auto made = target::create(bench.xrc);
  int user = 0;
  bench.machine.name("user", user);
  auto opened = target::open(bench.xrc, made.number(), {.user_context = &user});
  CHECK(made.number() == qp_number{0x11});
  CHECK(bench.machine.line() ==
        "ibv_open_qp ctx0 qp_num=0x11 xrcd=xrcd0 qp_context=user qp_type=XRC_RECV");
  CHECK(opened.number() == made.number());
  CHECK(opened.native_handle() != made.native_handle());

  auto ready = opened.assume<qp_state::rts>();
  ready.close();
  CHECK(bench.machine.line() == "ibv_destroy_qp qp1");
}

TEST_CASE("Opening a missing target fails with a reason") {
  xrc_bench bench;
  failure why;
  CHECK(!target::open(bench.xrc, qp_number{0xbeef}, {}, why));
  CHECK(std::string{why.what()} ==
        "ibv_open_qp on fake0 xrcd: EINVAL (Invalid argument); this XRC domain has no target with "
        "the number 0xbeef");
  bench.machine.fail<called::open_qp>(EOPNOTSUPP);
  CHECK(!target::open(bench.xrc, qp_number{1}, {}, why));
  CHECK(why.explanation() == "fake0 has no queue pairs that can be shared (XRC)");
}

TEST_CASE("Closing the XRC domain of open targets fails with a reason") {
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
