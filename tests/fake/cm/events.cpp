// SPDX-License-Identifier: MIT
// Events: taken, read, and acknowledged exactly once.
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <support/catch.hpp>
#include <support/told_failures.hpp>

#include "cm_bench.hpp"

namespace {

namespace cm = adverb::cm;

struct fixture : identifier_bench {
  [[nodiscard]] cm::event taken(fake::cm_event what) {
    manager.raise(id.native_handle(), std::move(what));
    return *channel.next_event();
  }
  [[nodiscard]] std::size_t acknowledged() const {
    return machine.count<called::rdma_ack_cm_event>();
  }
};

struct listening : fixture {
  listening() {
    id.bind(here);
    id.listen(4);
  }
  [[nodiscard]] cm::event asked(std::string data = {}) {
    manager.request(id.native_handle(), std::move(data));
    return *channel.next_event();
  }
};

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE_METHOD(fixture, "each event reports its type and status",
                 "[rdma_get_cm_event][rdma_ack_cm_event]") {
  using cm::event_type;
  const std::array types{
      event_type::address_resolved, event_type::address_error,    event_type::route_resolved,
      event_type::route_error,      event_type::connect_response, event_type::connect_error,
      event_type::unreachable,      event_type::rejected,         event_type::established,
      event_type::disconnected,     event_type::device_removal,   event_type::multicast_join,
      event_type::multicast_error,  event_type::address_change,   event_type::timewait_exit};
  for (const event_type type : types) {
    CAPTURE(to_text(type).view());
    const cm::event event = taken({static_cast<rdma_cm_event_type>(type), -5});
    CHECK(event.type() == type);
    CHECK(event.status() == -5);
    CHECK(event.identifier() == id);
    CHECK_FALSE(event.listener());
    CHECK(manager.unacknowledged(id.native_handle()) == 1);
  }
  CHECK(manager.unacknowledged(id.native_handle()) == 0);
  CHECK(acknowledged() == types.size());
}

TEST_CASE_METHOD(fixture, "the names of events match those of librdmacm", "[rdma_event_str]") {
  for (std::uint32_t type = 0; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++type) {
    std::string name{to_text(static_cast<cm::event_type>(type)).view()};
    std::string native = rdma_event_str(static_cast<rdma_cm_event_type>(type));
    native.erase(0, std::string{"RDMA_CM_EVENT_"}.size());
    for (char& letter : native)
      letter = letter == '_' ? ' ' : static_cast<char>(letter - 'A' + 'a');
    if (native.starts_with("addr ")) native.replace(0, 4, "address");
    CHECK(name == native);
  }
  CHECK(to_text(static_cast<cm::event_type>(99)).view() == "unknown (99)");
}

TEST_CASE_METHOD(fixture, "an event is acknowledged once, on destruction", "[rdma_ack_cm_event]") {
  std::optional<cm::event> event = taken({RDMA_CM_EVENT_DISCONNECTED});
  CHECK(acknowledged() == 0);
  CHECK_THAT(log_of([&] { event.reset(); }), is_log("rdma_ack_cm_event id0 DISCONNECTED"));
}

TEST_CASE_METHOD(fixture, "a moved connection event is acknowledged once", "[rdma_ack_cm_event]") {
  cm::event first = taken({RDMA_CM_EVENT_DISCONNECTED});
  std::optional<cm::event> second;
  CHECK_THAT(log_of([&] { second = std::move(first); }), is_log({}));
  CHECK(second->identifier() == id);
  CHECK_FALSE(first.identifier());
  CHECK(first.native_handle() == nullptr);

  cm::event third = taken({RDMA_CM_EVENT_TIMEWAIT_EXIT});
  CHECK_THAT(log_of([&] { *second = std::move(third); }),
             is_log("rdma_ack_cm_event id0 DISCONNECTED"));
  CHECK(second->type() == cm::event_type::timewait_exit);
  cm::event& itself = *second;
  CHECK_THAT(log_of([&] { *second = std::move(itself); }), is_log({}));
  CHECK_THAT(log_of([&] { second.reset(); }), is_log("rdma_ack_cm_event id0 TIMEWAIT_EXIT"));
  CHECK_THAT(log_of([&] { const cm::event moved{std::move(third)}; }), is_log({}));
}

TEST_CASE_METHOD(fixture, "an explicitly acknowledged event keeps its type",
                 "[rdma_ack_cm_event]") {
  {
    cm::event event = taken({RDMA_CM_EVENT_REJECTED, 28, "no"});
    event.acknowledge();
    CHECK(acknowledged() == 1);
    event.acknowledge();
    CHECK(event.type() == cm::event_type::rejected);
    CHECK(event.reason() == cm::reject_reason::by_the_program);
    CHECK_FALSE(event.identifier());
    CHECK(event.private_data().empty());
    CHECK(event.parameters().queue_pair_number == adverb::qp_number{0});
    CHECK_FALSE(event.take_request());
  }
  CHECK(acknowledged() == 1);
}

TEST_CASE_METHOD(fixture,
                 "an iWARP rejection keeps its reason after a move or an acknowledgement") {
  cm::event moved = taken({RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, "no"});
  cm::event event = std::move(moved);
  CHECK(event.reason() == cm::reject_reason::by_the_program);
  event.acknowledge();
  CHECK(event.reason() == cm::reject_reason::by_the_program);
  event = taken({RDMA_CM_EVENT_REJECTED, -ECONNREFUSED});
  CHECK(event.reason() == cm::reject_reason::unspecified);
  event = taken({RDMA_CM_EVENT_REJECTED, -ECONNREFUSED, "no"});
  CHECK(event.reason() == cm::reject_reason::by_the_program);
}

TEST_CASE_METHOD(fixture, "a released connection event is not acknowledged") {
  rdma_cm_event* native = nullptr;
  {
    cm::event event = taken({RDMA_CM_EVENT_DISCONNECTED});
    native = event.release();
    CHECK(event.native_handle() == nullptr);
  }
  CHECK(acknowledged() == 0);
  {
    const cm::event again{adverb::adopt, native};
  }
  CHECK(acknowledged() == 1);
}

TEST_CASE_METHOD(fixture, "an event returns the private data and parameters of the peer") {
  rdma_conn_param sent{};
  sent.responder_resources = 3;
  sent.initiator_depth = 4;
  sent.flow_control = 1;
  sent.retry_count = 5;
  sent.rnr_retry_count = 6;
  sent.srq = 1;
  sent.qp_num = 0x77;
  const cm::event event =
      taken({.type = RDMA_CM_EVENT_ESTABLISHED, .private_data = "hello", .connection = sent});
  CHECK(text(event.private_data()) == "hello");
  const cm::peer_parameters told = event.parameters();
  CHECK(told.max_destination_read_atomic == 3);
  CHECK(told.max_initiator_read_atomic == 4);
  CHECK(told.flow_control);
  CHECK(told.retry_count == 5);
  CHECK(told.rnr_retry_count == 6);
  CHECK(told.has_shared_receive_queue);
  CHECK(told.queue_pair_number == adverb::qp_number{0x77});
}

TEST_CASE_METHOD(fixture, "the context pointer of a multicast join is not private data") {
  for (const auto type : {RDMA_CM_EVENT_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_ERROR}) {
    fake::cm_event joined{type};
    joined.datagram.private_data = &joined;
    joined.datagram.private_data_len = 9;
    joined.datagram.qp_num = 0xffffff;
    const cm::event event = taken(joined);
    CHECK(event.private_data().empty());
    CHECK(event.join_context() == &joined);
  }
  CHECK(taken({RDMA_CM_EVENT_REJECTED, 28, "no"}).join_context() == nullptr);
}

TEST_CASE_METHOD(listening, "a request names its new identifier and the listener",
                 "[rdma_get_cm_event]") {
  cm::event event = asked("hello");
  CHECK(event.type() == cm::event_type::connect_request);
  CHECK(event.listener() == id);
  CHECK(event.identifier() != id);
  CHECK(text(event.private_data()) == "hello");
  cm::identifier request = event.take_request();
  REQUIRE(request);
  CHECK(event.identifier() == request);
  CHECK(request.peer_address() == cm::socket_address{adverb::ipv4_address{10, 0, 0, 2}, 4711});
  CHECK_FALSE(event.take_request());
  event.acknowledge();
  CHECK(acknowledged() == 1);
  CHECK(machine.count<called::rdma_destroy_id>() == 0);
}

TEST_CASE_METHOD(listening, "a request that was not taken is destroyed after its event",
                 "[rdma_destroy_id]") {
  CHECK_THAT(log_of([&] {
               cm::event event = asked();
               const cm::event moved = std::move(event);
             }),
             is_log(R"(
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id1 CONNECT_REQUEST
    rdma_destroy_id id1)"));
  CHECK(manager.unacknowledged(id.native_handle()) == 0);
}

TEST_CASE_METHOD(listening, "assigning another event destroys an untaken request") {
  CHECK_THAT(log_of([&] {
               cm::event event = asked();
               event = asked();
               event.acknowledge();
             }),
             is_log(R"(
    rdma_get_cm_event event_channel0
    rdma_get_cm_event event_channel0
    rdma_ack_cm_event id1 CONNECT_REQUEST
    rdma_destroy_id id1
    rdma_ack_cm_event id2 CONNECT_REQUEST
    rdma_destroy_id id2)"));
}

TEST_CASE_METHOD(listening, "the failure hook reports a request that cannot be destroyed") {
  const told_failures told;
  rdma_cm_id* request = nullptr;
  {
    cm::event event = asked();
    request = event.identifier().native_handle();
    machine.fail<called::rdma_destroy_id>(EIO);
  }
  REQUIRE(told.messages().size() == 1);
  CHECK(told.messages()[0].find("rdma_destroy_id on fake0 ") == 0);
  // A leaked identifier still counts as a child of its channel.
  cm::identifier{adverb::adopt, request}.close();
  adverb::detail::lifetime_registry::instance().remove_child(channel.native_handle(),
                                                             adverb::detail::kind_of<rdma_cm_id>);
}

TEST_CASE_METHOD(listening, "a released event does not destroy its request") {
  cm::event event = asked();
  rdma_cm_event* const native = event.release();
  event.acknowledge();
  CHECK(machine.count<called::rdma_destroy_id>() == 0);
  rdma_cm_id* const request = native->id;
  CHECK(rdma_ack_cm_event(native) == 0);
  cm::identifier{adverb::adopt, request}.close();
  CHECK(acknowledged() == 1);
}
