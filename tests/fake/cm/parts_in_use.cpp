// SPDX-License-Identifier: MIT
// librdmacm's objects of an identifier are not destroyed while other objects depend on them:
// librdmacm would not report that failure.
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;
constexpr auto rc = adverb::transport::rc;
constexpr auto ud = adverb::transport::ud;

struct fixture : identifier_bench {
  fixture() { id.bind(here.with_port(0)); }

  /// Checks that `destroy` is refused, and nothing is called.
  void check_refused(const std::string& message, const auto& destroy) {
    machine.forget_calls();
    const adverb::failure why = reported(destroy);
    CHECK(std::string{why.what()} == message);
    CHECK(why.code() == std::errc::device_or_resource_busy);
    CHECK(machine.log().empty());
  }
  /// Checks it of the identifier and of its queue pair, which both name `object`.
  void check_pair_refused(const std::string& object, const std::string& children) {
    const std::string rest = " on " + object +
                             ": EBUSY (Device or resource busy); still in use by " + children +
                             "; destroy these first";
    check_refused("rdma_destroy_id" + rest, [&](auto&&... policy) { id.close(policy...); });
    check_refused("rdma_destroy_qp" + rest,
                  [&](auto&&... policy) { id.destroy_queue_pair(policy...); });
  }
  void check_receive_queue_refused(const std::string& object, const std::string& children) {
    check_refused("rdma_destroy_srq on " + object +
                      ": EBUSY (Device or resource busy); still in use by " + children +
                      "; destroy these first",
                  [&](auto&&... policy) { id.destroy_srq(policy...); });
  }
  /// Checks that all goes once nothing uses it, and is counted as before.
  void check_destroyed() {
    id.close();
    channel.close();
    CHECK(manager.live_objects() == 0);
  }
};

std::string named(std::string kind, std::uint32_t number) {
  return "fake0 " + std::move(kind) + " " + std::to_string(number);
}

}  // namespace

TEST_CASE_METHOD(fixture, "destroying a queue pair of an identifier fails while it has attachments",
                 "[rdma_destroy_qp][rdma_destroy_id]") {
  id = cm::identifier::create(channel, cm::port_space::udp);
  id.bind(here.with_port(0));
  id.create_queue_pair<ud>({}, {});
  const auto pair = id.queue_pair<ud>();
  const adverb::static_string<16> number{
      [&](adverb::text_writer& writer) { writer.put(pair.number()); }};
  {
    const adverb::multicast_attachment attachment{pair, adverb::gid{fake::ipv4_gid(239, 1, 2, 3)}};
    check_pair_refused("fake0 qp " + std::string{number.view()}, "1 multicast attachment");
  }
  check_destroyed();
}

TEST_CASE_METHOD(
    fixture,
    "destroying a queue pair of an identifier fails while others use its completion queues",
    "[rdma_destroy_qp][rdma_destroy_id]") {
  id.create_queue_pair<rc>({}, {});
  {
    const adverb::completion_reservation room{id.send_cq(), 1};
    check_pair_refused(named("cq", id.native_handle()->send_cq->handle),
                       "1 completion reservation");
  }
  {
    const auto pair = adverb::queue_pair<rc>::create(
        id.protection_domain(), {.send_cq = id.recv_cq(), .recv_cq = id.recv_cq()});
    check_pair_refused(named("cq", id.native_handle()->recv_cq->handle), "1 queue pair");
    const adverb::completion_reservation room{id.send_cq(), 1};
    check_pair_refused(named("cq", id.native_handle()->send_cq->handle),
                       "1 completion reservation");
  }
  check_destroyed();
}

TEST_CASE_METHOD(fixture,
                 "destroying a queue pair of an identifier fails while others use its channel",
                 "[rdma_destroy_qp][rdma_destroy_id]") {
  id.create_queue_pair<rc>({}, {});
  {
    const adverb::completion_queue queue{
        id.context(), 8, {.channel = id.native_handle()->send_cq_channel}};
    check_pair_refused("fake0 completion channel", "1 completion queue");
  }
  check_destroyed();
}

TEST_CASE_METHOD(fixture,
                 "destroying a shared receive queue of an identifier fails while pairs use it",
                 "[rdma_destroy_srq][rdma_destroy_id]") {
  id.create_srq({.max_wr = 4});
  const std::string name = named("srq", id.native_handle()->srq->handle);
  id.create_queue_pair<rc>({}, {});
  SECTION("not under its own") { check_receive_queue_refused(name, "1 queue pair"); }
  SECTION("nor under others") {
    const cm::identifier other = cm::identifier::create(channel, cm::port_space::tcp);
    other.bind(here.with_port(0));
    other.create_queue_pair<rc>({.srq = id.srq()}, {});
    check_receive_queue_refused(name, "1 queue pair, 1 connection or other rdma_cm identifier");
    check_refused("rdma_destroy_id on " + name +
                      ": EBUSY (Device or resource busy); still in use by 1 connection or other "
                      "rdma_cm identifier"
                      "; destroy these first",
                  [&](auto&&... policy) { id.close(policy...); });
    id.destroy_queue_pair();
    check_receive_queue_refused(name, "1 connection or other rdma_cm identifier");
  }
  if (id.queue_pair<rc>()) id.destroy_queue_pair();
  id.destroy_srq();
  CHECK_FALSE(id.srq());
  check_destroyed();
}

TEST_CASE_METHOD(fixture,
                 "completion queues of librdmacm are not destroyed together with a given queue",
                 "[rdma_destroy_srq]") {
  // The pair takes its receives from elsewhere.
  const adverb::shared_receive_queue elsewhere{id.protection_domain(), {.max_wr = 4}};
  id.create_srq({.max_wr = 4});
  id.create_queue_pair<rc>({.srq = elsewhere}, {});
  check_receive_queue_refused(named("cq", id.native_handle()->send_cq->handle), "1 queue pair");
  id.destroy_queue_pair();
  id.destroy_srq();
}

TEST_CASE_METHOD(fixture,
                 "destroying an identifier whose parts are in use fails and keeps it alive",
                 "[rdma_destroy_id]") {
  id.create_queue_pair<rc>({}, {});
  rdma_cm_id* const native = id.native_handle();
  const adverb::completion_reservation room{id.send_cq(), 1};
  machine.forget_calls();
  {
    const told_failures told;
    id = {};
    REQUIRE(told.messages().size() == 1);
    CHECK(told.messages()[0].find("rdma_destroy_id") == 0);
    CHECK(machine.log().empty());
  }
  // Only this test counts it as a child, and destroys it in the end.
  adverb::detail::unregister_from_parents(
      native, adverb::detail::operations_for<adverb::detail::identifier_traits>);
  id = cm::identifier{adverb::adopt, native};
}
