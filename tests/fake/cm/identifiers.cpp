// SPDX-License-Identifier: MIT
// Identifiers: what each call hands to the C API, and what it says when that fails.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <system_error>
#include <typeindex>
#include <utility>
#include <vector>

#include <arpa/inet.h>
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
};

const sockaddr_in& ipv4(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr_in&>(address);
}

/// The names of the calls that destroy something, in order.
std::vector<std::string> destroyed(const fake::machine& machine) {
  std::vector<std::string> names;
  for (const fake::call& call : machine.log()) {
    if (call.as<called::rdma_destroy_qp>()) names.emplace_back("pair");
    if (call.as<called::rdma_destroy_srq>()) names.emplace_back("shared receive queue");
    if (call.as<called::rdma_destroy_id>()) names.emplace_back("identifier");
    if (call.as<called::rdma_destroy_event_channel>()) names.emplace_back("channel");
  }
  return names;
}

}  // namespace

TEST_CASE_METHOD(fixture, "an identifier is made for a channel and a port space",
                 "[rdma_create_id][rdma_destroy_id]") {
  int mine = 0;
  for (const auto space : {cm::port_space::tcp, cm::port_space::udp, cm::port_space::ipoib,
                           cm::port_space::infiniband}) {
    const cm::identifier made = cm::identifier::create(channel, space, &mine);
    const auto call = last<called::rdma_create_id>();
    CHECK(call.channel == channel.native_handle());
    CHECK(call.context == &mine);
    CHECK(call.space == static_cast<rdma_port_space>(space));
    CHECK(made.user_context() == &mine);
    CHECK(made.channel() == channel);
    CHECK_FALSE(made.context());
    CHECK_FALSE(made.protection_domain());
    CHECK_FALSE(made.queue_pair<rc>());
    CHECK_FALSE(made.send_completion_queue());
    CHECK_FALSE(made.receive_completion_queue());
    CHECK(made.port() == adverb::port_number{0});
    CHECK(made.local_address().is_empty());
    CHECK(made.peer_address().is_empty());
  }
  CHECK(machine.count<called::rdma_destroy_id>() == 4);
}

TEST_CASE_METHOD(fixture, "an address is bound as it was given", "[rdma_bind_addr]") {
  id.bind(here);
  const auto call = last<called::rdma_bind_addr>();
  CHECK(call.id == id.native_handle());
  CHECK(ipv4(call.address).sin_family == AF_INET);
  CHECK(ntohs(ipv4(call.address).sin_port) == 7471);
  CHECK(ntohl(ipv4(call.address).sin_addr.s_addr) == 0x0a000001);
  CHECK(id.local_address() == here);
  CHECK(id.context().native_handle() == manager.context());
  CHECK(id.port() == adverb::port_number{1});
  CHECK(id.protection_domain().native_handle() == manager.domain());
}

TEST_CASE_METHOD(fixture, "an address is resolved from any, or from one of this machine",
                 "[rdma_resolve_addr]") {
  id.resolve_address(peer, {}, 1500us);
  auto call = last<called::rdma_resolve_addr>();
  CHECK(call.id == id.native_handle());
  CHECK(call.from.ss_family == AF_UNSPEC);
  CHECK(ntohl(ipv4(call.to).sin_addr.s_addr) == 0x0a000002);
  CHECK(call.milliseconds == 2);
  CHECK(channel.next_event()->type() == cm::event_type::address_resolved);
  CHECK(id.context().native_handle() == manager.context());
  CHECK(id.peer_address() == peer);

  const cm::identifier other = cm::identifier::create(channel, cm::port_space::tcp);
  other.resolve_address(peer, here, 0s);
  call = last<called::rdma_resolve_addr>();
  CHECK(ntohl(ipv4(call.from).sin_addr.s_addr) == 0x0a000001);
  CHECK(call.milliseconds == 1);
}

