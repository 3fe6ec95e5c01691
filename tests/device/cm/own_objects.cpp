// SPDX-License-Identifier: MIT
// Queue pairs of librdmacm with the program's own domain, queues and operations, and their entries
// in the lifetime checker.
#include <array>
#include <chrono>
#include <future>
#include <string_view>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/resources.hpp"
#include "cm/support.hpp"

using namespace adverb;

namespace {

using route_resolved = cm::connector<transport::rc, cm::step::route_resolved>;

[[nodiscard]] route_resolved route_to(std::uint16_t port) {
  return cm::connector<transport::rc>::resolve(cm_test::device_address(port));
}

template <class Owner>
void check_in_use(Owner& owner) {
  failure why;
  owner.close(why);
  CHECK(why.code() == std::errc::device_or_resource_busy);
  CHECK(std::string_view{why.what()}.find("1 connection or other rdma_cm identifier") !=
        std::string_view::npos);
}

}  // namespace

TEST_CASE("A queue pair uses the given domain, completion queues and send operations",
          "[rdma_create_qp][rdma_create_qp_ex][rdma_destroy_qp]") {
  auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto request = listener.next_request(std::chrono::seconds{10});
    protection_domain domain{request.context()};
    completion_queue queue{request.context(), 16};
    shared_receive_queue shared{domain, {.max_wr = 8}};
    std::array<std::byte, 64> bytes{};
    memory_region region{domain, bytes, access_right::local_write};
    shared.post(receive(region.buffer())).check();
    auto ready =
        request.create_queue_pair({.send_cq = queue, .recv_cq = queue, .srq = shared}, domain);
    auto connection = ready.accept();
    CHECK(connection.protection_domain() == domain);
    CHECK(connection.recv_cq() == queue);
    CHECK(next_success(queue).success().receive().length() == 5);
    check_in_use(shared);
    connection.wait_disconnected(std::chrono::seconds{10});
    connection.close();
    shared.close();
    queue.close();
  });

  auto far = route_to(listener.port());
  protection_domain domain{far.context()};
  completion_queue queue{far.context(), 16};
  const bool extended = far.context().device().transport_type() != transport_type::iwarp;
  queue_pair_options options{.send_cq = queue, .recv_cq = queue};
  if (extended) options.send_operations = basic_operations(transport::rc);
  auto ready = far.create_queue_pair(options, domain);
  std::array<std::byte, 64> bytes{};
  memory_region region{domain, bytes, access_right::local_write};
  auto connection = ready.connect();
  if (extended)
    connection.queue_pair().extended().post(send(region.slice(0, 5)).signaled()).check();
  else
    connection.queue_pair().post(send(region.slice(0, 5)).signaled()).check();
  next_success(queue);
  check_in_use(queue);
  connection.disconnect();
  check_in_use(queue);
  connection.identifier().destroy_queue_pair();
  queue.close();
  region.close();
  domain.close();
  served.get();
}

TEST_CASE("A domain fails to close while the queue pair of one identifier uses it",
          "[rdma_create_qp]") {
  auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto far = route_to(listener.port());
  protection_domain domain{far.context()};
  {
    auto ready = far.create_queue_pair({}, domain);
    check_in_use(domain);
  }
  domain.close();
}

TEST_CASE("Destroying the queue pair frees the objects of librdmacm beside a given queue",
          "[rdma_create_qp][rdma_destroy_qp]") {
  auto far = route_to(7471);
  const completion_queue queue{far.context(), 16};
  // The default domain of the device is kept from its first queue pair on, with a file.
  far.identifier().create_queue_pair<transport::rc>({.recv_cq = queue}, {});
  far.identifier().destroy_queue_pair();
  const std::size_t files = cm_test::open_files();
  for (int time = 0; time < 2; ++time) {
    far.identifier().create_queue_pair<transport::rc>({.recv_cq = queue}, {});
    CHECK(far.identifier().recv_cq() == queue);
    CHECK(cm_test::open_files() == files + 1);
    far.identifier().destroy_queue_pair();
    CHECK(cm_test::open_files() == files);
  }
}

