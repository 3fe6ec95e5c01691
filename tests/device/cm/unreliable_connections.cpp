// SPDX-License-Identifier: MIT
// Connections of UC, which librdmacm makes through endpoints.
#include <array>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <system_error>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/support.hpp"

using namespace adverb;

TEST_CASE("A UC connection carries writes and messages", "[rdma_create_ep][optional]") {
  if (open_device().device().transport_type() == transport_type::iwarp)
    return tell_skip("UC", "iWARP has RC alone");
  auto listener = cm::listener<transport::uc>::create(cm_test::device_address());
  REQUIRE(listener.port() != 0);
  auto served = std::async(std::launch::async, [&] {
    auto request = listener.next_request(std::chrono::seconds{10});
    auto ready = request.create_queue_pair({.max_recv_wr = 4});
    std::array<std::byte, 64> bytes{};
    memory_region region{ready.protection_domain(), bytes, access_right::local_write};
    ready.queue_pair().post(receive(region.buffer())).check();
    auto connection = ready.accept();
    CHECK(next_success(connection.recv_cq()).success().receive().length() == 5);
    connection.wait_disconnected(std::chrono::seconds{10});
  });
  auto far = cm::connector<transport::uc>::resolve(cm_test::device_address(listener.port()));
  CHECK(far.identifier().path_count() == 1);
  auto ready = far.create_queue_pair();
  std::array<std::byte, 64> bytes{};
  memory_region region{ready.protection_domain(), bytes, access_right::local_write};
  auto connection = ready.connect();
  connection.queue_pair().post(send(region.slice(0, 5)).signaled()).check();
  next_success(connection.send_cq());
  CHECK(connection.queue_pair().query().state() == qp_state::rts);
  connection.disconnect();
  served.get();
}

TEST_CASE("A failed UC endpoint names its destination", "[rdma_create_ep]") {
  failure why;
  auto none =
      cm::connector<transport::uc>::resolve(*cm::socket_address::parse("192.0.2.1", 7471), {}, why);
  CHECK_FALSE(none);
  CHECK(std::string_view{why.what()}.find("192.0.2.1:7471") != std::string_view::npos);
  INFO(why.what());
  CHECK(why.code() == std::errc::network_unreachable);
  CHECK(why.explanation().starts_with(
      "this machine has no route to 192.0.2.1; the RDMA devices here have "));
}

TEST_CASE("A failed UC listener explains its failure", "[rdma_create_ep][optional]") {
  if (open_device().device().transport_type() == transport_type::iwarp)
    return tell_skip("UC", "iWARP has RC alone");
  failure why;
  const auto first = cm::listener<transport::uc>::create(cm_test::device_address());
  const auto second = cm::listener<transport::uc>::create(first.local_address(), {}, why);
  INFO(why.what());
  CHECK_FALSE(second);
  CHECK(why.code() == std::errc::address_in_use);
  CHECK(why.explanation() == "port " + std::to_string(first.port()) +
                                 " is in use: another identifier or, over iWARP, a socket has it");
  const auto third =
      cm::listener<transport::uc>::create(cm_test::device_address(), {.reuse_address = true}, why);
  CHECK_FALSE(third);
  CHECK(why.code() == std::errc::operation_not_supported);
}
