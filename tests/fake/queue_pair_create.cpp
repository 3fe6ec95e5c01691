// SPDX-License-Identifier: MIT
// Making, adopting, referring to, asking and destroying queue pairs.
#include <cerrno>
#include <string>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::create_qp;
using fake::called::destroy_qp;

namespace {

std::string explanation(test_bench& bench, const queue_pair_options& options) {
  bench.machine.fail<create_qp>(EINVAL);
  failure why;
  const auto pair = queue_pair<transport::rc>::create(bench.domain, options, why);
  CHECK(!pair);
  REQUIRE(why.verb() == "ibv_create_qp");
  CHECK(why.object() == "fake0");
  return std::string{why.explanation()};
}

}  // namespace

TEST_CASE("create passes exactly the options of a queue pair", "[ibv_create_qp]") {
  test_bench bench;
  const completion_queue receives{bench.context, 4};
  int user = 0;
  bench.machine.name("user", user);
  const auto pair = queue_pair<transport::rc>::create(bench.domain, {.send_cq = bench.queue,
                                                                     .recv_cq = receives,
                                                                     .max_send_wr = 7,
                                                                     .max_recv_wr = 6,
                                                                     .max_send_sge = 5,
                                                                     .max_recv_sge = 4,
                                                                     .max_inline_data = 64,
                                                                     .signal_all_sends = true,
                                                                     .user_context = &user});
  CHECK(bench.machine.line() ==
        "ibv_create_qp pd0 qp_type=RC qp_context=user send_cq=cq0 recv_cq=cq1 cap={max_send_wr=7 "
        "max_recv_wr=6 max_send_sge=5 max_recv_sge=4 max_inline_data=64} sq_sig_all=1");

  CHECK(pair.number() == static_cast<qp_number>(pair.native_handle()->qp_num));
  CHECK(pair.context().native_handle() == bench.context.native_handle());
  CHECK(pair.protection_domain().native_handle() == bench.domain.native_handle());
  CHECK(pair.send_cq().native_handle() == bench.queue.native_handle());
  CHECK(pair.recv_cq().native_handle() == receives.native_handle());
  CHECK(pair.user_context() == &user);
}

TEST_CASE("create uses small defaults and the given transport") {
  test_bench bench;
  const auto rc = bench.fresh<transport::rc>();
  const auto uc = bench.fresh<transport::uc>();
  const auto ud = bench.fresh<transport::ud>();
  CHECK_THAT(bench.machine.lines<create_qp>(), is_log(R"(
    ibv_create_qp pd0 qp_type=RC send_cq=cq0 recv_cq=cq0
      cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1}
    ibv_create_qp pd0 qp_type=UC send_cq=cq0 recv_cq=cq0
      cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1}
    ibv_create_qp pd0 qp_type=UD send_cq=cq0 recv_cq=cq0
      cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1 max_recv_sge=1})"));
}

TEST_CASE("A failed create names each exceeded limit with both numbers") {
  test_bench bench;
  const auto said = [&](auto... change) {
    queue_pair_options options{.send_cq = bench.queue, .recv_cq = bench.queue};
    (change(options), ...);
    return explanation(bench, options);
  };
  CHECK(said([](auto& its) { its.max_send_wr = 4097; }) ==
        "max_send_wr is 4097, the device allows 4096");
  CHECK(said([](auto& its) { its.max_recv_wr = 5000; }) ==
        "max_recv_wr is 5000, the device allows 4096");
  CHECK(said([](auto& its) { its.max_send_sge = 17; }) ==
        "max_send_sge is 17, the device allows 16");
  CHECK(said([](auto& its) { its.max_recv_sge = 17; }, [](auto& its) { its.max_send_wr = 4097; }) ==
        "max_send_wr is 4097, the device allows 4096; max_recv_sge is 17, the device allows 16");
  CHECK(said([](auto& its) { its.max_inline_data = 4096; }) ==
        "possible causes: max_inline_data is 4096, and the device allows less");
  CHECK(said().empty());
}

TEST_CASE("The explanation of a refused pair for raw packets names the capability") {
  test_bench bench;
  bench.machine.fail<create_qp>(EPERM);
  failure why;
  const auto pair =
      queue_pair<transport::raw_packet>::create(bench.domain, {.cq = bench.queue}, why);
  CHECK(!pair);
  CHECK(why.explanation() == "raw packets need the capability CAP_NET_RAW");
}

