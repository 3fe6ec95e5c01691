// SPDX-License-Identifier: MIT
// Attaching queue pairs to multicast groups.
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "test_bench.hpp"

using namespace adverb;
using fake::called::attach_mcast;
using fake::called::detach_mcast;

namespace {

const gid group{fake::ipv4_gid(239, 1, 2, 3)};
const gid ipv6_group{{0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7}};

}  // namespace

TEST_CASE("An attachment attaches a pair to a group and detaches it on destruction",
          "[ibv_attach_mcast][ibv_detach_mcast]") {
  test_bench bench;
  const auto pair = bench.ready<transport::ud>();
  {
    const multicast_attachment attachment{pair, ipv6_group, lid{0xc001}};
    CHECK(attachment);
    CHECK(attachment.queue_pair() == pair.native_handle());
    CHECK(attachment.group() == ipv6_group);
    CHECK(attachment.group_lid() == lid{0xc001});
  }
  CHECK_THAT((bench.machine.lines<attach_mcast, detach_mcast>()), is_log(R"(
    ibv_attach_mcast qp0 gid=ff0e::7 lid=0xc001
    ibv_detach_mcast qp0 gid=ff0e::7 lid=0xc001)"));
}

TEST_CASE("A pair can be attached in any state and stays attached across transitions",
          "[ibv_attach_mcast]") {
  test_bench bench;
  auto waiting = bench.waiting<transport::ud>();
  multicast_attachment attachment{waiting, group};
  const queue_pair_ref<transport::ud, qp_state::init> reference = waiting;
  multicast_attachment second{reference, ipv6_group};
  auto receiving = waiting.rtr().apply();
  const auto ready = receiving.rts().apply();
  CHECK(attachment.queue_pair() == ready.native_handle());
  auto raw = queue_pair<transport::raw_packet>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue});
  const multicast_attachment of_raw{raw, group};
  CHECK_THAT((bench.machine.lines<attach_mcast, detach_mcast>()), is_log(R"(
    ibv_attach_mcast qp0 gid=::ffff:239.1.2.3 lid=0x0
    ibv_attach_mcast qp0 gid=ff0e::7 lid=0x0
    ibv_attach_mcast qp1 gid=::ffff:239.1.2.3 lid=0x0)"));
  // The pair's last variable was made after these.
  second.close();
  attachment.close();
}

TEST_CASE("An attachment is moved, released, adopted and closed once", "[ibv_detach_mcast]") {
  test_bench bench;
  const auto pair = bench.ready<transport::ud>();
  multicast_attachment first{pair, group};
  multicast_attachment second{std::move(first)};
  CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move)
  first = std::move(second);
  CHECK(first);
  first = multicast_attachment{pair, ipv6_group};
  first.release();
  CHECK_FALSE(first);
  first.close();
  multicast_attachment adopted{adopt, pair, ipv6_group};
  adopted.close();
  CHECK_FALSE(adopted);
  CHECK_THAT(bench.machine.lines<detach_mcast>(), is_log(R"(
    ibv_detach_mcast qp0 gid=::ffff:239.1.2.3 lid=0x0
    ibv_detach_mcast qp0 gid=ff0e::7 lid=0x0)"));
}

TEST_CASE("Destroying an attached pair fails with a reason") {
  test_bench bench;
  auto pair = bench.ready<transport::ud>();
  multicast_attachment attachment{pair, group};
  failure why;
  pair.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(why.explanation() == "still in use by 1 multicast attachment; destroy these first");
  attachment.close();
  pair.close();
}

TEST_CASE("A refused attachment fails with a reason") {
  test_bench bench;
  const auto pair = bench.ready<transport::ud>();
  const auto refused_with = [&](int error, const gid& to) {
    return reported([&] { bench.machine.fail<attach_mcast>(error); },
                    [&](auto&... policy) {
                      const multicast_attachment attachment{pair, to, lid{}, policy...};
                      CHECK(!attachment);
                    });
  };
  CHECK(std::string{refused_with(EINVAL, gid{fake::ipv4_gid(10, 0, 0, 1)}).what()} ==
        "ibv_attach_mcast ::ffff:10.0.0.1 on fake0 qp 0x11: EINVAL (Invalid argument); the GID is "
        "not a multicast GID: those are ff00::/8, and ::ffff:224.0.0.0 to ::ffff:239.255.255.255; "
        "the device has no multicast");
  bench.limits().max_mcast_grp = 8;
  bench.limits().max_mcast_qp_attach = 4;
  bench.limits().max_total_mcast_qp_attach = 32;
  CHECK(refused_with(ENOMEM, group).explanation() ==
        "the device allows 8 groups, 4 queue pairs per group, and 32 attachments in all");
  CHECK(refused_with(EINVAL, group).explanation().empty());
  bench.machine.fail<attach_mcast>(EINVAL);
  auto raw = queue_pair<transport::raw_packet>::create(
      bench.domain, {.send_cq = bench.queue, .recv_cq = bench.queue});
  failure why;
  const multicast_attachment of_raw{raw, group, lid{}, why};
  CHECK(why.explanation() ==
        "Linux attaches datagram (UD) queue pairs only, unless a driver changes that");
  CHECK(bench.machine.count<detach_mcast>() == 0);

  const queue_pair<transport::ud> none;
  const multicast_attachment of_none{none, group, lid{}, why};
  CHECK(why.code() == std::errc::invalid_argument);
  CHECK(why.explanation() == "the queue pair is empty: moved from, closed, or never created");
}

TEST_CASE("A failed detach is reported by close() and the destructor") {
  test_bench bench;
  auto pair = bench.ready<transport::ud>();
  multicast_attachment attachment{pair, group, lid{0xc001}};
  const failure why = reported([&] { bench.machine.fail<detach_mcast>(EIO); },
                               [&](auto&... policy) { attachment.close(policy...); });
  CHECK(attachment);
  CHECK(std::string{why.what()} ==
        "ibv_detach_mcast ::ffff:239.1.2.3 lid 0xc001 on fake0 qp 0x11: EIO (Input/output error)");
  std::error_code code;
  const told_failures told;
  bench.machine.fail<detach_mcast>(EIO);
  {
    const multicast_attachment last{std::move(attachment)};
  }
  CHECK(told.messages().size() == 1);
  // It still counts as attached, and so cannot be destroyed.
  pair.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
  (void)pair.release();
}
