// SPDX-License-Identifier: MIT
// The settings of an identifier, its paths, and the devices of librdmacm.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;

namespace {

using listener_rc = cm::listener<transport::rc>;

/// An identifier whose address is being resolved, bound to the device by that.
struct resolving {
  cm::event_channel channel = cm::event_channel::create();
  cm::identifier id = cm::identifier::create(channel, cm::port_space::tcp);

  void resolve_address() {
    id.resolve_address(cm_test::device_address(7471), {}, std::chrono::seconds{2});
    expect(cm::event_type::address_resolved);
  }
  void expect(cm::event_type type) {
    const auto event = channel.next_event(std::chrono::seconds{10});
    REQUIRE(event);
    CHECK(event->type() == type);
    CHECK(event->status() == 0);
  }
};

}  // namespace

TEST_CASE("context_list contains the devices of identifiers",
          "[rdma_get_devices][rdma_free_devices]") {
  const cm::context_list contexts;
  REQUIRE_FALSE(contexts.empty());
  resolving made;
  made.resolve_address();
  bool found = false;
  for (const context_ref context : contexts) found = found || context == made.id.context();
  CHECK(found);
  CHECK(contexts[0].query_device().max_queue_pairs() > 0);
}

TEST_CASE("Every event that librdmacm defines has a name", "[rdma_event_str]") {
  for (std::uint32_t number = 0; number < 20; ++number) {
    CAPTURE(number);
    const bool named =
        to_text(static_cast<cm::event_type>(number)).view().find_first_of("0123456789") ==
        std::string_view::npos;
    // An older librdmacm has fewer.
    const std::string_view theirs = rdma_event_str(static_cast<rdma_cm_event_type>(number));
    CHECK((named || theirs == "UNKNOWN EVENT"));
  }
}

TEST_CASE("The type of service becomes the traffic class of the path",
          "[rdma_set_option][rdma_resolve_route][rdma_create_id]") {
  resolving made;
  made.id.set_type_of_service(0x68);
  made.resolve_address();
  CHECK(made.id.path_count() == 0);
  made.id.resolve_route(std::chrono::seconds{2});
  made.expect(cm::event_type::route_resolved);
  if (made.id.context().device().transport_type() == transport_type::iwarp) {
    CHECK(made.id.path_count() == 0);
    return;
  }
  REQUIRE(made.id.path_count() == 1);
  const cm::path_record path = made.id.path();
  CHECK(path.traffic_class == 0x68);
  CHECK(path.source == path.destination);
  CHECK(path.source.is_ipv4_mapped());
  CHECK(path.mtu == made.id.context().query_port(first_port).active_mtu());
}

TEST_CASE("An identifier with a given path needs no route resolution",
          "[rdma_set_option][optional]") {
  resolving known;
  known.resolve_address();
  known.id.resolve_route(std::chrono::seconds{2});
  known.expect(cm::event_type::route_resolved);
  if (known.id.path_count() == 0) return tell_skip("a given path", "iWARP has no path records");

  resolving made;
  failure why;
  made.id.set_path(known.id.path(), why);
  CHECK(why);
  made.resolve_address();
  made.id.set_path(known.id.path());
  made.expect(cm::event_type::route_resolved);
  REQUIRE(made.id.path_count() == 1);
  CHECK(made.id.path().destination == known.id.path().destination);
  CHECK(made.id.path().mtu == known.id.path().mtu);
}

TEST_CASE("An identifier with address reuse binds an address in use",
          "[rdma_set_option][rdma_get_local_addr][rdma_bind_addr]") {
  const cm::event_channel channel = cm::event_channel::create();
  auto first = cm::identifier::create(channel, cm::port_space::tcp);
  first.set_reuse_address(true);
  first.bind(cm_test::device_address());
  const auto same = first.local_address();

  auto refused = cm::identifier::create(channel, cm::port_space::tcp);
  failure why;
  refused.bind(same, why);
  CHECK(why.code() == std::errc::address_in_use);

  auto second = cm::identifier::create(channel, cm::port_space::tcp);
  second.set_reuse_address(true);
  second.bind(same);
  CHECK(second.local_address() == same);
}

TEST_CASE("Listening on IPv6 only leaves the port free for IPv4", "[rdma_set_option]") {
  const cm::event_channel channel = cm::event_channel::create();
  for (const bool only : {true, false}) {
    auto six = cm::identifier::create(channel, cm::port_space::tcp);
    six.set_address_family_only(only);
    six.bind(cm::socket_address::any(0));
    six.listen(1);
    auto four = cm::identifier::create(channel, cm::port_space::tcp);
    failure why;
    four.bind(cm::socket_address::any_ipv4(six.local_address().port()), why);
    CHECK(why.code() ==
          (only ? std::error_code{} : std::make_error_code(std::errc::address_not_available)));
  }
}

TEST_CASE("A connection uses the acknowledge timeout of its identifier",
          "[rdma_set_option][optional]") {
  auto listener = listener_rc::create(cm_test::device_address());
  auto start = cm::connector<transport::rc>::create();
  start.identifier().set_acknowledge_timeout(std::chrono::seconds{1});
  auto near = start.resolve_address(cm_test::device_address(listener.port()));
  auto far = near.resolve_route();
  auto ready = far.create_queue_pair();
  std::error_code late;
  auto none = ready.connect({}, timeout{std::chrono::milliseconds{1}}, late);
  auto request = listener.next_request(std::chrono::seconds{10});
  auto answering = request.create_queue_pair();
  std::error_code why;
  static_cast<void>(answering.accept({}, timeout{std::chrono::milliseconds{1}}, why));
  const auto event = ready.identifier().channel().next_event(std::chrono::seconds{10});
  REQUIRE(event);
  CHECK(event->type() == cm::event_type::established);
  if (ready.identifier().context().device().transport_type() == transport_type::iwarp)
    return tell_skip("the acknowledge timeout of a pair", "iWARP has none");
  const auto attributes = ready.queue_pair().query();
  CHECK(attributes.acknowledge_timeout() == acknowledge_timeout{std::chrono::seconds{1}});
}

TEST_CASE("notify fails before there is a connection", "[rdma_notify]") {
  resolving made;
  made.resolve_address();
  failure why;
  made.id.notify(async_event_type::communication_established, why);
  CHECK(why.code() == std::errc::invalid_argument);
}