TEST_CASE("Every policy reports a failed create") {
  test_bench bench;
  const failure why =
      reported([&] { bench.machine.fail<create_qp>(ENOMEM); },
               [&](auto&&... policy) {
                 const auto pair = queue_pair<transport::ud>::create(
                     bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue}, policy...);
                 CHECK(!pair);
               });
  CHECK(std::string{why.what()} ==
        "ibv_create_qp on fake0: ENOMEM (Cannot allocate memory); possible causes: no memory is "
        "left, "
        "the device has no room for another queue pair, or the limit of locked memory (ulimit -l)");
}

TEST_CASE("Creating a queue pair without a required object fails without a call") {
  test_bench bench;
  const protection_domain no_domain;
  const auto said = [&](protection_domain_ref domain, const queue_pair_options& options) {
    return std::string{reported([&](auto&&... policy) {
                         const auto pair =
                             queue_pair<transport::rc>::create(domain, options, policy...);
                         CHECK(!pair);
                       }).what()};
  };
  CHECK(said(bench.domain, {.send_cq = bench.queue}) ==
        "ibv_create_qp: EINVAL (Invalid argument); recv_cq is empty: moved from, closed, or never "
        "given");
  CHECK(said(bench.domain, {.recv_cq = bench.queue}) ==
        "ibv_create_qp: EINVAL (Invalid argument); send_cq is empty: moved from, closed, or never "
        "given");
  CHECK(
      said(bench.domain, {}) ==
      "ibv_create_qp: EINVAL (Invalid argument); cq is empty: moved from, closed, or never given");
  CHECK(said(no_domain, {.send_cq = bench.queue, .recv_cq = bench.queue}) ==
        "ibv_create_qp: EINVAL (Invalid argument); the protection domain is empty: moved from, "
        "closed, or never created");
  CHECK(bench.machine.count<create_qp>() == 0);
}

TEST_CASE("A queue pair is destroyed once, by its last owner", "[ibv_destroy_qp]") {
  test_bench bench;
  {
    auto first = bench.fresh<transport::rc>();
    auto second = std::move(first);
    CHECK(!first);
    CHECK(second);
    first = std::move(second);
    CHECK(bench.machine.count<destroy_qp>() == 0);
  }
  CHECK(bench.machine.count<destroy_qp>() == 1);
}

TEST_CASE("Move assignment destroys the previous pair at once, and self-move does nothing",
          "[ibv_destroy_qp]") {
  test_bench bench;
  auto kept = bench.waiting<transport::rc>();
  auto given = bench.waiting<transport::rc>();
  ibv_qp* const remaining = given.native_handle();
  kept = std::move(given);
  auto& itself = kept;
  kept = std::move(itself);
  CHECK(kept.native_handle() == remaining);
  CHECK(kept.announced().psn == psn{0xabcdef});
  CHECK_THAT(bench.machine.lines<destroy_qp>(), is_log("ibv_destroy_qp qp0"));
}

TEST_CASE("Moving a pair moves its announced attributes") {
  test_bench bench;
  auto first = bench.waiting<transport::rc>();
  const announced_attributes announced = first.announced();
  auto second = std::move(first);
  CHECK(second.announced() == announced);
  queue_pair<transport::rc, qp_state::any> any = std::move(second);
  auto again = any.assume<qp_state::init>();
  CHECK(again.announced() == announced);
  CHECK(!any);
}

TEST_CASE("A pair of any state can be viewed or assumed in one state") {
  test_bench bench;
  queue_pair<transport::rc, qp_state::any> member = bench.ready<transport::rc>();
  ibv_qp* const native = member.native_handle();
  CHECK(member.as<qp_state::rts>().post(send()));
  const queue_pair<transport::rc> pair = member.assume<qp_state::rts>();
  CHECK(pair.native_handle() == native);
  CHECK(!member);
}

TEST_CASE("Adoption refuses a pair of another transport or state without destroying it") {
  test_bench bench;
  auto ready = bench.ready<transport::rc>();
  ibv_qp* const native = ready.release();
  CHECK(std::string{reported([&](auto&&... policy) {
                      const queue_pair<transport::uc> pair{adopt, native, policy...};
                      CHECK(!pair);
                    }).what()} ==
        "queue pair adoption on fake0 qp 0x11: EINVAL (Invalid argument); it is RC in RTS, the "
        "type requires UC in RTS");
  CHECK(std::string{reported([&](auto&&... policy) {
                      const queue_pair<transport::rc, qp_state::rtr> pair{
                          adopt, native, announced_attributes{}, policy...};
                      CHECK(!pair);
                    }).what()} ==
        "queue pair adoption on fake0 qp 0x11: EINVAL (Invalid argument); it is RC in RTS, the "
        "type requires RC in RTR");
  CHECK(bench.machine.count<destroy_qp>() == 0);
  const queue_pair<transport::rc> adopted{adopt, native};
  CHECK(adopted);
}

