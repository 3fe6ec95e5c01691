// SPDX-License-Identifier: MIT
// The attributes of new queue pairs: the call that makes them, and its arguments.
#include <cerrno>
#include <string>
#include <type_traits>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "test_bench.hpp"

using namespace adverb;

namespace {

queue_pair_options plain(const test_bench& bench) {
  return {.send_cq = bench.queue, .recv_cq = bench.queue, .max_send_wr = 7, .max_inline_data = 3};
}

}  // namespace

TEST_CASE("A pair without extended options is created by ibv_create_qp", "[ibv_create_qp]") {
  test_bench bench;
  bench.machine.forget_calls();
  const auto pair = queue_pair<transport::rc>::create(bench.domain, plain(bench));
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_create_qp pd0 qp_type=RC send_cq=cq0 recv_cq=cq0 cap={max_send_wr=7 max_recv_wr=1
      max_send_sge=1 max_recv_sge=1 max_inline_data=3})"));
}

TEST_CASE("ibv_create_qp_ex gets only the extended options that are set", "[ibv_create_qp_ex]") {
  const auto made = [&](auto service, const auto& change) {
    test_bench bench;
    queue_pair_options options = plain(bench);
    change(options);
    const auto lines = bench.machine.lines_of([&] {
      const auto pair = queue_pair<decltype(service)::value>::create(bench.domain, options);
      CHECK(pair);
    });
    CHECK(bench.machine.count<fake::called::create_qp>() == 0);
    return lines.lines.at(0);
  };
  using ud = std::integral_constant<transport, transport::ud>;
  using raw = std::integral_constant<transport, transport::raw_packet>;
  const auto line = [](const std::string& type, const std::string& more) {
    return "ibv_create_qp_ex ctx0 qp_type=" + type +
           " send_cq=cq0 recv_cq=cq0 cap={max_send_wr=7 max_recv_wr=1 max_send_sge=1 "
           "max_recv_sge=1 max_inline_data=3} pd=pd0 " +
           more;
  };
  CHECK(made(ud{}, [](auto& options) {
          options.send_operations = send_operation::send | send_operation::flush;
        }) == line("UD", "send_ops_flags=SEND|0x800"));
  CHECK(made(raw{}, [](auto& options) {
          options.flags =
              queue_pair_flag::strip_vlan | queue_pair_flag::scatter_frame_check_sequence;
        }) == line("RAW_PACKET", "create_flags=SCATTER_FCS|CVLAN_STRIPPING"));
  CHECK(made(ud{}, [](auto& options) { options.source_queue_pair = qp_number{0x123}; }) ==
        line("UD", "create_flags=SOURCE_QPN source_qpn=0x123"));
  CHECK(made(raw{}, [](auto& options) { options.max_tso_header = 64; }) ==
        line("RAW_PACKET", "max_tso_header=64"));
}

TEST_CASE("A pair is created with a shared receive queue and returns it") {
  test_bench bench;
  ibv_srq shared{};
  shared.context = bench.context.native_handle();
  bench.machine.name("shared", shared);
  queue_pair_options options = plain(bench);
  options.srq = &shared;
  const auto pair = queue_pair<transport::rc>::create(bench.domain, options);
  CHECK(field(bench.machine.line(), "srq") == "shared");
  CHECK(pair.srq().native_handle() == &shared);
}

