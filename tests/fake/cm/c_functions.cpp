// SPDX-License-Identifier: MIT
// The fake answers as librdmacm does, also through C: endpoints, which wait by themselves, groups,
// addresses, settings.
#include <cerrno>
#include <string>

#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <support/catch.hpp>

#include "cm_bench.hpp"

namespace {

struct fixture : cm_bench {
  ~fixture() { CHECK(manager.live_objects() == 0); }

  [[nodiscard]] static rdma_addrinfo* found(const char* node, int flags = 0,
                                            int space = RDMA_PS_TCP) {
    rdma_addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_port_space = space;
    rdma_addrinfo* result = nullptr;
    REQUIRE(rdma_getaddrinfo(node, "7471", &hints, &result) == 0);
    return result;
  }
  [[nodiscard]] static ibv_qp_init_attr small_pair() {
    ibv_qp_init_attr attributes{};
    attributes.cap = {4, 4, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    return attributes;
  }
};

}  // namespace

TEST_CASE_METHOD(fixture, "rdma_getaddrinfo finds active and passive addresses",
                 "[rdma_getaddrinfo]") {
  rdma_addrinfo* list = found("10.0.0.2");
  CHECK(list->ai_src_addr == nullptr);
  REQUIRE(list->ai_dst_addr != nullptr);
  CHECK(list->ai_qp_type == IBV_QPT_RC);
  CHECK(ntohs(reinterpret_cast<sockaddr_in*>(list->ai_dst_addr)->sin_port) == 7471);
  rdma_freeaddrinfo(list);

  list = found("fe80::1", RAI_PASSIVE, RDMA_PS_UDP);
  CHECK(list->ai_dst_addr == nullptr);
  REQUIRE(list->ai_src_addr != nullptr);
  CHECK(list->ai_family == AF_INET6);
  CHECK(list->ai_qp_type == IBV_QPT_UD);
  rdma_freeaddrinfo(list);

  CHECK(rdma_getaddrinfo("nowhere", nullptr, nullptr, &list) == EAI_NONAME);
  machine.fail<called::rdma_getaddrinfo>(ENOMEM);
  CHECK(rdma_getaddrinfo("10.0.0.2", nullptr, nullptr, &list) == -1);
  CHECK(errno == ENOMEM);
}

TEST_CASE_METHOD(fixture, "calls on endpoints of librdmacm block until their events",
                 "[rdma_create_ep][rdma_get_request]") {
  rdma_addrinfo* const passive = found("10.0.0.1", RAI_PASSIVE);
  ibv_qp_init_attr pair = small_pair();
  rdma_cm_id* passive_side = nullptr;
  REQUIRE(rdma_create_ep(&passive_side, passive, nullptr, &pair) == 0);
  REQUIRE(rdma_listen(passive_side, 1) == 0);
  manager.request(passive_side, "hello");
  rdma_cm_id* request = nullptr;
  REQUIRE(rdma_get_request(passive_side, &request) == 0);
  REQUIRE(request->qp != nullptr);
  REQUIRE(rdma_accept(request, nullptr) == 0);
  CHECK(request->qp->state == IBV_QPS_RTS);

  rdma_addrinfo* const active = found("10.0.0.2");
  pair = small_pair();
  rdma_cm_id* id = nullptr;
  REQUIRE(rdma_create_ep(&id, active, nullptr, &pair) == 0);
  REQUIRE(rdma_connect(id, nullptr) == 0);
  CHECK(id->event->event == RDMA_CM_EVENT_ESTABLISHED);
  CHECK(id->qp->state == IBV_QPS_RTS);
  REQUIRE(rdma_disconnect(id) == 0);

  rdma_event_channel* const channel = rdma_create_event_channel();
  REQUIRE(rdma_migrate_id(id, channel) == 0);
  CHECK(id->channel == channel);
  CHECK(id->event == nullptr);

  rdma_cm_id* refused = nullptr;
  manager.answer<called::rdma_resolve_route>({{RDMA_CM_EVENT_ROUTE_ERROR, -ENETUNREACH}});
  CHECK(rdma_create_ep(&refused, active, nullptr, nullptr) == -1);
  CHECK(errno == ENETUNREACH);

  for (rdma_cm_id* const each : {id, request, passive_side}) rdma_destroy_ep(each);
  rdma_destroy_event_channel(channel);
  rdma_freeaddrinfo(active);
  rdma_freeaddrinfo(passive);
}

TEST_CASE_METHOD(fixture, "an identifier joins a group as full or send-only member and leaves it",
                 "[rdma_join_multicast][rdma_join_multicast_ex][rdma_leave_multicast]") {
  rdma_addrinfo* const group = found("224.0.0.7", 0, RDMA_PS_UDP);
  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_UDP) == 0);
  const auto bound = cm_bench::here;
  REQUIRE(rdma_bind_addr(id, bound.native()) == 0);
  ibv_qp_init_attr pair = small_pair();
  pair.qp_type = IBV_QPT_UD;
  REQUIRE(rdma_create_qp(id, nullptr, &pair) == 0);
  CHECK(id->qp->state == IBV_QPS_RTS);

  const auto joined = [&] {
    rdma_cm_event* event = nullptr;
    REQUIRE(rdma_get_cm_event(channel, &event) == 0);
    CHECK(event->event == RDMA_CM_EVENT_MULTICAST_JOIN);
    CHECK(event->param.ud.private_data == &pair);
    CHECK(event->param.ud.qp_num == 0xffffff);
    rdma_ack_cm_event(event);
  };
  REQUIRE(rdma_join_multicast(id, group->ai_dst_addr, &pair) == 0);
  joined();
  CHECK(machine.count<called::attach_mcast>() == 1);
  CHECK(rdma_leave_multicast(id, group->ai_dst_addr) == 0);
  CHECK(machine.count<called::detach_mcast>() == 1);
  CHECK(rdma_leave_multicast(id, group->ai_dst_addr) == -1);

  rdma_cm_join_mc_attr_ex attributes{RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
                                     RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, group->ai_dst_addr};
  REQUIRE(rdma_join_multicast_ex(id, &attributes, &pair) == 0);
  joined();
  CHECK(machine.count<called::attach_mcast>() == 1);
  CHECK(rdma_leave_multicast(id, group->ai_dst_addr) == 0);
  CHECK(machine.count<called::detach_mcast>() == 1);

  rdma_destroy_ep(id);
  rdma_destroy_event_channel(channel);
  rdma_freeaddrinfo(group);
}

