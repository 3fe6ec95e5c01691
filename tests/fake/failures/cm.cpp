// SPDX-License-Identifier: MIT
// Each C call of librdmacm on the way of each class fails, with each errno of its function.
#include <chrono>
#include <utility>

#include <rdma/rdma_verbs.h>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "campaign.hpp"

using namespace adverb;
using namespace campaign;
using namespace std::chrono_literals;

namespace {

constexpr auto rc = transport::rc;
const cm::socket_address group = *cm::socket_address::parse("239.7.7.1", 0);

/// A channel and an identifier on it.
struct identified {
  cm::event_channel channel = cm::event_channel::create();
  cm::identifier id;

  explicit identified(cm::port_space space = cm::port_space::tcp)
      : id{cm::identifier::create(channel, space)} {}

  void take_event() const { (void)channel.next_event(); }
  void resolve() const {
    id.resolve_address(place::peer, place::here, 2s);
    take_event();
    id.resolve_route(2s);
    take_event();
  }
};

/// The objects of a pair that the program creates.
struct own_side {
  context device = open_device();
  protection_domain domain{device};
  completion_queue queue{device, 16};

  [[nodiscard]] auto make() const {
    return queue_pair<rc>::create(domain, {.send_cq = queue, .recv_cq = queue});
  }
};

void set_options(place& here) {
  const cm::event_channel other = cm::event_channel::create();
  identified with;
  with.id.set_type_of_service(4);
  with.id.set_reuse_address(true);
  with.id.set_address_family_only(true);
  with.id.set_acknowledge_timeout(1s);
  with.id.set_local_ece({});
  (void)with.id.remote_ece();
  with.id.bind(place::here);
  with.id.set_path({});
  with.id.migrate(other);
  here.arrived();
}

void connect_identifier(place& here) {
  const identified with;
  with.resolve();
  with.id.create_queue_pair<rc>({.max_send_wr = 2, .max_recv_wr = 2}, {});
  with.id.connect({});
  with.take_event();
  with.id.notify(async_event_type::communication_established);
  with.id.disconnect();
  with.take_event();
  here.arrived();
}

void connect_own_pair_of_identifier(place& here) {
  const identified with;
  with.resolve();
  with.id.create_srq({.max_wr = 2}, {});
  (void)with.id.settings_for(qp_state::init);
  with.id.connect({.queue_pair_number = qp_number{0x55}});
  with.take_event();
  with.id.establish();
  here.arrived();
}

void create_extended_pair(place& here) {
  const identified with;
  with.resolve();
  with.id.create_queue_pair<rc>({.send_operations = send_operation::send}, {});
  here.arrived();
}

void create_xrc_srq(place& here) {
  const own_side own;
  const xrc_domain xrc{own.device};
  const identified with;
  with.resolve();
  with.id.create_xrc_srq({.max_wr = 4}, own.queue, xrc, own.domain);
  here.arrived();
}

template <class Answer>
void answer_request(place& here, const Answer& answer) {
  const identified with;
  with.id.bind(place::here);
  with.id.listen(1);
  here.manager.request(with.id.native_handle());
  auto event = with.channel.next_event();
  const cm::identifier request = event->take_request();
  event.reset();
  answer(with, request);
  here.arrived();
}

void accept_identifier(place& here) {
  answer_request(here, [](const identified& with, const cm::identifier& request) {
    request.create_queue_pair<rc>({}, {});
    request.accept({});
    with.take_event();
  });
}
void reject_identifier(place& here) {
  answer_request(here, [](const identified&, const cm::identifier& request) { request.reject(); });
}
void reject_identifier_for_ece(place& here) {
  answer_request(here,
                 [](const identified&, const cm::identifier& request) { request.reject_ece(); });
}

void connect(place& here) {
  auto start = cm::connector<rc>::create();
  auto near = start.resolve_address(place::peer);
  auto far = near.resolve_route();
  auto ready = far.create_queue_pair({.max_send_wr = 2, .max_recv_wr = 2});
  auto connection = ready.connect();
  connection.disconnect();
  here.arrived();
}

void connect_own_pair(place& here) {
  const own_side own;
  auto far = here.far();
  auto ready = far.use_queue_pair(own.make());
  ready.offer_ece({});
  auto connection = ready.connect();
  connection.disconnect();
  connection.flush();
  here.arrived();
}

void connect_by_name(place& here) {
  const auto connection = cm::connect("10.0.0.2", 7471);
  here.arrived();
}

void accept(place& here) {
  const auto listener = place::listener::create(place::here, {.reuse_address = true});
  auto request = here.requested(listener);
  auto ready = request.create_queue_pair({.max_send_wr = 2, .max_recv_wr = 2});
  const auto connection = ready.accept();
  here.arrived();
}

void accept_own_pair(place& here) {
  const own_side own;
  const auto listener = place::listener::create(place::here);
  auto request = here.requested(listener);
  auto ready = request.use_queue_pair(own.make());
  const auto connection = ready.accept();
  here.arrived();
}

void reject(place& here) {
  const auto listener = place::listener::create(7471);
  auto request = here.requested(listener);
  request.reject();
  here.arrived();
}

void connect_xrc(place& here) {
  auto far = cm::connector<transport::xrc_send>::resolve(place::peer, {.from = place::here});
  auto ready = far.create_queue_pair({.max_send_wr = 2});
  const auto connection = ready.connect();
  here.arrived();
}

void listen_for_xrc(place& here) {
  const auto listener = cm::listener<transport::xrc_recv>::create(place::here);
  here.arrived();
}

void drain(place& here) {
  const own_side own;
  auto far = here.far();
  auto ready = far.create_queue_pair({.send_cq = own.queue, .recv_cq = own.queue});
  auto connection = ready.connect();
  connection.disconnect();
  connection.drain([](const auto&) {});
  here.arrived();
}

void open_datagram_endpoint(place& here) {
  const auto endpoint = cm::datagram_endpoint::create(place::here);
  const auto first = endpoint.join(group);
  const auto second = endpoint.join(*cm::socket_address::parse("239.7.7.2", 0),
                                    {.role = cm::multicast_role::send_only});
  here.arrived();
}

void resolve_datagram_peer(place& here) {
  const auto endpoint = cm::datagram_endpoint::create(place::here);
  rdma_ud_param there{};
  there.qp_num = 0x77;
  there.qkey = RDMA_UDP_QKEY;
  there.ah_attr.port_num = 1;
  there.ah_attr.is_global = 1;
  there.ah_attr.grh.sgid_index = 2;
  here.manager.answer<called::rdma_connect>(
      {{.type = RDMA_CM_EVENT_ESTABLISHED, .datagram = there}});
  const auto found = endpoint.resolve_peer(place::peer);
  here.arrived();
}

void join_by_hand(place& here) {
  const identified with{cm::port_space::udp};
  with.id.bind(place::here);
  with.id.join_multicast(group, cm::multicast_role::full_member);
  with.take_event();
  with.id.leave_multicast(group);
  here.arrived();
}

void look_up(place& here) {
  const cm::context_list contexts;
  const cm::address_list found{"10.0.0.2", 7471};
  here.arrived();
}

struct named_path {
  const char* name;
  path follow;
  functions restoring = {};
};
const named_path paths[]{
    {"options of an identifier", &set_options},
    {"a connection of an identifier", &connect_identifier},
    {"a pair of the program's on an identifier", &connect_own_pair_of_identifier},
    {"an extended pair of an identifier", &create_extended_pair},
    {"an XRC shared receive queue of an identifier", &create_xrc_srq},
    {"an accepted identifier", &accept_identifier},
    {"a rejected identifier", &reject_identifier},
    {"an identifier rejected for its enhancements", &reject_identifier_for_ece},
    {"a connector", &connect},
    {"a connector with a pair of the program's", &connect_own_pair},
    {"a connection in one line", &connect_by_name},
    {"an accepted request", &accept},
    {"a request accepted with a pair of the program's", &accept_own_pair},
    {"a rejected request on a port", &reject},
    {"an XRC connector", &connect_xrc},
    {"an XRC listener", &listen_for_xrc},
    {"a drained connection", &drain},
    {"a datagram endpoint in groups", &open_datagram_endpoint},
    {"a datagram peer", &resolve_datagram_peer},
    {"a group of an identifier", &join_by_hand},
    {"lookups", &look_up},
};

}  // namespace

TEST_CASE("each call of librdmacm fails with its errno and leaves nothing") {
  for (const auto& [name, follow, restoring] : paths) {
    CAPTURE(name);
    fail_each_call(follow, restoring);
  }
}

TEST_CASE("each destroy of librdmacm that fails keeps its object and is reported") {
  for (const auto& [name, follow, restoring] : paths) {
    CAPTURE(name);
    fail_each_destroy(follow);
  }
}