TEST_CASE("cq is the completion queue of sends and receives") {
  test_bench bench;
  const auto line_of = [&](auto service) {
    const auto pair =
        queue_pair<decltype(service)::value>::create(bench.domain, {.cq = bench.queue});
    CHECK(pair.send_cq().native_handle() == bench.queue.native_handle());
    return bench.machine.line();
  };
  using rc = std::integral_constant<transport, transport::rc>;
  using initiator = std::integral_constant<transport, transport::xrc_send>;
  CHECK(line_of(rc{}) ==
        "ibv_create_qp pd0 qp_type=RC send_cq=cq0 recv_cq=cq0 cap={max_send_wr=1 max_recv_wr=1 "
        "max_send_sge=1 max_recv_sge=1}");
  CHECK(line_of(initiator{}) ==
        "ibv_create_qp pd0 qp_type=XRC_SEND send_cq=cq0 cap={max_send_wr=1 max_send_sge=1}");

  const auto extended = queue_pair<transport::rc>::create(
      bench.domain, {.cq = bench.queue, .send_operations = send_operation::send});
  CHECK(field(bench.machine.line(), "send_cq") == "cq0");
  CHECK(field(bench.machine.line(), "recv_cq") == "cq0");
}

TEST_CASE("cq together with send_cq or recv_cq fails without a call") {
  test_bench bench;
  bench.machine.forget_calls();
  for (const queue_pair_options& options :
       {queue_pair_options{.cq = bench.queue, .send_cq = bench.queue},
        queue_pair_options{.cq = bench.queue, .recv_cq = bench.queue}}) {
    const failure why = reported([&](auto&&... policy) {
      const auto none = queue_pair<transport::rc>::create(bench.domain, options, policy...);
      CHECK_FALSE(none);
    });
    CHECK(std::string{why.what()} ==
          "ibv_create_qp: EINVAL (Invalid argument); cq is the completion queue of sends and "
          "receives: set either cq, or send_cq and recv_cq");
  }
  CHECK(bench.machine.lines().lines.empty());
}

TEST_CASE("An XRC initiator needs no receive completion queue") {
  test_bench bench;
  const auto pair = queue_pair<transport::xrc_send>::create(bench.domain, {.send_cq = bench.queue});
  CHECK(bench.machine.line() ==
        "ibv_create_qp pd0 qp_type=XRC_SEND send_cq=cq0 cap={max_send_wr=1 max_send_sge=1}");
  failure why;
  CHECK(!queue_pair<transport::rc>::create(bench.domain, {.send_cq = bench.queue}, why));
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "recv_cq is empty: moved from, closed, or never given");
}

TEST_CASE("Extended calls fail with a reason on a device without them") {
  test_bench bench;
  queue_pair_options options = plain(bench);
  options.send_operations = send_operation::send;
  failure why;
  constexpr std::string_view lacking =
      "fake0 has no RC queue pairs, or none with extended calls for send; fall_back_to_classic "
      "creates a pair without extended calls, which sends with post(...)";
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    bench.machine.fail<fake::called::create_qp_ex>(error);
    CHECK(!queue_pair<transport::rc>::create(bench.domain, options, why));
    CHECK(why.verb() == "ibv_create_qp_ex");
    CHECK(why.code().value() == error);
    CHECK(why.explanation() == lacking);
  }

  // The size may be too large, but it is not the refused option.
  options.max_inline_data = 64;
  bench.machine.fail<fake::called::create_qp_ex>(EOPNOTSUPP);
  CHECK(!queue_pair<transport::rc>::create(bench.domain, options, why));
  CHECK(why.explanation() == lacking);
}

TEST_CASE("A failed create names parts of another device") {
  test_bench bench;
  bench.machine.devices.push_back(fake::roce_device("fake1"));
  const context other = open_device("fake1");
  const completion_queue elsewhere{other, 4};
  bench.machine.fail<fake::called::create_qp>(EINVAL);
  failure why;
  CHECK(!queue_pair<transport::rc>::create(bench.domain,
                                           {.send_cq = bench.queue, .recv_cq = elsewhere}, why));
  CHECK(why.explanation() == "recv_cq belongs to another context (of fake1)");
  bench.machine.fail<fake::called::create_qp>(EINVAL);
  CHECK(!queue_pair<transport::rc>::create(bench.domain, {.cq = elsewhere}, why));
  CHECK(why.explanation() == "cq belongs to another context (of fake1)");
}