TEST_CASE("destroy_queue_pair fails with EBUSY while another pair uses its completion queue",
          "[rdma_create_qp][rdma_destroy_qp][rdma_destroy_id]") {
  auto far = route_to(7471);
  cm::identifier_ref id = far.identifier();
  // The default domain of the device is kept from its first queue pair on, with an identifier.
  id.create_queue_pair<transport::rc>({}, {});
  id.destroy_queue_pair();
  const auto before = cm_test::rdma_objects();
  id.create_queue_pair<transport::rc>({}, {});
  const auto refused = [](const failure& why) {
    CHECK(why.code() == std::errc::device_or_resource_busy);
    CHECK(std::string_view{why.what()}.find(" cq ") != std::string_view::npos);
    CHECK(std::string_view{why.what()}.find("by 1 queue pair") != std::string_view::npos);
  };
  {
    const completion_queue_ref queue = id.recv_cq();
    const auto other = queue_pair<transport::rc>::create(id.protection_domain(),
                                                         {.send_cq = queue, .recv_cq = queue});
    failure why;
    id.destroy_queue_pair(why);
    refused(why);
    REQUIRE(id.queue_pair<transport::rc>());
  }
  id.destroy_queue_pair();
  CHECK_FALSE(id.queue_pair<transport::rc>());
  CHECK(cm_test::rdma_objects_settled_to(before) == before);
}

TEST_CASE("A shared receive queue of the identifier serves its queue pair",
          "[rdma_create_srq][rdma_destroy_srq]") {
  auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  auto served = std::async(std::launch::async, [&] {
    auto request = listener.next_request(std::chrono::seconds{10});
    protection_domain domain{request.context()};
    std::array<std::byte, 64> bytes{};
    memory_region region{domain, bytes, access_right::local_write};
    CHECK_FALSE(request.identifier().srq());
    request.identifier().create_srq({.max_wr = 8}, domain);
    check_in_use(domain);
    request.identifier().srq().post(receive(region.buffer())).check();
    auto ready = request.create_queue_pair({}, domain);
    CHECK(ready.queue_pair().srq() == ready.identifier().srq());
    auto connection = ready.accept();
    CHECK(next_success(connection.recv_cq()).success().receive().length() == 5);
    connection.wait_disconnected(std::chrono::seconds{10});
    failure why;
    connection.identifier().destroy_srq(why);
    CHECK(std::string_view{why.what()}.find("1 queue pair") != std::string_view::npos);
    connection.identifier().destroy_queue_pair();
    connection.identifier().destroy_srq();
    CHECK_FALSE(connection.identifier().srq());
    region.close();
    domain.close();
  });
  auto far = route_to(listener.port());
  auto ready = far.create_queue_pair();
  std::array<std::byte, 64> bytes{};
  memory_region region{ready.protection_domain(), bytes, access_right::local_write};
  auto connection = ready.connect();
  connection.queue_pair().post(send(region.slice(0, 5)).signaled()).check();
  next_success(connection.send_cq());
  connection.disconnect();
  served.get();
}

TEST_CASE("Connections move to one channel together with their pending events",
          "[rdma_migrate_id][rdma_get_cm_event][rdma_ack_cm_event][rdma_create_event_channel]"
          "[rdma_destroy_event_channel][rdma_destroy_id]") {
  auto listener = cm::listener<transport::rc>::create(cm_test::device_address());
  const cm::event_channel shared = cm::event_channel::create();
  cm::event_channel last = cm::event_channel::create();
  std::array<cm_test::rc_connection, 2> moved;
  std::promise<void> accepted;
  auto served = std::async(std::launch::async, [&] {
    for (auto& each : moved) {
      auto request = listener.next_request(std::chrono::seconds{10});
      auto ready = request.create_queue_pair();
      auto connection = ready.accept();
      // The first waits until the peer's disconnect is in its own channel.
      if (&each == &moved[0]) {
        accepted.set_value();
        while (!connection.identifier().channel().has_event()) {
        }
      }
      connection.migrate(shared);
      each = std::move(connection);
    }
  });
  std::array<cm::connection<transport::rc>, 2> peers;
  for (auto& peer : peers) {
    auto far = route_to(listener.port());
    auto ready = far.create_queue_pair();
    peer = ready.connect();
    if (&peer != &peers[0]) continue;
    accepted.get_future().wait_for(std::chrono::seconds{10});
    peer.identifier().disconnect();
  }
  served.get();
  peers[1].identifier().disconnect();
  for (auto& each : moved) {
    const auto event = shared.next_event(std::chrono::seconds{10});
    REQUIRE(event);
    CHECK(event->type() == cm::event_type::disconnected);
    CHECK(event->identifier() == each.identifier());
    each.note(*event);
    CHECK(each.has_ended());
  }
  moved[0].migrate(last);
  check_in_use(last);
  moved[0].close();
  last.close();
}
