// SPDX-License-Identifier: MIT
// Identifiers: the arguments of each C call, and the failure if it fails.
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include <rdma/rdma_verbs.h>

#include <support/catch.hpp>
#include <support/reported.hpp>
#include <support/told_failures.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;
using namespace std::chrono_literals;

constexpr auto rc = adverb::transport::rc;
constexpr auto ud = adverb::transport::ud;

struct fixture : identifier_bench {
  void resolve() {
    id.resolve_address(peer, {}, 2s);
    (void)channel.next_event();
    id.resolve_route(2s);
    (void)channel.next_event();
  }
  void make_pair() {
    resolve();
    id.create_queue_pair<rc>({}, {});
  }
  void connect() {
    make_pair();
    id.connect({});
    (void)channel.next_event();
  }
  [[nodiscard]] cm::identifier requested() {
    cm::identifier waiting = cm::identifier::create(channel, cm::port_space::tcp);
    waiting.bind(here);
    waiting.listen(1);
    manager.request(waiting.native_handle());
    return channel.next_event()->take_request();
  }
  /// Checks the text of the failure of an operation during which this call fails.
  template <class Call, class Operation>
  void names(const std::string& text, const Operation& operation) {
    CHECK(message_of<Call>(EIO, operation) == text);
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "an identifier is created with a channel and a port space",
                 "[rdma_create_id][rdma_destroy_id]") {
  int mine = 0;
  machine.name("mine", mine);
  const auto make = [&](cm::port_space space) {
    const cm::identifier made = cm::identifier::create(channel, space, &mine);
    CHECK(made.user_context() == &mine);
    CHECK(made.channel() == channel);
    CHECK_FALSE(made.context());
    CHECK_FALSE(made.protection_domain());
    CHECK_FALSE(made.queue_pair<rc>());
    CHECK_FALSE(made.send_cq());
    CHECK_FALSE(made.recv_cq());
    CHECK(made.port() == adverb::port_number{0});
    CHECK(made.local_address().is_empty());
    CHECK(made.peer_address().is_empty());
  };
  CHECK_THAT(log_of([&] {
               make(cm::port_space::tcp);
               make(cm::port_space::udp);
               make(cm::port_space::ipoib);
               make(cm::port_space::infiniband);
             }),
             is_log(R"(
    rdma_create_id event_channel0 context=mine ps=TCP
    rdma_destroy_id id1
    rdma_create_id event_channel0 context=mine ps=UDP
    rdma_destroy_id id2
    rdma_create_id event_channel0 context=mine ps=IPOIB
    rdma_destroy_id id3
    rdma_create_id event_channel0 context=mine ps=IB
    rdma_destroy_id id4)"));
}

TEST_CASE_METHOD(fixture, "bind passes the address unchanged", "[rdma_bind_addr]") {
  CHECK_THAT(log_of([&] { id.bind(here); }), is_log("rdma_bind_addr id0 addr=10.0.0.1:7471"));
  CHECK(id.local_address() == here);
  CHECK(id.context().native_handle() == manager.context());
  CHECK(id.port() == adverb::port_number{1});
  CHECK(id.protection_domain().native_handle() == manager.domain());
}

TEST_CASE_METHOD(fixture, "resolve_address accepts an optional source address",
                 "[rdma_resolve_addr]") {
  CHECK_THAT(log_of([&] { id.resolve_address(peer, {}, 1500us); }),
             is_log("rdma_resolve_addr id0 dst_addr=10.0.0.2:7471 timeout_ms=2"));
  CHECK(channel.next_event()->type() == cm::event_type::address_resolved);
  CHECK(id.context().native_handle() == manager.context());
  CHECK(id.peer_address() == peer);

  const cm::identifier other = cm::identifier::create(channel, cm::port_space::tcp);
  CHECK_THAT(log_of([&] { other.resolve_address(peer, here, 0s); }), is_log(R"(
    rdma_resolve_addr id1 src_addr=10.0.0.1:7471 dst_addr=10.0.0.2:7471 timeout_ms=1)"));
}

TEST_CASE_METHOD(fixture, "a route is resolved", "[rdma_resolve_route]") {
  id.resolve_address(peer, {}, 2s);
  (void)channel.next_event();
  CHECK_THAT(log_of([&] { id.resolve_route(2s); }),
             is_log("rdma_resolve_route id0 timeout_ms=2000"));
  CHECK(channel.next_event()->type() == cm::event_type::route_resolved);
}

TEST_CASE_METHOD(fixture, "create_queue_pair uses librdmacm's domain or the given one",
                 "[rdma_create_qp][rdma_destroy_qp]") {
  resolve();
  CHECK_THAT(log_of([&] { id.create_queue_pair<rc>({.max_send_wr = 5, .max_recv_wr = 6}, {}); }),
             is_log(R"(
    rdma_create_qp id0 pd0 qp_type=RC cap={max_send_wr=5 max_recv_wr=6 max_send_sge=1
      max_recv_sge=1})"));
  REQUIRE(id.queue_pair<rc>());
  CHECK(id.queue_pair<rc>().native_handle()->state == IBV_QPS_INIT);
  CHECK(id.queue_pair<rc>().native_handle()->pd == manager.domain());
  CHECK_FALSE(id.queue_pair<ud>());
  CHECK(id.send_cq().native_handle() == id.native_handle()->send_cq);
  CHECK(id.recv_cq().native_handle() == id.native_handle()->recv_cq);
  CHECK_THAT(log_of([&] {
               id.destroy_queue_pair();
               id.destroy_queue_pair();
             }),
             is_log("rdma_destroy_qp id0"));
  CHECK_FALSE(id.queue_pair<rc>());

  const adverb::protection_domain own{id.context()};
  CHECK_THAT(log_of([&] { id.create_queue_pair<rc>({}, own); }), is_log(R"(
    rdma_create_qp id0 pd1 qp_type=RC cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1
      max_recv_sge=1})"));
  id.destroy_queue_pair();
}

TEST_CASE_METHOD(fixture,
                 "create_queue_pair passes the given completion queues and creates no others",
                 "[rdma_create_qp]") {
  resolve();
  const adverb::completion_queue queue{id.context(), 16};
  const auto create = [&] { id.create_queue_pair<rc>({.send_cq = queue, .recv_cq = queue}, {}); };
  CHECK_THAT((machine.lines_of<called::rdma_create_qp, called::create_cq>(create)), is_log(R"(
    rdma_create_qp id0 pd0 qp_type=RC send_cq=cq0 recv_cq=cq0 cap={max_send_wr=1 max_recv_wr=1
      max_send_sge=1 max_recv_sge=1})"));
  CHECK(id.native_handle()->send_cq == nullptr);
  CHECK(id.send_cq() == queue);
  CHECK(id.recv_cq() == queue);
  id.destroy_queue_pair();
}

TEST_CASE_METHOD(fixture, "create_queue_pair with send operations uses the extended call",
                 "[rdma_create_qp_ex]") {
  resolve();
  CHECK_THAT(log_of([&] {
               id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, {});
             }),
             is_log(R"(
    rdma_create_qp_ex id0 qp_type=RC cap={max_send_wr=1 max_recv_wr=1 max_send_sge=1
      max_recv_sge=1} pd=pd0 send_ops_flags=SEND)"));
}

TEST_CASE_METHOD(fixture, "the extended call creates a queue pair in the given domain",
                 "[rdma_create_qp_ex]") {
  resolve();
  const adverb::protection_domain domain{id.context()};
  id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, domain);
  CHECK(field(machine.line<called::rdma_create_qp_ex>(), "pd") == "pd1");
  id.destroy_queue_pair();
}

TEST_CASE_METHOD(fixture, "a queue pair with cq has that queue for sends and receives") {
  resolve();
  const adverb::completion_queue queue{id.context(), 16};
  id.create_queue_pair<rc>({.cq = queue}, {});
  CHECK(id.send_cq().native_handle() == queue.native_handle());
  CHECK(id.recv_cq().native_handle() == queue.native_handle());
  id.destroy_queue_pair();

  const adverb::failure why = reported([&](auto&&... policy) {
    id.create_queue_pair<rc>({.cq = queue, .recv_cq = queue}, {}, policy...);
  });
  CHECK(why.verb() == "rdma_create_qp");
  CHECK(why.explanation() ==
        "cq is the completion queue of sends and receives: set either cq, or send_cq and recv_cq");
}

TEST_CASE_METHOD(fixture, "a failed queue pair explains what the device does not allow",
                 "[rdma_create_qp][rdma_create_qp_ex]") {
  resolve();
  adverb::queue_pair_options options{.max_recv_wr = 100'000};
  adverb::protection_domain_ref domain;
  const auto refused = [&]<class Call>(std::in_place_type_t<Call>, int error) {
    return std::string{failing<Call>(error, [&](auto&&... policy) {
                         id.create_queue_pair<rc>(options, domain, policy...);
                       }).explanation()};
  };
  constexpr std::in_place_type_t<called::rdma_create_qp> plain;
  constexpr std::in_place_type_t<called::rdma_create_qp_ex> extended;
  const std::string too_many = "max_recv_wr is 100000, the device allows 4096";
  for (const int error : {EINVAL, ENOMEM}) CHECK(refused(plain, error) == too_many);
  options = {.max_inline_data = 4096};
  CHECK(refused(plain, EINVAL) ==
        "possible causes: max_inline_data is 4096, and the device allows less");

  options = {.send_operations = adverb::send_operation::send};
  CHECK(refused(extended, EOPNOTSUPP) ==
        "fake0 has no RC queue pairs, or none with extended calls for send; fall_back_to_classic "
        "creates a pair without extended calls, which sends with post(...)");

  const adverb::context another = adverb::open_device();
  const adverb::protection_domain elsewhere{another};
  domain = elsewhere;
  options = {};
  CHECK(refused(plain, EINVAL) ==
        "the domain belongs to another context (of fake0): librdmacm opens the devices; create the "
        "domain "
        "on the context() of the connection");
}

TEST_CASE_METHOD(fixture, "a failed shared receive queue names the size that is too large",
                 "[rdma_create_srq]") {
  resolve();
  CHECK(failing<called::rdma_create_srq>(EINVAL, [&](auto&&... policy) {
          id.create_srq({.max_wr = 100'000}, {}, policy...);
        }).explanation() == "max_wr is 100000, the device allows 2048");
}

TEST_CASE_METHOD(fixture, "a request to connect carries its parameters", "[rdma_connect]") {
  make_pair();
  CHECK_THAT(log_of([&] {
               id.connect({.private_data = cm::private_data::of("hi"),
                           .max_destination_read_atomic = std::uint8_t{3},
                           .max_initiator_read_atomic = std::uint8_t{4},
                           .retry_count = 5,
                           .rnr_retry_count = 2,
                           .flow_control = false,
                           .queue_pair_number = adverb::qp_number{0x55},
                           .has_shared_receive_queue = true});
             }),
             is_log(R"(
    rdma_connect id0 private_data="\x02\x00hi" responder_resources=3 initiator_depth=4
      flow_control=0 retry_count=5 rnr_retry_count=2 srq=1 qp_num=0x55)"));
}

TEST_CASE_METHOD(fixture, "connect requests the maximum resources by default", "[rdma_connect]") {
  make_pair();
  CHECK_THAT(log_of([&] { id.connect({}); }), is_log(R"(
    rdma_connect id0 responder_resources=255 initiator_depth=255 flow_control=1 retry_count=6
      rnr_retry_count=7)"));
}

TEST_CASE_METHOD(fixture, "establish completes the connection of the program's queue pair",
                 "[rdma_establish]") {
  resolve();
  id.connect({.queue_pair_number = adverb::qp_number{0x55}});
  CHECK(channel.next_event()->type() == cm::event_type::connect_response);
  CHECK_THAT(log_of([&] { id.establish(); }), is_log("rdma_establish id0"));
}

TEST_CASE_METHOD(fixture, "listen passes the backlog", "[rdma_listen]") {
  id.bind(here);
  CHECK_THAT(log_of([&] { id.listen(12); }), is_log("rdma_listen id0 backlog=12"));
}

TEST_CASE_METHOD(fixture, "a request is accepted", "[rdma_accept]") {
  const cm::identifier request = requested();
  request.create_queue_pair<rc>({}, {});
  CHECK_THAT(log_of([&] { request.accept({.private_data = cm::private_data::of("ok")}); }),
             is_log(R"(
    rdma_accept id2 private_data="\x02\x00ok" responder_resources=255 initiator_depth=255
      flow_control=1 retry_count=6 rnr_retry_count=7)"));
  CHECK(channel.next_event()->type() == cm::event_type::established);
  CHECK(request.queue_pair<rc>().native_handle()->state == IBV_QPS_RTS);
}

TEST_CASE_METHOD(fixture, "a request is rejected", "[rdma_reject]") {
  const cm::identifier request = requested();
  CHECK_THAT(log_of([&] { request.reject(cm::private_data::of("no")); }), is_log(R"(
    rdma_reject id2 private_data="\x02\x00no")"));
}

TEST_CASE_METHOD(fixture, "disconnect ends a connection", "[rdma_disconnect]") {
  connect();
  CHECK(id.queue_pair<rc>().native_handle()->state == IBV_QPS_RTS);
  CHECK_THAT(log_of([&] { id.disconnect(); }), is_log("rdma_disconnect id0"));
  CHECK(id.queue_pair<rc>().native_handle()->state == IBV_QPS_ERR);
  CHECK(channel.next_event()->type() == cm::event_type::disconnected);
}

TEST_CASE_METHOD(fixture, "a migrated identifier receives its events on the new channel",
                 "[rdma_migrate_id]") {
  manager.raise(id.native_handle(), {RDMA_CM_EVENT_ADDR_CHANGE});
  cm::event_channel other = cm::event_channel::create();
  CHECK_THAT(log_of([&] { id.migrate(other); }), is_log("rdma_migrate_id id0 event_channel1"));
  CHECK(id.channel() == other);
  CHECK_FALSE(channel.has_event());
  CHECK(other.next_event()->type() == cm::event_type::address_change);

  channel.close();  // It has no children left.
  std::error_code code;
  other.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
  id.close();
  other.close();
}

TEST_CASE_METHOD(fixture, "an identifier whose migration failed stays on its channel",
                 "[rdma_migrate_id]") {
  const cm::event_channel other = cm::event_channel::create();
  names<called::rdma_migrate_id>("rdma_migrate_id on rdma_cm identifier: EIO (Input/output error)",
                                 [&](auto&&... policy) { id.migrate(other, policy...); });
  CHECK(id.channel() == channel);
  std::error_code code;
  channel.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
}

TEST_CASE_METHOD(fixture,
                 "an identifier destroys its queue pair and its shared receive queue first",
                 "[rdma_destroy_id][rdma_destroy_qp][rdma_destroy_srq]") {
  resolve();
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = 4;
  attributes.attr.max_sge = 1;
  REQUIRE(rdma_create_srq(id.native_handle(), nullptr, &attributes) == 0);
  id.create_queue_pair<rc>({}, {});
  CHECK_THAT(log_of([&] {
               id.close();
               channel.close();
             }),
             is_log(R"(
    rdma_destroy_qp id0
    rdma_destroy_srq id0
    rdma_destroy_id id0
    rdma_destroy_event_channel event_channel0)"));
  CHECK(manager.live_objects() == 0);
}

TEST_CASE_METHOD(fixture, "an identifier whose destruction fails can be closed again",
                 "[rdma_destroy_id]") {
  make_pair();
  const auto close = [&](auto&&... policy) { id.close(policy...); };
  CHECK(failing<called::rdma_destroy_id>(EIO, close).verb() == "rdma_destroy_id");
  CHECK(id);
  CHECK(machine.count<called::rdma_destroy_qp>() == 1);
  id.close();
  channel.close();
  CHECK(manager.live_objects() == 0);
}

TEST_CASE_METHOD(fixture, "each call that fails names the verb, the identifier and the errno",
                 "[rdma_bind_addr][rdma_resolve_addr][rdma_resolve_route][rdma_create_qp][rdma_"
                 "create_qp_ex][rdma_connect][rdma_establish][rdma_listen][rdma_accept][rdma_"
                 "reject][rdma_disconnect]") {
  const std::string reason = ": EIO (Input/output error)";
  CHECK(message_of<called::rdma_bind_addr>(EIO, [&](auto&&... policy) {
          id.bind(here, policy...);
        }).starts_with("rdma_bind_addr 10.0.0.1:7471 on rdma_cm identifier" + reason));
  names<called::rdma_resolve_addr>(
      "rdma_resolve_addr 10.0.0.2:7471 on rdma_cm identifier" + reason,
      [&](auto&&... policy) { id.resolve_address(peer, {}, 1s, policy...); });

  id.bind(here);
  id.resolve_address(peer, {}, 1s);
  (void)channel.next_event();
  const std::string on = " on fake0 10.0.0.1:7471 -> 10.0.0.2:7471" + reason;
  names<called::rdma_resolve_route>("rdma_resolve_route" + on,
                                    [&](auto&&... policy) { id.resolve_route(1s, policy...); });
  names<called::rdma_create_qp>("rdma_create_qp" + on, [&](auto&&... policy) {
    id.create_queue_pair<rc>({}, {}, policy...);
  });
  names<called::rdma_create_qp_ex>("rdma_create_qp_ex" + on, [&](auto&&... policy) {
    id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, {}, policy...);
  });
  names<called::rdma_connect>("rdma_connect" + on,
                              [&](auto&&... policy) { id.connect({}, policy...); });
  names<called::rdma_establish>("rdma_establish" + on,
                                [&](auto&&... policy) { id.establish(policy...); });
  names<called::rdma_listen>("rdma_listen" + on + "; it was created to connect to 10.0.0.2:7471",
                             [&](auto&&... policy) { id.listen(1, policy...); });
  names<called::rdma_accept>("rdma_accept" + on,
                             [&](auto&&... policy) { id.accept({}, policy...); });
  names<called::rdma_reject>("rdma_reject" + on,
                             [&](auto&&... policy) { id.reject({}, policy...); });
  names<called::rdma_disconnect>("rdma_disconnect" + on,
                                 [&](auto&&... policy) { id.disconnect(policy...); });
}

TEST_CASE_METHOD(fixture, "a failed creation of an identifier names the channel",
                 "[rdma_create_id]") {
  const adverb::failure why = failing<called::rdma_create_id>(EMFILE, [&](auto&&... policy) {
    (void)cm::identifier::create(channel, cm::port_space::tcp, nullptr, policy...);
  });
  CHECK(std::string{why.what()} == "rdma_create_id on rdma_cm event channel " +
                                       std::to_string(channel.file_descriptor()) +
                                       ": EMFILE (Too many open files); too many files are open "
                                       "in this process: see \"ulimit -n\"");
}

TEST_CASE_METHOD(fixture, "an empty identifier is never passed to the C API") {
  machine.forget_calls();
  const cm::identifier empty;
  cm::identifier movable;
  const auto refused = [](const auto& operation) {
    const adverb::failure why = reported(operation);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          "the connection or other rdma_cm identifier is empty: moved from, closed, or never "
          "created");
  };
  refused([&](auto&&... policy) { empty.bind(here, policy...); });
  refused([&](auto&&... policy) { empty.resolve_address(peer, {}, 1s, policy...); });
  refused([&](auto&&... policy) { empty.resolve_route(1s, policy...); });
  refused([&](auto&&... policy) { empty.create_queue_pair<rc>({}, {}, policy...); });
  refused([&](auto&&... policy) { empty.connect({}, policy...); });
  refused([&](auto&&... policy) { empty.establish(policy...); });
  refused([&](auto&&... policy) { empty.listen(1, policy...); });
  refused([&](auto&&... policy) { empty.accept({}, policy...); });
  refused([&](auto&&... policy) { empty.reject({}, policy...); });
  refused([&](auto&&... policy) { empty.disconnect(policy...); });
  refused([&](auto&&... policy) { movable.migrate(channel, policy...); });
  empty.destroy_queue_pair();
  const adverb::failure no_channel = reported([](auto&&... policy) {
    (void)cm::identifier::create({}, cm::port_space::tcp, nullptr, policy...);
  });
  CHECK(no_channel.explanation() ==
        "the event channel is empty: moved from, closed, or never created");
  CHECK(machine.log().empty());
}
