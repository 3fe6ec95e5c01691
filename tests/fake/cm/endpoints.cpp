// SPDX-License-Identifier: MIT
// Connections of XRC and UC, whose identifiers librdmacm makes as endpoints. No soft device has
// XRC.
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <support/catch.hpp>
#include <support/reported.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

constexpr auto initiator = adverb::transport::xrc_send;
constexpr auto target = adverb::transport::xrc_recv;

struct fixture : cm_bench {
  ~fixture() { CHECK(manager.live_objects() == 0); }
};

}  // namespace

TEST_CASE_METHOD(fixture, "an XRC initiator connects", "[rdma_create_ep][rdma_connect]") {
  cm::connector<initiator, cm::step::route_resolved> far;
  CHECK_THAT((machine.lines_of<called::rdma_create_ep, called::rdma_create_event_channel,
                               called::rdma_migrate_id>(
                 [&] { far = cm::connector<initiator>::resolve(peer, {.from = here}); })),
             is_log(R"(
    rdma_create_ep res={ai_family=INET ai_qp_type=XRC_SEND ai_port_space=IB
      ai_src_addr=10.0.0.1:7471 ai_dst_addr=10.0.0.2:7471}
    rdma_create_event_channel
    rdma_migrate_id id0 event_channel1)"));
  CHECK(far.identifier().channel().native_handle() == last<called::rdma_migrate_id>().channel);
  CHECK(far.identifier().peer_address() == peer);

  auto ready = far.create_queue_pair({.max_send_wr = 7, .max_recv_wr = 5});
  CHECK_THAT(machine.lines<called::rdma_create_qp>(), is_log(R"(
    rdma_create_qp id0 pd0 qp_type=XRC_SEND cap={max_send_wr=7 max_send_sge=1})"));
  const auto connection = ready.connect();
  CHECK(connection.queue_pair().native_handle()->state == IBV_QPS_RTS);
}

TEST_CASE_METHOD(fixture, "a listener accepts an XRC target, which has no send queue",
                 "[rdma_create_ep][rdma_accept][rdma_create_qp][rdma_create_qp_ex]") {
  const auto at = cm::listener<target>::create(here);
  CHECK_THAT(machine.lines<called::rdma_create_ep>(), is_log(R"(
    rdma_create_ep res={ai_flags=PASSIVE ai_family=INET ai_qp_type=XRC_RECV ai_port_space=IB
      ai_src_addr=10.0.0.1:7471})"));
  CHECK(at.local_address() == here);
  const auto request = [&] {
    manager.request(at.identifier().native_handle(), "hello");
    return at.next_request();
  };

  auto plain = request();
  CHECK(plain.private_data().size() == 5);
  auto ready = plain.create_queue_pair();
  CHECK_THAT(machine.lines<called::rdma_create_qp>(), is_log(R"(
    rdma_create_qp id1 pd0 qp_type=XRC_RECV cap={max_send_sge=1})"));
  const auto connection = ready.accept();
  CHECK(connection.queue_pair().native_handle()->state == IBV_QPS_RTS);
  CHECK_FALSE(connection.identifier().native_handle()->send_cq);

  auto extended = request();
  auto made = extended.create_queue_pair({.send_operations = adverb::send_operation::send});
  CHECK_THAT(machine.lines<called::rdma_create_qp_ex>(), is_log(R"(
    rdma_create_qp_ex id2 qp_type=XRC_RECV cap={max_send_sge=1} pd=pd0 send_ops_flags=SEND)"));
  CHECK_FALSE(made.identifier().native_handle()->send_cq);
  CHECK(made.accept());
}

TEST_CASE_METHOD(fixture, "use_queue_pair accepts an XRC initiator",
                 "[rdma_init_qp_attr][rdma_establish]") {
  const adverb::context device = adverb::open_device();
  const adverb::protection_domain domain{device};
  const adverb::completion_queue queue{device, 8};
  auto far = cm::connector<initiator>::resolve(peer);
  auto ready =
      far.use_queue_pair(adverb::queue_pair<initiator>::create(domain, {.send_cq = queue}));
  CHECK(ready.connect().queue_pair().native_handle()->state == IBV_QPS_RTS);
}

TEST_CASE_METHOD(fixture,
                 "a listener that rdma_create_ep binds refuses options that come before the bind",
                 "[rdma_create_ep]") {
  const auto refused = [&](const cm::listener_options& options) {
    const adverb::failure why = reported(
        [&](auto&&... policy) { (void)cm::listener<target>::create(here, options, policy...); });
    return std::string{why.what()};
  };
  const std::string beginning =
      "rdma_create_ep 10.0.0.1:7471: EOPNOTSUPP (Operation not supported); librdmacm binds a "
      "listener of UC or XRC as it creates it: the listener cannot ";
  CHECK(refused({.reuse_address = true}) == beginning + "reuse the address");
  CHECK(refused({.address_family_only = true}) == beginning + "be limited to IPv6");
  CHECK(machine.count<called::rdma_create_ep>() == 0);
}

TEST_CASE_METHOD(fixture, "a failed endpoint explains its failure", "[rdma_create_ep]") {
  const auto fails = [&](int error, const auto& operation) {
    const adverb::failure why = failing<called::rdma_create_ep>(error, operation);
    CHECK(why.verb() == "rdma_create_ep");
    return std::string{why.explanation()};
  };
  const auto connect = [](auto&&... policy) {
    (void)cm::connector<initiator>::resolve(peer, {}, policy...);
  };
  const auto listen = [](auto&&... policy) {
    (void)cm::listener<target>::create(cm::socket_address::any_ipv4(80), {}, policy...);
  };
  CHECK(fails(ETIMEDOUT, connect) ==
        "possible causes: no neighbour answers for 10.0.0.2, or there is no route to it");
  CHECK(fails(ENETUNREACH, connect).starts_with("this machine has no route to 10.0.0.2; "));
  CHECK(fails(ENODEV, connect).starts_with("the route to 10.0.0.2 uses no RDMA device; "));
  CHECK(fails(EADDRINUSE, listen) ==
        "port 80 is in use: another identifier or, over iWARP, a socket has it");
  CHECK(fails(EACCES, listen) == "ports below 1024 are for privileged programs");
}

TEST_CASE_METHOD(fixture, "an endpoint is empty if its event channel cannot be created",
                 "[rdma_migrate_id][rdma_create_event_channel]") {
  const auto fails = [&]<class Call>(std::in_place_type_t<Call>, const auto& make) {
    std::error_code code;
    machine.fail<Call>(ENOMEM);
    CHECK_FALSE(make(code));
    CHECK(code == std::errc::not_enough_memory);
  };
  const auto connect = [](std::error_code& code) {
    return cm::connector<initiator>::resolve(peer, {}, code);
  };
  const auto listen = [](std::error_code& code) {
    return cm::listener<target>::create(here, {}, code);
  };
  fails(std::in_place_type<called::rdma_migrate_id>, connect);
  fails(std::in_place_type<called::rdma_migrate_id>, listen);
  fails(std::in_place_type<called::rdma_create_event_channel>, connect);
  fails(std::in_place_type<called::rdma_create_event_channel>, listen);
  CHECK(machine.count<called::rdma_listen>() == 0);
}

TEST_CASE_METHOD(fixture, "a listener that rdma_create_ep binds uses the given backlog",
                 "[rdma_listen]") {
  const auto at = cm::listener<target>::create(here, {.backlog = 7});
  CHECK(at);
  CHECK_THAT(machine.lines<called::rdma_listen>(), is_log("rdma_listen id0 backlog=7"));
}