TEST_CASE_METHOD(fixture, "a route is resolved", "[rdma_resolve_route]") {
  id.resolve_address(peer, {}, 2s);
  (void)channel.next_event();
  id.resolve_route(2s);
  CHECK(last<called::rdma_resolve_route>().id == id.native_handle());
  CHECK(last<called::rdma_resolve_route>().milliseconds == 2000);
  CHECK(channel.next_event()->type() == cm::event_type::route_resolved);
}

TEST_CASE_METHOD(fixture, "a queue pair is made in librdmacm's domain, or in the given one",
                 "[rdma_create_qp][rdma_destroy_qp]") {
  resolve();
  id.create_queue_pair<rc>({.max_send_wr = 5, .max_recv_wr = 6}, {});
  const auto call = last<called::rdma_create_qp>();
  CHECK(call.id == id.native_handle());
  CHECK(call.domain == manager.domain());
  CHECK(call.attributes.qp_type == IBV_QPT_RC);
  CHECK(call.attributes.cap.max_send_wr == 5);
  CHECK(call.attributes.cap.max_recv_wr == 6);
  CHECK(call.attributes.send_cq == nullptr);
  REQUIRE(id.queue_pair<rc>());
  CHECK(id.queue_pair<rc>().native_handle()->state == IBV_QPS_INIT);
  CHECK(id.queue_pair<rc>().native_handle()->pd == manager.domain());
  CHECK_FALSE(id.queue_pair<ud>());
  CHECK(id.send_completion_queue().native_handle() == id.native_handle()->send_cq);
  CHECK(id.receive_completion_queue().native_handle() == id.native_handle()->recv_cq);

  id.destroy_queue_pair();
  id.destroy_queue_pair();
  CHECK(machine.count<called::rdma_destroy_qp>() == 1);
  CHECK_FALSE(id.queue_pair<rc>());

  const adverb::protection_domain own{id.context()};
  id.create_queue_pair<rc>({}, own);
  CHECK(last<called::rdma_create_qp>().domain == own.native_handle());
  id.destroy_queue_pair();
}

TEST_CASE_METHOD(fixture, "own completion queues are handed over, and others are not made",
                 "[rdma_create_qp]") {
  resolve();
  const adverb::completion_queue queue{id.context(), 16};
  id.create_queue_pair<rc>({.send_cq = queue, .recv_cq = queue}, {});
  CHECK(last<called::rdma_create_qp>().attributes.send_cq == queue.native_handle());
  CHECK(last<called::rdma_create_qp>().attributes.recv_cq == queue.native_handle());
  CHECK(id.native_handle()->send_cq == nullptr);
  CHECK(id.send_completion_queue() == queue);
  CHECK(id.receive_completion_queue() == queue);
  CHECK(machine.count<called::create_cq>() == 1);
  id.destroy_queue_pair();
}

TEST_CASE_METHOD(fixture, "what only the extended call can make is made by it",
                 "[rdma_create_qp_ex]") {
  resolve();
  id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, {});
  const auto call = last<called::rdma_create_qp_ex>();
  CHECK(call.id == id.native_handle());
  CHECK((call.attributes.comp_mask & IBV_QP_INIT_ATTR_PD) != 0);
  CHECK(call.attributes.pd == manager.domain());
  CHECK(call.attributes.send_ops_flags == IBV_QP_EX_WITH_SEND);
  CHECK(machine.count<called::rdma_create_qp>() == 0);
}

TEST_CASE_METHOD(fixture, "a queue pair of the extended call is in the domain that is given",
                 "[rdma_create_qp_ex]") {
  resolve();
  const adverb::protection_domain domain{id.context()};
  id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, domain);
  CHECK(last<called::rdma_create_qp_ex>().attributes.pd == domain.native_handle());
  id.destroy_queue_pair();
}

