// SPDX-License-Identifier: MIT
// Many connections at once, and nothing that is left of them.
#include <array>
#include <future>
#include <utility>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <adverb/core/detail/lifetime.hpp>
#include <support/catch.hpp>

#include "cm/resources.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

constexpr queue_pair_options small{.max_send_wr = 2, .max_recv_wr = 2};

/// Has `count` connections open at once, which four threads request, and sends over each of them.
void make_at_once(const rc_listener& listener, std::size_t count) {
  constexpr std::size_t askers = 4;
  std::vector<rc_connection> accepted;
  auto served = std::async(std::launch::async, [&] {
    while (accepted.size() < count) {
      auto ready = next_ready(listener, small);
      ready.queue_pair().post(receive()).check();
      accepted.push_back(ready.accept());
    }
  });
  std::vector<std::future<std::vector<rc_connection>>> asking;
  for (std::size_t asker = 0; asker < askers; ++asker)
    asking.push_back(std::async(std::launch::async, [&] {
      std::vector<rc_connection> made;
      while (made.size() < count / askers)
        made.push_back(ready_for(device_address(listener.port()), small).connect());
      return made;
    }));
  std::vector<rc_connection> made;
  for (auto& each : asking)
    for (auto& connection : each.get()) made.push_back(std::move(connection));
  served.get();
  REQUIRE(made.size() == count);
  for (auto& each : made) each.queue_pair().post(send().signaled()).check();
  for (auto& each : made) next_success(each.send_cq());
  for (auto& each : accepted) next_success(each.recv_cq());
}

}  // namespace

TEST_CASE("Two hundred connections at once leak nothing",
          "[rdma_connect][rdma_accept][rdma_destroy_id][rdma_destroy_qp]") {
  raise_file_limit();
  const auto listener = rc_listener::create(every_address());
  // The pools of the C library and of the checker have not grown before.
  make_at_once(listener, 200);
  check_leaves_nothing(200, [&](std::size_t count) { make_at_once(listener, count); });
}

TEST_CASE("The lifetime checker counts no children after the connections end") {
  const auto listener = rc_listener::create(every_address());
  auto accepted = accept_meanwhile(listener);
  auto& registry = detail::lifetime_registry::instance();
  const void* channel = nullptr;
  const void* device = nullptr;
  const void* domain = nullptr;
  {
    auto connection = ready_for(device_address(listener.port())).connect();
    channel = connection.identifier().channel().native_handle();
    device = connection.context().native_handle();
    domain = connection.protection_domain().native_handle();
    CHECK(!registry.children_of(channel).none());
    std::array<std::byte, 8> bytes{};
    const memory_region region{connection.protection_domain(), bytes};
    CHECK(!registry.children_of(domain).none());
  }
  CHECK(accepted.get());
  CHECK(registry.children_of(channel).none());
  CHECK(registry.children_of(device).none());
  CHECK(registry.children_of(domain).none());
}
