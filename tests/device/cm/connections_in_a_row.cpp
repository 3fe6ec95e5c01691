// SPDX-License-Identifier: MIT
// Many connections, one after another, and nothing that is left of them.
#include <chrono>
#include <cstddef>
#include <future>
#include <vector>

#include <adverb/adverb.hpp>
#include <adverb/cm.hpp>
#include <support/catch.hpp>

#include "cm/resources.hpp"
#include "cm/support.hpp"

using namespace adverb;
using namespace cm_test;

namespace {

constexpr queue_pair_options small{.max_send_wr = 2, .max_recv_wr = 2};

/// Makes a connection, sends a message over it, and ends it: the active side.
void connect_and_end(const cm::socket_address& address) {
  auto connection = ready_for(address, small).connect();
  connection.queue_pair().post(send().signaled()).check();
  next_success(connection.send_cq());
  connection.disconnect();
  connection.drain([](const completion&) {});
}

/// The passive side.
void accept_and_end(const rc_listener& listener) {
  auto ready = next_ready(listener, small);
  ready.queue_pair().post(receive()).check();
  auto connection = ready.accept();
  std::size_t received = 0;
  connection.wait_disconnected(std::chrono::seconds{10});
  connection.disconnect();
  connection.drain([&](const completion& each) {
    each.check();
    ++received;
  });
  expect(received == 1, "the message arrived");
}

/// Makes one connection after another, in two rows: much of what each takes is waiting.
void make_in_a_row(const rc_listener& listener, std::size_t count) {
  constexpr std::size_t rows = 2;
  std::vector<std::future<void>> working;
  for (std::size_t row = 0; row < rows; ++row) {
    working.push_back(std::async(std::launch::async, [&] {
      for (std::size_t made = 0; made < count / rows; ++made) accept_and_end(listener);
    }));
    working.push_back(std::async(std::launch::async, [&] {
      for (std::size_t made = 0; made < count / rows; ++made)
        connect_and_end(device_address(listener.port()));
    }));
  }
  for (auto& each : working) each.get();
}

}  // namespace

TEST_CASE("A thousand connections in a row leak nothing",
          "[rdma_connect][rdma_accept][rdma_disconnect][rdma_destroy_id][rdma_destroy_qp]") {
  const auto listener = rc_listener::create(every_address());
  make_in_a_row(listener, 50);
  check_leaves_nothing(1000, [&](std::size_t count) { make_in_a_row(listener, count); });
}
