// SPDX-License-Identifier: MIT
// Extended reliable connections (XRC), which no software device has: domains, shared receive
// queues, initiators and targets.
#include <cerrno>
#include <string>

#include <fcntl.h>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
namespace called = fake::called;

namespace {

struct xrc_bench : test_bench {
  xrc_domain xrc{context};
  xrc_shared_receive_queue shared{domain, xrc, queue, {.max_wr = 16, .max_sge = 2}};
};

std::string domain_refusal(int error, int file, xrc_domain_opening opening) {
  test_bench bench;
  bench.machine.fail<called::open_xrcd>(error);
  failure why;
  const xrc_domain domain{bench.context, file, opening, why};
  CHECK(!domain);
  return why.what();
}

}  // namespace

TEST_CASE("An XRC domain is opened privately or through a file to be shared",
          "[ibv_open_xrcd][ibv_close_xrcd]") {
  static_assert(O_CREAT == 0x40 && O_EXCL == 0x80);
  test_bench bench;
  bench.machine.forget_calls();
  xrc_domain xrc{bench.context};
  CHECK(xrc.context().native_handle() == bench.context.native_handle());
  xrc.close();
  for (const auto opening : {xrc_domain_opening::existing, xrc_domain_opening::existing_or_new,
                             xrc_domain_opening::only_new})
    const xrc_domain shared{bench.context, 7, opening};
  CHECK_THAT(bench.machine.lines(), is_log(R"(
    ibv_open_xrcd ctx0 fd=-1 oflags=0x40
    ibv_close_xrcd xrcd0
    ibv_open_xrcd ctx0 fd=7 oflags=0x0
    ibv_close_xrcd xrcd1
    ibv_open_xrcd ctx0 fd=7 oflags=0x40
    ibv_close_xrcd xrcd2
    ibv_open_xrcd ctx0 fd=7 oflags=0xc0
    ibv_close_xrcd xrcd3)"));
}

TEST_CASE("Opening an XRC domain fails with a reason") {
  CHECK(domain_refusal(EAGAIN, 7, xrc_domain_opening::existing) ==
        "ibv_open_xrcd on fake0: EAGAIN (Resource temporarily unavailable); no XRC domain is open "
        "through this file");
  CHECK(domain_refusal(EINVAL, 7, xrc_domain_opening::only_new) ==
        "ibv_open_xrcd on fake0: EINVAL (Invalid argument); possible causes: an XRC domain is "
        "already open "
        "through this file");
  CHECK(domain_refusal(EBADF, 7, xrc_domain_opening::existing) ==
        "ibv_open_xrcd on fake0: EBADF (Bad file descriptor); the file is not open");
  CHECK(domain_refusal(EOPNOTSUPP, 7, xrc_domain_opening::existing) ==
        "ibv_open_xrcd on fake0: EOPNOTSUPP (Operation not supported); fake0 has no XRC domains");
  CHECK(domain_refusal(EINVAL, 7, xrc_domain_opening::existing) ==
        "ibv_open_xrcd on fake0: EINVAL (Invalid argument)");
}

TEST_CASE("An invalid file descriptor does not open a private XRC domain") {
  test_bench bench;
  failure why;
  const xrc_domain xrc{bench.context, -1, xrc_domain_opening::existing_or_new, why};
  CHECK(!xrc);
  CHECK(std::string{why.what()} ==
        "ibv_open_xrcd on fake0: EBADF (Bad file descriptor); the file is not open");
  CHECK(bench.machine.count<called::open_xrcd>() == 0);
}

TEST_CASE("A shared receive queue of XRC is created with exactly its options",
          "[ibv_create_srq_ex][ibv_destroy_srq]") {
  xrc_bench bench;
  bench.shared.post(receive(), receive()).check();
  bench.shared.close();
  CHECK_THAT(
      (bench.machine.lines<called::create_srq_ex, called::post_srq_recv, called::destroy_srq>()),
      is_log(R"(
    ibv_create_srq_ex ctx0 attr={max_wr=16 max_sge=2} srq_type=XRC pd=pd0 xrcd=xrcd0 cq=cq0
    ibv_post_srq_recv srq0: RECV; RECV
    ibv_destroy_srq srq0)"));
}

TEST_CASE("A shared receive queue of XRC returns its number", "[ibv_get_srq_num]") {
  xrc_bench bench;
  const shared_receive_queue_number number = bench.shared.number();
  CHECK(bench.machine.line() == "ibv_get_srq_num srq0");
  CHECK(number ==
        static_cast<shared_receive_queue_number>(0x500 + bench.shared.native_handle()->handle));
  const xrc_shared_receive_queue_ref reference = bench.shared;
  CHECK(reference.number() == number);

  bench.machine.fail<called::get_srq_num>(EOPNOTSUPP);
  failure why;
  CHECK(bench.shared.number(why) == shared_receive_queue_number{});
  CHECK(std::string{why.what()} ==
        "ibv_get_srq_num on fake0 srq " + std::to_string(bench.shared.native_handle()->handle) +
            ": EOPNOTSUPP (Operation not supported); fake0 has no numbers of shared receive queues "
            "(XRC)");
  std::error_code code;
  (void)xrc_shared_receive_queue{}.number(code);
  CHECK(code == std::errc::invalid_argument);
}

TEST_CASE("A shared receive queue of XRC beyond the device fails with a reason") {
  xrc_bench bench;
  failure why;
  const xrc_shared_receive_queue queue{bench.domain, bench.xrc, bench.queue, {.max_wr = 2049}, why};
  CHECK(std::string{why.what()} ==
        "ibv_create_srq_ex on fake0: EINVAL (Invalid argument); max_wr is 2049, the device allows "
        "2048");
  bench.machine.fail<called::create_srq_ex>(EOPNOTSUPP);
  const xrc_shared_receive_queue none{bench.domain, bench.xrc, bench.queue, {.max_wr = 1}, why};
  CHECK(why.explanation() == "fake0 has no shared receive queues of this type");
}

TEST_CASE("A refused shared receive queue of XRC names parts of another device") {
  xrc_bench bench;
  bench.machine.devices.push_back(fake::roce_device("fake1"));
  const context other = open_device("fake1");
  const protection_domain elsewhere{other};
  failure why;
  bench.machine.fail<called::create_srq_ex>(EINVAL);
  CHECK(!xrc_shared_receive_queue{elsewhere, bench.xrc, bench.queue, {.max_wr = 16}, why});
  CHECK(std::string_view{why.what()}.starts_with("ibv_create_srq_ex on fake1: EINVAL"));
  CHECK(why.explanation() ==
        "the completion queue belongs to another context (of fake0); "
        "the XRC domain belongs to another context (of fake0)");
  bench.machine.fail<called::create_srq_ex>(EINVAL);
  CHECK(!tag_matching_queue{elsewhere, bench.queue, {.max_wr = 16}, why});
  CHECK(why.explanation() == "the completion queue belongs to another context (of fake0)");
}

TEST_CASE("Closing the parents of a shared receive queue of XRC fails with a reason") {
  const told_failures told;
  xrc_bench bench;
  failure why;
  bench.xrc.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "still in use by 1 shared receive queue; destroy these first");
  bench.queue.close(why);
  CHECK(why.explanation() == "still in use by 1 shared receive queue; destroy these first");
  CHECK(bench.machine.count<called::close_xrcd>() == 0);

  // A destroy that fails leaves it counted.
  bench.machine.fail<called::destroy_srq>(EBUSY);
  bench.shared.close(why);
  CHECK(why);
  bench.xrc.close(why);
  CHECK(why.explanation() == "still in use by 1 shared receive queue; destroy these first");

  bench.shared.close();
  bench.xrc.close();
  CHECK(bench.machine.count<called::close_xrcd>() == 1);
  CHECK(told.messages().empty());
}

TEST_CASE("A queue pair with a shared receive queue of XRC fails with a reason") {
  xrc_bench bench;
  bench.machine.fail<called::create_qp>(EINVAL);
  failure why;
  const auto pair = queue_pair<transport::rc>::create(
      bench.domain,
      {.send_cq = bench.queue, .recv_cq = bench.queue, .srq = bench.shared.native_handle()}, why);
  CHECK(why.explanation() == "srq is an XRC queue, which no queue pair owns: requests name it");
}

TEST_CASE("An XRC initiator with a shared receive queue is refused before the call") {
  xrc_bench bench;
  failure why;
  const auto pair = queue_pair<transport::xrc_send>::create(
      bench.domain, {.send_cq = bench.queue, .srq = bench.shared.native_handle()}, why);
  CHECK_FALSE(pair);
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() ==
        "an XRC initiator only sends, so it has no shared receive queue: leave srq out, and name "
        "the queue of the target in each request");
  CHECK(bench.machine.count<called::create_qp>() == 0);
}
