// SPDX-License-Identifier: MIT
// Connections that librdmacm makes, step by step.
#include <array>
#include <chrono>
#include <cstdint>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

struct greeting {
  std::uint32_t number;
  char word[12];
};

}  // namespace

TEST_CASE("A connection that is made step by step carries data both ways",
          "[rdma_connect][rdma_accept][rdma_listen][rdma_bind_addr][rdma_resolve_addr]") {
  two_sides(
      [](const rc_listener& listener) {
        expect(listener.port() != 0, "the port is known");
        auto request = listener.next_request(std::chrono::seconds{10});
        const auto hello = request.private_data().as<greeting>();
        expect(hello && hello->number == 42, "the greeting came along");
        auto ready = request.create_queue_pair({.max_recv_wr = 4});
        std::array<std::byte, 64> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        ready.queue_pair().post(receive(region.buffer())).check();
        auto connection = ready.accept({.private_data = cm::private_data::of(std::uint64_t{7})});
        auto got = next_success(connection.recv_cq());
        expect(got.success().receive().length() == 5, "five bytes arrived");
        // The client leaves with it, before rxe acknowledges it perhaps.
        connection.queue_pair().post(send(region.slice(0, 5))).check();
        connection.wait_disconnected(std::chrono::seconds{10});
      },
      [](const cm::socket_address& address) {
        auto start = cm::connector<transport::rc>::create();
        auto near = start.resolve_address(address);
        auto far = near.resolve_route();
        auto ready = far.create_queue_pair({.max_recv_wr = 4});
        std::array<std::byte, 64> bytes{};
        memory_region region{ready.protection_domain(), bytes, access_right::local_write};
        ready.queue_pair().post(receive(region.buffer())).check();
        auto connection =
            ready.connect({.private_data = cm::private_data::of(greeting{42, "hello"})});
        CHECK(connection.private_data().as<std::uint64_t>() == 7);
        connection.queue_pair().post(send(region.slice(0, 5)).signaled()).check();
        next_success(connection.send_cq());
        next_success(connection.recv_cq());
        connection.disconnect();
      });
}
