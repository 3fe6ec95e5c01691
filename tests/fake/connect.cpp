// SPDX-License-Identifier: MIT
// connect(): from INIT to RTS in one call, and back to INIT when it fails.
#include <cerrno>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::modify_qp;

namespace {

auto waiting_with_attributes(const test_bench& bench) {
  auto fresh = bench.fresh<transport::rc>();
  return fresh.init()
      .port(port_number{1})
      .allow(access_right::remote_write)
      .pkey_index(pkey_index{5})
      .gid(gid_index{1})
      .psn(psn{0x10203})
      .apply();
}

}  // namespace

TEST_CASE("connect passes all required attributes, with the defaults of the builders",
          "[ibv_modify_qp]") {
  test_bench bench;
  auto rc = bench.waiting<transport::rc>();
  auto uc = bench.waiting<transport::uc>();
  bench.machine.forget_calls();
  const auto first = rc.connect(test_bench::peer);
  CHECK(first);
  CHECK(!rc);
  const auto second = uc.connect(test_bench::peer);
  CHECK_THAT(bench.machine.lines<modify_qp>(), is_log(R"(
    ibv_modify_qp qp0 qp_state=RTR
      ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=64}} path_mtu=1024
      rq_psn=0x123456 min_rnr_timer=12 max_dest_rd_atomic=8 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=14 retry_cnt=6 rnr_retry=7 max_rd_atomic=4
      sq_psn=0xabcdef
    ibv_modify_qp qp1 qp_state=RTR
      ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=64}} path_mtu=1024
      rq_psn=0x123456 dest_qp_num=0x77
    ibv_modify_qp qp1 qp_state=RTS sq_psn=0xabcdef)"));
}

TEST_CASE("connect passes each of its options", "[ibv_modify_qp]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  bench.machine.forget_calls();
  const auto pair = waiting.connect(test_bench::peer,
                                    {.path = {.service_level = service_level{2}, .hop_limit = 9},
                                     .path_mtu = mtu::bytes_512,
                                     .max_destination_read_atomic = 3,
                                     .max_initiator_read_atomic = 2,
                                     .rnr_timer = rnr_timer::from_code(21),
                                     .acknowledge_timeout = acknowledge_timeout::from_code(8),
                                     .retry_count = 1,
                                     .rnr_retry_count = 4});
  CHECK_THAT(bench.machine.lines<modify_qp>(), is_log(R"(
    ibv_modify_qp qp0 qp_state=RTR
      ah_attr={port_num=1 sl=2 grh={dgid=::ffff:10.0.0.2 sgid_index=2 hop_limit=9}} path_mtu=512
      rq_psn=0x123456 min_rnr_timer=21 max_dest_rd_atomic=3 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=8 retry_cnt=1 rnr_retry=4 max_rd_atomic=2
      sq_psn=0xabcdef)"));
}

TEST_CASE("A connect that fails at RTR leaves the pair in INIT") {
  test_bench bench;
  auto waiting = waiting_with_attributes(bench);
  const announced_attributes announced = waiting.announced();
  const failure why = reported([&] { bench.machine.fail<modify_qp>(EINVAL); },
                               [&](auto&&... policy) {
                                 const auto pair = waiting.connect(test_bench::peer, {}, policy...);
                                 CHECK(!pair);
                               });
  CHECK(std::string{why.what()}.starts_with("ibv_modify_qp INIT->RTR on fake0:1 qp 0x11"));
  CHECK(waiting.announced() == announced);
  CHECK(bench.machine.attributes(waiting.native_handle()).qp_state == IBV_QPS_INIT);
  CHECK(waiting.connect(test_bench::peer));
}

TEST_CASE("A connect that fails at RTS returns the pair to INIT with its attributes") {
  test_bench bench;
  auto waiting = waiting_with_attributes(bench);
  const announced_attributes announced = waiting.announced();
  const failure why = reported([&] { bench.machine.fail<modify_qp>(EINVAL, 2); },
                               [&](auto&&... policy) {
                                 const auto pair = waiting.connect(test_bench::peer, {}, policy...);
                                 CHECK(!pair);
                               });
  CHECK(std::string{why.what()}.starts_with("ibv_modify_qp RTR->RTS on fake0:1 qp 0x11"));
  CHECK(waiting.announced() == announced);

  bench.machine.fail<modify_qp>(EINVAL, 2);
  std::error_code code;
  const auto attempt = [&] { CHECK(!waiting.connect(test_bench::peer, {}, code)); };
  CHECK_THAT(bench.machine.lines_of<modify_qp>(attempt), is_log(R"(
    ibv_modify_qp qp0 qp_state=RTR
      ah_attr={port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64}} path_mtu=1024
      rq_psn=0x123456 min_rnr_timer=12 max_dest_rd_atomic=8 dest_qp_num=0x77
    ibv_modify_qp qp0 qp_state=RTS timeout=14 retry_cnt=6 rnr_retry=7 max_rd_atomic=4
      sq_psn=0x10203
    ibv_modify_qp qp0 qp_state=RESET
    ibv_modify_qp qp0 qp_state=INIT qp_access_flags=REMOTE_WRITE pkey_index=5 port_num=1)"));

  const auto pair = waiting.connect(test_bench::peer);
  CHECK(pair);
  CHECK(field(bench.modification(), "sq_psn") == "0x10203");
}

TEST_CASE("A connect whose query fails leaves the pair in INIT") {
  test_bench bench;
  auto waiting = bench.waiting<transport::rc>();
  failure why;
  SECTION("about its port, before RTR") {
    bench.machine.fail<fake::called::query_port>(EIO);
    CHECK(!waiting.connect(test_bench::peer, {}, why));
    CHECK(why.verb() == "ibv_query_port");
  }
  SECTION("about its limits") {
    bench.machine.fail<fake::called::query_device>(EIO);
    CHECK(!waiting.connect(test_bench::peer, {}, why));
    CHECK(why.verb() == "ibv_query_device_ex");
  }
  CHECK(bench.machine.attributes(waiting.native_handle()).qp_state == IBV_QPS_INIT);
  CHECK(waiting.connect(test_bench::peer, {}, why));
  CHECK(!why);
}

TEST_CASE("A failed return to INIT is reported to the failure hook") {
  test_bench bench;
  const told_failures told;
  auto waiting = bench.waiting<transport::rc>();
  std::error_code code;
  SECTION("because the query of the pair fails") {
    bench.machine.fail<modify_qp>(EINVAL, 2);
    bench.machine.fail<fake::called::query_qp>(EIO);
    CHECK(!waiting.connect(test_bench::peer, {}, code));
    REQUIRE(told.messages().size() == 1);
    CHECK(told.messages()[0] == "ibv_query_qp on fake0 qp 0x11: EIO (Input/output error)");
  }
  SECTION("because it cannot be reset") {
    bench.machine.before<modify_qp>([&] {
      if (field(bench.modification(), "qp_state") == "RTS")
        bench.machine.before<modify_qp>([&] { bench.machine.fail<modify_qp>(EIO); });
    });
    bench.machine.fail<modify_qp>(EINVAL, 2);
    CHECK(!waiting.connect(test_bench::peer, {}, code));
    REQUIRE(told.messages().size() == 1);
    CHECK(told.messages()[0] ==
          "ibv_modify_qp RTR->RESET on fake0:1 qp 0x11: EIO (Input/output error)");
  }
  // The caller gets the first failure, not the second.
  CHECK(code == std::errc::invalid_argument);
}