TEST_CASE_METHOD(fixture, "devices, options and ports can be queried and set",
                 "[rdma_get_devices][rdma_set_option][rdma_get_src_port][rdma_init_qp_attr]") {
  int count = 0;
  ibv_context** const devices = rdma_get_devices(&count);
  CHECK(count == 1);
  CHECK(devices[0] == manager.context());
  CHECK(devices[1] == nullptr);
  rdma_free_devices(devices);

  rdma_event_channel* const channel = rdma_create_event_channel();
  rdma_cm_id* id = nullptr;
  REQUIRE(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0);
  int on = 1;
  CHECK(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof on) == 0);
  const auto bound = cm_bench::here;
  REQUIRE(rdma_bind_addr(id, bound.native()) == 0);
  CHECK(ntohs(rdma_get_src_port(id)) == 7471);
  CHECK(ntohs(rdma_get_dst_port(id)) == 0);
  ibv_ece options{1, 2, 3};
  CHECK(rdma_set_local_ece(id, &options) == 0);
  CHECK(rdma_get_remote_ece(id, &options) == 0);
  CHECK(options.vendor_id == 0x1234);
  CHECK(rdma_notify(id, IBV_EVENT_COMM_EST) == 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  int mask = 0;
  CHECK(rdma_init_qp_attr(id, &attributes, &mask) == 0);
  CHECK(mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  CHECK(rdma_destroy_id(id) == 0);
  rdma_destroy_event_channel(channel);
  CHECK_THAT(log(), is_log(R"(
    rdma_get_devices
    rdma_free_devices devices0
    rdma_create_event_channel
    rdma_create_id event_channel0 ps=TCP
    rdma_set_option id0 level=ID optname=ID_REUSEADDR optval=1 optlen=4
    rdma_bind_addr id0 addr=10.0.0.1:7471
    rdma_get_src_port id0
    rdma_get_dst_port id0
    rdma_set_local_ece id0 vendor_id=0x1 options=0x2 comp_mask=0x3
    rdma_get_remote_ece id0
    rdma_notify id0 event=COMM_EST
    rdma_init_qp_attr id0 qp_state=INIT
    rdma_destroy_id id0
    rdma_destroy_event_channel event_channel0)"));
}