TEST_CASE("A null pointer cannot be adopted as a queue pair") {
  const fake::machine machine;
  std::error_code code;
  const queue_pair<transport::rc> pair{adopt, nullptr, code};
  CHECK(code == std::errc::invalid_argument);
  CHECK(!pair);
  const queue_pair_ref<transport::rc> reference{adopt, nullptr, code};
  CHECK(code == std::errc::invalid_argument);
  CHECK(!reference);
}

TEST_CASE("A reference accepts a pair of the C API if transport and state match") {
  test_bench bench;
  const auto ready = bench.ready<transport::uc>();
  const queue_pair_ref<transport::uc> reference{adopt, ready.native_handle()};
  CHECK(reference.number() == ready.number());
  std::error_code code;
  const queue_pair_ref<transport::uc, qp_state::init> wrong{adopt, ready.native_handle(), code};
  CHECK(code == std::errc::invalid_argument);
  CHECK(!wrong);
}

TEST_CASE("An adopted pair in INIT uses the announced attributes that it is given") {
  test_bench bench;
  auto made = bench.waiting<transport::rc>();
  const announced_attributes said{
      .psn = psn{0x42}, .source_gid = gid_index{1}, .port = port_number{1}};
  queue_pair<transport::rc, qp_state::init> adopted{adopt, made.release(), said};
  auto receiving = adopted.rtr().remote(test_bench::peer).apply();
  CHECK(field(bench.modification(), "ah_attr") ==
        "{port_num=1 grh={dgid=::ffff:10.0.0.2 sgid_index=1 hop_limit=64}}");
  const auto pair = receiving.rts().apply();
  CHECK(field(bench.modification(), "sq_psn") == "0x42");
}

TEST_CASE("query returns the attributes that were set", "[ibv_query_qp]") {
  test_bench bench;
  auto fresh = bench.fresh<transport::rc>();
  auto waiting =
      fresh.init().port(port_number{1}).allow(access_right::remote_read).psn(psn{0x777}).apply();
  auto receiving = waiting.rtr().remote(test_bench::peer).apply();
  const auto pair = receiving.rts().apply();
  const queue_pair_attributes found = pair.query();
  CHECK(found.state() == qp_state::rts);
  CHECK(found.port() == port_number{1});
  CHECK(found.pkey_index() == pkey_index{0});
  CHECK(found.allowed() == access_rights{access_right::remote_read});
  CHECK(found.path_mtu() == mtu::bytes_1024);
  CHECK(found.remote_queue_pair() == qp_number{0x77});
  CHECK(found.sq_psn() == psn{0x777});
  CHECK(found.rq_psn() == psn{0x123456});
  CHECK(found.max_destination_read_atomic() == 8);
  CHECK(found.max_initiator_read_atomic() == 4);
  CHECK(found.rnr_timer().code() == 12);
  CHECK(found.acknowledge_timeout().code() == 14);
  CHECK(found.retry_count() == 6);
  CHECK(found.rnr_retry_count() == 7);
  CHECK(found.max_send_wr() == 1);
  CHECK(found.max_recv_wr() == 1);
  CHECK(found.max_send_sge() == 1);
  CHECK(found.max_recv_sge() == 1);
  CHECK(found.max_inline_data() == 0);
  CHECK(!found.signals_all_sends());
}

TEST_CASE("Every policy reports a pair whose query fails") {
  test_bench bench;
  const auto pair = bench.ready<transport::rc>();
  const failure why = reported([&] { bench.machine.fail<fake::called::query_qp>(EIO); },
                               [&](auto&&... policy) { (void)pair.query(policy...); });
  CHECK(std::string{why.what()} == "ibv_query_qp on fake0 qp 0x11: EIO (Input/output error)");
  const queue_pair<transport::rc> none;
  std::error_code code;
  (void)none.query(code);
  CHECK(code == std::errc::invalid_argument);
}

TEST_CASE("Closing a domain or completion queue of live pairs fails and names the pairs") {
  test_bench bench;
  const auto first = bench.fresh<transport::rc>();
  const auto second = bench.fresh<transport::ud>();
  failure why;
  bench.domain.close(why);
  CHECK(why.explanation() == "still in use by 2 queue pairs; destroy these first");
  bench.queue.close(why);
  CHECK(why.explanation() == "still in use by 2 queue pairs; destroy these first");
  CHECK(bench.domain);
  CHECK(bench.queue);
}
