// SPDX-License-Identifier: MIT
// librdmacm's protection domain stays, so that memory may outlive the connections that used it.
#include <array>
#include <chrono>
#include <cstddef>
#include <future>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>
#include <support/sanitized.hpp>

#include "cm/resources.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

/// Takes one message of one peer.
[[nodiscard]] std::future<void> serve(const rc_listener& listener) {
  return std::async(std::launch::async, [&listener] {
    auto ready = next_ready(listener);
    // Soft-iWARP (Linux 6.1) takes no receive without memory.
    std::array<std::byte, 64> bytes{};
    const memory_region region{ready.protection_domain(), bytes, access_right::local_write};
    ready.queue_pair().post(receive(region.buffer())).check();
    auto connection = ready.accept();
    // The client ends the connection: rxe (Linux 6.1) acknowledges a message after its receive is
    // completed, and a side that ends then takes the acknowledgement along.
    connection.wait_disconnected(std::chrono::seconds{10});
    next_success(connection.recv_cq());
    connection.disconnect();
  });
}

void send_and_end(rc_connection& connection, const_buffer what) {
  connection.queue_pair().post(send(what).signaled()).check();
  next_success(connection.send_cq());
  connection.disconnect();
  connection.close();
}

/// The program that one writes first: what is made before the connection outlives it.
void connect_once(const rc_listener& listener) {
  auto served = serve(listener);
  auto ready = ready_for(device_address(listener.port()));
  std::array<std::byte, 64> bytes{};
  const memory_region region{ready.protection_domain(), bytes, access_right::local_write};
  auto connection = ready.connect();
  send_and_end(connection, region.slice(0, 0));
  served.get();
}

/// The level DEBUG keeps records of regions that have gone, and uses them again: a bounded number,
/// which is reached here.
void fill_table_of_regions() {
  const context device = open_device();
  const protection_domain domain{device};
  std::array<std::byte, 64> bytes{};
  for (int each = 0; each < 8'000; ++each) const memory_region region{domain, bytes};
}

}  // namespace

TEST_CASE("A region outlives its connections",
          "[rdma_create_qp][rdma_destroy_id][ibv_reg_mr][ibv_dereg_mr]") {
  const auto listener = rc_listener::create(every_address());
  std::array<std::byte, 64> bytes{};
  memory_region region;
  protection_domain_ref domain;
  for (int time = 0; time < 3; ++time) {
    auto served = serve(listener);
    auto ready = ready_for(device_address(listener.port()));
    if (!region) {
      domain = ready.protection_domain();
      region = memory_region{domain, bytes, access_right::local_write};
    }
    CHECK(ready.protection_domain() == domain);
    CHECK(ready.queue_pair().protection_domain() == domain);
    auto connection = ready.connect();
    send_and_end(connection, region.slice(0, 0));
    served.get();
  }
  CHECK(region.protection_domain() == domain);
  region.close();
}

TEST_CASE("Regions that outlive their connections leak nothing",
          "[rdma_create_qp][rdma_destroy_id][ibv_dereg_mr]") {
  if (!test_support::is_sanitized) fill_table_of_regions();
  const auto listener = rc_listener::create(every_address());
  for (int time = 0; time < 20; ++time) connect_once(listener);
  check_leaves_nothing(test_support::is_sanitized ? 40 : 200, [&](std::size_t count) {
    for (std::size_t time = 0; time < count; ++time) connect_once(listener);
  });
}