TEST_CASE_METHOD(fixture, "a queue pair that is refused says what the device does not allow",
                 "[rdma_create_qp][rdma_create_qp_ex]") {
  resolve();
  adverb::queue_pair_options options{.max_recv_wr = 100'000};
  adverb::protection_domain_ref domain;
  const auto refused = [&]<class Call>(std::in_place_type_t<Call>, int error) {
    return std::string{
        reported([&] { machine.fail<Call>(error); },
                 [&](auto&&... policy) { id.create_queue_pair<rc>(options, domain, policy...); })
            .explanation()};
  };
  constexpr std::in_place_type_t<called::rdma_create_qp> plain;
  constexpr std::in_place_type_t<called::rdma_create_qp_ex> extended;
  const std::string too_many = "max_recv_wr is 100000, the device allows 4096";
  for (const int error : {EINVAL, ENOMEM}) CHECK(refused(plain, error) == too_many);
  options = {.max_inline_data = 4096};
  CHECK(refused(plain, EINVAL) ==
        "max_inline_data is 4096, which may be more than the device allows");

  options = {.send_operations = adverb::send_operation::send};
  CHECK(refused(extended, EOPNOTSUPP) ==
        "fake0 has no RC queue pairs, or not with extended calls for send; fall_back_to_classic "
        "makes a pair without extended calls, which sends by post(...)");

  const adverb::context another = adverb::open_device();
  const adverb::protection_domain elsewhere{another};
  domain = elsewhere;
  options = {};
  CHECK(refused(plain, EINVAL) == "domain was made on fake0, or by another opening of it");
}

TEST_CASE_METHOD(fixture, "a shared receive queue that is refused says what is too large",
                 "[rdma_create_srq]") {
  resolve();
  CHECK(reported([&] { machine.fail<called::rdma_create_srq>(EINVAL); },
                 [&](auto&&... policy) {
                   id.create_shared_receive_queue({.max_wr = 100'000}, {}, policy...);
                 })
            .explanation() == "max_wr is 100000, the device allows 2048");
}

TEST_CASE_METHOD(fixture, "a request to connect says what was asked for", "[rdma_connect]") {
  make_pair();
  const std::array bytes{std::byte{'h'}, std::byte{'i'}};
  id.connect({.private_data = cm::private_data{bytes},
              .max_destination_read_atomic = std::uint8_t{3},
              .max_initiator_read_atomic = std::uint8_t{4},
              .retry_count = 5,
              .receiver_not_ready_retry_count = 2,
              .flow_control = false,
              .queue_pair_number = adverb::qp_number{0x55},
              .has_shared_receive_queue = true});
  const auto call = last<called::rdma_connect>();
  CHECK(call.id == id.native_handle());
  CHECK(call.peer.private_data == "hi");
  CHECK(call.peer.native.private_data_len == 2);
  CHECK(call.peer.native.responder_resources == 3);
  CHECK(call.peer.native.initiator_depth == 4);
  CHECK(call.peer.native.retry_count == 5);
  CHECK(call.peer.native.rnr_retry_count == 2);
  CHECK(call.peer.native.flow_control == 0);
  CHECK(call.peer.native.qp_num == 0x55);
  CHECK(call.peer.native.srq == 1);
}

TEST_CASE_METHOD(fixture, "without options it asks for as much as there is", "[rdma_connect]") {
  make_pair();
  id.connect({});
  const fake::told_peer told = last<called::rdma_connect>().peer;
  CHECK(told.private_data.empty());
  CHECK(told.native.responder_resources == RDMA_MAX_RESP_RES);
  CHECK(told.native.initiator_depth == RDMA_MAX_INIT_DEPTH);
  CHECK(told.native.retry_count == 6);
  CHECK(told.native.rnr_retry_count == 7);
  CHECK(told.native.flow_control == 1);
}

TEST_CASE_METHOD(fixture, "an own queue pair is established by hand", "[rdma_establish]") {
  resolve();
  id.connect({.queue_pair_number = adverb::qp_number{0x55}});
  CHECK(channel.next_event()->type() == cm::event_type::connect_response);
  id.establish();
  CHECK(last<called::rdma_establish>().id == id.native_handle());
}

TEST_CASE_METHOD(fixture, "listening has a backlog", "[rdma_listen]") {
  id.bind(here);
  id.listen(12);
  CHECK(last<called::rdma_listen>().id == id.native_handle());
  CHECK(last<called::rdma_listen>().backlog == 12);
}

TEST_CASE_METHOD(fixture, "a request is accepted", "[rdma_accept]") {
  const cm::identifier request = requested();
  request.create_queue_pair<rc>({}, {});
  const std::array bytes{std::byte{'o'}, std::byte{'k'}};
  request.accept({.private_data = cm::private_data{bytes}});
  const auto call = last<called::rdma_accept>();
  CHECK(call.id == request.native_handle());
  REQUIRE(call.peer);
  CHECK(call.peer->private_data == "ok");
  CHECK(channel.next_event()->type() == cm::event_type::established);
  CHECK(request.queue_pair<rc>().native_handle()->state == IBV_QPS_RTS);
}

TEST_CASE_METHOD(fixture, "a request is rejected", "[rdma_reject]") {
  const cm::identifier request = requested();
  const std::array bytes{std::byte{'n'}, std::byte{'o'}};
  request.reject(cm::private_data{bytes});
  CHECK(last<called::rdma_reject>().id == request.native_handle());
  CHECK(last<called::rdma_reject>().private_data == "no");
}

TEST_CASE_METHOD(fixture, "a connection is ended", "[rdma_disconnect]") {
  connect();
  CHECK(id.queue_pair<rc>().native_handle()->state == IBV_QPS_RTS);
  id.disconnect();
  CHECK(last<called::rdma_disconnect>().id == id.native_handle());
  CHECK(id.queue_pair<rc>().native_handle()->state == IBV_QPS_ERR);
  CHECK(channel.next_event()->type() == cm::event_type::disconnected);
}

TEST_CASE_METHOD(fixture, "an identifier that migrates has its events come on the other channel",
                 "[rdma_migrate_id]") {
  manager.raise(id.native_handle(), {RDMA_CM_EVENT_ADDR_CHANGE});
  cm::event_channel other = cm::event_channel::create();
  id.migrate(other);
  CHECK(last<called::rdma_migrate_id>().id == id.native_handle());
  CHECK(last<called::rdma_migrate_id>().channel == other.native_handle());
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

TEST_CASE_METHOD(fixture, "an identifier that could not migrate stays where it was",
                 "[rdma_migrate_id]") {
  const cm::event_channel other = cm::event_channel::create();
  const adverb::failure why = reported([&] { machine.fail<called::rdma_migrate_id>(ENODEV); },
                                       [&](auto&&... policy) { id.migrate(other, policy...); });
  CHECK(std::string{why.what()} ==
        "rdma_migrate_id on rdma_cm identifier: ENODEV (No such device)");
  CHECK(id.channel() == channel);
  std::error_code code;
  channel.close(code);
  CHECK(code == std::errc::device_or_resource_busy);
}

TEST_CASE_METHOD(fixture,
                 "what was made for an identifier is destroyed before it: the pair, then the "
                 "shared receive queue",
                 "[rdma_destroy_id][rdma_destroy_qp][rdma_destroy_srq]") {
  resolve();
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = 4;
  attributes.attr.max_sge = 1;
  REQUIRE(rdma_create_srq(id.native_handle(), nullptr, &attributes) == 0);
  id.create_queue_pair<rc>({}, {});
  machine.forget_calls();
  id.close();
  channel.close();
  CHECK(destroyed(machine) ==
        std::vector<std::string>{"pair", "shared receive queue", "identifier", "channel"});
  CHECK(manager.live_objects() == 0);
}

TEST_CASE_METHOD(fixture, "an identifier whose destruction fails can be closed again",
                 "[rdma_destroy_id]") {
  make_pair();
  const adverb::failure why = reported([&] { machine.fail<called::rdma_destroy_id>(EIO); },
                                       [&](auto&&... policy) { id.close(policy...); });
  CHECK(why.verb() == "rdma_destroy_id");
  CHECK(why.code() == std::errc::io_error);
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
  const auto what = [&]<class Call>(std::in_place_type_t<Call>, const auto& operation) {
    return std::string{reported([&] { machine.fail<Call>(EIO); }, operation).what()};
  };
  const std::string reason = ": EIO (Input/output error)";
  CHECK(what(std::in_place_type<called::rdma_bind_addr>, [&](auto&&... policy) {
          id.bind(here, policy...);
        }).starts_with("rdma_bind_addr 10.0.0.1:7471 on rdma_cm identifier" + reason));
  CHECK(what(std::in_place_type<called::rdma_resolve_addr>, [&](auto&&... policy) {
          id.resolve_address(peer, {}, 1s, policy...);
        }) == "rdma_resolve_addr 10.0.0.2:7471 on rdma_cm identifier" + reason);

  id.bind(here);
  id.resolve_address(peer, {}, 1s);
  (void)channel.next_event();
  const std::string named = " on fake0 10.0.0.1:7471 -> 10.0.0.2:7471";
  CHECK(what(std::in_place_type<called::rdma_resolve_route>, [&](auto&&... policy) {
          id.resolve_route(1s, policy...);
        }) == "rdma_resolve_route" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_create_qp>, [&](auto&&... policy) {
          id.create_queue_pair<rc>({}, {}, policy...);
        }) == "rdma_create_qp" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_create_qp_ex>, [&](auto&&... policy) {
          id.create_queue_pair<rc>({.send_operations = adverb::send_operation::send}, {},
                                   policy...);
        }) == "rdma_create_qp_ex" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_connect>, [&](auto&&... policy) {
          id.connect({}, policy...);
        }) == "rdma_connect" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_establish>, [&](auto&&... policy) {
          id.establish(policy...);
        }) == "rdma_establish" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_listen>, [&](auto&&... policy) {
          id.listen(1, policy...);
        }) == "rdma_listen" + named + reason + "; it was made to connect to 10.0.0.2:7471");
  CHECK(what(std::in_place_type<called::rdma_accept>, [&](auto&&... policy) {
          id.accept({}, policy...);
        }) == "rdma_accept" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_reject>, [&](auto&&... policy) {
          id.reject({}, policy...);
        }) == "rdma_reject" + named + reason);
  CHECK(what(std::in_place_type<called::rdma_disconnect>, [&](auto&&... policy) {
          id.disconnect(policy...);
        }) == "rdma_disconnect" + named + reason);
}

TEST_CASE_METHOD(fixture, "an identifier that cannot be made names the channel",
                 "[rdma_create_id]") {
  const adverb::failure why =
      reported([&] { machine.fail<called::rdma_create_id>(EMFILE); },
               [&](auto&&... policy) {
                 (void)cm::identifier::create(channel, cm::port_space::tcp, nullptr, policy...);
               });
  CHECK(std::string{why.what()} == "rdma_create_id on rdma_cm event channel " +
                                       std::to_string(channel.file_descriptor()) +
                                       ": EMFILE (Too many open files)");
}

TEST_CASE_METHOD(fixture, "no empty identifier reaches the C API") {
  machine.forget_calls();
  const cm::identifier empty;
  cm::identifier movable;
  const auto refused = [](const auto& operation) {
    const adverb::failure why = reported(operation);
    CHECK(why.code() == std::errc::invalid_argument);
    CHECK(why.explanation() ==
          "the connection or other rdma_cm identifier is empty: moved from, closed, or never made");
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
        "the event channel is empty: moved from, closed, or never made");
  CHECK(machine.log().empty());
}
